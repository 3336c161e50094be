/** The metrics of policies, and what they read when they are scraped. */

import { conditionOf } from "../api/meta.ts";
import { entryOf } from "../lib/entry-of.ts";
import { CONDITION, type HookRolloutStatus, type HookPolicyStatus } from "../api/hook-policy.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import type { PolicyRow } from "../operations/rows.ts";
import { TORN_DOWN_REASONS } from "../operations/torn-down.ts";
import type { PolicyEntry } from "../memory/policy-entry.ts";
import type { DecisionStore } from "../memory/decision-store.ts";
import type { HolderRef } from "../policy/policy-ref.ts";
import { isGated } from "../policy/policy.ts";
import type { Rollouts } from "../rollouts/rollout-decisions.ts";
import { eachInSlices } from "../turns/slice.ts";
import type { Makers, MetricsWorld, Sample } from "./metric-makers.ts";

/** From a decision in the same turn of the event loop to one behind ten thousand others. */
const LATENCY_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- inferred: the names of the metrics are its type
export function policyMetrics({ mirror, mirrorCounter, histogram }: Makers, surveyed: Surveyed) {
  const byPolicy = <Name extends keyof ByPolicy>(name: Name) =>
    surveyed((survey): ByPolicy[Name]["samples"] => survey.byPolicy[name].samples);
  mirror("hookpolicy_policy_decisions", byPolicy("hookpolicy_policy_decisions"), {
    help: "Operations that wait and that a policy holds (Blocked), would hold (WouldBlock) or cannot evaluate (NotEvaluable).",
    labelNames: ["kind", "namespace", "policy", "hook", "verdict"],
  });
  mirrorCounter("hookpolicy_policy_would_block_total", byPolicy("hookpolicy_policy_would_block_total"), {
    help: "Operations that have proceeded and that a policy in mode Audit would have held.",
    labelNames: ["kind", "namespace", "policy", "hook"],
  });
  mirror("hookpolicy_oldest_hold_timestamp_seconds", surveyed(oldestSamples), {
    help: "When the operation that a policy has held for the longest was first asked for, in Unix time.",
    labelNames: ["kind", "namespace", "policy", "hook", "release", "held_cluster"],
  });
  mirror("hookpolicy_metric_series_omitted", surveyed(omittedSeries), {
    help: "Series by policy that are left out, because there are too many.",
    labelNames: ["metric"],
  });
  const decisionLatency = histogram("hookpolicy_decision_latency_seconds", {
    help: "Time from a change (seen by a watch, or due by the clock) to the answer that it changed.",
    buckets: LATENCY_BUCKETS,
  });
  mirror("hookpolicy_window_open", byPolicy("hookpolicy_window_open"), {
    help: "Whether a time window of a policy is open: 1 or 0.",
    labelNames: ["kind", "namespace", "policy", "rule", "gate"],
  });
  mirror("hookpolicy_deadlines", byPolicy("hookpolicy_deadlines"), {
    help: "Running deadlines, one for each operation and rule, by the part of its time in percent that has passed: 0, 50, 80 or 100; near: less than the rule's warnBefore is left.",
    labelNames: ["kind", "namespace", "policy", "passed"],
  });
  mirror("hookpolicy_policy_not_ready", byPolicy("hookpolicy_policy_not_ready"), {
    help: "1 for each policy and HookRollout whose condition Ready is False, with its reason.",
    labelNames: ["kind", "namespace", "policy", "reason"],
  });
  mirror("hookpolicy_failed_tasks", byPolicy("hookpolicy_failed_tasks"), {
    help: "HookTasks of operations that are not over and that have failed, or were changed, by policy.",
    labelNames: ["kind", "namespace", "policy", "phase"],
  });
  mirror("hookpolicy_overrides", ({ store, now }) => countOverrides(store, now()), {
    help: "HookOverrides that are active, expired, or without effect because of a mistake in them.",
    labelNames: ["state"],
  });
  return { decisionLatency };
}

