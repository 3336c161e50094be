/** For each alert: series (one value a minute, in promtool's notation) under which it fires, and under which it rests. */

export interface Case {
  readonly name: string;
  /** When it is looked at. */
  readonly at: string;
  readonly series: Readonly<Record<string, string>>;
  /** How many alerts of the name fire; default 1. */
  readonly count?: number;
}

export interface Cases {
  readonly fires: readonly Case[];
  readonly rests: readonly Case[];
}

const UP = 'hookpolicy_build_info{instance="a"}';
const POLICY = 'kind="HookPolicy",namespace="team-a",policy="p"';
const HOOK = 'hook="BeforeClusterDelete"';
const OTHER = 'release="other"';
const calls = (verdict: string): string =>
  `hookpolicy_hook_calls_total{instance="a",${HOOK},verdict="${verdict}"}`;

const reviews = (verdict: string): string =>
  `hookpolicy_admission_reviews_total{instance="a",${HOOK},verdict="${verdict}"}`;

const at = (time: string, name: string, series: Case["series"] = {}): Case => ({ name, at: time, series });

/** A series that is above its limit, and one that is not. */
function threshold(series: string, above: string, below: string, time = "30m"): Cases {
  return {
    fires: [at(time, "above", { [series]: above })],
    rests: [at(time, "below", { [series]: below }), at(time, "unknown")],
  };
}

/** Each policy has an alert of its own, however many replicas tell of it. */
function ofEachPolicy(metric: string, labels: string): Cases {
  const series = (more: string): string => `${metric}{${more},${labels}}`;
  const { fires, rests } = threshold(series(POLICY), "1x60", "0x60");
  const both = [`instance="a",${POLICY}`, `instance="b",${POLICY}`, 'kind="ClusterHookPolicy",policy="f"'];
  const two = Object.fromEntries(both.map((each) => [series(each), "1x60"]));
  return { fires: [...fires, { name: "two policies", at: "30m", series: two, count: 2 }], rests };
}

/** Calls per minute that take at most as long as the bucket says. */
function latency(name: string, labels: string, seconds: number): Readonly<Record<string, string>> {
  const buckets = [0.01, 1, 2.5, 5, 10, 30];
  return Object.fromEntries(
    [...buckets.map((le) => [le, seconds <= le] as const), ["+Inf", true] as const].map(([le, inside]) => [
      `${name}_bucket{instance="a",${labels}le="${le}"}`,
      inside ? "0+10x60" : "0+0x60",
    ]),
  );
}

function slowness(name: string, labels: string, limits: { slow: number; fast: number }): Cases {
  return {
    fires: [at("40m", "slow", latency(name, labels, limits.slow))],
    rests: [at("40m", "fast", latency(name, labels, limits.fast)), at("40m", "no calls")],
  };
}

const HOUR = 3600;
const DAY = 24 * HOUR;
const certificate = 'hookpolicy_certificate_expiry_timestamp_seconds{instance="a",certificate="serving"}';

