/**
 * Generates the CRDs, schemas/*.json and src/api/*.gen.ts from crds/source/crds.yaml, the schema and types of suites from
 * src/cli/suite/suite-schema.ts, and the types of the JSON that the page shows from its schemas (npm run generate).
 * Running it twice changes nothing.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JSONSchema } from "json-schema-to-typescript";
import { format } from "prettier";
import { SUITE_KIND, SUITE_SCHEMA } from "../src/cli/suite/suite-schema.ts";
import { Document, parse, type Scalar, visit } from "yaml";
import { printTypes, type Types } from "./source/print-types.ts";

const ROOT = join(import.meta.dirname, "..");
const GROUP = "hookpolicy.dev";
const VERSION = "v1alpha1";
const NOTE =
  "Generated from crds/source/crds.yaml by crds/generate.ts (npm run generate): change that instead.";

const OUTPUT_NOTE =
  "Generated from schemas/output by crds/generate.ts (npm run generate): change that instead.";
/** The commands whose JSON the page of `hookpolicy ui` shows, by the name of the type. */
const OUTPUTS = { ExplainJson: "explain", GetJson: "get" };
const SUITE_NOTE =
  "Generated from src/cli/suite/suite-schema.ts by crds/generate.ts (npm run generate): change that instead.";

/** Types that are written by hand: they are not ours alone, or tell apart what a schema's `oneOf` does. */
const IMPORTED = ["Condition", "HookName", "LabelSelector", "RawObject", "CallSpec | RequestSpec", "Sources"];
const IMPORTS = `
import type { Condition, LabelSelector } from "./meta.ts";
import type { HookName } from "./runtime-hooks.ts";
`;
const SUITE_IMPORTS = `
import type { RawObject } from "../fleet/kinds.ts";
import type { CallSpec, RequestSpec, Sources } from "./spec.ts";
`;

interface Schema {
  readonly type?: JSONSchema["type"];
  readonly description?: string;
  readonly required?: string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  /** What one type does not say: which fields are required together, or a format. */
  readonly anyOf?: readonly object[];
  /** Fields that are not listed are kept as they are. */
  readonly "x-kubernetes-preserve-unknown-fields"?: true;
  readonly "x-type"?: string;
  readonly "x-only"?: readonly string[];
  readonly "x-expected"?: string;
  readonly "x-kubernetes-validations"?: readonly {
    readonly rule?: string;
    readonly "x-only"?: readonly string[];
  }[];
  /** The object has a name and one of its other fields: what it is called where it has none or several. */
  readonly "x-exactly-one"?: string;
}

/** One of the source's kinds. */
interface Kind {
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
  readonly scope: "Cluster" | "Namespaced";
  readonly columns: readonly object[];
  /** Users do not write it. */
  readonly writer?: "operator";
  readonly schema: Schema;
}

interface Source {
  readonly kinds: readonly Kind[];
  readonly definitions: Definitions;
}

/** Schemas and CEL rules that several fields share. */
type Definitions = Readonly<Record<string, Schema | object[]>>;

function readSource(): Source {
  const source = readFileSync(join(ROOT, "crds/source/crds.yaml"), "utf8");
  const { kinds, definitions }: Source = parse(source, { merge: true, maxAliasCount: -1 });
  return {
    kinds: kinds.map((kind) => ({ ...kind, schema: edited(kind.schema, withExactlyOne) })),
    definitions: mapped(definitions, (it) => (Array.isArray(it) ? it : edited(it, withExactlyOne))),
  };
}

function withExactlyOne({ "x-exactly-one": what, ...schema }: Schema): Schema {
  if (what === undefined) return schema;
  const fields = Object.keys(schema.properties ?? {}).filter((field) => !["name", "message"].includes(field));
  const one = `exactly one of ${fields.slice(0, -1).join(", ")} and ${fields.at(-1)}`;
  const names = fields.map((field) => `has(self.${field}) ? "${field}" : ""`);
  const rule = {
    rule: `[${fields.map((field) => `has(self.${field})`).join(", ")}].exists_one(set, set)`,
    messageExpression:
      `"gate \\"" + self.name + "\\" has " + [[${names.join(", ")}].filter(kind, kind != "")]` +
      `.map(set, set.size() == 0 ? "no condition" : set.join(" and "))[0] + ": set ${one}"`,
    message: `${what} must have ${one}`,
  };
  return { ...schema, "x-kubernetes-validations": [rule] };
}

/** `schema` with `edit` done to it, its fields first. */
function edited(schema: Schema, edit: (part: Schema) => Schema): Schema {
  const { properties, items, additionalProperties } = schema;
  const fields = Object.entries(properties ?? {}).map(([name, field]) => [name, edited(field, edit)]);
  return edit({
    ...schema,
    ...(properties !== undefined && { properties: Object.fromEntries(fields) }),
    ...(items !== undefined && { items: edited(items, edit) }),
    ...(additionalProperties !== undefined && { additionalProperties: edited(additionalProperties, edit) }),
  });
}