/** Series of one metric by policy: tenants create policies, and each series costs every scrape. */
const MAX_SERIES = 1000;

function seriesOf<Label extends string>(of: (entry: PolicyEntry) => readonly Sample<Label>[]) {
  return {
    samples: [] as Sample<Label>[],
    omitted: 0,
    add(samples: readonly Sample<Label>[]): void {
      const room = Math.min(samples.length, MAX_SERIES - this.samples.length);
      this.samples.push(...samples.slice(0, room));
      this.omitted += samples.length - room;
    },
    addOf(entry: PolicyEntry): void {
      this.add(of(entry));
    },
  };
}

/** The values of all metrics about policies and what rollouts hold, for one scrape. */
type Survey = ReturnType<typeof emptySurvey>;
type ByPolicy = Survey["byPolicy"];

function emptySurvey(clusterNames: boolean) {
  return {
    clusterNames,
    held: new Map() as HeldClusters,
    /** Distinct Clusters of which others delete what they own, by uid. */
    tornDown: new Map(TORN_DOWN_REASONS.map((reason) => [reason, new Set<string>()])),
    byPolicy: {
      hookpolicy_policy_decisions: seriesOf(countDecisions),
      hookpolicy_policy_would_block_total: seriesOf(countWouldBlock),
      hookpolicy_oldest_hold_timestamp_seconds: seriesOf(oldestHolds),
      hookpolicy_window_open: seriesOf(openWindows),
      hookpolicy_deadlines: seriesOf(countDeadlines),
      hookpolicy_policy_not_ready: seriesOf(({ compiled: { ref }, object }) =>
        countNotReady(ref, object.status),
      ),
      hookpolicy_failed_tasks: seriesOf<PolicyLabel | "phase">(() => []),
    },
  };
}

export type Surveyed = ReturnType<typeof surveying>;

/** All metrics of one scrape are read at the same time. */
export function surveying() {
  let underWay: Promise<Survey> | undefined;
  return <T>(read: (survey: Survey) => T) =>
    async (world: MetricsWorld): Promise<T> =>
      read(await (underWay ??= surveyHolds(world).finally(() => (underWay = undefined))));
}

interface HeldOperation {
  readonly hook: HookName;
  readonly clusterUID: string;
}

/** The uids by hook: each Cluster counts once, however many policies and rollouts hold it. */
type HeldClusters = Map<HookName, Set<string>>;

function addHeld(clusters: HeldClusters, { hook, clusterUID }: HeldOperation): void {
  entryOf(clusters, hook, () => new Set()).add(clusterUID);
}

export function countHeld(held: Iterable<HeldOperation>): Sample<"hook">[] {
  const clusters: HeldClusters = new Map();
  for (const operation of held) addHeld(clusters, operation);
  return heldSamples({ held: clusters });
}

export function heldSamples({ held }: Pick<Survey, "held">): Sample<"hook">[] {
  return [...held].map(([hook, { size }]) => ({ labels: { hook }, value: size }));
}

export function tornDownSamples({ tornDown }: Survey): Sample<"reason">[] {
  return [...tornDown].map(([reason, { size }]) => ({ labels: { reason }, value: size }));
}

/** As if without the label for the Cluster where that is empty. */
function oldestSamples({ clusterNames, byPolicy }: Survey): Sample<OldestLabel>[] {
  const { samples } = byPolicy.hookpolicy_oldest_hold_timestamp_seconds;
  if (clusterNames) return samples;
  return samples.map(({ labels, value }) => ({ labels: { ...labels, held_cluster: "" }, value }));
}

function omittedSeries({ byPolicy }: Survey): Sample<"metric">[] {
  return Object.entries(byPolicy).map(([metric, { omitted }]) => ({ labels: { metric }, value: omitted }));
}

/**
 * ClusterHookPolicies come first, then the policies that are in memory longest, so that no tenant crowds out others.
 */