export const CASES: Readonly<Record<string, Cases>> = {
  HookPolicyDown: {
    fires: [at("6m", "never seen"), at("30m", "gone", { [UP]: "1x10 stale" })],
    rests: [
      at("30m", "one of two is gone", { [UP]: "1x10 stale", 'hookpolicy_build_info{instance="b"}': "1x60" }),
      at("12m", "for a moment", { [UP]: "1x8 _x2 1x60" }),
    ],
  },
  HookPolicyRestarting: {
    fires: [
      at("30m", "five starts", {
        [UP]: "1x60",
        'process_start_time_seconds{instance="a"}': "1x4 2x4 3x4 4x4 5x20",
      }),
    ],
    rests: [
      at("30m", "a rollout", { [UP]: "1x60", 'process_start_time_seconds{instance="a"}': "1x20 2x20" }),
      at("30m", "another program", {
        [UP]: "1x60",
        'process_start_time_seconds{instance="other"}': "1x4 2x4 3x4 4x4 5x20",
      }),
    ],
  },
  HookPolicyNotLoaded: {
    fires: [at("20m", "for long", { [calls("NotLoaded")]: "0+6x60" })],
    rests: [
      at("9m", "a start", { [calls("NotLoaded")]: "0 6 6x60" }),
      at("20m", "held by a policy", { [calls("NotLoaded")]: "0x60", [calls("Blocked")]: "0+6x60" }),
    ],
  },
  HookPolicyInternalError: {
    fires: [at("12m", "once", { [calls("InternalError")]: "0x10 1x20" })],
    rests: [at("12m", "never", { [calls("InternalError")]: "0x30" })],
  },
  HookPolicyCallRefused: {
    fires: [
      at("30m", "unreadable", { [calls("Undecodable")]: "0+1x60" }),
      at("30m", "without a certificate", { [calls("Unauthenticated")]: "0+1x60" }),
    ],
    rests: [
      at("30m", "a scanner, once", { [calls("Undecodable")]: "0x5 1x60" }),
      at("30m", "held", { [calls("Blocked")]: "0+1x60" }),
    ],
  },
  HookPolicyReleaseUnconfirmed: {
    fires: [at("30m", "for long", { 'hookpolicy_unconfirmed_releases_total{reason="Timeout"}': "0+1x60" })],
    rests: [at("30m", "once", { 'hookpolicy_unconfirmed_releases_total{reason="Timeout"}': "0x10 1x60" })],
  },
  HookPolicyReviewUndecided: {
    fires: [
      ...["NotLoaded", "NotConfirmed", "InternalError"].map((verdict) =>
        at("30m", verdict, { [reviews(verdict)]: "0+1x60" }),
      ),
      ...["NotLoaded", "InternalError"].map((verdict) =>
        at("30m", `${verdict}, of many`, { [reviews(verdict)]: "0+1x60", [reviews("Allowed")]: "0+9x60" }),
      ),
    ],
    rests: [
      at("30m", "once", { [reviews("NotConfirmed")]: "0x5 1x60" }),
      at("50m", "now and then, of many", {
        [reviews("NotConfirmed")]: "0x8 1x8 2x8 3x8 4x8 5x8 6x8",
        [reviews("Allowed")]: "0+1x60",
      }),
      at("30m", "a rule refuses", { [reviews("Blocked")]: "0+1x60" }),
    ],
  },
  HookPolicyAnswersSlow: slowness("hookpolicy_hook_call_duration_seconds", `${HOOK},`, {
    slow: 5,
    fast: 0.01,
  }),
  HookPolicyDecisionsLate: slowness("hookpolicy_decision_latency_seconds", "", { slow: 30, fast: 1 }),
  HookPolicyNotCalled: threshold('hookpolicy_policies_not_called{reason="NotDiscovered"}', "2x60", "0x60"),
  HookPolicyBypassed: threshold(
    'hookpolicy_cluster_bypasses{annotation="ok-to-delete"}',
    "2x120",
    "0x120",
    "90m",
  ),
  HookPolicyNotDiscovered: {
    fires: [
      at("80m", "an hour", { 'hookpolicy_discovery_calls_total{instance="a"}': "0+1x5 5x90" }),
      at("20m", "it is refused", {
        'hookpolicy_discovery_calls_total{instance="a"}': "0+1x90",
        'hookpolicy_discovery_failed{instance="a"}': "1x90",
      }),
    ],
    rests: [
      at("80m", "it succeeds", {
        'hookpolicy_discovery_calls_total{instance="a"}': "0+0.1x90",
        'hookpolicy_discovery_failed{instance="a"}': "1x10 0x80",
      }),
      at("80m", "another replica is asked", {
        'hookpolicy_discovery_calls_total{instance="a"}': "1x90",
        'hookpolicy_discovery_calls_total{instance="b"}': "0+0.1x90",
      }),
      at("80m", "no replica at all"),
    ],
  },
  HookPolicyPolicyNotReady: ofEachPolicy("hookpolicy_policy_not_ready", 'reason="InvalidSpec"'),
  HookPolicyRuleNotEvaluable: {
    fires: [
      at("30m", "one", { [`hookpolicy_policy_decisions{${POLICY},${HOOK},verdict="NotEvaluable"}`]: "1x60" }),
    ],
    rests: [
      at("30m", "held", { [`hookpolicy_policy_decisions{${POLICY},${HOOK},verdict="Blocked"}`]: "1x60" }),
    ],
  },
  HookRolloutHalted: threshold('hookpolicy_rollout_halted{rollout="upgrades"}', "1x60", "0x60"),
  HookPolicyTaskFailed: ofEachPolicy("hookpolicy_failed_tasks", 'phase="Failed"'),
  HookPolicyClusterTornDown: threshold(
    'hookpolicy_torn_down_clusters{instance="a",reason="ForegroundDeletion"}',
    "1x60",
    "0x60",
    "1m",
  ),
  HookPolicyHeldLong: {
    fires: [
      at("10m", "on two replicas", {
        [`hookpolicy_oldest_hold_timestamp_seconds{instance="a",${POLICY},${HOOK},${OTHER}}`]: `${-5 * HOUR}x60`,
        [`hookpolicy_oldest_hold_timestamp_seconds{instance="b",${POLICY},${HOOK},${OTHER}}`]: `${-5 * HOUR}x60`,
      }),
      at("10m", "of a Cluster that it may name", {
        [`hookpolicy_oldest_hold_timestamp_seconds{${POLICY},${HOOK},${OTHER},held_cluster="team-a/prod-1"}`]: `${-5 * HOUR}x60`,
      }),
      at("10m", "behind one that time releases", {
        [`hookpolicy_oldest_hold_timestamp_seconds{${POLICY},${HOOK},release="time"}`]: `${-9 * HOUR}x60`,
        [`hookpolicy_oldest_hold_timestamp_seconds{${POLICY},${HOOK},${OTHER}}`]: `${-5 * HOUR}x60`,
      }),
    ],
    rests: [
      at("10m", "three hours", {
        [`hookpolicy_oldest_hold_timestamp_seconds{${POLICY},${HOOK},${OTHER}}`]: `${-3 * HOUR}x60`,
      }),
      at("10m", "until a window opens", {
        [`hookpolicy_oldest_hold_timestamp_seconds{${POLICY},${HOOK},release="time"}`]: `${-5 * HOUR}x60`,
      }),
      at("10m", "before a new replica knows when the window opens", {
        [`hookpolicy_oldest_hold_timestamp_seconds{${POLICY},${HOOK},${OTHER}}`]: `_x7 ${-5 * HOUR}x2 stale`,
        [`hookpolicy_oldest_hold_timestamp_seconds{${POLICY},${HOOK},release="time"}`]: `_x9 ${-5 * HOUR}x60`,
      }),
    ],
  },
  HookPolicyDeadlineNear: {
    fires: [
      at("5m", "80 %", { [`hookpolicy_deadlines{${POLICY},passed="80"}`]: "3x60" }),
      at("5m", "warnBefore", { [`hookpolicy_deadlines{${POLICY},passed="near"}`]: "1x60" }),
    ],
    rests: [at("5m", "50 %", { [`hookpolicy_deadlines{${POLICY},passed="50"}`]: "3x60" })],
  },
  HookPolicyDeadlinePassed: {
    fires: [at("5m", "100 %", { [`hookpolicy_deadlines{${POLICY},passed="100"}`]: "3x60" })],
    rests: [at("5m", "80 %", { [`hookpolicy_deadlines{${POLICY},passed="80"}`]: "3x60" })],
  },
  HookPolicyOverrideActive: threshold('hookpolicy_overrides{state="active"}', "1x60", "0x60"),
  HookPolicyOverrideIneffective: threshold('hookpolicy_overrides{state="ineffective"}', "1x60", "0x60"),
  HookPolicyInformerStale: threshold(
    'hookpolicy_informer_contact_age_seconds{instance="a",resource="namespaces"}',
    "0+60x60",
    "60x60",
  ),
  HookPolicyReconcileFailing: {
    fires: [at("60m", "for long", { 'hookpolicy_reconcile_errors_total{reason="Forbidden"}': "0+1x90" })],
    rests: [at("60m", "once", { 'hookpolicy_reconcile_errors_total{reason="Conflict"}': "0x10 1x90" })],
  },
  HookPolicyQueueLong: threshold('hookpolicy_workqueue_depth{instance="a"}', "500x60", "10x60"),
  HookPolicyNoLeader: {
    fires: [
      at("30m", "none of two", {
        'hookpolicy_leader{instance="a"}': "0x60",
        'hookpolicy_leader{instance="b"}': "0x60",
      }),
    ],
    rests: [
      at("30m", "one of two", {
        'hookpolicy_leader{instance="a"}': "1x60",
        'hookpolicy_leader{instance="b"}': "0x60",
      }),
      at("30m", "without election", { [UP]: "1x60" }),
    ],
  },
  HookPolicyManyLeaders: {
    fires: [
      at("30m", "two", {
        'hookpolicy_leader{instance="a"}': "1x60",
        'hookpolicy_leader{instance="b"}': "1x60",
      }),
    ],
    rests: [
      at("12m", "a handover between two scrapes", {
        'hookpolicy_leader{instance="a"}': "1x60",
        'hookpolicy_leader{instance="b"}': "0x8 1x1 0x60",
      }),
    ],
  },
  HookPolicyCertificateExpiring: threshold(certificate, `${6 * DAY}x60`, `${30 * DAY}x60`),
  HookPolicyCertificateExpired: threshold(certificate, "0x60", `${6 * DAY}x60`),
  HookPolicyEventsLost: threshold('hookpolicy_events_total{result="dropped"}', "0+5x60", "0x60", "45m"),
  HookPolicyAuditLogLost: threshold(
    'hookpolicy_audit_log_lines_total{instance="a",result="dropped"}',
    "0x20 1x60",
    "0x60",
    "25m",
  ),
  HookPolicySeriesOmitted: threshold(
    'hookpolicy_metric_series_omitted{metric="hookpolicy_deadlines"}',
    "7x60",
    "0x60",
  ),
};
