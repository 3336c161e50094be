/**
 * The law of the hook port: forged calls, mixed in anywhere, change nothing for the real ones, also while memory lags
 * behind the API server and reads of objects fail; and what happened before keeps no Cluster held whose gates are met.
 * FULL=1 runs 100,000 sequences; so do 100 runs with a SEED of their own.
 */

import assert from "node:assert/strict";
import test from "node:test";
import * as fc from "fast-check";
import type { GateSpec, HookPolicySpec, RuleSpec } from "../../src/api/hook-policy.ts";
import {
  type Cluster,
  OK_TO_DELETE_ANNOTATION,
  PENDING_HOOKS_ANNOTATION,
  UPGRADE_STEP_ANNOTATION,
} from "../../src/api/meta.ts";
import { HOOK_NAMES, type HookCall, type HookName, VERSION_FIELDS } from "../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../src/memory/policy-set.ts";
import {
  ALL_HOOKS,
  APPROVED,
  at,
  cluster,
  clusterHookPolicy,
  heldAt,
  hookOverride,
  hookPolicy,
  NOW,
} from "../unit/builders.ts";
import { FULL, SEED } from "../generated.ts";
import { compileOnce } from "../unit/memory/compile-once.ts";
import { CONFIG_MAP, configMap, Operators } from "./operators.ts";

const SEQUENCES = FULL ? 100_000 : 1_000;

const approval: GateSpec = { name: "approved", annotation: { key: APPROVED } };
const versioned: GateSpec = { name: "versioned", annotation: { key: APPROVED, valueFrom: "TargetVersion" } };
const soak: GateSpec = { name: "soak", wait: { duration: "30m" } };
const night: GateSpec = {
  name: "night",
  window: {
    allow: [
      { from: at("+40m").toISOString(), to: at("+3h").toISOString() },
      { from: at("+48h").toISOString(), to: at("+480h").toISOString() },
    ],
  },
};
const thawed: GateSpec = {
  name: "thawed",
  object: {
    ...CONFIG_MAP,
    nameExpression: "'freeze.' + (has(request.targetVersion) ? request.targetVersion : 'all')",
    absent: true,
  },
};
const clock: GateSpec = { name: "clock", expression: "now > timestamp('2026-11-21T12:20:00Z')" };
const STEPPED = HOOK_NAMES.filter((hook) => VERSION_FIELDS[hook].length > 0);

function all([first = "BeforeClusterDelete", ...rest]: readonly HookName[]): RuleSpec["hooks"] {
  return [first, ...rest];
}

