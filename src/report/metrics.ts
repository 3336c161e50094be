/** The Prometheus metrics of HookPolicy. No metric has a series for each Cluster, of which a fleet has too many. */

import { collectDefaultMetrics, Gauge, Registry } from "prom-client";

import { HOOK_NAMES } from "../api/runtime-hooks.ts";
import type { HookMetrics } from "../hooks/hook-handler.ts";
import { VERSION } from "../version.ts";
import { type Makers, makers } from "./metric-makers.ts";

export type { Sample } from "./metric-makers.ts";

/** From a decision in memory to one that used all of Cluster API's timeout. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** From a check to the backup of a large fleet. */
const TASK_BUCKETS = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 4 * 3600, 24 * 3600];
/** From a decision in the same turn of the event loop to one behind ten thousand others. */
const LATENCY_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Gauges of prom-client with the suffix of a counter, which promtool rejects; each sums up a metric by type. */
const MISNAMED = ["handles", "requests", "resources"].map((what) => `nodejs_active_${what}_total`);

export type Metrics = ReturnType<typeof allMetrics> & {
  readonly contentType: string;
  /** Whether series may name Clusters. */
  readonly clusterNames: boolean;
  /** The exposition text; rejects when a `follow` callback throws. */
  text(): Promise<string>;
};

interface MetricsOptions {
  /** The minor that `--capi-version` chose, such as `1.14`. */
  readonly capiVersion: string;
  /** Default: false. */
  readonly clusterNames?: boolean;
}

export function createMetrics({ capiVersion, clusterNames = false }: MetricsOptions): Metrics {
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
    clusterNames,
    text: async (): Promise<string> => await registry.metrics(),
  };
}

function allMetrics(registry: Registry) {
  const make = makers(registry);
  return {
    ...callMetrics(make),
    ...controllerMetrics(make),
    ...policyMetrics(make),
    ...fleetMetrics(make),
  };
}

/** A series that starts with its first failure shows no increase, and an alert would miss that failure. */
function startAtZero(
  metrics: Pick<Metrics, "hookCalls" | "admissionReviews" | "events" | "auditLines" | "taskDuration">,
): void {
  for (const hook of HOOK_NAMES) {
    for (const verdict of MISTAKES) metrics.hookCalls.inc({ hook, verdict }, 0);
  }
  for (const hook of ["BeforeClusterCreate", "BeforeClusterUpgrade", "BeforeClusterDelete"]) {
    for (const verdict of UNDECIDED) metrics.admissionReviews.inc({ hook, verdict }, 0);
  }
  for (const result of ["written", "repeated", "refused", "failed", "dropped"])
    metrics.events.inc({ result }, 0);
  for (const result of ["written", "dropped"]) metrics.auditLines.inc({ result }, 0);
  for (const phase of ["Succeeded", "Failed"]) metrics.taskDuration.zero({ phase });
}

/** Verdicts without a decision, though the request is in order. */
const UNDECIDED = ["NotLoaded", "NotConfirmed", "InternalError"];
const MISTAKES = [...UNDECIDED, "Undecodable", "Unauthenticated"];

function callMetrics({ counter, histogram, mirror }: Makers) {
  return {
    discoveryCalls: counter("hookpolicy_discovery_calls_total", {
      help: "Times that Cluster API asked which hooks are served.",
    }),
    auditLines: counter("hookpolicy_audit_log_lines_total", {
      help: "Lines of the audit log, by whether they were written or dropped.",
      labelNames: ["result"],
    }),
    hookCalls: counter("hookpolicy_hook_calls_total", {
      help: "Hook calls answered, by verdict.",
      labelNames: ["hook", "verdict"],
    }),
    hookCallDuration: histogram("hookpolicy_hook_call_duration_seconds", {
      help: "Time from the end of a hook's request to its answer.",
      buckets: DURATION_BUCKETS,
      labelNames: ["hook"],
    }),
    heldClusters: mirror("hookpolicy_held_clusters", {
      help: "Clusters that an enforced policy or rollout holds now.",
      labelNames: ["hook"],
    }),
    tornDown: mirror("hookpolicy_torn_down_clusters", {
      help: "Held Clusters of which others than Cluster API delete what they own, by reason.",
      labelNames: ["reason"],
    }),
    unconfirmedReleases: counter("hookpolicy_unconfirmed_releases_total", {
      help: "Releases that memory allowed and the read from the API server did not confirm.",
      labelNames: ["reason"],
    }),
    admissionReviews: counter("hookpolicy_admission_reviews_total", {
      help: "Reviews of Clusters, by the hook that decides about the request later, and verdict.",
      labelNames: ["hook", "verdict"],
    }),
    admissionReviewDuration: histogram("hookpolicy_admission_review_duration_seconds", {
      help: "Time from the end of a review of a Cluster to its answer.",
      buckets: DURATION_BUCKETS,
      labelNames: ["hook"],
    }),
  };
}

