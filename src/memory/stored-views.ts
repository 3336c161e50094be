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
  VERSION,
} from "../api/hook-policy.ts";
import { viewIdentity } from "../policy/cluster.ts";
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
