/**
 * The law of the hook port: forged calls, mixed in anywhere, change nothing for the real ones. FULL=1 runs 100,000
 * sequences.
 */

import assert from "node:assert/strict";
import test from "node:test";
import * as fc from "fast-check";
import type { GateSpec, RuleSpec } from "../../src/api/hookpolicy.ts";
import { type Cluster, OK_TO_DELETE_ANNOTATION, PENDING_HOOKS_ANNOTATION } from "../../src/api/meta.ts";
import { HOOK_NAMES, type HookCall, type HookName, VERSION_FIELDS } from "../../src/api/runtimehooks.ts";
import type { PolicyObject } from "../../src/controller/policyset.ts";
import { APPROVED, at, cluster, clusterHookPolicy, hookOverride, hookPolicy, NOW } from "../unit/builders.ts";
import { Operators } from "./operators.ts";

const SEQUENCES = process.env["FULL"] === undefined ? 300 : 100_000;

const approval: GateSpec = { name: "approved", annotation: { key: APPROVED } };
const versioned: GateSpec = { name: "versioned", annotation: { key: APPROVED, valueFrom: "TargetVersion" } };
const soak: GateSpec = { name: "soak", wait: { duration: "30m" } };
const night: GateSpec = {
  name: "night",
  window: { allow: [{ from: at("+40m").toISOString(), to: at("+3h").toISOString() }] },
};
const clock: GateSpec = { name: "clock", expression: "now > timestamp('2026-11-21T12:20:00Z')" };
const STEPPED = HOOK_NAMES.filter((hook) => VERSION_FIELDS[hook].length > 0);

function all([first = "BeforeClusterDelete", ...rest]: readonly HookName[]): RuleSpec["hooks"] {
  return [first, ...rest];
}

const hooks = all(HOOK_NAMES);
const until = fc.constantFrom<GateSpec[]>(
  [approval],
  [soak],
  [approval, soak],
  [night, soak],
  [clock, soak],
  [night],
);
const deadline = fc.constantFrom<RuleSpec["deadline"]>(
  undefined,
  { after: "45m", onExpiry: "Allow" },
  { after: "20m", onExpiry: "KeepBlocking" },
);
const ruleOf = ([gates, end]: [GateSpec[], RuleSpec["deadline"]]): RuleSpec => ({
  name: "rule",
  hooks,
  until: gates,
  ...(end !== undefined && { deadline: end }),
});
const aRule = fc.tuple(until, deadline).map(ruleOf);
const upgrades: RuleSpec = {
  name: "upgrades",
  hooks: all(STEPPED),
  until: [versioned, soak],
};
const seen: RuleSpec = { name: "seen", hooks };

const policies: fc.Arbitrary<PolicyObject[]> = fc
  .tuple(aRule, aRule, fc.constantFrom<"Enforce" | "Audit">("Enforce", "Audit"), fc.boolean())
  .map(([own, wide, mode, selects]) => [
    hookPolicy({
      rules: [own, { ...upgrades }],
      ...(selects && { clusterSelector: { matchLabels: { tier: "production" } } }),
    }),
    clusterHookPolicy({ mode, rules: [wide, seen] }),
  ]);

const VERSIONS = ["v1.34.0", "v1.35.0", "v1.36.0"];
const MARKS = [
  undefined,
  "AfterControlPlaneInitialized",
  "AfterClusterUpgrade",
  "AfterClusterUpgrade,AfterControlPlaneUpgrade",
  "AfterClusterUpgrade,AfterWorkersUpgrade,BeforeWorkersUpgrade",
  "AfterClusterUpgrade,AfterWorkersUpgrade",
];

/** A Cluster as it is, or as somebody says that it is. */
const anyCluster: fc.Arbitrary<Cluster> = fc
  .record({
    approved: fc.constantFrom(undefined, "", "v1.35.0"),
    marks: fc.constantFrom(...MARKS),
    letGo: fc.constantFrom(false, false, false, true),
    deleted: fc.constantFrom(false, false, true),
    tier: fc.boolean(),
    paused: fc.constantFrom(false, false, false, true),
    created: fc.constantFrom(true, true, false),
    version: fc.constantFrom(...VERSIONS),
    plan: fc.constantFrom([], ["v1.35.0"], ["v1.35.0", "v1.36.0"]),
    heldAt: fc.option(fc.constantFrom(...HOOK_NAMES), { nil: undefined, freq: 3 }),
    reconciled: fc.constantFrom(false, false, true),
  })
  .map((is) => {
    const annotations = {
      ...(is.approved !== undefined && { [APPROVED]: is.approved }),
      ...(is.marks !== undefined && { [PENDING_HOOKS_ANNOTATION]: is.marks }),
      ...(is.letGo && { [OK_TO_DELETE_ANNOTATION]: "" }),
    };
    const progress = {
      plan: is.plan,
      ...(is.heldAt !== undefined && { heldAt: is.heldAt }),
      ...(is.reconciled && is.heldAt === undefined && { reconciled: true }),
    };
    return cluster(
      {
        annotations,
        ...(is.tier && { labels: { tier: "production" } }),
        ...(is.deleted && { deletionTimestamp: NOW.toISOString() }),
      },
      {
        paused: is.paused,
        created: is.created,
        topology: { className: "lab", version: is.version },
        progress,
      },
    );
  });

