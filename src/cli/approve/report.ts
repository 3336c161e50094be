/** Prints what an approval sets and releases, for people and as JSON. */

import type { Terminal } from "../terminal/terminal.ts";
import type { Cluster } from "../../api/meta.ts";
import type { HookCall, HookName } from "../../api/runtime-hooks.ts";
import { targetVersion } from "../../api/target-version.ts";
import { clusterKey } from "../../views/cluster.ts";
import { timestamp } from "../../lib/instant.ts";
import { found } from "../../lib/quoted-value.ts";
import { shellQuote } from "../../lib/shell-quote.ts";
import { commandToSet } from "../../policy/mark.ts";
import { policyName } from "../../policy/policy-ref.ts";
import type { ApprovalPlan, GateRef, ApprovedMark, Obstacle, OperationPlan } from "./approval.ts";
import type { OperationEnd } from "./wait-for-end.ts";
import { ageText } from "../../lib/age.ts";
import type { Detail } from "../../page/branch.ts";
import { indented } from "../terminal/tree.ts";

/** The work that Cluster API's topology reconcilers begin once the operation is released. */
const EFFECTS: Readonly<Record<HookName, (version: string) => string>> = {
  BeforeClusterCreate: () => "creates its infrastructure, control plane and machines",
  AfterControlPlaneInitialized: () => "continues with the new Cluster",
  BeforeClusterUpgrade: (version) => `upgrades the Cluster${version}`,
  BeforeControlPlaneUpgrade: (version) => `upgrades its control plane${version}`,
  AfterControlPlaneUpgrade: () =>
    "continues after its control plane: with the next version, or with its workers",
  BeforeWorkersUpgrade: (version) => `upgrades its workers${version}`,
  AfterWorkersUpgrade: () =>
    "continues after its workers: with the next version, or with the end of the upgrade",
  AfterClusterUpgrade: () => "ends the upgrade, and lets the next one begin",
  BeforeClusterDelete: () => "deletes the Cluster and its machines",
};

export function effectOf(call: HookCall): string {
  const version = targetVersion(call);
  return EFFECTS[call.hook](version === undefined ? "" : ` to ${version}`);
}

/** After an effect, where Cluster API is not known to ask. */
export const ONCE = ", once it wants to";

export function clusterTitle(cluster: Cluster): string {
  return `Cluster ${clusterKey(cluster)}`;
}

export interface PlanView extends Terminal {
  readonly now: Date;
}

export function approvalLines(plan: ApprovalPlan, view: PlanView): string[] {
  const { operations, alsoReleases } = plan;
  return [
    ...operations.flatMap((operation) => operationLines(plan, operation, view)),
    ...alsoReleases.map(({ call, pending }) => {
      const asked = pending === undefined ? `${call.hook}, once Cluster API asks` : call.hook;
      const effect = effectOf(pending === undefined ? { hook: call.hook } : call);
      return `${view.colour.yellow("also releases")}: ${asked}: ${effect}`;
    }),
  ];
}

function operationLines(
  { cluster }: ApprovalPlan,
  { call, pending, approvals, obstacles }: OperationPlan,
  { now, colour, columns }: PlanView,
): string[] {
  const asked =
    pending === undefined
      ? "not asked for yet"
      : `held for ${ageText(now.getTime() - pending.firstAsked.getTime())}`;
  const details: readonly Detail[] = [
    { label: "then", text: `Cluster API ${effectOf(call)}${pending === undefined ? ONCE : ""}` },
    ...approvals.flatMap(({ mark, ...gate }) => [
      { label: "approves", text: gateName(gate) },
      { label: "", text: markText(mark, { cluster }) },
    ]),
    ...obstacles.flatMap((obstacle) => [
      // The message of a rollout begins with its name.
      {
        label: "held by",
        text: `${obstacle.policy.kind === "HookRollout" ? "" : `${gateName(obstacle)} `}${obstacle.text}`,
      },
      ...(obstacle.withheld === undefined ? [] : [{ label: "", text: `not set: ${obstacle.withheld}` }]),
      ...(obstacle.release === undefined
        ? []
        : [{ label: "", text: `not before ${timestamp(obstacle.release)}` }]),
    ]),
  ];
  return [
    `${colour.bold(`${call.hook} of ${clusterTitle(cluster)}`)}, ${asked}`,
    ...indented(details, columns),
  ];
}

function gateName({ policy, rule, gate }: GateRef | Obstacle): string {
  return `${policyName(policy)} ${gate === undefined ? rule : `${rule}/${gate}`}`;
}

type Target = Pick<ApprovalPlan, "cluster">;

/** "annotation example.com/ok=true on Cluster team-a/prod-1" */
export function markText({ on, field, key, value, replaces }: ApprovedMark, { cluster }: Target): string {
  const place = on === "Cluster" ? clusterTitle(cluster) : `Namespace ${cluster.metadata.namespace}`;
  const notes = [
    ...(replaces === undefined ? [] : [`instead of ${found(replaces)}`]),
    ...(on === "Namespace" ? ["this reaches every Cluster there"] : []),
  ];
  return [`${field} ${shellQuote(`${key}=${value}`)} on ${place}`, ...notes].join("; ");
}

export function markCommand({ replaces, ...mark }: ApprovedMark, { cluster: { metadata } }: Target): string {
  const target = mark.on === "Cluster" ? metadata : { name: metadata.namespace ?? "" };
  return commandToSet({ ...mark, overwrite: replaces !== undefined }, target);
}

export interface ApprovalOutcome {
  readonly dryRun: boolean;
  /** Whether the marks are set. */
  readonly approved: boolean;
  /** Operations that ended while the command watched. */
  readonly ended: readonly OperationEnd[];
}

export function approvalJson(plan: ApprovalPlan, outcome: ApprovalOutcome): object {
  const { cluster, operations, alsoReleases } = plan;
  return {
    cluster: clusterKey(cluster),
    clusterUID: cluster.metadata.uid,
    operations: operations.map((operation) => operationJson(plan, operation)),
    alsoReleases: alsoReleases.map(({ call }) => call.hook),
    ...outcome,
  };
}

function operationJson(plan: ApprovalPlan, operation: OperationPlan): object {
  const { call, pending, approvals, obstacles, releasedAt } = operation;
  const version = targetVersion(call);
  return {
    hook: call.hook,
    ...(version !== undefined && { targetVersion: version }),
    effect: effectOf(call),
    ...(pending !== undefined && { firstAsked: timestamp(pending.firstAsked) }),
    approvals: approvals.map(({ mark, ...gate }) => ({ ...gate, ...mark, command: markCommand(mark, plan) })),
    obstacles: obstacles.map(({ release, unknown: _, ...obstacle }) => ({
      ...obstacle,
      ...(release !== undefined && { earliestRelease: timestamp(release) }),
    })),
    // goesOnAt is the former name, for one release.
    ...(releasedAt !== undefined && {
      earliestRelease: timestamp(releasedAt),
      goesOnAt: timestamp(releasedAt),
    }),
  };
}
