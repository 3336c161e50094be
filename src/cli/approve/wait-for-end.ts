/** Waits after an approval for the Cluster to proceed. */

import type { ServedHooks } from "../../api/hook-catalog.ts";
import type { Cluster } from "../../api/meta.ts";
import type { HookName } from "../../api/runtime-hooks.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { hasEnded } from "../../operations/operation.ts";
import { viewCluster } from "../../views/cluster.ts";
import { targetVersion } from "../../api/target-version.ts";
import type { ApprovalPlan, OperationPlan } from "./approval.ts";
import { failedCall, unconfirmed } from "../fleet/caveats.ts";
import { tellLost } from "../fleet/connection.ts";
import { followUntil } from "../fleet/follow.ts";
import type { RawObject } from "../fleet/kinds.ts";
import type { LiveCluster } from "../fleet/live-cluster.ts";
import { clusterResource } from "../fleet/live-objects.ts";
import { stderr } from "../terminal/output.ts";

type Ending = "WentOn" | "NotWanted" | "Gone";

const ENDINGS: Readonly<Record<Ending, string>> = {
  WentOn: "the Cluster proceeds",
  NotWanted: "it is not wanted any more",
  Gone: "the Cluster is gone",
};

export interface OperationEnd {
  readonly hook: HookName;
  readonly how: Ending;
}

interface WaitOptions {
  readonly timeoutMs: number;
  readonly say: (line: string) => void;
}

/** Waits only for the operations that can proceed in time. `problem`: why not all of them proceed. */
export async function waitForEnd(
  plan: ApprovalPlan,
  live: LiveCluster,
  { timeoutMs, say }: WaitOptions,
): Promise<{ readonly ended: readonly OperationEnd[]; readonly problem?: string }> {
  for (const { call } of plan.operations.filter(({ pending }) => pending === undefined)) {
    say(`${call.hook}: approved, before Cluster API asks for it`);
  }
  const asked = plan.operations.filter(({ pending }) => pending !== undefined);
  const soon = asked.filter((operation) => endsWithin(operation, timeoutMs));
  const { ended, why } =
    soon.length === 0 ? { ended: [] } : await watchEnds(plan, soon, live, { timeoutMs, say });
  const held = asked.filter(({ call }) => !ended.some(({ hook }) => hook === call.hook));
  if (held.length > 0) {
    const names = held.map(({ call }) => call.hook).join(", ");
    const waited = held.some((operation) => soon.includes(operation)) ? ` after ${timeoutMs / 1000} s` : "";
    const because = why === undefined ? "" : `: ${why}`;
    return { ended, problem: `approved, but the Cluster is still held at ${names}${waited}${because}` };
  }
  const other = ended.find(({ how }) => how !== "WentOn");
  return other === undefined ? { ended } : { ended, problem: `${other.hook} has ended otherwise` };
}

/** True as well if the end is unknown, for example because only the operator may read the objects of a gate. */
function endsWithin({ releasedAt, obstacles }: OperationPlan, timeoutMs: number): boolean {
  if (releasedAt !== undefined) return releasedAt.getTime() <= Date.now() + timeoutMs;
  return obstacles.every(({ unknown }) => unknown);
}

async function watchEnds(
  { cluster, served }: ApprovalPlan,
  operations: readonly OperationPlan[],
  { client }: LiveCluster,
  { timeoutMs, say }: WaitOptions,
): Promise<{ readonly ended: readonly OperationEnd[]; readonly why?: string | undefined }> {
  const seconds = Math.max(...operations.map(({ retryAfterSeconds }) => retryAfterSeconds));
  stderr.line(`waiting for Cluster API, which asks again within ${seconds} s`);
  const left = new Set(operations);
  const ended: OperationEnd[] = [];
  let why: string | undefined;
  const haveAllEnded = (object: KubeObject | undefined): boolean => {
    why = object && whyStillHeld({ ...object });
    const seen = object && viewCluster(object);
    for (const operation of left) {
      const how = endingOf(operation, seen, served);
      if (how === undefined) continue;
      left.delete(operation);
      const { hook } = operation.call;
      ended.push({ hook, how });
      say(`${hook}: ${ENDINGS[how]}`);
    }
    return left.size === 0;
  };
  const { namespace = "", name } = cluster.metadata;
  const scope = { resource: await clusterResource(client), namespace, name };
  await followUntil(client, scope, haveAllEnded, { timeoutMs, onLost: tellLost });
  return { ended, why };
}

function whyStillHeld(cluster: RawObject): string | undefined {
  const failed = failedCall(cluster);
  return failed === undefined ? unconfirmed(cluster) : `Cluster API's last call failed: ${failed}`;
}

/** How the operation ended, as the Cluster shows; `undefined` for the Cluster: it is deleted. */
export function endingOf(
  { call, pending }: OperationPlan,
  cluster: Cluster | undefined,
  served: ServedHooks,
): Ending | undefined {
  if (pending === undefined) return undefined;
  if (cluster === undefined || cluster.metadata.uid !== pending.clusterUID) {
    return call.hook === "BeforeClusterDelete" ? "WentOn" : "Gone";
  }
  if (!hasEnded(pending, cluster, served)) return undefined;
  if (cluster.metadata.deletionTimestamp !== undefined && call.hook !== "BeforeClusterDelete")
    return "NotWanted";
  const wanted = call.hook !== "BeforeClusterUpgrade" || cluster.topology?.version === targetVersion(call);
  return wanted ? "WentOn" : "NotWanted";
}
