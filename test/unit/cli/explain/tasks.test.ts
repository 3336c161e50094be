/** What `hookpolicy explain` says of tasks. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookTaskStatus } from "../../../../src/api/hook-policy.ts";
import {
  actionHash,
  renderedHash,
  taskName,
  type TaskIdentity,
} from "../../../../src/policy/tasks/task-identity.ts";
import { CLUSTER_UID } from "../../../../src/policy/tasks/template-metadata.ts";
import { answering, list, servingCluster } from "../api-server.ts";
import { checked } from "../program.ts";
import { hookpolicy } from "../resident.ts";
import { approved, cluster, DELETING, deletion, explained, night, policy } from "./explained.ts";

const CREATE = {
  apiVersion: "batch/v1",
  kind: "Job",
  spec: { template: { spec: { restartPolicy: "Never" } } },
};
const TASKS = [
  { name: "clean", create: CREATE, retries: 1 },
  { name: "tell", create: CREATE },
];
const rule = (until: readonly object[] = [], tasks: readonly object[] = TASKS): object => {
  const { until: gates, ...rest } = deletion(until, { tasks }) as { until: readonly object[] };
  return gates.length === 0 ? rest : { ...rest, until: gates };
};
const withTasks = (...rules: readonly object[]): object => ({
  ...policy("protect", rules, { serviceAccountName: "cluster-tasks" }),
});

/** Of the first task. */
function hookTask(status: HookTaskStatus): object {
  const identity: TaskIdentity = {
    policyRef: {
      kind: "HookPolicy",
      namespace: "team-a",
      name: "protect",
      uid: "HookPolicy team-a/protect",
    },
    rule: "confirmed",
    task: "clean",
    actionHash: actionHash(["create", CREATE, false, "team-a", "cluster-tasks"]),
    clusterRef: { namespace: "team-a", name: "prod-1", uid: "5d2c" },
    hook: "BeforeClusterDelete",
    run: 1,
  };
  return {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookTask",
    metadata: { namespace: "team-a", name: taskName(identity), labels: { [CLUSTER_UID]: "5d2c" } },
    spec: {
      ...identity,
      serviceAccountName: "cluster-tasks",
      action: { create: CREATE },
      renderedHash: renderedHash({ create: CREATE }),
      timeout: "1h",
      retries: 1,
    },
    status,
  };
}

const NAME = taskNameOf(hookTask({}));
function taskNameOf(task: object): string {
  return (task as { metadata: { name: string } }).metadata.name;
}

