/** What policies, Clusters and rollouts take in memory. */

import { type Amount, amountOf, sizeOf } from "../api/amount.ts";
import type { HookRollout } from "../api/hook-policy.ts";
import type { Cluster } from "../api/meta.ts";
import { packedVariables } from "../policy/cluster.ts";
import { expressionBytes } from "../policy/compiled-size.ts";
import type { PolicyObject } from "./policy-set.ts";

/** Measured: what is made of a spec when it is compiled, beside its expressions. */
const [COMPILED_BYTES, COMPILED_SHARE] = [2048, 1.5];

/** Without the status, whose rows count with the Clusters: a status that becomes shorter must not free a share. */
export function amountOfPolicy({ kind, spec, metadata }: PolicyObject): Amount {
  return { ...withCompiled(spec, { metadata }), policies: kind === "HookPolicy" ? 1 : 0 };
}

export function amountOfRollout({ spec, ...rollout }: HookRollout): Amount {
  return withCompiled(spec, rollout);
}

function withCompiled(spec: unknown, rest: object): Amount {
  const { bytes, ...nothing } = amountOf({ ...rest, spec });
  return {
    ...nothing,
    bytes: bytes + COMPILED_BYTES + COMPILED_SHARE * sizeOf(spec) + expressionBytes(spec),
  };
}

/** Packed variables must not be unpacked to be counted. */
export function amountOfCluster({ topology, ...cluster }: Cluster): Amount {
  const { className = "", version = "" } = topology ?? {};
  const packed = topology && (packedVariables(topology) ?? topology.variables);
  return { ...amountOf([cluster, className, version, packed]), clusters: 1 };
}