/** Without the fields and rules that only other kinds have. */
function withoutOthers(schema: Schema, kind: string): Schema {
  return edited(schema, (given) => {
    const part = withRulesOf(given, kind);
    if (part.properties === undefined) return part;
    const fields = Object.entries(part.properties).filter(
      ([, field]) => field["x-only"]?.includes(kind) ?? true,
    );
    const properties = Object.fromEntries(fields);
    const required = part.required?.filter((field) => field in properties);
    return { ...part, ...(required && { required }), properties };
  });
}

function withRulesOf(schema: Schema, kind: string): Schema {
  const rules = schema["x-kubernetes-validations"];
  if (rules === undefined) return schema;
  const own = rules.filter(({ "x-only": only }) => only?.includes(kind) ?? true);
  return { ...schema, "x-kubernetes-validations": own.map(({ "x-only": _, ...rule }) => rule) };
}

/** As the API server takes it, with the description first. */
function shipped(schema: Schema): Schema {
  return edited(schema, ({ "x-type": _, "x-only": __, "x-expected": ___, description, ...rest }) => ({
    ...(description !== undefined && { description }),
    ...rest,
  }));
}

/** A structural schema has no union of types, but this one. */
function structural(schema: Schema): Schema {
  return edited(schema, (part) =>
    Object.fromEntries(
      Object.entries(part).map(([key, value]) =>
        key === "type" && Array.isArray(value) ? ["x-kubernetes-int-or-string", true] : [key, value],
      ),
    ),
  );
}

/**
 * clusterctl move looks only at CRDs with the first label, and moves objects without an owner (a policy belongs to no
 * Cluster) only with the second.
 */
const MOVED = { "clusterctl.cluster.x-k8s.io": "", "clusterctl.cluster.x-k8s.io/move-hierarchy": "" };

function crdOf({ kind, plural, shortName, scope, columns, writer, schema }: Kind): object {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.${GROUP}`,
      ...(writer === undefined && { labels: MOVED }),
    },
    spec: {
      group: GROUP,
      scope,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: [shortName],
        categories: ["cluster-api"],
      },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns,
          schema: { openAPIV3Schema: structural(shipped(schema)) },
        },
      ],
    },
  };
}

async function generateCrd(kind: Kind): Promise<string> {
  const document = new Document(crdOf(kind), { aliasDuplicateObjects: false });
  document.commentBefore = ` ${NOTE}`;
  visit(document, {
    Scalar(_key, node) {
      if (typeof node.value === "string") node.type = styleOf(node.value);
    },
  });
  return await format(document.toString({ lineWidth: 110 }), { parser: "yaml", printWidth: 110 });
}

function styleOf(text: string): Scalar.Type {
  if (text.includes("\n")) return "BLOCK_LITERAL";
  return text.length > 60 ? "BLOCK_FOLDED" : "PLAIN";
}

/**
 * The schema for json-schema-to-typescript. Named types become definitions, referred to by name: a $ref beside a
 * description would make it copy the type.
 */
function typed(schema: Schema, definitions: Types): JSONSchema {
  const { "x-type": name, description } = schema;
  if (name === undefined) return typedBody(schema, definitions);
  if (!IMPORTED.includes(name)) definitions[name] ??= typedBody(schema, definitions);
  return { ...(description !== undefined && { description }), tsType: name };
}

function typedBody(schema: Schema, definitions: Types): JSONSchema {
  const { properties, items, additionalProperties, ...keywords } = schema;
  const { "x-type": _type, "x-only": _only, anyOf: _anyOf, ...rest } = keywords;
  const fields = Object.entries(properties ?? {});
  return {
    ...rest,
    ...(properties !== undefined && {
      properties: Object.fromEntries(fields.map(([name, field]) => [name, typed(field, definitions)])),
      additionalProperties: keywords["x-kubernetes-preserve-unknown-fields"] === true,
    }),
    ...(items !== undefined && { items: typed(items, definitions) }),
    ...(isObject(additionalProperties) && {
      additionalProperties: typed(additionalProperties, definitions),
    }),
  };
}

async function generateTypes(kinds: readonly Kind[]): Promise<string> {
  const definitions: Types = {};
  // What several kinds have is named after the widest one, ClusterHookPolicy's.
  for (const { schema } of [...kinds.filter(({ kind }) => kind === "ClusterHookPolicy"), ...kinds]) {
    for (const field of ["spec", "status"]) typed(schema.properties?.[field] ?? {}, definitions);
  }
  return await printTypes(definitions, `// ${NOTE}\n${IMPORTS}`);
}