const replica = fc.integer({ min: 0, max: 1 });
const question = {
  hook: fc.constantFrom<HookName>(...HOOK_NAMES),
  version: fc.constantFrom(...VERSIONS),
  replica,
};

type Step =
  | { readonly is: Cluster }
  | { readonly gone: true }
  | { readonly minutes: number }
  | { readonly settle: true }
  | { readonly real: { readonly hook: HookName; readonly version: string; readonly replica: number } }
  | {
      readonly forged: {
        readonly hook: HookName;
        readonly version: string;
        readonly replica: number;
        readonly claims: Cluster;
        readonly resourceVersion: string;
        readonly uid: string;
        readonly settings: Readonly<Record<string, string>> | undefined;
      };
    };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ is: anyCluster }) },
  { weight: 1, arbitrary: fc.record({ gone: fc.constant(true as const) }) },
  { weight: 4, arbitrary: fc.record({ minutes: fc.integer({ min: 1, max: 40 }) }) },
  { weight: 2, arbitrary: fc.record({ settle: fc.constant(true as const) }) },
  { weight: 6, arbitrary: fc.record({ real: fc.record(question) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      forged: fc.record({
        ...question,
        claims: anyCluster,
        resourceVersion: fc.constantFrom("1", "1000", "99999999999", ""),
        uid: fc.constantFrom("uid-prod-1", "uid-prod-1", "uid-prod-1", "another"),
        settings: fc.constantFrom(undefined, { region: "eu" }),
        version: fc.constantFrom(...VERSIONS, "v1.99.0", "v0.0.0", "\u001B[2J", "\uD800"),
      }),
    }),
  },
);

function callOf(hook: HookName, version: string): HookCall {
  return { hook, ...Object.fromEntries(VERSION_FIELDS[hook].map((field) => [field, version])) };
}

interface Seen {
  readonly answers: string[];
  readonly statuses: string[];
  readonly told: string;
  readonly used: string;
}

async function run(objects: PolicyObject[], steps: readonly Step[], withForged: boolean): Promise<Seen> {
  const overrides = [hookOverride({ hooks: ["BeforeClusterUpgrade"], expiresAt: at("+50m").toISOString() })];
  const operators = new Operators({ policies: objects, overrides, clusters: [cluster()] });
  const answers: string[] = [];
  const statuses: string[] = [];
  const settle = (): void => {
    operators.settle();
    statuses.push(JSON.stringify([...operators.policies.values()].map(({ status }) => status)));
  };
  for (const each of steps) {
    if ("is" in each) operators.set(each.is);
    else if ("gone" in each) operators.remove("team-a/prod-1");
    else if ("minutes" in each)
      operators.passTo(new Date(operators.now.getTime() + each.minutes * 60_000), 600_000);
    else if ("settle" in each) settle();
    else if ("real" in each) {
      const { hook, version, replica: index } = each.real;
      const on = operators.clusters.get("team-a/prod-1");
      if (on !== undefined)
        answers.push(JSON.stringify(await operators.ask(index, callOf(hook, version), on)));
    } else if (withForged) {
      const { hook, version, replica: index, claims, resourceVersion, uid, settings } = each.forged;
      const metadata = { ...claims.metadata, resourceVersion, uid };
      const call = { ...callOf(hook, version), ...(settings !== undefined && { settings }) };
      await operators.ask(index, call, { ...claims, metadata });
    }
  }
  settle();
  operators.stop();
  return {
    answers,
    statuses,
    told: operators.told.join("\n"),
    used: JSON.stringify(operators.usedOverrides()),
  };
}

test(`whatever is forged, real calls get the same answers, and status and Events say the same`, async (t) => {
  let [held, went, told] = [0, 0, 0];
  await fc.assert(
    fc.asyncProperty(policies, fc.array(step, { minLength: 3, maxLength: 16 }), async (objects, steps) => {
      const expected = await run(objects, steps, false);
      assert.deepEqual(await run(objects, steps, true), expected);
      held += expected.answers.filter((text) => /"retryAfterSeconds":[1-9]/.test(text)).length;
      went += expected.answers.filter((text) => text.includes('"retryAfterSeconds":0')).length;
      told += Number(expected.told !== "");
    }),
    { numRuns: SEQUENCES, seed: 20_261_122 },
  );
  t.diagnostic(`${SEQUENCES} sequences: ${held} answers held, ${went} let go, ${told} told of something`);
  assert.ok(held > SEQUENCES / 10 && went > SEQUENCES / 10 && told > SEQUENCES / 10);
});
