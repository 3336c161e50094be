/** Follows policies and rollouts, and passes what their statuses say to a feed. */

import { namespacedName } from "../../lib/keys.ts";
import type { HookRollout } from "../../api/hook-policy.ts";
import { viewRollout } from "../../memory/stored-views.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { isForbidden, isNotFound, KubeError } from "../../kube/kube-error.ts";
import type { KubeObject, ObjectKey } from "../../kube/resource.ts";
import { ROLLOUTS } from "../../kube/resources.ts";
import { policyName } from "../../policy/policy-ref.ts";
import type { HeldRow, LaneCluster, RolloutRow } from "../../page/wire.ts";
import { follow } from "../fleet/follow.ts";
import type { RawObject } from "../fleet/kinds.ts";
import { typed } from "../fleet/live-objects.ts";
import { followHeld, type HeldView, holdersOf, unreadNotes } from "../get/follow-held.ts";
import { type HeldOperation, heldBy, heldKey } from "../get/held.ts";
import { commandFor, type CommandWords, heldNotes, heldObject, tornDownNotes } from "../get/report.ts";
import { rolloutState } from "../rollout/status-report.ts";
import { awaitedText, stageState } from "../rollout/stage-text.ts";
import { PLAIN } from "../terminal/colour.ts";
import type { LiveFeed } from "./live-feed.ts";

interface FollowOptions {
  /** The state at the start. */
  readonly view: HeldView;
  readonly words: CommandWords;
  /** Called when the API server cannot be read, which is then retried. */
  readonly onLost: (message: string) => void;
  readonly signal: AbortSignal;
}

/** Statuses that change together are reported together. */
const GATHER_MS = 300;
/** Notes depend on the time. */
const AGAIN_MS = 30_000;

/** Runs until `signal` fires. */
export async function followFleet(
  client: KubeClient,
  feed: LiveFeed,
  { view, words, onLost, signal }: FollowOptions,
): Promise<void> {
  let { policies, rollouts } = view;
  const notes = unreadNotes(view);
  const tell = (): void => {
    const fleet = heldBy(holdersOf({ policies, rollouts }));
    const rows = fleet.held.map((held) => heldRow(held, words));
    feed.setHeld(rows, [...tornDownNotes(fleet), ...notes, ...heldNotes(fleet, new Date())]);
  };
  tell();
  let waiting: NodeJS.Timeout | undefined;
  const again = setInterval(tell, AGAIN_MS);
  const tellSoon = (): void => {
    waiting ??= setTimeout(() => {
      waiting = undefined;
      tell();
    }, GATHER_MS);
  };
  const onHolders = (found: readonly RawObject[]): void => {
    policies = found;
    tellSoon();
  };
  const onRollouts = (found: readonly RawObject[]): void => {
    rollouts = found;
    tellSoon();
  };
  const scope = { cluster: view.unread === undefined, rollouts: false };
  try {
    await Promise.all([
      followHeld(client, scope, { onHolders, onLost }, signal),
      followRollouts(client, feed, { onRollouts, onLost, signal }),
    ]);
  } finally {
    clearInterval(again);
    clearTimeout(waiting);
  }
}

function heldRow(held: HeldOperation, words: CommandWords): HeldRow {
  const { policy: _, clusterUID: _uid, approvable: _approvable, since: _since, ...rest } = heldObject(held);
  const command = commandFor(held, words);
  return {
    key: heldKey(held),
    ...rest,
    policy: policyName(held.policy),
    ...(command !== undefined && { command }),
  };
}

/** Ends without an error if the API server does not serve HookRollouts, or the user may not read them. */
async function followRollouts(
  client: KubeClient,
  feed: LiveFeed,
  {
    onRollouts,
    onLost,
    signal,
  }: Pick<FollowOptions, "onLost" | "signal"> & {
    readonly onRollouts: (rollouts: readonly RawObject[]) => void;
  },
): Promise<void> {
  try {
    const onObjects = (objects: readonly KubeObject[]): void => {
      feed.setRollouts({ rollouts: objects.map((each) => rolloutRow(viewRollout(each), new Date())) });
      onRollouts(objects.map((each) => typed(ROLLOUTS, each)));
    };
    await follow(client, { resource: ROLLOUTS }, { onObjects, onLost }, signal);
  } catch (error) {
    if (!(error instanceof KubeError) || !(isForbidden(error) || isNotFound(error))) throw error;
    feed.setRollouts({ rollouts: [], unread: error.message });
  }
}

function rolloutRow(rollout: HookRollout, now: Date): RolloutRow {
  const { metadata, spec, status } = rollout;
  const state = rolloutState(rollout, PLAIN);
  return {
    name: metadata.name,
    operation: spec.operation,
    audit: spec.mode === "Audit",
    state,
    isFine: state === "in force",
    maxConcurrency: String(spec.maxConcurrency ?? 1),
    targets: (status?.targets ?? []).map(({ version = "", stages }) => ({
      version,
      stages: stages.map((each, index) => {
        const { passed: _, soakingSince: _since, waitsFor = [], ...stage } = each;
        const soak = spec.stages?.[index]?.minSuccessTime;
        return {
          ...stage,
          state: stageState(stages, index, { soak, now }),
          waitsFor: waitsFor.map(awaitedText),
        };
      }),
    })),
    running: (status?.running ?? []).map((each) => laneCluster({ ...each, since: each.claimedAt })),
    failed: (status?.failed ?? []).map((each) => laneCluster({ ...each, since: each.time })),
    next: (status?.next ?? []).map((each) => laneCluster(each)),
  };
}

type ListedCluster = ObjectKey & Pick<LaneCluster, "since" | "reason"> & Partial<LaneCluster>;

function laneCluster({
  namespace,
  name,
  stage = "",
  target = "",
  since,
  reason,
}: ListedCluster): LaneCluster {
  const cluster = namespacedName({ namespace, name });
  return { cluster, stage, target, since, ...(reason !== undefined && { reason }) };
}
