/** Gauges that mirror state in memory, which is read only when they are scraped. */

import { conditionOf } from "../api/meta.ts";
import { entryOf } from "../lib/entry-of.ts";
import { CONDITION, type HookRolloutStatus, type HookPolicyStatus } from "../api/hook-policy.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import type { PolicyRow } from "../operations/rows.ts";
import { TORN_DOWN_REASONS } from "../operations/torn-down.ts";
import type { PolicyEntry } from "../memory/policy-entry.ts";
import type { DecisionStore } from "../memory/decision-store.ts";
import type { Informer } from "../kube/informer.ts";
import type { InformerObject } from "../kube/object-store.ts";
import type { WorkQueue } from "../kube/work-queue.ts";
import type { HolderRef } from "../policy/policy-ref.ts";
import { isGated } from "../policy/policy.ts";
import type { Rollouts } from "../rollouts/rollout-decisions.ts";
import type { Metrics, Sample } from "./metrics.ts";
import { eachInSlices } from "../turns/slice.ts";
import type { TaskMemory } from "../tasks/task-memory.ts";
import type { ObjectInformers } from "../objects/object-informers.ts";

type AnyInformer = Pick<
  Informer<InformerObject>,
  "contactAgeMs" | "restarts" | "size" | "tooLarge" | "synced" | "whenSynced" | "run"
>;

export type InformerEntry = readonly [name: string, informer: AnyInformer];

interface Mirrored {
  readonly store: DecisionStore;
  readonly rollouts: Pick<Rollouts, "entries">;
  readonly queue: WorkQueue;
  readonly named: () => readonly InformerEntry[];
  readonly objects: ObjectInformers;
  readonly tasks: Pick<TaskMemory, "all">;
  readonly now: () => Date;
}

/** Series of one metric by policy: tenants create policies, and each series costs every scrape. */
const MAX_SERIES = 1000;

export function followMemory(
  metrics: Metrics,
  { store, rollouts, queue, named, objects, tasks, now }: Mirrored,
): void {
  const informers = (): InformerEntry[] => [...named(), ...objects.informers()];
  const perInformer = (read: (informer: AnyInformer) => number) => (): Sample<"resource">[] =>
    informers().map(([resource, informer]) => ({ labels: { resource }, value: read(informer) }));
  metrics.policies.follow(() => countPolicies(store, rollouts));
  followHolds(metrics, { store, rollouts, tasks });
  metrics.overrides.follow(() => countOverrides(store, now()));
  metrics.workqueueDepth.follow(() => [{ labels: {}, value: queue.depth }]);
  metrics.informerContactAge.follow(perInformer((informer) => informer.contactAgeMs() / 1000));
  metrics.informerRestarts.follow(perInformer((informer) => informer.restarts));
  metrics.informerObjects.follow(perInformer((informer) => informer.size));
  metrics.informerTooLarge.follow(perInformer((informer) => informer.tooLarge));
}

/** The values of all metrics about policies and what rollouts hold, for one scrape. */
type Survey = ReturnType<typeof emptySurvey>;

function emptySurvey() {
  return {
    held: new Map() as HeldClusters,
    /** Distinct Clusters of which others delete what they own, by uid. */
    tornDown: new Map(TORN_DOWN_REASONS.map((reason) => [reason, new Set<string>()])),
    decisions: new Series<PolicyLabel | "hook" | "verdict">(),
    wouldBlock: new Series<PolicyLabel | "hook">(),
    oldest: new Series<OldestLabel>(),
    windows: new Series<PolicyLabel | "rule" | "gate">(),
    deadlines: new Series<PolicyLabel | "passed">(),
    notReady: new Series<PolicyLabel | "reason">(),
    failedTasks: new Series<PolicyLabel | "phase">(),
  };
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
  return heldSamples(clusters);
}

function heldSamples(clusters: HeldClusters): Sample<"hook">[] {
  return [...clusters].map(([hook, { size }]) => ({ labels: { hook }, value: size }));
}

class Series<Label extends string> {
  readonly samples: Sample<Label>[] = [];
  omitted = 0;

  add(samples: readonly Sample<Label>[]): void {
    const room = Math.min(samples.length, MAX_SERIES - this.samples.length);
    this.samples.push(...samples.slice(0, room));
    this.omitted += samples.length - room;
  }
}

type Surveyed = Pick<Mirrored, "store" | "rollouts" | "tasks">;

