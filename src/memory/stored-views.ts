/**
 * Stored objects as the controller keeps them: without labels, annotations, managedFields and other fields that it does not
 * use. Objects that are too large for their namespace's share of memory leave a stub.
 */

import {
  type ClusterHookPolicy,
  GROUP,
  type HookOverride,
  type HookPolicy,
  type HookRollout,
  type RuleSpec,
  VERSION,
} from "../api/hook-policy.ts";
import { isFields, listOf } from "../lib/fields.ts";
import { viewIdentity } from "../views/cluster.ts";
import { identityOf } from "../views/too-large.ts";
import type { PolicyKind } from "../policy/policy-ref.ts";
import type { PolicyObject } from "./policy-set.ts";

/** As read, unchecked. */
export interface StoredObject {
  readonly metadata?: unknown;
  readonly spec?: unknown;
  readonly status?: unknown;
}

export function viewPolicy(kind: PolicyKind, raw: StoredObject): PolicyObject {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- compilePolicy checks the spec
  return view(kind, raw) as HookPolicy | ClusterHookPolicy;
}

export function viewRollout(raw: StoredObject): HookRollout {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- compileRollout checks the spec
  return view("HookRollout", raw) as HookRollout;
}

export function viewOverride(raw: StoredObject): HookOverride {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- compileOverride checks the spec
  return view("HookOverride", raw) as HookOverride;
}

function view(kind: string, { metadata, spec, status }: StoredObject): object {
  return { apiVersion: `${GROUP}/${VERSION}`, kind, metadata: viewIdentity(metadata), spec, status };
}

/**
 * Keeps what the policy says of itself: that it only audits, that it denies at admission, and its conditions. Of its rows
 * one is kept, so that a status that still shows rows is seen to differ.
 */
export function stubPolicy(policy: PolicyObject): PolicyObject {
  const { metadata, spec, status } = policy;
  const denies = listOf(isFields(spec) ? spec.rules : undefined).some(
    (rule) => isFields(rule) && !["Warn", "None", undefined, null].some((mild) => mild === rule["admission"]),
  );
  const { decisions, recent, ...rest } = status ?? {};
  const stub = {
    ...policy,
    tooLarge: true as const,
    metadata: identityOf(metadata),
    spec: {
      ...(isFields(spec) && spec.mode === "Audit" && { mode: spec.mode }),
      rules: denies ? [DENYING] : [],
    },
    ...(status !== undefined && {
      status: {
        ...rest,
        ...(decisions !== undefined && { decisions: decisions.slice(0, 1) }),
        ...(recent !== undefined && { recent: recent.slice(0, 1) }),
      },
    }),
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- compilePolicy knows stubs
  return stub as unknown as PolicyObject;
}

const DENYING: RuleSpec = { name: "", hooks: [], admission: "Deny" };

export function stubOverride(override: HookOverride): HookOverride {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- compileOverride knows stubs
  return { ...override, tooLarge: true, metadata: identityOf(override.metadata), spec: {} } as HookOverride;
}

/** The status is the rollout's memory of what runs. */
export function stubRollout(rollout: HookRollout): HookRollout {
  const { metadata, spec } = rollout;
  const operation = isFields(spec) ? spec.operation : undefined;
  const kept = { ...(operation !== undefined && { operation }) };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- compileRollout knows stubs
  return { ...rollout, tooLarge: true, metadata: identityOf(metadata), spec: kept } as unknown as HookRollout;
}
