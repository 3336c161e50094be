/** Tasks in suites: what begins, ends, is tried again and is retried, as the operator's own code says. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { rawPolicy, rawRollout } from "../raw.ts";
import { APPROVED, CLUSTER, DELETE, problemOf, run, suite, UPGRADE } from "./suites.ts";

const KIND = { apiVersion: "batch/v1", kind: "Job" };
const ONCE = { template: { spec: { restartPolicy: "Never" } } };
const JOB = { ...KIND, spec: ONCE };
const OWNED = { uid: "uid-1", name: "prod-1", namespace: "team-a" };

function policy(tasks: readonly object[], rule: object = {}): object {
  const hooks = ["BeforeClusterDelete", "BeforeClusterUpgrade"];
  return rawPolicy("protect", {
    serviceAccountName: "cluster-tasks",
    rules: [{ name: "clean", hooks, tasks, ...rule }],
  });
}
const clean = (over: object = {}): object => ({ name: "clean", create: JOB, ...over });
const ended = (type: "Complete" | "Failed", name = "clean"): object => ({
  patch: [{ ...KIND, metadata: { name }, status: { conditions: [{ type, status: "True" }] } }],
});
const phase = (of: string, name = "clean", over: object = {}): object => ({
  tasks: [{ name, phase: of, ...over }],
});
const HELD = { verdict: "Blocked" };
const GO = { verdict: "Allowed" };

async function steps(tasks: readonly object[], given: readonly object[], more: object = {}) {
  const result = await run(suite({ policies: [policy(tasks)], steps: given, ...more }));
  assert.deepEqual(result.problems, []);
  return result.steps;
}

/** Each step of a suite whose policy has these tasks. */
async function passes(tasks: object | readonly object[], given: readonly object[], more: object = {}) {
  const results = await steps([tasks].flat(), given, more);
  const failed = results.filter(({ status }) => status !== "passed" && status !== "done");
  assert.deepEqual(failed, []);
}

