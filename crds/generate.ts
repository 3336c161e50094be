/**
 * Generates the CRDs, schemas/*.json and src/api/*.gen.* from crds/source/crds.yaml, the schema and types of suites from
 * src/cli/suite/suite-schema.ts, and the types of the JSON that the page shows and of the audit log from their schemas (npm run generate).
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
/** The schemas of output that have types, by the name of the type. */
const OUTPUTS = {
  "src/report/audit.gen.ts": { AuditLine: "audit" },
};
const SUITE_NOTE =
  "Generated from src/cli/suite/suite-schema.ts by crds/generate.ts (npm run generate): change that instead.";

/** The limits that the operator keeps to, by the name of the constant. */
const LIMITS = {
  MAX_TASKS: "HookPolicy.spec.rules[].tasks",
  MAX_DECISIONS: "HookPolicy.status.decisions",
  MAX_ROW_MESSAGE: "HookPolicy.status.decisions[].message",
  MAX_TIMERS: "HookPolicy.status.decisions[].timers",
  MAX_RECENT: "HookPolicy.status.recent",
  MAX_CONDITION_MESSAGE: "HookPolicy.status.conditions[].message",
  MAX_USED: "HookOverride.status.used",
  MAX_USED_POLICIES: "HookOverride.status.used[].policies",
  MAX_RUNNING: "HookRollout.status.running",
  MAX_TARGETS: "HookRollout.status.targets",
  MAX_AWAITED: "HookRollout.status.targets[].stages[].waitsFor",
  MAX_FAILED: "HookRollout.status.failed",
  MAX_NEXT: "HookRollout.status.next",
  MAX_HELD: "HookRollout.status.held",
  MAX_ATTEMPTS: "HookTask.status.attempts",
  MAX_TASK_TARGETS: "HookTask.status.attempts[].targets",
  MAX_TASK_MESSAGE: "HookTask.status.message",
  MAX_TASK_OBJECT: "HookTask.status.object",
  MAX_RETRY: "HookTask.status.retriedFor",
};

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
  readonly maxItems?: number;
  readonly maxLength?: number;
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

function readKinds(): Kind[] {
  const source = readFileSync(join(ROOT, "crds/source/crds.yaml"), "utf8");
  const { kinds }: { readonly kinds: readonly Kind[] } = parse(source, { merge: true, maxAliasCount: -1 });
  return kinds.map((kind) => {
    const schema = edited(kind.schema, withExactlyOne);
    return { ...kind, schema: withoutOthers(schema, kind.kind) };
  });
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

function generateLimits(kinds: readonly Kind[]): string {
  const root: Schema = { properties: Object.fromEntries(kinds.map(({ kind, schema }) => [kind, schema])) };
  const lines = Object.entries(LIMITS).map(([name, path]) => {
    let field: Schema | undefined = root;
    for (const part of path.split(/\.|(?=\[\])/))
      field = part === "[]" ? field?.items : field?.properties?.[part];
    const limit = field?.maxItems ?? field?.maxLength;
    if (limit === undefined) throw new Error(`${path} has no limit`);
    return `export const ${name} = ${limit};\n`;
  });
  return `\n${lines.join("")}`;
}

async function generateSuiteTypes(): Promise<string> {
  const definitions: Types = {};
  typed(SUITE_SCHEMA, definitions);
  return await printTypes(definitions, `// ${SUITE_NOTE}\n${SUITE_IMPORTS}`);
}

/** For the program that writes the JSON and the page that shows it. Which fields are there together, no type says. */
async function generateOutputTypes(outputs: Readonly<Record<string, string>>): Promise<string> {
  const schemas = Object.entries(outputs).map(([name, output]): [string, JSONSchema] => {
    const path = join(ROOT, `schemas/output/${output}.json`);
    const { title: _, oneOf: __, ...schema } = JSON.parse(readFileSync(path, "utf8"));
    return [name, schema];
  });
  return await printTypes(Object.fromEntries(schemas), `// ${OUTPUT_NOTE}`);
}

/** What the operator evaluates of it. */
function bare(schema: Schema): Schema {
  return edited(schema, ({ description: _, "x-type": __, "x-only": ___, ...keywords }) => keywords);
}

function mapped<T, U>(
  fields: Readonly<Record<string, T>>,
  map: (value: T, name: string) => U,
): Record<string, U> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, map(value, name)]));
}

/**
 * As src/api/crd-schemas.ts takes them, without descriptions, which are for kubectl explain: what stands in several places is
 * among the parts, and `{ "$part": 3 }` stands for it.
 */
function generateSchemas(kinds: readonly Kind[]): string {
  const schemas = kinds.map(({ kind, schema }) => [kind, bare(schema)] as const);
  const counts = new Map<string, number>();
  const count = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const text = JSON.stringify(value);
    counts.set(text, (counts.get(text) ?? 0) + 1);
    if (counts.get(text) === 1) Object.values(value).forEach(count);
  };
  for (const [, schema] of schemas) count(schema);
  const parts: string[] = [];
  const numbers = new Map<string, number>();
  const shared = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    const text = JSON.stringify(value);
    const known = numbers.get(text);
    if (known !== undefined) return { $part: known };
    const inner = Array.isArray(value) ? value.map(shared) : mapped({ ...value }, shared);
    if (counts.get(text) === 1 || text.length < SHORT) return inner;
    numbers.set(text, parts.length);
    return { $part: parts.push(JSON.stringify(inner)) - 1 };
  };
  const whole = schemas.map(([kind, schema]) => `${JSON.stringify(kind)}: ${JSON.stringify(shared(schema))}`);
  return `{"parts": [\n${parts.join(",\n")}\n], "kinds": {\n${whole.join(",\n")}\n}}\n`;
}

/** Characters of what is not worth a part. */
const SHORT = 60;

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

const kinds = readKinds();
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
writeFileSync(join(ROOT, "src/api/hook-policy.gen.ts"), (await generateTypes(kinds)) + generateLimits(kinds));
writeFileSync(join(ROOT, "src/api/schemas.gen.json"), generateSchemas(written));
writeFileSync(join(ROOT, "src/cli/suite/spec.gen.ts"), await generateSuiteTypes());
for (const [path, outputs] of Object.entries(OUTPUTS)) {
  writeFileSync(join(ROOT, path), await generateOutputTypes(outputs));
}