/** A rule with `until` on any other hook is not evaluable. */
const hooks = all(HOOK_NAMES.filter((hook) => ALL_HOOKS.blocking.has(hook)));
const until = fc.constantFrom<GateSpec[]>(
  [approval],
  [soak],
  [approval, soak],
  [night, soak],
  [clock, soak],
  [night],
  [thawed],
  [thawed, soak],
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
const seen: RuleSpec = { name: "seen", hooks: all(HOOK_NAMES) };

const policies: fc.Arbitrary<PolicyObject[]> = fc
  .tuple(aRule, aRule, fc.constantFrom<"Enforce" | "Audit">("Enforce", "Audit"), fc.boolean())
  .map(([own, wide, mode, selects]) => [
    hookPolicy({
      rules: [own, { ...upgrades }],
      ...(selects && { clusterSelector: { matchLabels: { tier: "production" } } }),
    }),
    clusterHookPolicy({ mode, rules: [wide, seen] }),
  ]);

const waits: fc.Arbitrary<PolicyObject[]> = fc
  .tuple(
    fc.constantFrom<GateSpec[]>([thawed, soak], [approval, soak], [thawed, approval, soak]),
    fc.boolean(),
  )
  .map(([gates, isWide]) => {
    const spec: Partial<HookPolicySpec> = { rules: [ruleOf([gates, undefined])] };
    return [isWide ? clusterHookPolicy(spec) : hookPolicy(spec)];
  });

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
    step: fc.constantFrom(undefined, "", ...VERSIONS),
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
      ...(is.step !== undefined && { [UPGRADE_STEP_ANNOTATION]: is.step }),
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

/** One upgrade, which is approved and then is not. */
const anUpgrade: fc.Arbitrary<Cluster> = fc
  .constantFrom<Cluster["metadata"]["annotations"]>({ [APPROVED]: "v1.35.0" }, {})
  .map((annotations = {}) => upgrading(annotations));

function upgrading(annotations: Readonly<Record<string, string>>): Cluster {
  const topology = { className: "lab", version: "v1.35.0" };
  return heldAt("BeforeClusterUpgrade", cluster({ annotations }, { topology }));
}

const replica = fc.integer({ min: 0, max: 1 });
const anyQuestion = {
  hook: fc.constantFrom<HookName>(...HOOK_NAMES),
  version: fc.constantFrom(...VERSIONS),
  replica,
};
const itsQuestion = {
  hook: fc.constant<HookName>("BeforeClusterUpgrade"),
  version: fc.constant("v1.35.0"),
  replica,
};

type Step =
  | { readonly is: Cluster }
  | { readonly written: Cluster }
  | { readonly seenBy: "watch" | "list" }
  | { readonly freezes: readonly string[] }
  | { readonly objectsFail: boolean }
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

const stepsOf = (clusters: fc.Arbitrary<Cluster>, question: typeof anyQuestion): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.record({ is: clusters }) },
      { weight: 3, arbitrary: fc.record({ written: clusters }) },
      { weight: 2, arbitrary: fc.record({ seenBy: fc.constantFrom<"watch" | "list">("watch", "list") }) },
      { weight: 2, arbitrary: fc.record({ freezes: fc.subarray([...VERSIONS, "all"]) }) },
      { weight: 1, arbitrary: fc.record({ objectsFail: fc.boolean() }) },
      { weight: 1, arbitrary: fc.record({ gone: fc.constant(true as const) }) },
      { weight: 4, arbitrary: fc.record({ minutes: fc.integer({ min: 1, max: 40 }) }) },
      { weight: 2, arbitrary: fc.record({ settle: fc.constant(true as const) }) },
      { weight: 6, arbitrary: fc.record({ real: fc.record(question) }) },
      {
        weight: 8,
        arbitrary: fc.record({
          forged: fc.record({
            ...question,
            claims: clusters,
            resourceVersion: fc.constantFrom("1", "1000", "99999999999", ""),
            uid: fc.constantFrom("uid-prod-1", "uid-prod-1", "uid-prod-1", "another"),
            settings: fc.constantFrom(undefined, { region: "eu" }),
            version: fc.constantFrom(...VERSIONS, "v1.99.0", "v0.0.0", "\u001B[2J", "\uD800"),
          }),
        }),
      },
    ),
    { minLength: 3, maxLength: 16 },
  );
/** Whatever can happen, and what happens to one operation that waits. */
const stories = fc.oneof(
  fc.tuple(policies, stepsOf(anyCluster, anyQuestion)),
  fc.tuple(waits, stepsOf(anUpgrade, itsQuestion)),
);

function callOf(hook: HookName, version: string): HookCall {
  return { hook, ...Object.fromEntries(VERSION_FIELDS[hook].map((field) => [field, version])) };
}

interface Observation {
  readonly answers: string[];
  readonly statuses: string[];
  readonly told: string;
  readonly used: string;
}

function start(policyObjects: PolicyObject[]): Operators {
  const overrides = [hookOverride({ hooks: ["BeforeClusterUpgrade"], expiresAt: at("+50m").toISOString() })];
  return new Operators({ policies: policyObjects, overrides, clusters: [cluster()] });
}

/** What the API server has, and what memory has seen of it. */
function change(operators: Operators, each: Step): void {
  if ("is" in each) operators.set(each.is);
  else if ("written" in each) operators.write(each.written);
  else if ("seenBy" in each) operators.catchUp(each.seenBy);
  else if ("freezes" in each) operators.objects = each.freezes.map((name) => configMap(`freeze.${name}`));
  else if ("objectsFail" in each) operators.objectsFail = each.objectsFail;
  else if ("gone" in each) operators.remove("team-a/prod-1");
  else if ("minutes" in each)
    operators.passTo(new Date(operators.now.getTime() + each.minutes * 60_000), 600_000);
}