async function surveyHolds({ store, rollouts, tasks, clusterNames }: MetricsWorld): Promise<Survey> {
  const survey = emptySurvey(clusterNames);
  const { hookpolicy_policy_not_ready: notReady, hookpolicy_failed_tasks: failed } = survey.byPolicy;
  const sorted = [...store.policies.entries()].toSorted(
    (a, b) => rank(a.compiled.ref) - rank(b.compiled.ref),
  );
  for (const { rollout, status } of rollouts.entries())
    notReady.add(countNotReady({ kind: "HookRollout", name: rollout.name }, status));
  await eachInSlices(sorted, (entry) => {
    for (const row of entry.held.values()) {
      if (row.holds) addHeld(survey.held, row);
      if (row.tornDown !== undefined) survey.tornDown.get(row.tornDown.reason)?.add(row.clusterUID);
    }
    for (const series of Object.values(survey.byPolicy)) series.addOf(entry);
  });
  failed.add(await countFailedTasks(tasks));
  for (const entry of rollouts.entries())
    if (entry.rollout.mode === "Enforce") await surveyRollout(survey, entry);
  return survey;
}

async function surveyRollout(survey: Survey, entry: ReturnType<Rollouts["entries"]>[number]): Promise<void> {
  entry.refresh();
  const { hook, rollout } = entry;
  const held = await entry.held();
  for (const { cluster } of held) addHeld(survey.held, { hook, clusterUID: cluster.metadata.uid });
  const found = new Set<string>();
  await eachInSlices(held, (operation) => {
    if (found.size === 2) return;
    const release = entry.waitsForTime(operation) ? "time" : "other";
    if (found.has(release)) return;
    found.add(release);
    const { namespace = "", name } = operation.cluster.metadata;
    const policy = { kind: "HookRollout", namespace: "", policy: rollout.name };
    const labels = { ...policy, hook, release, held_cluster: `${namespace}/${name}` };
    survey.byPolicy.hookpolicy_oldest_hold_timestamp_seconds.add([
      { labels, value: Math.floor(operation.firstAsked.getTime() / 1000) },
    ]);
  });
}

function rank({ kind }: { readonly kind: string }): number {
  return kind === "ClusterHookPolicy" ? 0 : 1;
}

type PolicyLabel = "kind" | "namespace" | "policy";
type OldestLabel = PolicyLabel | "hook" | "release" | "held_cluster";

const labelsOf = ({ compiled }: PolicyEntry): Record<PolicyLabel, string> => labelsOfRef(compiled.ref);

function labelsOfRef({ kind, namespace = "", name: policy }: HolderRef): Record<PolicyLabel, string> {
  return { kind, namespace, policy };
}

function countNotReady(
  ref: HolderRef,
  status: HookPolicyStatus | HookRolloutStatus | undefined,
): Sample<PolicyLabel | "reason">[] {
  const ready = conditionOf({ status }, CONDITION.Ready);
  if (ready?.status !== "False") return [];
  return [{ labels: { ...labelsOfRef(ref), reason: ready.reason }, value: 1 }];
}

type FailedSample = Sample<PolicyLabel | "phase">;

/** Those on which a person has to act. */
async function countFailedTasks(memory: MetricsWorld["tasks"]): Promise<FailedSample[]> {
  const counts = new Map<string, FailedSample>();
  const counting = [...memory.all()].filter(({ over }) => !over);
  await eachInSlices(counting, (task) => {
    const phase = task.altered ? "Altered" : task.phase;
    if (phase !== "Failed" && phase !== "Altered") return;
    const labels = { ...labelsOfRef(task.outline.spec.policyRef), phase };
    const key = Object.values(labels).join(" ");
    counts.set(key, { labels, value: (counts.get(key)?.value ?? 0) + 1 });
  });
  return [...counts.values()].toSorted((a, b) => rank(a.labels) - rank(b.labels));
}