async function generateSuiteTypes(): Promise<string> {
  const definitions: Types = {};
  typed(SUITE_SCHEMA, definitions);
  return await printTypes(definitions, `// ${SUITE_NOTE}\n${SUITE_IMPORTS}`);
}

/** For the program that writes the JSON and the page that shows it. */
async function generateOutputTypes(): Promise<string> {
  const schemas = Object.entries(OUTPUTS).map(([name, command]): [string, JSONSchema] => {
    const path = join(ROOT, `schemas/output/${command}.json`);
    const { title: _, ...schema } = JSON.parse(readFileSync(path, "utf8"));
    return [name, schema];
  });
  return await printTypes(Object.fromEntries(schemas), `// ${OUTPUT_NOTE}`);
}

/** The constants of schemas.gen.ts: what more than one field has. */
class Constants {
  /** By their text: name and type. */
  readonly #written = new Map<string, readonly [name: string, type: string]>();
  readonly #definitions: ReadonlyMap<string, string>;
  readonly #sharedRules: ReadonlySet<string>;

  constructor(kinds: readonly Kind[], definitions: Definitions) {
    const texts = Object.entries(definitions).map(
      ([name, value]) => [JSON.stringify(Array.isArray(value) ? value : bare(value)), name] as const,
    );
    this.#definitions = new Map(texts);
    this.#sharedRules = sharedRulesOf(kinds);
  }

  text(): string {
    return [...this.#written].map(([text, [name, type]]) => `const ${name}: ${type} = ${text};`).join("\n\n");
  }

  /**
   * The text of `schema`, in which each value of a named type or definition is a constant. A type that differs between
   * kinds, because a field is only for some, has a constant for each form; the later one's has its kind before its name.
   * `place`: the type around it, and the field.
   */
  schema(schema: Schema, kind: string, place: string): string {
    const { "x-type": type, "x-only": _, description: __, ...keywords } = schema;
    const { properties, items, additionalProperties, "x-kubernetes-validations": rules } = keywords;
    const at = type ?? place;
    const inner = (part: Schema, field: string): string =>
      this.schema(part, kind, `${at}${capitalized(field)}`);
    const text = objectText({
      ...mapped(keywords, (value) => JSON.stringify(value)),
      ...(rules !== undefined && { "x-kubernetes-validations": this.#rules(rules, kind, at) }),
      ...(properties !== undefined && { properties: objectText(mapped(properties, inner)) }),
      ...(items !== undefined && { items: inner(items, "item") }),
      ...(additionalProperties !== undefined && {
        additionalProperties: inner(additionalProperties, "value"),
      }),
    });
    const name = type ?? this.#definitions.get(JSON.stringify(bare(keywords)));
    return name === undefined ? text : this.#constant(text, [name, "CrdSchema"], kind);
  }

  #rules(rules: readonly object[], kind: string, place: string): string {
    const text = JSON.stringify(rules);
    const name = this.#definitions.get(text) ?? `${place}Rules`;
    return this.#sharedRules.has(text)
      ? this.#constant(text, [name, "readonly ValidationRule[]"], kind)
      : text;
  }

  #constant(text: string, [name, type]: readonly [string, string], kind: string): string {
    const [known] = this.#written.get(text) ?? [];
    if (known !== undefined) return known;
    const isTaken = this.#written.values().some(([taken]) => taken === name);
    const constant = isTaken ? `${kind}${capitalized(name)}` : name;
    this.#written.set(text, [constant, type]);
    return constant;
  }
}

/** The CEL rules that different schemas have. */
function sharedRulesOf(kinds: readonly Kind[]): ReadonlySet<string> {
  const users = new Map<string, Set<string>>();
  for (const { schema } of kinds) {
    edited(bare(schema), (part) => {
      const rules = JSON.stringify(part["x-kubernetes-validations"]);
      users.set(rules, (users.get(rules) ?? new Set()).add(JSON.stringify(part)));
      return part;
    });
  }
  return new Set([...users].filter(([, parts]) => parts.size > 1).map(([rules]) => rules));
}

/** What the operator evaluates of it. */
function bare(schema: Schema): Schema {
  return edited(schema, ({ description: _, "x-type": __, "x-only": ___, ...keywords }) => keywords);
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function mapped<T, U>(
  fields: Readonly<Record<string, T>>,
  map: (value: T, name: string) => U,
): Record<string, U> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, map(value, name)]));
}

function objectText(fields: Readonly<Record<string, string>>): string {
  return `{ ${Object.entries(fields)
    .map(([name, text]) => `${JSON.stringify(name)}: ${text}`)
    .join(", ")} }`;
}