async function forge(
  operators: Operators,
  { forged }: Extract<Step, { readonly forged: unknown }>,
): Promise<void> {
  const { hook, version, replica: index, claims, resourceVersion, uid, settings } = forged;
  const metadata = { ...claims.metadata, resourceVersion, uid };
  const call = { ...callOf(hook, version), ...(settings !== undefined && { settings }) };
  await operators.ask(index, call, { ...claims, metadata });
}

async function run(
  objects: PolicyObject[],
  story: readonly Step[],
  withForged: boolean,
): Promise<Observation> {
  const operators = start(objects);
  const answers: string[] = [];
  const statuses: string[] = [];
  const settle = (): void => {
    operators.settle();
    statuses.push(JSON.stringify([...operators.policies.values()].map(({ status }) => status)));
  };
  for (const each of story) {
    if ("settle" in each) settle();
    else if ("real" in each) {
      const { hook, version, replica: index } = each.real;
      const on = operators.clusters.get("team-a/prod-1");
      if (on !== undefined)
        answers.push(JSON.stringify(await operators.ask(index, callOf(hook, version), on)));
    } else if (!("forged" in each)) change(operators, each);
    else if (withForged) await forge(operators, each);
  }
  settle();
  operators.stop();
  return {
    answers,
    statuses,
    // Their order depends on how much of a turn of the event loop was left.
    told: operators.told.toSorted().join("\n"),
    used: JSON.stringify(operators.usedOverrides()),
  };
}

test(`whatever is forged, real calls get the same answers, and status and Events say the same`, async (t) => {
  t.after(compileOnce());
  let [held, went, told] = [0, 0, 0];
  await fc.assert(
    fc.asyncProperty(stories, async ([objects, steps]) => {
      const expected = await run(objects, steps, false);
      assert.deepEqual(await run(objects, steps, true), expected);
      held += expected.answers.filter((text) => /"retryAfterSeconds":[1-9]/.test(text)).length;
      went += expected.answers.filter((text) => text.includes('"retryAfterSeconds":0')).length;
      told += Number(expected.told !== "");
    }),
    { numRuns: SEQUENCES, seed: SEED },
  );
  t.diagnostic(`${SEQUENCES} sequences: ${held} answers held, ${went} let go, ${told} told of something`);
  assert.ok(held > SEQUENCES / 10 && went > SEQUENCES / 10 && told > SEQUENCES / 10);
});

/** It is wanted for good, and every gate is met from now on. */
const READY: Readonly<Record<"deletion" | "upgrade", { readonly call: HookCall; readonly on: Cluster }>> = {
  deletion: {
    call: callOf("BeforeClusterDelete", "v1.35.0"),
    on: cluster({ annotations: { [APPROVED]: "v1.35.0" }, deletionTimestamp: NOW.toISOString() }),
  },
  upgrade: {
    call: callOf("BeforeClusterUpgrade", "v1.35.0"),
    on: upgrading({ [APPROVED]: "v1.35.0" }),
  },
};

test("whatever happened before, a Cluster is released when its gates have held for as long as they must", async (t) => {
  t.after(compileOnce());
  const wanted = fc.constantFrom(READY.deletion, READY.upgrade);
  const property = fc.asyncProperty(stories, wanted, async ([objects, before], { call, on }) => {
    const operators = start(objects);
    for (const each of before) {
      if ("forged" in each) await forge(operators, each);
      else if ("real" in each) await operators.ask(each.real.replica, call, on);
      else if ("settle" in each) operators.settle();
      else change(operators, each);
    }
    Object.assign(operators, { objects: [], objectsFail: false });
    operators.set(on);
    operators.passTo(at("+49h"), 600_000);
    for (const index of [0, 1]) {
      operators.objectsFail = true;
      await operators.ask(index, call, on);
      operators.objectsFail = false;
      const { retryAfterSeconds, message } = await operators.ask(index, call, on);
      assert.equal(retryAfterSeconds, 0, `replica ${index}: ${message}`);
    }
    operators.stop();
  });
  await fc.assert(property, { numRuns: SEQUENCES / 4, seed: SEED + 1 });
});
