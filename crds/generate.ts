/** Generates src/api/*.gen.ts from the CRDs (npm run generate). Running it twice changes nothing. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compile, type JSONSchema } from "json-schema-to-typescript";
import { parse } from "yaml";

const ROOT = join(import.meta.dirname, "..");
const KINDS = { HookPolicy: "hookpolicies", ClusterHookPolicy: "clusterhookpolicies" } as const;
const BANNER = "// Generated from crds/ by crds/generate.ts (npm run generate): change the CRDs instead.\n";

/** Names for types inside of a kind, by the path of their schema. */
const TYPE_NAMES: Readonly<Record<string, string>> = {
  ".spec.rules[]": "RuleSpec",
  ".spec.rules[].until[]": "GateSpec",
  ".spec.rules[].until[].annotation": "AnnotationGateSpec",
  ".spec.rules[].until[].label": "LabelGateSpec",
  ".status.decisions[]": "DecisionRow",
  ".status.recent[]": "RecentResult",
};

/** Types that are written by hand, because they are not ours alone. */
const IMPORTED: Readonly<Record<string, string>> = {
  ".spec.clusterSelector": "LabelSelector",
  ".spec.namespaceSelector": "LabelSelector",
  ".spec.rules[].hooks[]": "HookName",
  ".status.conditions[]": "Condition",
  ".status.decisions[].hook": "HookName",
  ".status.recent[].hook": "HookName",
};
const IMPORTS = `
import type { Condition, LabelSelector } from "./meta.ts";
import type { HookName } from "./runtimehooks.ts";
`;

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
}

function readSchema(plural: string): Schema {
  const crd = parse(readFileSync(join(ROOT, `crds/hookpolicy.dev_${plural}.yaml`), "utf8"));
  return crd.spec.versions[0].schema.openAPIV3Schema;
}

/**
 * The schema below `path` for json-schema-to-typescript. Named types become definitions, referred to by
 * name: a $ref beside a description would make it copy the type.
 */
function typed(schema: Schema, path: string, definitions: Record<string, JSONSchema>): JSONSchema {
  const imported = IMPORTED[path];
  if (imported !== undefined) return { ...describe(schema), tsType: imported };
  const name = TYPE_NAMES[path];
  if (name === undefined) return typedBody(schema, path, definitions);
  definitions[name] ??= typedBody(schema, path, definitions);
  return { ...describe(schema), tsType: name };
}

function describe({ description }: Schema): JSONSchema {
  return description === undefined ? {} : { description };
}

function typedBody(schema: Schema, path: string, definitions: Record<string, JSONSchema>): JSONSchema {
  const { properties, items, additionalProperties, ...rest } = schema;
  const fields = Object.entries(properties ?? {});
  return {
    ...(rest as JSONSchema),
    ...(properties !== undefined && {
      properties: Object.fromEntries(fields.map(([k, v]) => [k, typed(v, `${path}.${k}`, definitions)])),
      additionalProperties: false,
    }),
    ...(items !== undefined && { items: typed(items, `${path}[]`, definitions) }),
    ...(additionalProperties !== undefined && {
      additionalProperties: typed(additionalProperties, `${path}{}`, definitions),
    }),
  };
}

async function generateTypes(schemas: Readonly<Record<keyof typeof KINDS, Schema>>): Promise<string> {
  const definitions: Record<string, JSONSchema> = {};
  for (const kind of ["HookPolicy", "ClusterHookPolicy"] as const) {
    const { spec = {}, status = {} } = schemas[kind].properties ?? {};
    definitions[`${kind}Spec`] = typed(spec, ".spec", definitions);
    definitions["HookPolicyStatus"] ??= typed(status, ".status", definitions);
  }
  const root: JSONSchema = { title: "Unused", type: "object", additionalProperties: false, definitions };
  const source = await compile(root, "Unused", {
    bannerComment: BANNER + IMPORTS,
    additionalProperties: false,
    ignoreMinAndMaxItems: true,
    unreachableDefinitions: true,
    style: { printWidth: 110 },
  });
  return tidy(source);
}

/** Drops the empty root type, and the notes that each definition carries about where it was defined. */
function tidy(source: string): string {
  return source
    .replace("export interface Unused {}\n", "")
    .replaceAll(
      /^( *)\/\*\*\n(?: \*\n)? *\* This interface was referenced by `Unused`'s JSON-Schema\n *\* via the `definition` "[^"]*"\.\n *\*\/\n/gm,
      "",
    )
    .replaceAll(
      / \*\n \* This interface was referenced by `Unused`'s JSON-Schema\n \* via the `definition` "[^"]*"\.\n/g,
      "",
    );
}

/** Descriptions are for kubectl explain: the validation needs none, and the bundle is half as large without. */
function withoutDescriptions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDescriptions);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).filter(([key, v]) => key !== "description" || typeof v !== "string");
  return Object.fromEntries(fields.map(([key, v]) => [key, withoutDescriptions(v)]));
}

function generateSchemas(schemas: Readonly<Record<keyof typeof KINDS, Schema>>): string {
  const type = 'Readonly<Record<"HookPolicy" | "ClusterHookPolicy", CrdSchema>>';
  return `${BANNER}
import type { CrdSchema } from "./crdschema.ts";

/** The openAPIV3Schema of each kind, without descriptions. */
export const CRD_SCHEMAS: ${type} = ${JSON.stringify(withoutDescriptions(schemas), undefined, 2)};
`;
}

const schemas = {
  HookPolicy: readSchema(KINDS.HookPolicy),
  ClusterHookPolicy: readSchema(KINDS.ClusterHookPolicy),
};
writeFileSync(join(ROOT, "src/api/hookpolicy.gen.ts"), await generateTypes(schemas));
writeFileSync(join(ROOT, "src/api/schemas.gen.ts"), generateSchemas(schemas));
