/** What unregistering the operator would release. */

import type { HookName } from "../../api/runtime-hooks.ts";
import type { Cluster } from "../../api/meta.ts";
import { fieldsOf, listOf } from "../../lib/fields.ts";
import { counted } from "../../lib/counted.ts";
import { namespacedName } from "../../lib/keys.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { type PolicyKind, policyName } from "../../policy/policy-ref.ts";
import { isDeletionPending } from "../../views/cluster.ts";
import { ROLLOUTS } from "../../kube/resources.ts";
import { clusterOfRow } from "../../operations/rows.ts";
import { withType } from "../fleet/live-objects.ts";
import { heldBy, type HeldOperation } from "../fleet/held.ts";

export type Policy = KubeObject & { readonly apiVersion: string; readonly kind: PolicyKind };

const HOOK: HookName = "BeforeClusterDelete";

interface Statuses {
  readonly policies: readonly Policy[];
  /** `undefined`: the user may not list them. */
  readonly rollouts: readonly KubeObject[] | undefined;
  /** Of the operator; `undefined`: there is none. */
  readonly deployment: KubeObject | undefined;
  /** Those that isDeletionPaused(); `undefined`: the user may not list them. */
  readonly paused: readonly Cluster[] | undefined;
}

export interface HeldLine {
  readonly text: string;
  /** What is held, by which policy or rollout; absent: that is not known. */
  readonly by?: readonly HeldBy[];
}

interface HeldBy {
  readonly policy: string;
  /** Absent: operations that its status does not name. */
  readonly operation?: string;
  readonly count: number;
}

/** The lines of what is held beyond what was agreed to: operations that a status does not name can be any of their policy. */
export function beyond(agreed: readonly HeldLine[], present: readonly HeldLine[]): readonly HeldLine[] {
  const [before, now] = [agreed, present].map((lines) => lines.flatMap(({ by = [] }) => by));
  const isMore = ({ policy, operation }: HeldBy): boolean => {
    const own = before?.filter((each) => each.policy === policy) ?? [];
    if (operation !== undefined && own.some((each) => each.operation === operation)) return false;
    const isNamed = own.every((each) => each.operation !== undefined);
    return isNamed || countOf(now, policy) > countOf(before, policy);
  };
  return present.filter(({ text, by }) =>
    by === undefined ? !agreed.some((line) => line.text === text) : by.some(isMore),
  );
}

function countOf(all: readonly HeldBy[] = [], policy: string): number {
  return all.filter((each) => each.policy === policy).reduce((sum, { count }) => sum + count, 0);
}

/** Cluster API calls no hook for the Cluster until it is resumed, so no status shows that something holds it. */
export function isDeletionPaused({ paused, topology, metadata }: Cluster): boolean {
  return paused && topology !== undefined && isDeletionPending(metadata);
}

/**
 * One line for each held Cluster that a status names, for what it leaves out, and for what is not known: without an
 * operator nothing says what Cluster API waits for. Empty: nothing is held.
 */
export function heldNow(statuses: Statuses): HeldLine[] {
  const { policies, rollouts, deployment } = statuses;
  const ofRollouts = (rollouts ?? []).map((each) => withType(ROLLOUTS, each));
  const { held, omitted, gone } = heldBy([...policies.map((policy) => ({ ...policy })), ...ofRollouts]);
  const nothingHolds = policies.length === 0 && rollouts?.length === 0;
  const replicas = Number(fieldsOf(deployment?.status)["availableReplicas"] ?? 0);
  return [
    ...Map.groupBy(held, ({ row }) => row.clusterUID)
      .values()
      .flatMap(clusterLine),
    ...omitted.map(({ policy, count }) => ({
      text: `${counted(count, "operation")} by ${policyName(policy)} that its status does not name`,
      by: [{ policy: policyName(policy), count }],
    })),
    ...[
      rollouts === undefined && "what HookRollouts hold is not known: you may not list them",
      ...gone.map(
        (ref) =>
          `what ${policyName(ref)} holds is not known: no operator has written its status since the last prepare-uninstall`,
      ),
      ...pausedLines(statuses, held),
      !nothingHolds &&
        !(replicas > 0) &&
        "what else waits is not known: no replica of the operator is available",
    ].flatMap((text) => (text === false ? [] : { text })),
  ];
}

/** "Cluster team-a/prod-1 at BeforeClusterDelete, by HookPolicy team-a/protect, HookRollout deletions" */
function clusterLine(rows: readonly HeldOperation[]): HeldLine[] {
  const [first] = rows;
  if (first === undefined) return [];
  const hooks = [...Map.groupBy(rows, ({ row }) => row.hook)].map(
    ([hook, all]) => `at ${hook}, by ${all.map(({ policy }) => policyName(policy)).join(", ")}`,
  );
  const by = rows.map(({ policy, row: { clusterUID, hook } }) => ({
    policy: policyName(policy),
    operation: `${clusterUID} ${hook}`,
    count: 1,
  }));
  return [{ text: `Cluster ${clusterOfRow(first.row)} ${hooks.join("; ")}`, by }];
}

/** Of the paused Clusters, those that something may hold once they are resumed; selectors are not looked at. */
function pausedLines({ policies, rollouts, paused }: Statuses, held: readonly HeldOperation[]): string[] {
  const holders = policies.filter(mayHoldDeletions);
  const deleting = rollouts
    ?.map(({ spec }) => fieldsOf(spec))
    .filter(({ mode, operation }) => mode !== "Audit" && operation === "Delete");
  const everywhere = deleting?.length !== 0 || holders.some(({ kind }) => kind === "ClusterHookPolicy");
  if (!everywhere && holders.length === 0) return [];
  if (paused === undefined)
    return ["whether a Cluster is paused while it is being deleted is not known: you may not list Clusters"];
  return paused
    .filter(({ metadata: { namespace, uid } }) => {
      const isCovered = everywhere || holders.some((policy) => policy.metadata.namespace === namespace);
      return isCovered && !held.some(({ row }) => row.clusterUID === uid);
    })
    .map(({ metadata }) => {
      return `Cluster ${namespacedName(metadata)}, which is being deleted and paused: ${HOOK} may hold it when it is resumed`;
    });
}

function mayHoldDeletions({ spec }: Policy): boolean {
  const { mode, rules } = fieldsOf(spec);
  return mode !== "Audit" && listOf(rules).some((rule) => listOf(fieldsOf(rule)["hooks"]).includes(HOOK));
}
