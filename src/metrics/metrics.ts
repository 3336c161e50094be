/** The Prometheus metrics of HookPolicy. No series has a label for a Cluster: a fleet has too many. */

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

import { HOOK_NAMES } from "../api/runtimehooks.ts";
import { VERSION } from "../version.ts";

/** One series of a gauge that mirrors state. */
export interface Sample<Label extends string> {
  readonly labels: Readonly<Record<Label, string>>;
  readonly value: number;
}

/** A gauge that is read only when it is scraped. */
export interface Mirror<Label extends string> {
  /** `read` runs once per scrape and returns every series; a series that it no longer returns disappears. */
  follow(read: () => Iterable<Sample<Label>> | Promise<Iterable<Sample<Label>>>): void;
}

/** From a decision in memory to one that used all of Cluster API's timeout. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** From a decision in the same turn of the event loop to one behind ten thousand others. */
const LATENCY_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Gauges of prom-client with the suffix of a counter, which promtool refuses; sums of nodejs_active_… by type. */
const MISNAMED = ["handles", "requests", "resources"].map((what) => `nodejs_active_${what}_total`);

export type Metrics = ReturnType<typeof allMetrics> & {
  readonly contentType: string;
  /** The exposition text; rejects when a `follow` callback throws. */
  text(): Promise<string>;
};

/** `capiVersion` is the minor that `--capi-version` chose, such as `1.14`. */
export function createMetrics({ capiVersion }: { readonly capiVersion: string }): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  new Gauge({
    name: "hookpolicy_build_info",
    help: "Always 1; the labels show the versions.",
    labelNames: ["version", "capi_version", "node_version"],
    registers: [registry],
  }).set({ version: VERSION, capi_version: capiVersion, node_version: process.version }, 1);
  const metrics = allMetrics(registry);
  startAtZero(metrics);
  return {
    ...metrics,
    contentType: registry.contentType,
    text: async (): Promise<string> => await registry.metrics(),
  };
}

function allMetrics(registry: Registry) {
  return {
    ...hookMetrics(registry),
    ...admissionMetrics(registry),
    ...informerMetrics(registry),
    ...controllerMetrics(registry),
    ...policyMetrics(registry),
    ...rolloutMetrics(registry),
    ...coverageMetrics(registry),
  };
}

/** A series that starts with its first failure shows no increase, and an alert would miss that failure. */
function startAtZero(metrics: Pick<Metrics, "hookCalls" | "events" | "auditLines">): void {
  for (const hook of HOOK_NAMES) {
    for (const verdict of MISTAKES) metrics.hookCalls.inc({ hook, verdict }, 0);
  }
  for (const result of ["written", "repeated", "refused", "failed", "dropped"])
    metrics.events.inc({ result }, 0);
  for (const result of ["written", "dropped"]) metrics.auditLines.inc({ result }, 0);
}

/** Verdicts without a decision. */
const MISTAKES = ["NotLoaded", "NotConfirmed", "InternalError", "Undecodable", "Unauthenticated"];

function hookMetrics(registry: Registry) {
  const registers = [registry];
  return {
    discoveryCalls: new Counter({
      name: "hookpolicy_discovery_calls_total",
      help: "Times that Cluster API asked which hooks are served.",
      registers,
    }),
    auditLines: new Counter({
      name: "hookpolicy_audit_log_lines_total",
      help: "Lines of the audit log, by whether they were written or dropped.",
      labelNames: ["result"],
      registers,
    }),
    hookCalls: new Counter({
      name: "hookpolicy_hook_calls_total",
      help: "Hook calls answered, by verdict.",
      labelNames: ["hook", "verdict"],
      registers,
    }),
    hookCallDuration: new Histogram({
      name: "hookpolicy_hook_call_duration_seconds",
      help: "Time from the end of a hook's request to its answer.",
      labelNames: ["hook"],
      buckets: DURATION_BUCKETS,
      registers,
    }),
    heldClusters: mirror(registry, {
      name: "hookpolicy_held_clusters",
      help: "Clusters that an enforced policy holds now.",
      labelNames: ["hook"],
    }),
    unconfirmedReleases: new Counter({
      name: "hookpolicy_unconfirmed_releases_total",
      help: "Releases that memory allowed and the read from the API server did not confirm.",
      labelNames: ["reason"],
      registers,
    }),
  };
}

