/** The validators that ajv makes of the CRDs' schemas, without the status. */

import type { ValidateFunction } from "ajv";
import type { CrdSchema } from "../../api/crdschema.ts";
import { CRD_SCHEMAS } from "../../api/schemas.gen.ts";
import { compiler, sharing } from "./compiler.ts";

export const ajv = compiler({ allErrors: true, verbose: true, allowUnionTypes: true });
const inParts = sharing(ajv);

export const isHookPolicy = validator("isHookPolicy", CRD_SCHEMAS.HookPolicy);
export const isClusterHookPolicy = validator("isClusterHookPolicy", CRD_SCHEMAS.ClusterHookPolicy);
export const isHookOverride = validator("isHookOverride", CRD_SCHEMAS.HookOverride);
export const isHookRollout = validator("isHookRollout", CRD_SCHEMAS.HookRollout);

function validator($id: string, { properties, ...root }: CrdSchema): ValidateFunction {
  const { status: _, ...fields } = properties ?? {};
  return ajv.compile({ $id, ...inParts(strict({ ...root, properties: fields })) });
}

/** Removes Kubernetes' keywords, which ajv does not know, and forbids unknown fields. */
function strict(schema: CrdSchema): object {
  const { properties, items, additionalProperties, default: _, ...rest } = schema;
  const keywords = Object.entries(rest).filter(([keyword]) => !keyword.startsWith("x-kubernetes-"));
  const fields = Object.entries(properties ?? {});
  return {
    ...Object.fromEntries(keywords),
    ...(items !== undefined && { items: strict(items) }),
    ...(additionalProperties !== undefined && { additionalProperties: strict(additionalProperties) }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(fields.map(([key, field]) => [key, strictField(key, field)])),
      additionalProperties: false,
    }),
  };
}

/** The API server itself checks the fields of metadata. */
function strictField(key: string, schema: CrdSchema): object {
  return key === "metadata" ? { ...strict(schema), additionalProperties: true } : strict(schema);
}
