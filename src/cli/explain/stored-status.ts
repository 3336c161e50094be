/** Compares the row of an operation in a policy's status with the present result of its rules. */

import type { DecisionRow, HookPolicyStatus } from "../../api/hook-policy.ts";
import type { Cluster } from "../../api/meta.ts";
import type { PendingOperation } from "../../operations/operation.ts";
import { policyRow } from "../../operations/rows.ts";
import type { PolicyTrace } from "../../policy/decision.ts";
import type { FleetPolicy } from "../fleet/fleet.ts";
import { OVERDUE_MS } from "../get/held.ts";

/** Something that the operator can read and the user cannot. */
export interface UnreadPart {
  readonly text: string;
  /** Whether policies or rollouts are missing, which could hold the Cluster although the others release it. */
  readonly policies: boolean;
}

export interface StatusComparison {
  /** The row of this operation; absent: the status has none. */
  readonly row?: DecisionRow;
  /** The differences in words; empty: there are none. */
  readonly differences: readonly string[];
  /** The probable cause. */
  readonly because?: string;
}

export interface StatusContext {
  readonly cluster: Cluster;
  readonly now: Date;
  readonly unread: readonly UnreadPart[];
  /** The operation that Cluster API waits for; `undefined`: none, so no row is expected. */
  readonly pending: PendingOperation | undefined;
}

/** `undefined`: there is nothing to compare. */
export function compareStatus(
  { compiled, status }: FleetPolicy,
  trace: PolicyTrace,
  context: StatusContext,
): StatusComparison | undefined {
  const { pending, cluster, now } = context;
  const generation = generationProblem(compiled.generation, status);
  const stale = generation === undefined ? undefined : { differences: [generation], because: STALE };
  if (pending === undefined) return stale;
  const row = rowOf(status, pending, cluster);
  const expected = policyRow(pending, { trace, policyUID: compiled.uid }, undefined, now);
  const isFull = (status.decisionsOmitted ?? 0) > 0;
  if (row === undefined && (expected === undefined || isFull)) return stale;
  const differences = [...(generation === undefined ? [] : [generation]), ...differencesOf(row, expected)];
  return {
    ...(row !== undefined && { row }),
    differences,
    ...(differences.length > 0 && { because: causeOf(status, trace, generation !== undefined, context) }),
  };
}

function generationProblem(
  generation: number,
  { observedGeneration = -1 }: Partial<HookPolicyStatus>,
): string | undefined {
  if (observedGeneration === generation) return undefined;
  if (observedGeneration < 0) return "the operator has not written a status yet";
  return `the status is of generation ${observedGeneration}, and the policy is at ${generation}`;
}

function rowOf(
  { decisions }: Partial<HookPolicyStatus>,
  { call }: PendingOperation,
  cluster: Cluster,
): DecisionRow | undefined {
  const { namespace, name, uid } = cluster.metadata;
  return (Array.isArray(decisions) ? decisions : []).find(
    (row: DecisionRow) =>
      row.namespace === namespace && row.cluster === name && row.clusterUID === uid && row.hook === call.hook,
  );
}

const COMPARED = ["verdict", "rule", "gate", "reason", "targetVersion"] as const;

function differencesOf(row: DecisionRow | undefined, expected: DecisionRow | undefined): string[] {
  if (row === undefined && expected === undefined) return [];
  if (row === undefined) return ["the status has no row of this operation"];
  if (expected === undefined) return [`the status says ${row.verdict} (${row.reason}) since ${row.since}`];
  return COMPARED.filter((field) => row[field] !== expected[field]).map(
    (field) => `the status says ${field} ${row[field] ?? "-"}, and it is ${expected[field] ?? "-"}`,
  );
}

const STALE = "the operator has not read the present policy yet: it does so within seconds, if it runs";

function causeOf(
  { nextTransitionTime }: Partial<HookPolicyStatus>,
  { rules }: PolicyTrace,
  isStale: boolean,
  { unread, now }: StatusContext,
): string {
  if (isStale) return STALE;
  const refused = rules.some(({ gates }) =>
    gates.some(({ met, reason }) => met === undefined && reason === "ObjectsForbidden"),
  );
  if (refused || unread.length > 0) return "you may not read all that the operator reads";
  const due = new Date(nextTransitionTime ?? NaN);
  if (due.getTime() < now.getTime() - OVERDUE_MS) {
    return `the operator has missed what was due at ${nextTransitionTime}: it seems not to run`;
  }
  return "the operator writes it within seconds; if it stays so, it does not run, or cannot write";
}
