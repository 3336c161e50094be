/** The conditions of a HookRollout. */

import { CONDITION, type HookRolloutStatus, REASON } from "../api/hook-policy.ts";
import { firstNames } from "../lib/first-names.ts";
import { namespacedName } from "../lib/keys.ts";
import { failing, type ConditionFinding } from "../status/conditions.ts";
import { type Limit, needsNone } from "./limit.ts";
import type { Member } from "./member.ts";
import { type CompiledRollout, MIN_SUCCEEDED } from "./rollout.ts";
import { countingFailures, haltingStage } from "./stages.ts";

interface SelectedMembers {
  readonly isRebuilding: boolean;
  readonly members: readonly Member[];
  /** Those that it may select, and of which memory lacks the labels. */
  readonly unknown: readonly Member[];
}

export function readiness(
  rollout: CompiledRollout,
  { isRebuilding, members, unknown }: SelectedMembers,
): ConditionFinding[] {
  const { problem, tooLarge, mode, paused } = rollout;
  if (problem !== undefined) {
    const effect = mode === "Audit" ? "Records nothing" : "Holds every Cluster that it may select";
    const message = `${effect}: ${problem}`;
    const reason = tooLarge === true ? REASON.TooLarge : REASON.InvalidSpec;
    return failing(CONDITION.Ready, CONDITION.Stalled, { reason, message });
  }
  if (isRebuilding) {
    const message = `Its members have changed, its status was lost, or no operator ran: for 3 minutes nothing begins, until every Cluster that had begun shows it`;
    return failing(CONDITION.Ready, CONDITION.Reconciling, { reason: REASON.StatusLost, message });
  }
  const message =
    mode === "Audit" ? "Records, and holds nothing" : paused ? "Paused: nothing more begins" : "In force";
  if (unknown.length > 0 && !paused) return withUnknown(message, unknown);
  if (mode === "Enforce" && paused) return ready(REASON.Paused, message);
  const nothing = selectsNothing(rollout, members);
  if (nothing === undefined) return ready(REASON.Loaded, message);
  return ready(REASON.SelectsNothing, `${message}, but ${nothing}`);
}

function withUnknown(message: string, members: readonly Member[]): ConditionFinding[] {
  const unread = members.filter(({ unknown }) => unknown === "NamespaceUnknown");
  const large = members.filter((each) => !unread.includes(each));
  const because = [
    large.length > 0 && `the labels of ${namesOf(large)}, or of the namespace, are too large for memory`,
    unread.length > 0 && `the Namespace of ${namesOf(unread)} is not known`,
  ].filter((text) => text !== false);
  const reason = large.length > 0 ? REASON.TooLarge : REASON.NamespaceUnknown;
  const effect = "no stage passes without such Clusters if it may select them";
  return ready(reason, `${message}; ${because.join(", and ")}: ${effect}`);
}

function begins({ mode }: CompiledRollout): string {
  return mode === "Audit" ? "would begin in mode Enforce" : "begins";
}

function ready(reason: string, message: string): ConditionFinding[] {
  return [{ type: CONDITION.Ready, status: "True", reason, message }];
}

/** `undefined`: every stage selects a Cluster. A Cluster that may be in one of several stages counts for each. */
function selectsNothing({ stages }: CompiledRollout, members: readonly Member[]): string | undefined {
  if (members.length === 0)
    return "it selects no Cluster, and limits nothing: check spec.namespaceSelector, spec.clusterSelector and the labels of Clusters and namespaces";
  const selecting = new Set(members.flatMap(({ stage, mayBeIn = [] }) => [stage, ...mayBeIn]));
  const empty = stages.find((stage) => !selecting.has(stage));
  if (empty === undefined) return undefined;
  const isWaitedFor = stopsLaterStages(empty.minSucceeded, stages.indexOf(empty), stages.length);
  const wait = isWaitedFor ? ", and later stages wait for it at versions for which it has not passed" : "";
  return `stage ${empty.name} selects no Cluster${wait}: check its selectors and the labels, or set its minSucceeded to 0 and its minSuccessTime to 0s`;
}

/** Whether later stages wait for a stage without a Cluster. */
export function stopsLaterStages(
  minSucceeded: Limit = MIN_SUCCEEDED,
  index: number,
  stages: number,
): boolean {
  return !needsNone(minSucceeded) && index < stages - 1;
}

export function halted(
  rollout: CompiledRollout,
  slots: Pick<HookRolloutStatus, "failed" | "targets">,
): ConditionFinding {
  const stage = haltingStage(rollout, slots);
  if (stage === undefined) {
    const message = "No stage has more failures than it tolerates";
    return { type: CONDITION.Halted, status: "False", reason: REASON.NoFailures, message };
  }
  const failed = countingFailures(rollout, slots.failed, stage.name);
  const message = `Stage ${stage.name}: ${firstNames(failed.map(namespacedName))} failed. Nothing more ${begins(rollout)} until they are healthy, or until \`hookpolicy rollout resume ${rollout.name}\``;
  return { type: CONDITION.Halted, status: "True", reason: REASON.TooManyFailures, message };
}

function namesOf(members: readonly Member[]): string {
  return firstNames(members.map(({ metadata }) => namespacedName(metadata)));
}
