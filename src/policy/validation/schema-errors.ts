/** What ajv finds wrong with a value, as the paths and messages of its fields. */

import type { ErrorObject } from "ajv";
import { pathBelow } from "../../lib/field-path.ts";
import type { Schema } from "./ajv.ts";
import { describeSchemaError } from "./field-message.ts";

export interface SchemaError {
  readonly path: string;
  readonly message: string;
  readonly error: ErrorObject;
}

/** Says nothing else of a value whose type is wrong. `root`: tells the fields of objects from the keys of maps. */
export function schemaErrors(errors: readonly ErrorObject[], root?: Schema): readonly SchemaError[] {
  const placed = errors.map((error) => ({ path: pathOf(root, error), error }));
  const wrongType = new Set(placed.filter(({ error }) => error.keyword === "type").map(({ path }) => path));
  return placed
    .filter(({ error, path }) => error.keyword === "type" || !wrongType.has(path))
    .map((each) => ({ ...each, message: describeSchemaError(each.error) }));
}

/** Of a field that is missing or unknown, its own path. */
function pathOf(root: Schema | undefined, error: ErrorObject): string {
  const { schema, path } = placeAt(root, error);
  const { missingProperty, additionalProperty } = error.params;
  const name: unknown = missingProperty ?? additionalProperty;
  return typeof name === "string" && error.keyword !== "dependencies" ? child(schema, path, name) : path;
}

/** Where the value is that the error is about; `schema`: its own, if the root knows it. */
export function placeAt(
  root: Schema | undefined,
  { instancePath }: ErrorObject,
): { readonly schema: Schema | undefined; readonly path: string } {
  let [schema, path]: [Schema | undefined, string] = [root, ""];
  for (const each of instancePath.split("/").slice(1)) {
    const key = each.replaceAll("~1", "/").replaceAll("~0", "~");
    path = child(schema, path, key);
    schema = schema?.items ?? (schema && fieldOf(schema, key));
  }
  return { schema, path };
}

interface SchemaOfFields<Part> {
  readonly properties?: Readonly<Record<string, Part>>;
  readonly additionalProperties?: Part | boolean;
}

export function fieldOf<Part extends SchemaOfFields<Part>>(
  { properties = {}, additionalProperties }: SchemaOfFields<Part>,
  key: string,
): Part | undefined {
  if (Object.hasOwn(properties, key)) return properties[key];
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

/** Keys of a map are written in brackets, as they can contain dots. */
export function child(schema: Schema | undefined, path: string, key: string): string {
  if (schema?.items !== undefined || typeof schema?.additionalProperties === "object")
    return `${path}[${key}]`;
  if (schema?.properties === undefined) return pathBelow(path, key);
  return path === "" ? key : `${path}.${key}`;
}