function followHolds(metrics: Metrics, memory: Surveyed): void {
  let underWay: Promise<Survey> | undefined;
  // All metrics of one scrape are read at the same time.
  const survey = async (): Promise<Survey> =>
    await (underWay ??= surveyHolds(memory).finally(() => (underWay = undefined)));
  // As if without the label where it is empty.
  const named = (sample: Sample<OldestLabel>): Sample<OldestLabel> =>
    metrics.clusterNames ? sample : { ...sample, labels: { ...sample.labels, held_cluster: "" } };
  metrics.heldClusters.follow(async () => heldSamples((await survey()).held));
  metrics.tornDown.follow(async () =>
    [...(await survey()).tornDown].map(([reason, { size }]) => ({ labels: { reason }, value: size })),
  );
  metrics.policyDecisions.follow(async () => (await survey()).decisions.samples);
  metrics.wouldBlock.follow(async () => (await survey()).wouldBlock.samples);
  metrics.oldestHold.follow(async () => (await survey()).oldest.samples.map(named));
  metrics.windowsOpen.follow(async () => (await survey()).windows.samples);
  metrics.deadlines.follow(async () => (await survey()).deadlines.samples);
  metrics.policyNotReady.follow(async () => (await survey()).notReady.samples);
  metrics.failedTasks.follow(async () => (await survey()).failedTasks.samples);
  metrics.seriesOmitted.follow(async () => {
    const { decisions, wouldBlock, oldest, windows, deadlines, notReady, failedTasks } = await survey();
    return Object.entries({
      hookpolicy_policy_decisions: decisions,
      hookpolicy_policy_would_block_total: wouldBlock,
      hookpolicy_oldest_hold_timestamp_seconds: oldest,
      hookpolicy_window_open: windows,
      hookpolicy_deadlines: deadlines,
      hookpolicy_policy_not_ready: notReady,
      hookpolicy_failed_tasks: failedTasks,
    }).map(([metric, { omitted }]) => ({ labels: { metric }, value: omitted }));
  });
}

/**
 * ClusterHookPolicies come first, then the policies that are in memory longest, so that no tenant crowds out others.
 */
async function surveyHolds({ store, rollouts, tasks }: Surveyed): Promise<Survey> {
  const survey = emptySurvey();
  const sorted = [...store.policies.entries()].toSorted(
    (a, b) => rank(a.compiled.ref) - rank(b.compiled.ref),
  );
  for (const { rollout, status } of rollouts.entries())
    survey.notReady.add(countNotReady({ kind: "HookRollout", name: rollout.name }, status));
  await eachInSlices(sorted, (entry) => {
    for (const row of entry.held.values()) {
      if (row.holds) addHeld(survey.held, row);
      if (row.tornDown !== undefined) survey.tornDown.get(row.tornDown.reason)?.add(row.clusterUID);
    }
    survey.decisions.add(countDecisions(entry));
    survey.wouldBlock.add(countWouldBlock(entry));
    survey.oldest.add(oldestHolds(entry));
    survey.windows.add(openWindows(entry));
    survey.deadlines.add(countDeadlines(entry));
    survey.notReady.add(countNotReady(entry.compiled.ref, entry.object.status));
  });
  survey.failedTasks.add(await countFailedTasks(tasks));
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
    survey.oldest.add([{ labels, value: Math.floor(operation.firstAsked.getTime() / 1000) }]);
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
async function countFailedTasks(memory: Mirrored["tasks"]): Promise<FailedSample[]> {
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

function countPolicies(
  store: DecisionStore,
  rollouts: Mirrored["rollouts"],
): Sample<"kind" | "mode" | "ready">[] {
  const counts = new Map<string, Sample<"kind" | "mode" | "ready">>();
  const all = [
    ...[...store.policies.entries()].map(({ object: { status }, compiled: { ref, mode } }) => ({
      kind: ref.kind,
      mode,
      status,
    })),
    ...rollouts.entries().map(({ rollout: { mode }, status }) => ({ kind: "HookRollout", mode, status })),
  ];
  for (const { kind, mode, status } of all) {
    const condition = conditionOf({ status }, CONDITION.Ready);
    const labels = { kind, mode, ready: condition?.status ?? "Unknown" };
    const key = Object.values(labels).join(" ");
    counts.set(key, { labels, value: (counts.get(key)?.value ?? 0) + 1 });
  }
  return [...counts.values()];
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
