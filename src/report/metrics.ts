/** The Prometheus metrics of HookPolicy. No metric has a series for each Cluster, of which a fleet has too many. */

import { collectDefaultMetrics, Gauge, Registry } from "prom-client";

import { HOOK_NAMES } from "../api/runtime-hooks.ts";
import type { HookMetrics } from "../hooks/hook-handler.ts";
import { VERSION } from "../version.ts";
import { fleetMetrics, single } from "./fleet-metrics.ts";
import { heldSamples, policyMetrics, type Surveyed, surveying, tornDownSamples } from "./policy-metrics.ts";
import { type AnyInformer, type Makers, makers, type MetricsWorld } from "./metric-makers.ts";

/** From a decision in memory to one that used all of Cluster API's timeout. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Gauges of prom-client with the suffix of a counter, which promtool rejects; each sums up a metric by type. */
const MISNAMED = ["handles", "requests", "resources"].map((what) => `nodejs_active_${what}_total`);

export type Metrics = ReturnType<typeof allMetrics> & {
  readonly contentType: string;
  /** What metrics mirror from now on. */
  follow(world: MetricsWorld): void;
  /** The exposition text; rejects when the world cannot be read. */
  text(): Promise<string>;
};

/** `capiVersion`: the minor that `--capi-version` chose, such as `1.14`. */
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
  let world: MetricsWorld | undefined;
  return {
    ...allMetrics(makers(registry, () => world)),
    contentType: registry.contentType,
    follow: (state) => void (world = state),
    text: async (): Promise<string> => await registry.metrics(),
  };
}

/** Counters of failures start at 0: an alert would miss the failure with which a series begins. */
function allMetrics(make: Makers) {
  const surveyed = surveying();
  return {
    ...callMetrics(make, surveyed),
    ...reviewMetrics(make),
    ...controllerMetrics(make),
    ...policyMetrics(make, surveyed),
    ...fleetMetrics(make),
  };
}

/** Verdicts without a decision, though the request is in order. */
const UNDECIDED = ["NotLoaded", "NotConfirmed", "InternalError"];
const MISTAKES = [...UNDECIDED, "Undecodable", "Unauthenticated"];
const ADMITTED = ["BeforeClusterCreate", "BeforeClusterUpgrade", "BeforeClusterDelete"];

function callMetrics({ counter, histogram, mirror }: Makers, surveyed: Surveyed) {
  const discoveryCalls = counter("hookpolicy_discovery_calls_total", {
    help: "Times that Cluster API asked which hooks are served.",
  });
  const auditLines = counter("hookpolicy_audit_log_lines_total", {
    help: "Lines of the audit log, by whether they were written or dropped.",
    labelNames: ["result"],
  });
  for (const result of ["written", "dropped"]) auditLines.inc({ result }, 0);
  const hookCalls = counter("hookpolicy_hook_calls_total", {
    help: "Hook calls answered, by verdict.",
    labelNames: ["hook", "verdict"],
  });
  for (const hook of HOOK_NAMES) for (const verdict of MISTAKES) hookCalls.inc({ hook, verdict }, 0);
  const hookCallDuration = histogram("hookpolicy_hook_call_duration_seconds", {
    help: "Time from the end of a hook's request to its answer.",
    buckets: DURATION_BUCKETS,
    labelNames: ["hook"],
  });
  mirror("hookpolicy_held_clusters", surveyed(heldSamples), {
    help: "Clusters that an enforced policy or rollout holds now.",
    labelNames: ["hook"],
  });
  mirror("hookpolicy_torn_down_clusters", surveyed(tornDownSamples), {
    help: "Held Clusters of which others than Cluster API delete what they own, by reason.",
    labelNames: ["reason"],
  });
  return { discoveryCalls, auditLines, hookCalls, hookCallDuration };
}

function reviewMetrics({ counter, histogram }: Makers) {
  const unconfirmedReleases = counter("hookpolicy_unconfirmed_releases_total", {
    help: "Releases that memory allowed and the read from the API server did not confirm.",
    labelNames: ["reason"],
  });
  const admissionReviews = counter("hookpolicy_admission_reviews_total", {
    help: "Reviews of Clusters, by the hook that decides about the request later, and verdict.",
    labelNames: ["hook", "verdict"],
  });
  for (const hook of ADMITTED) for (const verdict of UNDECIDED) admissionReviews.inc({ hook, verdict }, 0);
  const admissionReviewDuration = histogram("hookpolicy_admission_review_duration_seconds", {
    help: "Time from the end of a review of a Cluster to its answer.",
    buckets: DURATION_BUCKETS,
    labelNames: ["hook"],
  });
  return { unconfirmedReleases, admissionReviews, admissionReviewDuration };
}

const ageSeconds = (informer: AnyInformer): number => informer.contactAgeMs() / 1000;

function byInformer({ informers }: MetricsWorld, read: (informer: AnyInformer) => number) {
  return informers().map(([resource, informer]) => ({ labels: { resource }, value: read(informer) }));
}

function controllerMetrics({ mirror, mirrorCounter, counter }: Makers) {
  mirror("hookpolicy_informer_contact_age_seconds", (world) => byInformer(world, ageSeconds), {
    help: "Time since the API server last said anything about a resource.",
    labelNames: ["resource"],
  });
  mirrorCounter("hookpolicy_informer_restarts_total", (world) => byInformer(world, (each) => each.restarts), {
    help: "Lists and watches that had to be started again.",
    labelNames: ["resource"],
  });
  mirror("hookpolicy_informer_objects", (world) => byInformer(world, (each) => each.size), {
    help: "Objects held in memory.",
    labelNames: ["resource"],
  });
  mirror("hookpolicy_informer_objects_too_large", (world) => byInformer(world, (each) => each.tooLarge), {
    help: "Objects of which only a stub is in memory, because their namespace takes more than its share.",
    labelNames: ["resource"],
  });
  const statusWrites = counter("hookpolicy_status_writes_total", {
    help: "Status updates sent to the API server, by result.",
    labelNames: ["kind", "result"],
  });
  mirror("hookpolicy_workqueue_depth", ({ queue }) => single(queue.depth), {
    help: "Keys that wait for the reconciler.",
  });
  const reconcileErrors = counter("hookpolicy_reconcile_errors_total", {
    help: "Reconciles that failed and are tried again, by the API server's reason.",
    labelNames: ["reason"],
  });
  const events = counter("hookpolicy_events_total", {
    help: "Kubernetes Events: written, repeated (by another replica), refused by a namespace that is deleted, failed, or dropped.",
    labelNames: ["result"],
  });
  for (const result of ["written", "repeated", "refused", "failed", "dropped"]) events.inc({ result }, 0);
  mirror("hookpolicy_certificate_expiry_timestamp_seconds", ({ expiries }) => expiries(), {
    help: "When a certificate ends, in Unix time.",
    labelNames: ["certificate"],
  });
  mirror("hookpolicy_leader", ({ leading }) => single(leading ? leading() : undefined), {
    help: "Whether this replica runs the tasks that only one replica should run: 1 or 0.",
  });
  return { statusWrites, reconcileErrors, events };
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
