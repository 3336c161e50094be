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

/** A series that is above its limit, and one that is not. */
function threshold(series: string, above: string, below: string, at = "30m"): Cases {
  return {
    fires: [{ name: "above", at, series: { [series]: above } }],
    rests: [
      { name: "below", at, series: { [series]: below } },
      { name: "unknown", at, series: {} },
    ],
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
    fires: [{ name: "slow", at: "40m", series: latency(name, labels, limits.slow) }],
    rests: [
      { name: "fast", at: "40m", series: latency(name, labels, limits.fast) },
      { name: "no calls", at: "40m", series: {} },
    ],
  };
}

const HOUR = 3600;
const DAY = 24 * HOUR;
const certificate = 'hookpolicy_certificate_expiry_timestamp_seconds{instance="a",certificate="serving"}';

export const CASES: Readonly<Record<string, Cases>> = {
  HookPolicyDown: {
    fires: [
      { name: "never seen", at: "6m", series: {} },
      { name: "gone", at: "30m", series: { [UP]: "1x10 stale" } },
    ],
    rests: [
      {
        name: "one of two is gone",
        at: "30m",
        series: { [UP]: "1x10 stale", 'hookpolicy_build_info{instance="b"}': "1x60" },
      },
      { name: "for a moment", at: "12m", series: { [UP]: "1x8 _x2 1x60" } },
    ],
  },
  HookPolicyRestarting: {
    fires: [
      {
        name: "five starts",
        at: "30m",
        series: { [UP]: "1x60", 'process_start_time_seconds{instance="a"}': "1x4 2x4 3x4 4x4 5x20" },
      },
    ],
    rests: [
      {
        name: "a rollout",
        at: "30m",
        series: { [UP]: "1x60", 'process_start_time_seconds{instance="a"}': "1x20 2x20" },
      },
      {
        name: "another program",
        at: "30m",
        series: { [UP]: "1x60", 'process_start_time_seconds{instance="other"}': "1x4 2x4 3x4 4x4 5x20" },
      },
    ],
  },
  HookPolicyNotLoaded: {
    fires: [{ name: "for long", at: "20m", series: { [calls("NotLoaded")]: "0+6x60" } }],
    rests: [
      { name: "a start", at: "9m", series: { [calls("NotLoaded")]: "0 6 6x60" } },
      {
        name: "held by a policy",
        at: "20m",
        series: { [calls("NotLoaded")]: "0x60", [calls("Blocked")]: "0+6x60" },
      },
    ],
  },
  HookPolicyInternalError: {
    fires: [{ name: "once", at: "12m", series: { [calls("InternalError")]: "0x10 1x20" } }],
    rests: [{ name: "never", at: "12m", series: { [calls("InternalError")]: "0x30" } }],
  },
  HookPolicyCallRefused: {
    fires: [
      { name: "unreadable", at: "30m", series: { [calls("Undecodable")]: "0+1x60" } },
      { name: "without a certificate", at: "30m", series: { [calls("Unauthenticated")]: "0+1x60" } },
    ],
    rests: [
      { name: "a scanner, once", at: "30m", series: { [calls("Undecodable")]: "0x5 1x60" } },
      { name: "held", at: "30m", series: { [calls("Blocked")]: "0+1x60" } },
    ],
  },
  HookPolicyReleaseUnconfirmed: {
    fires: [
      {
        name: "for long",
        at: "30m",
        series: { 'hookpolicy_unconfirmed_releases_total{reason="Timeout"}': "0+1x60" },
      },
    ],
    rests: [
      {
        name: "once",
        at: "30m",
        series: { 'hookpolicy_unconfirmed_releases_total{reason="Timeout"}': "0x10 1x60" },
      },
    ],
  },
  HookPolicyReviewUndecided: {
    fires: [
      ...["NotLoaded", "NotConfirmed", "InternalError"].map((verdict) => ({
        name: verdict,
        at: "30m",
        series: { [reviews(verdict)]: "0+1x60" },
      })),
      ...["NotLoaded", "InternalError"].map((verdict) => ({
        name: `${verdict}, of many`,
        at: "30m",
        series: { [reviews(verdict)]: "0+1x60", [reviews("Allowed")]: "0+9x60" },
      })),
    ],
    rests: [
      { name: "once", at: "30m", series: { [reviews("NotConfirmed")]: "0x5 1x60" } },
      {
        name: "now and then, of many",
        at: "50m",
        series: { [reviews("NotConfirmed")]: "0x8 1x8 2x8 3x8 4x8 5x8 6x8", [reviews("Allowed")]: "0+1x60" },
      },
      { name: "a rule refuses", at: "30m", series: { [reviews("Blocked")]: "0+1x60" } },
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
      {
        name: "an hour",
        at: "80m",
        series: { 'hookpolicy_discovery_calls_total{instance="a"}': "0+1x5 5x90" },
      },
    ],
    rests: [
      {
        name: "another replica is asked",
        at: "80m",
        series: {
          'hookpolicy_discovery_calls_total{instance="a"}': "1x90",
          'hookpolicy_discovery_calls_total{instance="b"}': "0+0.1x90",
        },
      },
      { name: "no replica at all", at: "80m", series: {} },
    ],
  },
  HookPolicyPolicyNotReady: ofEachPolicy("hookpolicy_policy_not_ready", 'reason="InvalidSpec"'),
  HookPolicyRuleNotEvaluable: {
    fires: [
      {
        name: "one",
        at: "30m",
        series: { [`hookpolicy_policy_decisions{${POLICY},${HOOK},verdict="NotEvaluable"}`]: "1x60" },
      },
    ],
    rests: [
      {
        name: "held",
        at: "30m",
        series: { [`hookpolicy_policy_decisions{${POLICY},${HOOK},verdict="Blocked"}`]: "1x60" },
      },
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
      {
        name: "on two replicas",
        at: "10m",
        series: {
          [`hookpolicy_oldest_hold_timestamp_seconds{instance="a",${POLICY},${HOOK},${OTHER}}`]: `${-5 * HOUR}x60`,
          [`hookpolicy_oldest_hold_timestamp_seconds{instance="b",${POLICY},${HOOK},${OTHER}}`]: `${-5 * HOUR}x60`,
        },
      },
      {
        name: "of a Cluster that it may name",
        at: "10m",
        series: {
          [`hookpolicy_oldest_hold_timestamp_seconds{${POLICY},${HOOK},${OTHER},held_cluster="team-a/prod-1"}`]: `${-5 * HOUR}x60`,
        },
      },
    ],
    rests: [
      {
        name: "three hours",
        at: "10m",
        series: {
          [`hookpolicy_oldest_hold_timestamp_seconds{${POLICY},${HOOK},${OTHER}}`]: `${-3 * HOUR}x60`,
        },
      },
      {
        name: "until a window opens",
        at: "10m",
        series: {
          [`hookpolicy_oldest_hold_timestamp_seconds{${POLICY},${HOOK},release="time"}`]: `${-5 * HOUR}x60`,
        },
      },
      {
        name: "before a new replica knows when the window opens",
        at: "10m",
        series: {
          [`hookpolicy_oldest_hold_timestamp_seconds{${POLICY},${HOOK},${OTHER}}`]: `_x7 ${-5 * HOUR}x2 stale`,
          [`hookpolicy_oldest_hold_timestamp_seconds{${POLICY},${HOOK},release="time"}`]: `_x9 ${-5 * HOUR}x60`,
        },
      },
    ],
  },
  HookPolicyDeadlineNear: {
    fires: [
      { name: "80 %", at: "5m", series: { [`hookpolicy_deadlines{${POLICY},passed="80"}`]: "3x60" } },
      { name: "warnBefore", at: "5m", series: { [`hookpolicy_deadlines{${POLICY},passed="near"}`]: "1x60" } },
    ],
    rests: [{ name: "50 %", at: "5m", series: { [`hookpolicy_deadlines{${POLICY},passed="50"}`]: "3x60" } }],
  },
  HookPolicyDeadlinePassed: {
    fires: [
      { name: "100 %", at: "5m", series: { [`hookpolicy_deadlines{${POLICY},passed="100"}`]: "3x60" } },
    ],
    rests: [{ name: "80 %", at: "5m", series: { [`hookpolicy_deadlines{${POLICY},passed="80"}`]: "3x60" } }],
  },
  HookPolicyOverrideActive: threshold('hookpolicy_overrides{state="active"}', "1x60", "0x60"),
  HookPolicyOverrideIneffective: threshold('hookpolicy_overrides{state="ineffective"}', "1x60", "0x60"),
  HookPolicyInformerStale: threshold(
    'hookpolicy_informer_contact_age_seconds{instance="a",resource="namespaces"}',
    "0+60x60",
    "60x60",
  ),
  HookPolicyReconcileFailing: {
    fires: [
      {
        name: "for long",
        at: "60m",
        series: { 'hookpolicy_reconcile_errors_total{reason="Forbidden"}': "0+1x90" },
      },
    ],
    rests: [
      {
        name: "once",
        at: "60m",
        series: { 'hookpolicy_reconcile_errors_total{reason="Conflict"}': "0x10 1x90" },
      },
    ],
  },
  HookPolicyQueueLong: threshold('hookpolicy_workqueue_depth{instance="a"}', "500x60", "10x60"),
  HookPolicyNoLeader: {
    fires: [
      {
        name: "none of two",
        at: "30m",
        series: { 'hookpolicy_leader{instance="a"}': "0x60", 'hookpolicy_leader{instance="b"}': "0x60" },
      },
    ],
    rests: [
      {
        name: "one of two",
        at: "30m",
        series: { 'hookpolicy_leader{instance="a"}': "1x60", 'hookpolicy_leader{instance="b"}': "0x60" },
      },
      { name: "without election", at: "30m", series: { [UP]: "1x60" } },
    ],
  },
  HookPolicyManyLeaders: {
    fires: [
      {
        name: "two",
        at: "30m",
        series: { 'hookpolicy_leader{instance="a"}': "1x60", 'hookpolicy_leader{instance="b"}': "1x60" },
      },
    ],
    rests: [
      {
        name: "a handover between two scrapes",
        at: "12m",
        series: {
          'hookpolicy_leader{instance="a"}': "1x60",
          'hookpolicy_leader{instance="b"}': "0x8 1x1 0x60",
        },
      },
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