describe("a task", () => {
  test("begins at a call, and its Job ends it", async () => {
    await passes(clean(), [
      { call: DELETE, expect: { ...HELD, task: "clean", reason: "TaskPending" }, ...phase("Running") },
      { call: DELETE, expect: { ...HELD, task: "clean", reason: "TaskRunning" }, ...phase("Running") },
      { ...ended("Complete"), call: DELETE, expect: GO, ...phase("Succeeded") },
    ]);
  });

  test("waits for the gates of every policy", async () => {
    const other = { ...policy([], {}), metadata: { namespace: "team-a", name: "other" } };
    const gated = { name: "a", hooks: ["BeforeClusterDelete"], until: [APPROVED] };
    const policies = [policy([clean()]), { ...other, spec: { rules: [gated] } }];
    const approve = {
      kind: "Cluster",
      metadata: { name: "prod-1", annotations: { "example.com/ok": "uid-1" } },
    };
    await passes(
      clean(),
      [
        { call: DELETE, expect: { ...HELD, gate: "approved" }, ...phase("None") },
        { patch: [approve], call: DELETE, expect: { ...HELD, task: "clean" }, ...phase("Running") },
      ],
      { policies },
    );
  });

  test("that fails is tried again after its delay, then by a person", async () => {
    await passes(clean({ retries: 1 }), [
      { call: DELETE },
      { ...ended("Failed"), ...phase("Retrying", "clean", { attempts: 1 }) },
      { call: DELETE, expect: { ...HELD, reason: "TaskRunning", nextChange: "2026-11-21T12:00:30Z" } },
      { advance: "29s", ...phase("Retrying", "clean", { attempts: 1 }) },
      { advance: "1s", ...phase("Running", "clean", { attempts: 2 }) },
      { ...ended("Failed"), call: DELETE, expect: { ...HELD, reason: "TaskFailed" }, ...phase("Failed") },
      { retry: ["clean"], ...phase("Running", "clean", { attempts: 3 }) },
      { ...ended("Complete"), call: DELETE, expect: GO },
    ]);
  });

  test("is told as Events and counted as the operator does it", async () => {
    const started = {
      reason: "TaskStarted",
      about: "Cluster team-a/prod-1",
      message: "attempt 1 begins as ServiceAccount team-a/cluster-tasks: Job/clean",
    };
    const metrics = (of: string): object => ({
      metrics: [{ name: "hookpolicy_tasks", labels: { phase: of }, value: 1 }],
    });
    await passes(clean(), [
      { call: DELETE, events: [started], ...metrics("Running") },
      { ...ended("Failed"), events: [{ reason: "TaskFailed" }], ...metrics("Failed") },
      { retry: ["clean"], events: [{ reason: "TaskStarted", message: "attempt 2" }] },
      { ...ended("Complete"), events: [{ reason: "TaskSucceeded" }], ...metrics("Succeeded") },
    ]);
  });

  test("times out, and lets the Cluster proceed if it says so", async () => {
    await passes(clean({ timeout: "10m", onFailure: "Proceed" }), [
      { call: DELETE },
      { advance: "9m", ...phase("Running") },
      { advance: "1m", call: DELETE, expect: GO, ...phase("Failed") },
    ]);
  });

  test("whose object is deleted has failed", async () => {
    await passes(clean(), [
      { call: DELETE },
      { delete: [{ kind: "Job", name: "clean" }], ...phase("Failed") },
    ]);
  });

  test("runs again when its success is too old", async () => {
    await passes(clean({ validFor: "1h" }), [
      { call: UPGRADE },
      ended("Complete"),
      { advance: "59m", call: UPGRADE, expect: GO },
      { advance: "1m", call: UPGRADE, expect: HELD, ...phase("Running") },
    ]);
  });

  test("runs again for another version, and what it does is compared field by field", async () => {
    const template = {
      ...KIND,
      spec: { ...ONCE, parallelism: "<< 1 + 1 >>", version: "<< request.toKubernetesVersion >>" },
    };
    const to = (version: string): object => ({ ...UPGRADE, toKubernetesVersion: version });
    const object = (version: string): object => ({ object: { spec: { parallelism: 2, version } } });
    await passes(clean({ create: template }), [
      { call: to("v1.36.0"), tasks: [{ name: "clean", phase: "Running", ...object("v1.36.0") }] },
      { ...ended("Complete"), call: to("v1.36.0"), expect: GO },
      {
        call: to("v1.37.0"),
        expect: HELD,
        tasks: [{ name: "clean", phase: "Running", ...object("v1.37.0") }],
      },
    ]);
  });

  test("that never was has no object, not even one of which nothing is said", async () => {
    const given = [{ call: DELETE, expect: HELD, tasks: [{ name: "tell", phase: "None", object: {} }] }];
    const [result] = await steps([clean(), clean({ name: "tell" })], given);
    assert.equal(result?.status, "failed");
    await passes(clean(), [{ call: DELETE, expect: HELD, tasks: [{ name: "clean", object: {} }] }]);
  });

  test("comes after the one before it in its rule", async () => {
    await passes(
      [clean(), clean({ name: "tell" })],
      [
        { call: DELETE, expect: { ...HELD, task: "clean" }, ...phase("None", "tell") },
        {
          ...ended("Complete"),
          call: DELETE,
          expect: { ...HELD, task: "tell" },
          ...phase("Running", "tell"),
        },
        { ...ended("Complete", "tell"), call: DELETE, expect: GO },
      ],
    );
  });

  test("of two Clusters has two objects", async () => {
    const other = { ...CLUSTER, metadata: { ...OWNED, name: "prod-2", uid: "uid-2" } };
    await passes(
      clean(),
      [
        { call: DELETE },
        { call: { ...DELETE, cluster: "team-a/prod-2" } },
        {
          ...ended("Complete", "clean-2"),
          tasks: [
            { name: "clean", cluster: "team-a/prod-1", phase: "Running" },
            { name: "clean", cluster: "team-a/prod-2", phase: "Succeeded" },
          ],
        },
      ],
      { clusters: [CLUSTER, other] },
    );
  });

  test("shares the object that it applies with one of its name, and with no other", async () => {
    const kind = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "addon" } };
    const applies = (version: string): object => ({
      apply: { ...kind, data: { version } },
      succeeded: "true",
    });
    const rules = (second: string): object => ({
      policies: [
        {
          ...policy([]),
          spec: {
            serviceAccountName: "cluster-tasks",
            rules: [
              {
                name: "installed",
                hooks: ["AfterControlPlaneInitialized"],
                tasks: [{ name: "addon", ...applies("v1") }],
              },
              {
                name: "upgraded",
                hooks: ["BeforeClusterUpgrade"],
                tasks: [{ name: second, ...applies("v2") }],
              },
            ],
          },
        },
      ],
    });
    const first = {
      call: { hook: "AfterControlPlaneInitialized", cluster: "team-a/prod-1" },
      expect: { verdict: "Observed" },
      ...phase("Succeeded", "addon"),
    };
    await passes([], [first, { call: UPGRADE, ...phase("Succeeded", "addon") }], rules("addon"));
    await passes([], [first, { call: UPGRADE, ...phase("Failed", "other") }], rules("other"));
  });

  test("takes the slot of a rollout, and gives it back when it has failed", async () => {
    const rollout = rawRollout("upgrades", { maxConcurrency: 1 });
    const other = { ...CLUSTER, metadata: { ...OWNED, name: "prod-2", uid: "uid-2" } };
    const call = (name: string): object => ({
      hook: "BeforeClusterUpgrade",
      cluster: `team-a/${name}`,
      toKubernetesVersion: "v1.36.0",
    });
    const prod = (number: string, is: string): object =>
      phase(is, "clean", { cluster: `team-a/prod-${number}` });
    const running = (...names: readonly string[]): object => ({
      rollouts: [{ name: "upgrades", running: names.map((name) => `team-a/${name}`) }],
    });
    await passes(
      clean(),
      [
        { call: call("prod-1"), expect: HELD, ...running("prod-1") },
        { call: call("prod-2"), expect: { ...HELD, rollout: "upgrades" }, ...running("prod-1") },
        ended("Failed"),
        // Until then it is still its turn.
        { advance: "1m", ...running("prod-2") },
        // It needs the slot again.
        { retry: ["clean"], ...running("prod-2"), ...prod("1", "Retrying") },
        { ...ended("Complete", "clean-2"), ...running("prod-2"), ...prod("2", "Succeeded") },
        { call: call("prod-2"), expect: GO, ...prod("1", "Retrying") },
        { completed: ["team-a/prod-2"], ...running("prod-1"), ...prod("1", "Running") },
        { ...ended("Complete"), ...prod("1", "Succeeded") },
      ],
      { clusters: [CLUSTER, other], rollouts: [rollout] },
    );
  });
});

