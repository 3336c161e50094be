/** Validators of hook requests: one for all hooks with the same version fields. */

import { Ajv, type ValidateFunction } from "ajv";
import type { Fields } from "../lib/fields.ts";
import {
  type HookCall,
  MAX_VERSION,
  VERSION_FIELDS,
  VERSION_PATTERN,
  type VersionField,
} from "../api/runtime-hooks.ts";

/** A valid request, as it was sent. */
export type RawRequest = Omit<HookCall, "hook"> & {
  readonly cluster: { readonly metadata: RawMetadata };
};

type RawMetadata = Fields & { readonly name: string; readonly namespace: string; readonly uid: string };

const STRINGS = { type: "object", additionalProperties: { type: "string" } } as const;
/** Kubernetes' own limits, because these texts are stored and logged. */
const upTo = (maxLength: number, pattern: string): object => ({
  type: "string",
  minLength: 1,
  maxLength,
  pattern,
});
const NAME = upTo(253, "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$");
const NAMESPACE = upTo(63, "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$");
/** Opaque, but without characters that a log or a terminal could interpret. */
const UID = upTo(128, "^[-._:a-zA-Z0-9]+$");
const VERSION = upTo(MAX_VERSION, VERSION_PATTERN);
/** Cluster API sends "" at BeforeWorkersUpgrade if the workers are gone (exp/topology/desiredstate, ComputeUpgradePlan). */
const FROM = { anyOf: [VERSION, { const: "" }] };

/**
 * Checks only the fields that are read, because this is the hot path, and Cluster API may add fields in any minor version.
 * release/validators.ts replaces this module by the code that ajv generates.
 */
export const ajv = new Ajv({
  strict: true,
  validateSchema: false, // the schemas are this program's own
  inlineRefs: false,
  code: { source: true, esm: true },
});

export const isRequest = validator("isRequest", VERSION_FIELDS.BeforeClusterDelete);
export const isUpgradeRequest = validator("isUpgradeRequest", VERSION_FIELDS.BeforeClusterUpgrade);
export const isUpgradedRequest = validator("isUpgradedRequest", VERSION_FIELDS.AfterClusterUpgrade);

function validator($id: string, versions: readonly VersionField[]): ValidateFunction<RawRequest> {
  return ajv.compile<RawRequest>({
    $id,
    type: "object",
    required: ["cluster", ...versions],
    properties: {
      settings: STRINGS,
      ...Object.fromEntries(
        versions.map((field) => [field, field === "fromKubernetesVersion" ? FROM : VERSION]),
      ),
      cluster: {
        type: "object",
        required: ["metadata"],
        properties: {
          metadata: {
            type: "object",
            required: ["name", "namespace", "uid"],
            properties: {
              name: NAME,
              namespace: NAMESPACE,
              uid: UID,
              resourceVersion: { type: "string", maxLength: 32, pattern: "^[-._a-zA-Z0-9]*$" },
              labels: STRINGS,
              annotations: STRINGS,
            },
          },
        },
      },
    },
  });
}
