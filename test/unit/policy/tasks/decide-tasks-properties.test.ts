/** Laws of decide() with tasks: whatever the policies, the HookTasks, the world and the call. */

import assert from "node:assert/strict";
import test from "node:test";
import * as fc from "fast-check";
import type { GateSpec, RuleSpec, TaskSpec } from "../../../../src/api/hook-policy.ts";
import type { HookCall } from "../../../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../../../src/memory/policy-set.ts";
import { decide } from "../../../../src/policy/decide.ts";
import type { Decision } from "../../../../src/policy/decision.ts";
import type { CompiledPolicy } from "../../../../src/policy/policy.ts";
import { firstRun } from "../../../../src/policy/tasks/judge-tasks.ts";
import { taskName } from "../../../../src/policy/tasks/task-identity.ts";
import type { TaskPhase, TaskRecord } from "../../../../src/policy/tasks/task-record.ts";
import type { TaskTrace } from "../../../../src/policy/tasks/task-trace.ts";
import type { World } from "../../../../src/policy/world.ts";
import { runs } from "../../../generated.ts";
import { clusterHookPolicy, compiled, hookPolicy, NOW } from "../../builders.ts";
import * as any from "../decide-arbitraries.ts";
import { JOB, reading } from "./fixtures.ts";

const RUNS = runs(2500);
const WHEN = [
  "true || cluster.metadata.name == ''",
  "'a' in cluster.metadata.labels",
  "cluster.metadata.labels['a'] == 'x'",
];

const task: fc.Arbitrary<Omit<TaskSpec, "name">> = fc
  .record({
    when: fc.option(fc.constantFrom(...WHEN), { nil: undefined }),
    begins: fc.constantFrom("First" as const, "Last" as const, "Last" as const),
    onFailure: fc.constantFrom("Hold" as const, "Proceed" as const),
    validFor: fc.option(fc.constantFrom("30m", "2h"), { nil: undefined }),
  })
  .map(({ when, validFor, ...rest }) => ({
    ...rest,
    create: JOB,
    ...(when !== undefined && { when }),
    ...(validFor !== undefined && { validFor }),
  }));
const tasks = fc.array(task, { maxLength: 3 });

/** Each is met in most worlds, in some of them, or in none. */
const gate: fc.Arbitrary<Omit<GateSpec, "name">> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ expression: "cluster.metadata.name == 'prod-1'" }) },
  { weight: 1, arbitrary: fc.constant({ annotation: { key: "a" } }) },
  { weight: 1, arbitrary: fc.constant({ expression: "cluster.metadata.labels['a'] == 'x'" }) },
  { weight: 1, arbitrary: fc.constant({ wait: { duration: "20m" } }) },
);

const anyRule: fc.Arbitrary<Omit<RuleSpec, "name">> = fc
  .record({
    until: fc.array(gate, { maxLength: 2 }),
    tasks,
    applies: fc.constantFrom(true, true, true, false),
    deadline: fc.constantFrom(undefined, undefined, { after: "10m", onExpiry: "Allow" as const }),
  })
  .map(({ until, tasks: own, applies, deadline }) => ({
    hooks: ["BeforeClusterCreate", "BeforeClusterUpgrade", "BeforeClusterDelete"],
    ...(until.length > 0 && { until: until.map((each, n) => ({ ...each, name: `g${n}` })) }),
    ...(until.length > 0 && deadline && { deadline }),
    ...(own.length > 0 && { tasks: own.map((each, n) => ({ ...each, name: `t${n}` })) }),
    ...(!applies && { matchConditions: [{ name: "c", expression: "'a' in cluster.metadata.labels" }] }),
  }));