describe("what is not met is told:", () => {
  test("the phase, and a field of the object", async () => {
    const [, step] = await steps(
      [clean()],
      [
        { call: DELETE },
        { tasks: [{ name: "clean", phase: "Succeeded", attempts: 2, object: { spec: { parallelism: 2 } } }] },
      ],
    );
    assert.deepEqual(step?.compared, [
      { field: "tasks.clean.phase", expected: "Succeeded", actual: "Running", same: false },
      { field: "tasks.clean.attempts", expected: "2", actual: "1", same: false },
      { field: "tasks.clean.object.spec.parallelism", expected: "2", actual: "-", same: false },
    ]);
  });

  test("another task", async () => {
    const [step] = await steps(
      [clean(), clean({ name: "tell" })],
      [{ call: DELETE, expect: { task: "tell" } }],
    );
    assert.deepEqual(
      step?.compared.map(({ expected, same }) => ({ expected, same })),
      [{ expected: "tell", same: true }],
    );
  });

  for (const [title, given, words] of [
    [
      "a task that there is not",
      { tasks: [{ name: "claen", phase: "None" }] },
      /no rule has a task "claen"; did you mean "clean"/,
    ],
    ["such a task of an answer", { call: DELETE, expect: { task: "claen" } }, /no rule has a task "claen"/],
    ["a retry of one that runs", { retry: ["clean"] }, /no HookTask of a task "clean" has failed/],
    [
      "a Cluster that there is not",
      { tasks: [{ name: "clean", cluster: "team-a/prod-9", phase: "None" }] },
      /there is no Cluster team-a\/prod-9/,
    ],
  ] as const)
    test(title, async () => {
      const text = suite({ policies: [policy([clean()])], steps: [{ call: DELETE, expect: HELD }, given] });
      assert.match(await problemOf(text), words);
    });
});
