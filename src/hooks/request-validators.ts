/** Validators of hook requests: one for all hooks with the same version fields. */

import type { ValidateFunction } from "ajv";
import type { ObjectMeta } from "../api/meta.ts";
import type { Fields } from "../lib/fields.ts";
import { type HookCall, VERSION_FIELDS, type VersionField } from "../api/runtime-hooks.ts";
import { MAX_VERSION, VERSION_PATTERN } from "../policy/target-version.ts";
import { compiler } from "../policy/validation/compiler.ts";

export type RawRequest = Omit<HookCall, "hook"> & {
  readonly cluster: { readonly metadata: Pick<ObjectMeta, "name" | "namespace" | "uid"> & Fields };
};

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

/** Checks only the fields that are read: this is the hot path, and Cluster API may add fields in any minor version. */
export const ajv = compiler({ allErrors: false });

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
      ...Object.fromEntries(versions.map((field) => [field, VERSION])),
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
