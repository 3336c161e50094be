/** An operation that Cluster API waits for, or is going to wait for: what is remembered of it, and how it begins. */

import type { Cluster } from "../api/meta.ts";
import type { HookCall, HookName } from "../api/runtimehooks.ts";
import { readTimestamp } from "../policy/instant.ts";
import { targetVersion } from "../policy/targetversion.ts";
import type { Asked } from "../policy/world.ts";
import { shownCall } from "./call.ts";
import { isPending, markOf } from "./marks.ts";
import { isAsked, type Served } from "./shows.ts";
import { stepOf } from "./step.ts";

export interface Ask extends Asked {
  readonly clusterUID: string;
  readonly namespace: string;
  readonly cluster: string;
  readonly call: HookCall;
  /** The step of an upgrade that the Cluster shows; every step calls the same hook. */
  readonly step: string;
  /** Cluster API's own mark of the hook was there: when it disappears, the hook has released the Cluster. */
  readonly marked: boolean;
}

export function askKey(clusterUID: string, hook: HookName): string {
  return `${clusterUID}/${hook}`;
}

/** Another target is another operation, and its clocks start again. */
export function newAsk(call: HookCall, cluster: Cluster, now: Date, before: Ask | undefined): Ask {
  const { uid, name, namespace, deletionTimestamp } = cluster.metadata;
  const same = before !== undefined && targetVersion(before.call) === targetVersion(call);
  const begun = call.hook === "BeforeClusterDelete" ? readTimestamp(deletionTimestamp) : undefined;
  return {
    clusterUID: uid,
    namespace: namespace ?? "",
    cluster: name,
    call,
    firstAsked: begun ?? (same ? before.firstAsked : now),
    ...(same && before.saidBy !== undefined && { saidBy: before.saidBy }),
    rules: same ? before.rules : new Map(),
    step: stepOf(call.hook, cluster),
    marked: (same && before.marked) || isPending(cluster, markOf(call.hook)),
  };
}

/** A call that is not about the remembered operation is decided like a first call. */
export function answering(ask: Ask | undefined, call: HookCall, now: Date): Asked {
  return ask !== undefined && isAbout(ask, call) ? ask : { firstAsked: now, rules: new Map() };
}

/** The version in a call is the caller's word: a wrong one only makes the caller miss what is remembered. */
function isAbout(ask: Ask, call: HookCall): boolean {
  const version = targetVersion(ask.call);
  return version === undefined || version === targetVersion(call);
}

export interface ShownContext {
  readonly now: Date;
  readonly served: Served;
}

/**
 * The operation for which Cluster API waits for this hook, or is going to, as the Cluster itself shows it: every replica
 * sees that by itself, also after a restart. Calls do not change it.
 */
export function shownAsk(hook: HookName, cluster: Cluster, { now, served }: ShownContext): Ask | undefined {
  return isAsked(hook, cluster, served)
    ? newAsk(shownCall(hook, cluster), cluster, now, undefined)
    : undefined;
}

/** Cluster API is going to call about a Cluster that is being deleted, if it has not called yet. */
export function deletionAsk(cluster: Cluster, served: Served): Ask | undefined {
  const begun = readTimestamp(cluster.metadata.deletionTimestamp);
  return begun && shownAsk("BeforeClusterDelete", cluster, { now: begun, served });
}