/** Policies of any kind that select the Cluster in most worlds. */
const policies: fc.Arbitrary<PolicyObject[]> = fc
  .array(
    fc.record({
      rules: fc.array(anyRule, { minLength: 1, maxLength: 2 }),
      mode: fc.constantFrom("Enforce" as const, "Enforce" as const, "Enforce" as const, "Audit" as const),
      failurePolicy: fc.constantFrom("Fail" as const, "Ignore" as const),
      fleet: fc.boolean(),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((all) =>
    all.map(({ rules, fleet, ...rest }, n) => {
      const spec = { ...rest, rules: rules.map((each, r) => ({ ...each, name: `r${r}` })) };
      const object = fleet
        ? clusterHookPolicy({ ...spec, serviceAccount: { namespace: "tools", name: "w" } })
        : hookPolicy({ ...spec, serviceAccountName: "w" });
      return any.named(object, `p${n}`);
    }),
  );

/** The HookTasks of one task, the oldest first. */
interface History {
  readonly runs: readonly { readonly phase: TaskPhase; readonly over: boolean; readonly age: number }[];
}
const history: fc.Arbitrary<History> = fc.record({
  runs: fc.array(
    fc.record({
      phase: fc.constantFrom<TaskPhase>(
        "Pending",
        "Running",
        "Succeeded",
        "Succeeded",
        "Succeeded",
        "Failed",
        "Cancelled",
      ),
      over: fc.constantFrom(false, false, true),
      age: fc.integer({ min: 0, max: 180 }),
    }),
    { maxLength: 2 },
  ),
});
const histories = fc.array(history, { minLength: 27, maxLength: 27 });

/** Policies, and what has begun for them. */
const scene = fc.tuple(policies, any.situation, histories).map(([objects, { at, call }, all]) => {
  const compiledPolicies = objects.map(compiled);
  const records = recordsOf(compiledPolicies, at, call, all);
  return {
    policies: compiledPolicies,
    at: { ...at, tasks: reading(...records), rendersTasks: true as const },
    call,
    records,
  };
});

function recordsOf(
  all: readonly CompiledPolicy[],
  world: World,
  call: HookCall,
  each: readonly History[],
): TaskRecord[] {
  let next = 0;
  return all.flatMap((policy) =>
    policy.rules.flatMap((rule) =>
      rule.tasks.flatMap((one) =>
        (each[next++ % each.length]?.runs ?? []).map(({ phase, over, age }, index): TaskRecord => {
          const identity = { ...firstRun(policy, rule, one, { world, call, now: NOW }), run: index + 1 };
          const at = new Date(NOW.getTime() - age * 60_000);
          return {
            namespace: policy.account?.namespace ?? "",
            name: taskName(identity),
            identity,
            phase,
            over,
            altered: false,
            attempts: 1,
            message: "",
            ...(phase === "Succeeded" && { succeededAt: at }),
          };
        }),
      ),
    ),
  );
}

type Scene = typeof scene extends fc.Arbitrary<infer T> ? T : never;

const judge = ({ policies: all, at, call }: Scene, over: Partial<World> = {}): Decision =>
  decide(all, { ...at, ...over }, call, NOW);

const bare = (all: readonly CompiledPolicy[]): CompiledPolicy[] =>
  all.map((policy) => ({ ...policy, rules: policy.rules.map((rule) => ({ ...rule, tasks: [] })) }));

/** What the same policies would say without tasks. */
const withoutTasks = ({ policies: all, at, call }: Scene): Decision => decide(bare(all), at, call, NOW);

function law(check: (one: Scene, decision: Decision) => void): void {
  fc.assert(
    fc.property(scene, (one) => check(one, judge(one))),
    RUNS,
  );
}

/** The tasks of rules that apply, of policies that are enforced and that no override releases. */
function* inForce(
  { policies: all }: Scene,
  { trace }: Decision,
): Generator<{
  readonly policy: CompiledPolicy;
  readonly rule: Decision["trace"][number]["rules"][number];
  readonly tasks: readonly TaskTrace[];
}> {
  for (const [index, { mode, overriddenBy, rules }] of trace.entries()) {
    const policy = all[index];
    if (mode !== "Enforce" || overriddenBy !== undefined || policy === undefined) continue;
    for (const rule of rules) if (rule.tasks !== undefined) yield { policy, rule, tasks: rule.tasks };
  }
}

/** The newest HookTask of the task, read again from what exists. */
function newest(
  { records }: Scene,
  policy: CompiledPolicy,
  rule: string,
  name: string,
): TaskRecord | undefined {
  return records.findLast(
    ({ identity: i }) => i.policyRef.uid === policy.uid && i.rule === rule && i.task === name,
  );
}

type Spec = CompiledPolicy["rules"][number]["tasks"][number];

/**
 * Whether the HookTask of the first one lets the operation go on, told without judgeTasks(). Its success is too old once it,
 * and that of each later task that begins last and lets it go on, is older than validFor.
 */
function letsGo([first, ...later]: readonly (readonly [TaskRecord | undefined, Spec])[]): boolean {
  if (first === undefined) return false;
  const [record, { onFailure, validForMs }] = first;
  if (record === undefined || record.over) return false;
  if (record.phase === "Failed") return onFailure === "Proceed";
  if (record.phase !== "Succeeded") return false;
  const users = later.flatMap(([each, { begins }], index) =>
    begins === "Last" && letsGo(later.slice(index)) ? [each] : [],
  );
  return [record, ...users].some(
    (each) =>
      each?.succeededAt !== undefined &&
      (validForMs === undefined || NOW.getTime() - each.succeededAt.getTime() < validForMs),
  );
}

/** Has begun and not ended well, so that no failurePolicy lets the operation go on. */
function isOpen(record: TaskRecord | undefined): boolean {
  return record !== undefined && !record.over && ["Pending", "Running", "Failed"].includes(record.phase);
}

test("tasks release nothing that would be held without them", () => {
  law((one, decision) => assert.ok(decision.holds || !withoutTasks(one).holds));
});

test("nothing is released before each task has succeeded, may proceed without, or is not needed", () => {
  law((one, decision) => {
    if (decision.holds) return;
    for (const { policy, rule, tasks: all } of inForce(one, decision)) {
      const specs = policy.rules.find(({ name }) => name === rule.rule)?.tasks ?? [];
      for (const [index, { task: name, state }] of all.entries()) {
        if (state === "NotNeeded") continue;
        const record = newest(one, policy, rule.rule, name);
        const ignored =
          rule.verdict === "NotEvaluable" && policy.failurePolicy === "Ignore" && !isOpen(record);
        const rest = specs
          .slice(index)
          .map((spec) => [newest(one, policy, rule.rule, spec.name), spec] as const);
        assert.ok(letsGo(rest) || ignored, `${rule.rule} ${name} ${state}`);
      }
    }
  });
});

test("a task begins after those before it, beside none of its rule, and last only where nothing is held without tasks", () => {
  law((one, decision) => {
    const last = (decision.begins ?? []).filter(({ task: { begins } }) => begins === "Last");
    if (last.length > 0) assert.equal(withoutTasks(one).holds, false);
    for (const { spec: identity } of decision.begins ?? []) {
      const rule = [...inForce(one, decision)].find(
        ({ policy, rule: { rule: name } }) => policy.uid === identity.policyRef.uid && name === identity.rule,
      );
      assert.ok(rule, "its policy is in force");
      const before = rule.tasks.slice(
        0,
        rule.tasks.findIndex(({ task: name }) => name === identity.task),
      );
      assert.ok(before.every(({ state }) => ["Succeeded", "Proceeded", "NotNeeded"].includes(state)));
      assert.ok(rule.tasks.every(({ state }) => !["Pending", "Running", "Retrying"].includes(state)));
    }
  });
});

test("what begins has a name that no HookTask has, and is one run after the last", () => {
  law((one, decision) => {
    const names = (decision.begins ?? []).map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    for (const { name, spec: identity } of decision.begins ?? []) {
      assert.ok(one.records.every((record) => record.name !== name));
      const policy = one.policies.find(({ uid }) => uid === identity.policyRef.uid);
      assert.ok(policy);
      assert.equal(identity.run, 1 + (newest(one, policy, identity.rule, identity.task)?.identity.run ?? 0));
    }
  });
});

test("what waits for its tasks is held by nothing else, and something of it may begin or runs", () => {
  law((one, decision) => {
    if (decision.waitsForTasks !== true) return;
    assert.ok(decision.holds && !withoutTasks(one).holds);
    const states = [...inForce(one, decision)].flatMap(({ tasks: all }) => all.map(({ state }) => state));
    assert.ok(states.some((state) => ["Due", "Pending", "Running"].includes(state)));
  });
});

test("what nothing but tasks holds is never stuck, as a task may begin, is unfinished or has failed", () => {
  law((one, decision) => {
    const isJudged = decision.trace.every(({ rules }) =>
      rules.every(({ holds, verdict }) => !holds || verdict !== "NotEvaluable"),
    );
    if (!decision.holds || !isJudged || withoutTasks(one).holds) return;
    const states = [...inForce(one, decision)].flatMap(({ tasks: all }) => all.map(({ state }) => state));
    const moves =
      decision.tasksDue === true || states.some((state) => ["Pending", "Running", "Failed"].includes(state));
    assert.ok(moves, states.join(" "));
  });
});

test("HookTasks that are not known release nothing, and let nothing begin", () => {
  law((one, decision) => {
    const { tasks: _, ...at } = one.at;
    const unknown = judge({ ...one, at: at as Scene["at"] });
    assert.ok(unknown.holds || !decision.holds);
    assert.equal(unknown.begins, undefined);
  });
});

test("rendering changes nothing but what is rendered", () => {
  law((one, decision) => {
    const { rendersTasks: _, ...at } = one.at;
    const quiet = judge({ ...one, at: at as Scene["at"] });
    const { begins: __, ...facts } = decision;
    const bared = JSON.parse(
      JSON.stringify(facts, (key, value: unknown) => (key === "intent" ? undefined : value)),
    ) as unknown;
    assert.deepEqual(JSON.parse(JSON.stringify(quiet)), bared);
    assert.equal(decision.begins !== undefined, decision.tasksDue === true);
  });
});

test("the order of the policies decides nothing about what begins", () => {
  const names = ({ begins = [], waitsForTasks }: Decision): unknown => [
    begins.map(({ name }) => name).toSorted(),
    waitsForTasks,
  ];
  law((one, decision) =>
    assert.deepEqual(names(judge({ ...one, policies: one.policies.toReversed() })), names(decision)),
  );
});

test("policies without tasks are decided as if there were none", () => {
  law((one) => {
    const { tasks: _, rendersTasks: __, ...before } = one.at;
    assert.deepEqual(withoutTasks(one), decide(bare(one.policies), before, one.call, NOW));
  });
});

test("one that is not enforced, or overridden, begins nothing", () => {
  law((one, decision) => {
    for (const { spec: identity } of decision.begins ?? []) {
      const trace = decision.trace[one.policies.findIndex(({ uid }) => uid === identity.policyRef.uid)];
      assert.deepEqual([trace?.mode, trace?.holds, trace?.overriddenBy], ["Enforce", true, undefined]);
    }
  });
});