/** An operation that a deadline has released is reported until it ends, but is not held any more. */
export function countDecisions(entry: PolicyEntry): Sample<PolicyLabel | "hook" | "verdict">[] {
  const counts = new Map<HookName, Map<PolicyRow["verdict"], number>>();
  for (const { hook, verdict } of entry.held.values()) {
    if (verdict === "Allowed") continue;
    const ofHook = entryOf(counts, hook, () => new Map<PolicyRow["verdict"], number>());
    ofHook.set(verdict, (ofHook.get(verdict) ?? 0) + 1);
  }
  return [...counts].flatMap(([hook, verdicts]) =>
    [...verdicts].map(([verdict, value]) => ({ labels: { ...labelsOf(entry), hook, verdict }, value })),
  );
}

/** An Audit policy counts from 0 on, because a series that starts with its first operation shows no increase. */
function countWouldBlock(entry: PolicyEntry): Sample<PolicyLabel | "hook">[] {
  const { compiled, wouldHaveHeld } = entry;
  const audited =
    compiled.mode === "Audit" ? compiled.rules.filter(isGated).flatMap(({ hooks }) => [...hooks]) : [];
  return [...new Set([...audited, ...wouldHaveHeld.keys()])].map((hook) => ({
    labels: { ...labelsOf(entry), hook },
    value: wouldHaveHeld.get(hook) ?? 0,
  }));
}

function oldestHolds(entry: PolicyEntry): Sample<OldestLabel>[] {
  const oldest = new Map<string, PolicyRow>();
  for (const row of entry.held.values()) {
    const key = `${row.hook} ${releaseOf(row)}`;
    // Both have the same format, so the smaller text is the earlier time; parsing ten thousand would delay calls.
    if (row.holds && isBefore(row, oldest.get(key))) oldest.set(key, row);
  }
  return [...oldest.values()].map((row) => ({
    labels: {
      ...labelsOf(entry),
      hook: row.hook,
      release: releaseOf(row),
      held_cluster: `${row.namespace}/${row.cluster}`,
    },
    value: Date.parse(row.firstAsked) / 1000,
  }));
}

function releaseOf({ earliestRelease }: PolicyRow): "time" | "other" {
  return earliestRelease === undefined ? "other" : "time";
}

/** Every replica takes the same of two that were asked about in the same second. */
function isBefore(row: PolicyRow, other: PolicyRow | undefined): boolean {
  if (other === undefined || row.firstAsked !== other.firstAsked)
    return row.firstAsked < (other?.firstAsked ?? "~");
  return `${row.namespace}/${row.cluster}` < `${other.namespace}/${other.cluster}`;
}

export function openWindows(entry: PolicyEntry): Sample<PolicyLabel | "rule" | "gate">[] {
  return [...entry.windows.values()].map(({ rule, gate, open }) => ({
    labels: { ...labelsOf(entry), rule, gate },
    value: Number(open),
  }));
}

/** Counts the deadlines, of each rule and operation, that have passed each step. */
export function countDeadlines(entry: PolicyEntry): Sample<PolicyLabel | "passed">[] {
  const steps = [...entry.deadlines.values()].flatMap((rules) => [...rules.values()]);
  if (steps.length === 0) return [];
  return ([0, 50, 80, "Near", 100] as const).map((passed) => ({
    labels: { ...labelsOf(entry), passed: String(passed).toLowerCase() },
    value: steps.filter((step) => step === passed).length,
  }));
}

export function countOverrides(store: Pick<DecisionStore, "overrides">, now: Date): Sample<"state">[] {
  const counts = { active: 0, expired: 0, ineffective: 0 };
  for (const { compiled } of store.overrides.entries()) {
    if (compiled.problem !== undefined) counts.ineffective += 1;
    else if (now < compiled.expiresAt) counts.active += 1;
    else counts.expired += 1;
  }
  return Object.entries(counts).map(([state, value]) => ({ labels: { state }, value }));
}
