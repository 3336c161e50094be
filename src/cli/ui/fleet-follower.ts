/** Follows policies and rollouts, and passes what their statuses say to a feed. */

import { namespacedName } from "../../lib/keys.ts";
import type { HookRollout } from "../../api/hook-policy.ts";
import { viewRollout } from "../../memory/stored-views.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { isForbidden, isNotFound, KubeError } from "../../kube/kube-error.ts";
import type { KubeObject, ObjectKey } from "../../kube/resource.ts";
import { POLICY_RESOURCES, ROLLOUTS } from "../../kube/resources.ts";
import { policyName } from "../../policy/policy-ref.ts";
import type { HeldRow, LaneCluster, RolloutRow } from "../../page/wire.ts";
import { follow } from "../fleet/follow.ts";
import { ownKind, policyKind, type RawObject } from "../fleet/kinds.ts";
import { typed } from "../fleet/live-objects.ts";
import { followHolders, type Holders, unreadNotes } from "../get/holders.ts";
import { type HeldOperation, heldBy, heldKey } from "../get/held.ts";
import { commandFor, type CommandWords, heldNotes, heldObject, tornDownNotes } from "../get/report.ts";
import { rolloutState } from "../rollout/status-report.ts";
import { awaitedText, stageState } from "../rollout/stage-text.ts";
import { PLAIN } from "../terminal/colour.ts";
import type { LiveFeed } from "./live-feed.ts";

interface FollowOptions {
  readonly holders: Holders;
  readonly words: CommandWords;
  /** Called when the API server cannot be read, which is then retried. */
  readonly onLost: (message: string) => void;
  readonly signal: AbortSignal;
}

const GATHER_MS = 300;
/** Notes depend on the time. */
const AGAIN_MS = 30_000;

/** Runs until `signal` fires. */
export async function followFleet(
  client: KubeClient,
  feed: LiveFeed,
  { holders, words, onLost, signal }: FollowOptions,
): Promise<void> {
  let policies: readonly RawObject[] = holders.objects.filter((object) => policyKind(object) !== undefined);
  let rollouts: readonly RawObject[] = holders.objects.filter((object) => ownKind(object) === "HookRollout");
  const tell = (): void => {
    const fleet = heldBy([...policies, ...rollouts]);
    const rows = fleet.held.map((held) => heldRow(held, words));
    feed.setHeld(rows, [...tornDownNotes(fleet), ...unreadNotes(holders), ...heldNotes(fleet, new Date())]);
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
  const onObjects = (found: readonly KubeObject[]): void => {
    rollouts = found.map((each) => typed(ROLLOUTS, each));
    feed.setRollouts({ rollouts: found.map((each) => rolloutRow(viewRollout(each), new Date())) });
    tellSoon();
  };
  const scope = { resources: Object.values(POLICY_RESOURCES) };
  try {
    await Promise.all([
      followHolders(client, scope, { onHolders, onLost }, signal),
      follow(client, { resource: ROLLOUTS }, { onObjects, onLost }, signal).catch((error: unknown) => {
        // Not served, or the user may not read them.
        if (!(error instanceof KubeError) || !(isForbidden(error) || isNotFound(error))) throw error;
        feed.setRollouts({ rollouts: [], unread: error.message });
      }),
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
