/** The operations of a Cluster that only rollouts hold, of which no policy's status has a row. */

import type { HookRolloutStatus } from "../../api/hook-policy.ts";
import type { ServedHooks } from "../../api/hook-catalog.ts";
import type { Cluster, ObjectMeta } from "../../api/meta.ts";
import type { HookName } from "../../api/runtime-hooks.ts";
import { compareText } from "../../lib/compare-text.ts";
import { expectedCall } from "../../operations/call.ts";
import { newOperation, type PendingOperation } from "../../operations/operation.ts";
import { isAwaited } from "../../operations/hook-lives.ts";
import { readTimestamp } from "../../lib/instant.ts";
import { BEGINS } from "../../operations/beginnings.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";

interface RolloutContext {
  readonly rollouts: readonly { readonly compiled: CompiledRollout; readonly status: HookRolloutStatus }[];
  readonly served: ServedHooks;
  readonly now: Date;
}

/** Those that the Cluster shows to be wanted. */
export function rolloutOperations(
  cluster: Cluster,
  { rollouts, served, now }: RolloutContext,
): readonly PendingOperation[] {
  const hooks = new Set(rollouts.map(({ compiled }) => BEGINS[compiled.operation]));
  return [...hooks]
    .filter((hook) => isAwaited(hook, cluster, served))
    .map((hook) => {
      const operation = newOperation(expectedCall(hook, cluster), cluster, now, undefined);
      const [since] = rollouts
        .flatMap(({ status }) => sinceIn(status, cluster.metadata) ?? [])
        .toSorted(compareText);
      return { ...operation, firstAsked: readTimestamp(since) ?? shownSince(hook, cluster) ?? now };
    });
}

/** The queue names Clusters without their uid. */
function sinceIn({ held = [], next = [] }: HookRolloutStatus, metadata: ObjectMeta): string | undefined {
  const row = held.find(({ uid }) => uid === metadata.uid);
  const place = next.find(
    ({ namespace, name }) => namespace === metadata.namespace && name === metadata.name,
  );
  return (row ?? place)?.since;
}

/** For a Cluster for which the statuses have no room. */
function shownSince(hook: HookName, { metadata, status }: Cluster): Date | undefined {
  if (hook === BEGINS.Create) return readTimestamp(metadata.creationTimestamp);
  if (hook === BEGINS.Delete) return readTimestamp(metadata.deletionTimestamp);
  return readTimestamp(
    status?.conditions.find(({ type }) => type === "TopologyReconciled")?.lastTransitionTime,
  );
}