describe("a task", () => {
  test("that is due comes next, and when it ends is not known", async (t) => {
    const text = await explained(t, [cluster(DELETING), withTasks(rule())]);
    assert.match(text, /^ {2}wait for {2}task clean, which begins next \(.*, rule confirmed, task clean\)$/m);
    assert.match(text, /^ {2}released {2}when its tasks are done;/m);
    assert.match(text, /├─ task clean: begins next\n.*└─ task tell: waits for the tasks before it$/m);
  });

  test("is what a Cluster waits for, whatever policies of mode Audit wait for", async (t) => {
    const watch = policy("watch", [deletion([approved])], { mode: "Audit" });
    const text = await explained(t, [cluster(DELETING), withTasks(rule()), watch]);
    assert.match(text, /^ {2}released {2}when its tasks are done;/m);
  });

  test("holds after a deadline that releases past gates", async (t) => {
    const late = { ...rule([approved]), deadline: { after: "72h", onExpiry: "Allow" } };
    const text = await explained(t, [cluster(DELETING), withTasks(late)]);
    assert.match(text, /deadline .*: from then on, the rule waits for its tasks alone$/m);
  });

  test("of a policy of mode Audit keeps nothing", async (t) => {
    const tasks = policy("tell", [rule()], { serviceAccountName: "cluster-tasks", mode: "Audit" });
    const text = await explained(t, [cluster(DELETING), policy("protect", [deletion([night])]), tasks]);
    assert.match(text, /^ {2}released {2}at 2026-11-21T22:00:00Z, /m);
  });

  test("waits for the gates, and for what a user has to do there", async (t) => {
    const text = await explained(t, [cluster(DELETING), withTasks(rule([approved]))]);
    assert.match(text, /^ {2}run {7}kubectl annotate .*$/m);
    assert.match(text, /^ {2}released {2}only after a user has acted;/m);
    assert.match(text, /task clean: waits for the gates$/m);
    assert.doesNotMatch(text, /^ {2}(?:and )?wait for/m);
  });

  test("that runs says what it waits for, and where to look", async (t) => {
    const running = hookTask({ phase: "Running", begun: 2, message: "the Job has not finished" });
    const text = await explained(t, [cluster(DELETING), withTasks(rule()), running]);
    assert.match(text, /^ {2}wait for {2}task clean, which runs: the Job has not finished \(/m);
    assert.match(text, /task clean: runs\n.*waits for {2}the Job has not finished\n.*attempts {3}2\n/);
    assert.match(text, new RegExp(`^ {2}see {7}hookpolicy task show -n team-a ${NAME}$`, "m"));
  });

  const open = [{ name: "clean-1", startedAt: "2026-11-21T11:58:00Z" }];
  const refusal = "the API server has no Job in batch/v1";
  const message = `${refusal}: install its CustomResourceDefinition, or correct the task`;
  for (const [what, status] of [
    ["of which nothing can be carried out", { phase: "Pending", begun: 1, attempts: open, message }],
    ["that waits for an earlier object", { message }],
  ] as const)
    test(`${what} cannot begin, and waits for a user`, async (t) => {
      const refused = hookTask(status);
      const objects = [cluster(DELETING), withTasks(rule()), refused];
      const text = await explained(t, objects);
      assert.ok(text.includes(`task clean, which cannot begin: ${message} (`), text);
      assert.match(text, /^ {2}released {2}only after a user has acted;/m);
      assert.match(text, new RegExp(`task clean: cannot begin\\n.*because +${refusal}`));
      const json = await explained(t, objects, "-o", "json");
      assert.ok(json.includes(`"task clean cannot begin: ${refusal} (HookTask team-a/${NAME})"`), json);
    });

  test("whose object exists runs, whatever cannot be read of it", async (t) => {
    const begun = hookTask({
      phase: "Running",
      begun: 1,
      attempts: open.map((each) => ({ ...each, uid: "1" })),
      message,
    });
    assert.match(
      await explained(t, [cluster(DELETING), withTasks(rule()), begun]),
      /^ {2}wait for {2}task clean, which runs: /m,
    );
  });

  test("that runs and cannot be observed waits for a user", async (t) => {
    const begun = hookTask({
      phase: "Running",
      begun: 1,
      attempts: open.map((each) => ({ ...each, uid: "1" })),
      message: "it cannot be observed: a right is missing (hookpolicy doctor prints which): get jobs",
    });
    const objects = [cluster(DELETING), withTasks(rule()), begun];
    const text = await explained(t, objects);
    assert.match(text, /^ {2}wait for {2}task clean, which cannot be observed: a right is missing \(/m);
    assert.match(text, /^ {2}released {2}only after a user has acted;/m);
    const json = await explained(t, objects, "-o", "json");
    assert.match(
      json,
      /"task clean cannot be observed: a right is missing \(hookpolicy doctor prints which\) \(/,
    );
  });

  test("between two attempts waits for the next one, and says why", async (t) => {
    const attempts = [
      { name: "clean-1", uid: "1", startedAt: "2026-11-21T11:58:00Z", endedAt: "2026-11-21T12:00:00Z" },
    ];
    const status = { begun: 1, allowed: 2, attempts, message: "BackoffLimitExceeded" };
    const retrying = hookTask({ phase: "Running", ...status });
    const text = await explained(t, [cluster(DELETING), withTasks(rule()), retrying]);
    const words = "waits for attempt 2 of 2, because the last one has failed";
    assert.match(
      text,
      new RegExp(`^ {2}wait for {2}task clean, which ${words}: BackoffLimitExceeded \\(`, "m"),
    );
    assert.match(text, new RegExp(`task clean: ${words}\n.*because +BackoffLimitExceeded\n`));
    assert.match(text, /not before {2}2026-11-21T12:00:30Z\n/);
    const json = await explained(t, [cluster(DELETING), withTasks(rule()), retrying], "-o", "json");
    assert.match(json, /"state": "Retrying"/);
    assert.match(json, /"nextAttempt": \{\s+"at": "2026-11-21T12:00:30Z",\s+"number": 2,\s+"of": 2\s+\}/);
    assert.match(json, new RegExp(`"task clean waits for attempt 2 of 2 \\(HookTask team-a/${NAME}\\)"`));
  });

  test("waits for its next attempt though the last one could not begin", async (t) => {
    const ended = open.map((each) => ({ ...each, endedAt: "2026-11-21T12:00:00Z" }));
    const retrying = hookTask({ phase: "Pending", begun: 1, allowed: 2, attempts: ended, message });
    const text = await explained(t, [cluster(DELETING), withTasks(rule()), retrying]);
    assert.match(text, /task clean: waits for attempt 2 of 2, because the last one has failed\n/);
  });

  test("whose HookTask was changed is released by a user, who finds the command there", async (t) => {
    const changed = hookTask({ phase: "Succeeded", begun: 1, altered: "2026-11-21T11:00:00Z" });
    const text = await explained(t, [cluster(DELETING), withTasks(rule()), changed]);
    assert.match(text, new RegExp(`kubectl delete hooktask -n team-a ${NAME}, and it begins again`));
    assert.match(text, /^ {2}released {2}only after a user has acted;/m);
  });

  test("that has failed is released by a user: the first command tries it again", async (t) => {
    const failed = hookTask({ phase: "Failed", begun: 2, message: "BackoffLimitExceeded" });
    const text = await explained(t, [cluster(DELETING), withTasks(rule()), failed]);
    assert.match(text, new RegExp(`^ {2}run {7}hookpolicy task retry -n team-a ${NAME}$`, "m"));
    assert.match(text, /^ {2}for {7}task clean, which has failed: BackoffLimitExceeded \(/m);
    assert.match(text, /^ {2}released {2}only after a user has acted;/m);
    assert.match(text, /if it cannot wait: hookpolicy override /);
  });

  test("that has succeeded is green, and the next one begins", async (t) => {
    const done = hookTask({ phase: "Succeeded", begun: 1, endedAt: "2026-11-21T11:00:00Z" });
    const text = await explained(t, [cluster(DELETING), withTasks(rule()), done]);
    assert.match(text, /task clean: has succeeded\n.*valid until {2}2026-11-22T11:00:00Z: it runs again/);
    assert.match(text, /task tell: begins next$/m);
  });

  test("in JSON keeps to the schema, with its commands", async (t) => {
    const failed = hookTask({ phase: "Failed", begun: 2, message: "BackoffLimitExceeded" });
    const text = await explained(t, [cluster(DELETING), withTasks(rule()), failed], "-o", "json");
    const report: { operations: { policies: { rules: { tasks: object[] }[] }[] }[] } = await checked(
      "explain",
      JSON.parse(text),
    );
    const [first] = report.operations[0]?.policies[0]?.rules[0]?.tasks ?? [];
    assert.deepEqual(first, {
      task: "clean",
      begins: "Last",
      state: "Failed",
      reason: "TaskFailed",
      message: `task clean has failed (hookpolicy task retry team-a/${NAME})`,
      hookTask: { namespace: "team-a", name: NAME },
      attempts: 2,
      observed: "BackoffLimitExceeded",
      commands: [`hookpolicy task show -n team-a ${NAME}`, `hookpolicy task retry -n team-a ${NAME}`],
    });
  });
});

test("a HookTask that has lost its label is found, if the operator says that one is altered", async (t) => {
  const stored = (object: object) => ({
    ...object,
    metadata: { ...(object as { metadata: object }).metadata, resourceVersion: "1", generation: 1 },
  });
  const row = {
    namespace: "team-a",
    cluster: "prod-1",
    clusterUID: "5d2c",
    hook: "BeforeClusterDelete",
    rule: "confirmed",
    verdict: "Blocked",
    reason: "TaskAltered",
    message: "altered",
    firstAsked: "2026-11-21T10:00:00Z",
    since: "2026-11-21T10:00:00Z",
  };
  const protect = { ...withTasks(rule()), status: { observedGeneration: 1, decisions: [row] } };
  const task = hookTask({ phase: "Running" });
  const { labels: _, ...unlabelled } = (task as { metadata: { labels: object } }).metadata;
  const tasks = "GET /apis/hookpolicy.dev/v1alpha1/namespaces/team-a/hooktasks";
  const { kubeconfig } = await answering(t, {
    ...servingCluster(stored(cluster(DELETING)), { "namespaces/team-a/hookpolicies": [stored(protect)] }),
    [tasks]: list(stored({ ...task, metadata: unlabelled })),
    [`${tasks} ${CLUSTER_UID}=5d2c`]: list(),
  });
  const { stdout } = await hookpolicy(["explain", "team-a/prod-1", "--kubeconfig", kubeconfig]);
  assert.match(stdout, /task clean: cannot be trusted\n/);
  assert.doesNotMatch(stdout, /begins next|the status says/);
});