function admissionMetrics(registry: Registry) {
  return {
    admissionReviews: new Counter({
      name: "hookpolicy_admission_reviews_total",
      help: "Reviews of Clusters, by the hook that decides about the request later, and verdict.",
      labelNames: ["hook", "verdict"],
      registers: [registry],
    }),
    admissionReviewDuration: new Histogram({
      name: "hookpolicy_admission_review_duration_seconds",
      help: "Time from the end of a review of a Cluster to its answer.",
      labelNames: ["hook"],
      buckets: DURATION_BUCKETS,
      registers: [registry],
    }),
  };
}

function informerMetrics(registry: Registry) {
  return {
    informerContactAge: mirror(registry, {
      name: "hookpolicy_informer_contact_age_seconds",
      help: "Time since the API server last said anything about a resource.",
      labelNames: ["resource"],
    }),
    informerRestarts: mirrorCounter(registry, {
      name: "hookpolicy_informer_restarts_total",
      help: "Lists and watches that had to be started again.",
      labelNames: ["resource"],
    }),
    informerObjects: mirror(registry, {
      name: "hookpolicy_informer_objects",
      help: "Objects held in memory.",
      labelNames: ["resource"],
    }),
  };
}

function controllerMetrics(registry: Registry) {
  return {
    statusWrites: new Counter({
      name: "hookpolicy_status_writes_total",
      help: "Status updates sent to the API server, by result.",
      labelNames: ["kind", "result"],
      registers: [registry],
    }),
    workqueueDepth: mirror(registry, {
      name: "hookpolicy_workqueue_depth",
      help: "Keys that wait for the reconciler.",
      labelNames: [],
    }),
    reconcileErrors: new Counter({
      name: "hookpolicy_reconcile_errors_total",
      help: "Reconciles that failed and are tried again, by the API server's reason.",
      labelNames: ["reason"],
      registers: [registry],
    }),
    events: new Counter({
      name: "hookpolicy_events_total",
      help: "Kubernetes Events: written, repeated (by another replica), refused by a namespace that is deleted, failed, or dropped.",
      labelNames: ["result"],
      registers: [registry],
    }),
    certificateExpiry: mirror(registry, {
      name: "hookpolicy_certificate_expiry_timestamp_seconds",
      help: "When a certificate ends, in Unix time.",
      labelNames: ["certificate"],
    }),
    /** Without leader election there is no series. */
    leader: mirror(registry, {
      name: "hookpolicy_leader",
      help: "Whether this replica runs the tasks that only one replica should run: 1 or 0.",
      labelNames: [],
    }),
  };
}

