/** The validators that ajv makes of the CRDs' schemas, without the status. */

import type { ValidateFunction } from "ajv";
import type { CrdSchema } from "../../api/crd-schema.ts";
import { CRD_SCHEMAS } from "../../api/crd-schemas.ts";
import { compiler, type Schema, sharing, withParts } from "./ajv.ts";

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

/** Removes Kubernetes' keywords, which ajv does not know, and forbids unknown fields where the API server drops them. */
function strict(schema: Schema): object {
  const keywords = Object.entries(schema).filter(
    ([keyword]) => keyword !== "default" && !keyword.startsWith("x-kubernetes-"),
  );
  return {
    ...withParts(Object.fromEntries(keywords), strictPart),
    ...(schema.properties !== undefined && {
      additionalProperties: schema["x-kubernetes-preserve-unknown-fields"] === true,
    }),
  };
}

/** The API server itself checks the fields of metadata. */
function strictPart(schema: Schema, name?: string): object {
  return name === "metadata" ? { ...strict(schema), additionalProperties: true } : strict(schema);
}