function controllerMetrics({ counter, mirror, mirrorCounter }: Makers) {
  return {
    informerContactAge: mirror("hookpolicy_informer_contact_age_seconds", {
      help: "Time since the API server last said anything about a resource.",
      labelNames: ["resource"],
    }),
    informerRestarts: mirrorCounter("hookpolicy_informer_restarts_total", {
      help: "Lists and watches that had to be started again.",
      labelNames: ["resource"],
    }),
    informerObjects: mirror("hookpolicy_informer_objects", {
      help: "Objects held in memory.",
      labelNames: ["resource"],
    }),
    informerTooLarge: mirror("hookpolicy_informer_objects_too_large", {
      help: "Objects of which only a stub is in memory, because their namespace takes more than its share.",
      labelNames: ["resource"],
    }),
    statusWrites: counter("hookpolicy_status_writes_total", {
      help: "Status updates sent to the API server, by result.",
      labelNames: ["kind", "result"],
    }),
    workqueueDepth: mirror("hookpolicy_workqueue_depth", { help: "Keys that wait for the reconciler." }),
    reconcileErrors: counter("hookpolicy_reconcile_errors_total", {
      help: "Reconciles that failed and are tried again, by the API server's reason.",
      labelNames: ["reason"],
    }),
    events: counter("hookpolicy_events_total", {
      help: "Kubernetes Events: written, repeated (by another replica), refused by a namespace that is deleted, failed, or dropped.",
      labelNames: ["result"],
    }),
    certificateExpiry: mirror("hookpolicy_certificate_expiry_timestamp_seconds", {
      help: "When a certificate ends, in Unix time.",
      labelNames: ["certificate"],
    }),
    /** Without leader election there is no series. */
    leader: mirror("hookpolicy_leader", {
      help: "Whether this replica runs the tasks that only one replica should run: 1 or 0.",
    }),
  };
}

function policyMetrics({ histogram, mirror, mirrorCounter }: Makers) {
  return {
    policyDecisions: mirror("hookpolicy_policy_decisions", {
      help: "Operations that wait and that a policy holds (Blocked), would hold (WouldBlock) or cannot evaluate (NotEvaluable).",
      labelNames: ["kind", "namespace", "policy", "hook", "verdict"],
    }),
    wouldBlock: mirrorCounter("hookpolicy_policy_would_block_total", {
      help: "Operations that have proceeded and that a policy in mode Audit would have held.",
      labelNames: ["kind", "namespace", "policy", "hook"],
    }),
    oldestHold: mirror("hookpolicy_oldest_hold_timestamp_seconds", {
      help: "When the operation that a policy has held for the longest was first asked for, in Unix time.",
      labelNames: ["kind", "namespace", "policy", "hook", "release", "held_cluster"],
    }),
    seriesOmitted: mirror("hookpolicy_metric_series_omitted", {
      help: "Series by policy that are left out, because there are too many.",
      labelNames: ["metric"],
    }),
    decisionLatency: histogram("hookpolicy_decision_latency_seconds", {
      help: "Time from a change (seen by a watch, or due by the clock) to the answer that it changed.",
      buckets: LATENCY_BUCKETS,
    }),
    windowsOpen: mirror("hookpolicy_window_open", {
      help: "Whether a time window of a policy is open: 1 or 0.",
      labelNames: ["kind", "namespace", "policy", "rule", "gate"],
    }),
    deadlines: mirror("hookpolicy_deadlines", {
      help: "Running deadlines, one for each operation and rule, by the part of its time in percent that has passed: 0, 50, 80 or 100; near: less than the rule's warnBefore is left.",
      labelNames: ["kind", "namespace", "policy", "passed"],
    }),
    policyNotReady: mirror("hookpolicy_policy_not_ready", {
      help: "1 for each policy and HookRollout whose condition Ready is False, with its reason.",
      labelNames: ["kind", "namespace", "policy", "reason"],
    }),
    failedTasks: mirror("hookpolicy_failed_tasks", {
      help: "HookTasks of operations that are not over and that have failed, or were changed, by policy.",
      labelNames: ["kind", "namespace", "policy", "phase"],
    }),
    overrides: mirror("hookpolicy_overrides", {
      help: "HookOverrides that are active, expired, or without effect because of a mistake in them.",
      labelNames: ["state"],
    }),
  };
}

function fleetMetrics({ histogram, mirror }: Makers) {
  return {
    tasks: mirror("hookpolicy_tasks", {
      help: "HookTasks of operations that are not over, by phase.",
      labelNames: ["phase"],
    }),
    taskDuration: histogram("hookpolicy_task_duration_seconds", {
      help: "Time from the beginning of a task's first attempt to its end, by its phase then.",
      buckets: TASK_BUCKETS,
      labelNames: ["phase"],
    }),
    rolloutClusters: mirror("hookpolicy_rollout_clusters", {
      help: "Clusters of HookRollouts by stage and state, for the target that is rolled out.",
      labelNames: ["rollout", "stage", "state"],
    }),
    rolloutHalted: mirror("hookpolicy_rollout_halted", {
      help: "Whether failures have halted the HookRollout: 1 or 0.",
      labelNames: ["rollout"],
    }),
    policies: mirror("hookpolicy_policies", {
      help: "Policies and HookRollouts by kind, mode and the status of their Ready condition.",
      labelNames: ["kind", "mode", "ready"],
    }),
    policiesNotCalled: mirror("hookpolicy_policies_not_called", {
      help: "Policies and HookRollouts that would hold something, but Cluster API does not ask, by the reason of their condition NotCalled.",
      labelNames: ["reason"],
    }),
    discoveryFailed: mirror("hookpolicy_discovery_failed", {
      help: "Whether Cluster API's last attempt to discover the operator has failed: 1 or 0.",
    }),
    clusters: mirror("hookpolicy_clusters", {
      help: "Clusters, by whether a policy matches them; for those without topology Cluster API calls no hook.",
      labelNames: ["coverage"],
    }),
    bypasses: mirror("hookpolicy_cluster_bypasses", {
      help: "Clusters with an annotation that lets them past a hook or a check of Cluster API, by that annotation.",
      labelNames: ["annotation"],
    }),
  };
}

/** Counts the answers to hook calls. */
export function hookMetrics(metrics: Metrics): HookMetrics {
  return {
    answered: (hook, verdict, seconds) => {
      metrics.hookCalls.inc({ hook, verdict });
      metrics.hookCallDuration.observe({ hook }, seconds);
    },
    unconfirmed: (reason) => metrics.unconfirmedReleases.inc({ reason }),
    discovered: () => metrics.discoveryCalls.inc(),
  };
}