function policyMetrics(registry: Registry) {
  return {
    policyDecisions: mirror(registry, {
      name: "hookpolicy_policy_decisions",
      help: "Operations that wait and that a policy holds (Blocked), would hold (WouldBlock) or cannot evaluate (NotEvaluable).",
      labelNames: ["kind", "namespace", "policy", "hook", "verdict"],
    }),
    wouldBlock: mirrorCounter(registry, {
      name: "hookpolicy_policy_would_block_total",
      help: "Operations that have proceeded and that a policy in mode Audit would have held.",
      labelNames: ["kind", "namespace", "policy", "hook"],
    }),
    oldestHold: mirror(registry, {
      name: "hookpolicy_oldest_hold_timestamp_seconds",
      help: "When the operation that a policy has held for the longest was first asked for, in Unix time.",
      labelNames: ["kind", "namespace", "policy", "hook"],
    }),
    seriesOmitted: mirror(registry, {
      name: "hookpolicy_metric_series_omitted",
      help: "Series by policy that are left out, because there are too many.",
      labelNames: ["metric"],
    }),
    decisionLatency: new Histogram({
      name: "hookpolicy_decision_latency_seconds",
      help: "Time from a change (seen by a watch, or due by the clock) to the answer that it changed.",
      buckets: LATENCY_BUCKETS,
      registers: [registry],
    }),
    windowsOpen: mirror(registry, {
      name: "hookpolicy_window_open",
      help: "Whether a time window of a policy is open: 1 or 0.",
      labelNames: ["kind", "namespace", "policy", "rule", "gate"],
    }),
    deadlines: mirror(registry, {
      name: "hookpolicy_deadlines",
      help: "Operations with a running deadline, by the part of its time in percent that has passed: 0, 50, 80 or 100; near: less than the rule's warnBefore is left.",
      labelNames: ["kind", "namespace", "policy", "passed"],
    }),
    overrides: mirror(registry, {
      name: "hookpolicy_overrides",
      help: "HookOverrides that are active, expired, or without effect because of a mistake in them.",
      labelNames: ["state"],
    }),
  };
}

function rolloutMetrics(registry: Registry) {
  return {
    rolloutClusters: mirror(registry, {
      name: "hookpolicy_rollout_clusters",
      help: "Clusters of HookRollouts by stage and state, for the target that is rolled out.",
      labelNames: ["rollout", "stage", "state"],
    }),
    rolloutHalted: mirror(registry, {
      name: "hookpolicy_rollout_halted",
      help: "Whether failures have halted the HookRollout: 1 or 0.",
      labelNames: ["rollout"],
    }),
  };
}

function coverageMetrics(registry: Registry) {
  return {
    policies: mirror(registry, {
      name: "hookpolicy_policies",
      help: "Policies by kind, mode and the status of their Ready condition.",
      labelNames: ["kind", "mode", "ready"],
    }),
    policiesNotCalled: mirror(registry, {
      name: "hookpolicy_policies_not_called",
      help: "Policies that would hold something, but Cluster API does not ask, by the reason of their condition NotCalled.",
      labelNames: ["reason"],
    }),
    clusters: mirror(registry, {
      name: "hookpolicy_clusters",
      help: "Clusters, by whether a policy matches them; for those without topology Cluster API calls no hook.",
      labelNames: ["coverage"],
    }),
  };
}

interface MirrorConfiguration<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: Label[];
}

class Source<Label extends string> implements Mirror<Label> {
  read: Parameters<Mirror<Label>["follow"]>[0] = () => [];

  follow(read: typeof this.read): void {
    this.read = read;
  }
}

function mirror<Label extends string>(
  registry: Registry,
  configuration: MirrorConfiguration<Label>,
): Mirror<Label> {
  const source = new Source<Label>();
  const gauge = new Gauge<Label>({
    ...configuration,
    registers: [registry],
    async collect(): Promise<void> {
      // Before the reset: another scrape may read in the meantime.
      const samples = await source.read();
      gauge.reset();
      // A gauge without labels starts at 0; an unknown value is not 0.
      if (configuration.labelNames.length === 0) gauge.remove();
      for (const { labels, value } of samples) gauge.set(labels, value);
    },
  });
  return source;
}

/** For a count that is kept elsewhere. */
function mirrorCounter<Label extends string>(
  registry: Registry,
  configuration: MirrorConfiguration<Label>,
): Mirror<Label> {
  const source = new Source<Label>();
  const counter = new Counter<Label>({
    ...configuration,
    registers: [registry],
    async collect(): Promise<void> {
      const samples = await source.read();
      counter.reset();
      for (const { labels, value } of samples) counter.inc(labels, value);
    },
  });
  return source;
}