/** As src/policy/validation/schema.ts takes it. Descriptions are for kubectl explain: the bundle is half as large without. */
async function generateSchemas(kinds: readonly Kind[], definitions: Definitions): Promise<string> {
  const constants = new Constants(kinds, definitions);
  const schemas = kinds.map(({ kind, schema }) => [kind, constants.schema(schema, kind, kind)]);
  const names = kinds.map(({ kind }) => JSON.stringify(kind)).join(" | ");
  const source = `// ${NOTE}

import type { CrdSchema, ValidationRule } from "./crd-schema.ts";

${constants.text()}

/** The openAPIV3Schema of each kind that users write, without descriptions. */
export const CRD_SCHEMAS: Readonly<Record<${names}, CrdSchema>> = ${objectText(Object.fromEntries(schemas))};
`;
  return await format(source, { parser: "typescript", printWidth: 110 });
}

const DRAFT = "http://json-schema.org/draft-07/schema#";

/** As editors take it: JSON Schema draft 7, without Kubernetes' keywords. What only CEL says is for `hookpolicy validate`. */
function editorSchema({ kind, schema }: Kind): JSONSchema {
  const { properties, ...root } = forEditors(shipped(schema), true);
  return {
    $schema: DRAFT,
    $comment: NOTE,
    title: kind,
    ...root,
    properties: {
      ...properties,
      apiVersion: { const: `${GROUP}/${VERSION}` },
      kind: { const: kind },
      metadata: { type: "object" },
    },
    required: ["apiVersion", "kind", "metadata", "spec"],
  };
}

const OPEN = "x-kubernetes-preserve-unknown-fields";

/** Of formats, editors know others than Kubernetes and we do. `closed`: fields that are not listed are errors. */
function forEditors(schema: object, closed: boolean): JSONSchema {
  const keywords = Object.entries(schema)
    .filter(([keyword]) => !keyword.startsWith("x-") && keyword !== "format")
    .map(([keyword, value]: [string, unknown]) => [
      keyword,
      keyword === "properties" ? mapFields(value, closed) : mapSchemas(value, closed),
    ]);
  return {
    ...(closed && "properties" in schema && !(OPEN in schema) && { additionalProperties: false }),
    ...Object.fromEntries(keywords),
  };
}

function mapFields(properties: unknown, closed: boolean): object {
  const fields = Object.entries(isObject(properties) ? properties : {});
  return Object.fromEntries(fields.map(([name, field]) => [name, mapSchemas(field, closed)]));
}

function mapSchemas(value: unknown, closed: boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => mapSchemas(item, closed));
  return isObject(value) ? forEditors(value, closed) : value;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

async function writeEditorSchema(name: string, schema: object): Promise<void> {
  const json = await format(JSON.stringify(schema), { parser: "json", printWidth: 110 });
  writeFileSync(join(ROOT, `schemas/${name}.json`), json);
}

const fileName = (kind: string): string => `${kind.toLowerCase()}_${VERSION}`;

/** Of whatever kind a document is: for files that hold several. */
function anyKind(names: readonly string[]): object {
  return {
    $schema: DRAFT,
    $comment: NOTE,
    properties: { kind: { enum: names } },
    allOf: names.map((kind) => ({
      if: { properties: { kind: { const: kind } } },
      // oxlint-disable-next-line unicorn/no-thenable -- JSON Schema's keyword, in data that nobody awaits
      then: { $ref: `${fileName(kind)}.json` },
    })),
  };
}

const { definitions, ...source } = readSource();
const kinds = source.kinds.map((kind) => ({ ...kind, schema: withoutOthers(kind.schema, kind.kind) }));
for (const kind of kinds) {
  writeFileSync(join(ROOT, `crds/${GROUP}_${kind.plural}.yaml`), await generateCrd(kind));
}
const written = kinds.filter(({ writer }) => writer === undefined);
for (const kind of written) await writeEditorSchema(fileName(kind.kind), editorSchema(kind));
const suite = {
  $schema: DRAFT,
  $comment: "Generated from src/cli/suite/suite-schema.ts by crds/generate.ts",
  title: SUITE_KIND,
};
await writeEditorSchema(fileName(SUITE_KIND), { ...suite, ...forEditors(SUITE_SCHEMA, false) });
await writeEditorSchema("all", anyKind([...written.map(({ kind }) => kind), SUITE_KIND]));
writeFileSync(join(ROOT, "src/api/hook-policy.gen.ts"), await generateTypes(kinds));
writeFileSync(join(ROOT, "src/api/schemas.gen.ts"), await generateSchemas(written, definitions));
writeFileSync(join(ROOT, "src/cli/suite/spec.gen.ts"), await generateSuiteTypes());
writeFileSync(join(ROOT, "src/page/output.gen.ts"), await generateOutputTypes());
