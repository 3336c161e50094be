/**
 * ajv for modules named …validators.ts. They export their `ajv`, and each validator under the `$id` of its schema.
 * release/validators.ts replaces the module by the code that ajv generates, so that the program starts without ajv.
 */

import { _, Ajv, type Options } from "ajv";
import { FORMATS } from "./formats.ts";

export function compiler(options: Options): Ajv {
  const ajv = new Ajv({
    strict: true,
    validateSchema: false, // the schemas are this program's own
    inlineRefs: false,
    formats: FORMATS,
    ...options,
    code: { source: true, esm: true, formats: _`FORMATS` },
  });
  return ajv.addKeyword("x-expected"); // words for field-message.ts
}

export interface Schema {
  readonly type?: unknown;
  readonly description?: string;
  readonly "x-type"?: string;
  readonly "x-kubernetes-preserve-unknown-fields"?: true;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
}

/** The schema with what `change` makes of the schemas of its fields, which have a name, and of its items. */
export function withParts(
  { properties, items, additionalProperties, ...rest }: Schema,
  change: (part: Schema, name?: string) => object,
): object {
  return {
    ...rest,
    ...(items !== undefined && { items: change(items) }),
    ...(additionalProperties !== undefined && {
      additionalProperties:
        typeof additionalProperties === "boolean" ? additionalProperties : change(additionalProperties),
    }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, field]) => [name, change(field, name)]),
      ),
    }),
  };
}

/**
 * Replaces the schemas of fields and items by references, without their descriptions. Equal schemas are compiled once,
 * which makes the code a fifth as long.
 */
export function sharing(ajv: Ajv): (schema: Schema) => object {
  const references = new Map<string, object>();
  const shared = (schema: Schema): object => {
    const parts = inParts(schema);
    const text = JSON.stringify(parts);
    const known = references.get(text);
    if (known !== undefined) return known;
    const name = `part${references.size}`;
    const reference = { $ref: name };
    ajv.addSchema(parts, name);
    references.set(text, reference);
    return reference;
  };
  const inParts = ({ description: _description, "x-type": _type, ...schema }: Schema): object =>
    withParts(schema, shared);
  return inParts;
}
