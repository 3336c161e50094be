/** `hookpolicy task` as a person runs it, against an API server of fixed answers. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { parse } from "yaml";
import { answering, FORBIDDEN, list, SERVES_CLUSTERS } from "../api-server.ts";
import { checked } from "../program.ts";
import { hookpolicy } from "../resident.ts";
import type { HookTaskStatus } from "../../../../src/api/hook-policy.ts";
import { retryText } from "../../../../src/cli/task/tasks.ts";
import { refuses } from "../usage.ts";
import { hookTask } from "./hook-tasks.ts";

const TASKS = "/apis/hookpolicy.dev/v1alpha1/hooktasks";
const TEAM_A = "/apis/hookpolicy.dev/v1alpha1/namespaces/team-a/hooktasks";

const FAILED = hookTask(
  { name: "prod-1-backup-2" },
  { phase: "Failed", object: "Job/backup-x", message: "the Job failed: BackoffLimitExceeded" },
);
const RUNS = hookTask(
  { name: "prod-2-backup-1", creationTimestamp: "2026-11-21T11:00:00Z" },
  { phase: "Running", object: "Job/backup-y" },
  { clusterRef: { namespace: "team-a", name: "prod-2", uid: "u2" } },
);
const DONE = hookTask({ name: "prod-1-backup-1" }, { phase: "Succeeded", over: "2026-11-21T11:00:00Z" });

/** The command, as typed, against an API server that has these HookTasks. */
async function served(t: test.TestContext, answers: Readonly<Record<string, object>>) {
  const { kubeconfig, asked } = await answering(t, answers);
  const run = async (line: string) =>
    await hookpolicy(["task", ...line.split(" "), "--kubeconfig", kubeconfig]);
  return { run, asked, kubeconfig };
}

describe("list", () => {
  test("shows what failed first, and counts what is over", async (t) => {
    const { run } = await served(t, { [`GET ${TASKS}`]: list(DONE, RUNS, FAILED) });
    const { code, stdout, stderr } = await run("list -A");
    assert.equal(code, 0, stderr);
    assert.deepEqual(
      stdout.split("\n").map((line) => line.split(/ {2,}/).slice(0, 7)),
      [
        ["NAME", "CLUSTER", "HOOK", "VERSION", "TASK", "PHASE", "OBJECT"],
        [
          "team-a/prod-1-backup-2",
          "team-a/prod-1",
          "BeforeClusterUpgrade",
          "v1.35.0",
          "backup",
          "Failed",
          "Job/backup-x",
        ],
        [
          "team-a/prod-2-backup-1",
          "team-a/prod-2",
          "BeforeClusterUpgrade",
          "v1.35.0",
          "backup",
          "Running",
          "Job/backup-y",
        ],
        [""],
      ],
    );
    assert.equal(stderr, "and 1 of operations that are over (--all)\n");
  });

  test("says of a task that is refused that it cannot begin, before what runs", async (t) => {
    const refused = hookTask(
      { name: "prod-1-backup-3" },
      {
        phase: "Pending",
        message: "the API server has no Backup in velero.io/v1",
        attempts: [{ name: "backup-z", startedAt: "2026-11-21T11:58:00Z" }],
      },
    );
    const { run } = await served(t, {
      [`GET ${TEAM_A}`]: list(RUNS, refused),
      [`GET ${TEAM_A}/prod-1-backup-3`]: refused,
    });
    assert.match(
      (await run("list -n team-a")).stdout,
      / backup +Pending \(cannot begin\) +[^]* backup +Running +/,
    );
    const json: { tasks: object[] } = JSON.parse((await run("list -n team-a -o json")).stdout);
    assert.partialDeepStrictEqual(json.tasks[0], { name: "prod-1-backup-3", phase: "Pending" });
    const { stdout } = await run("show -n team-a prod-1-backup-3");
    assert.match(stdout, /because +the API server has no Backup/);
    assert.match(stdout, /backup-z .* has not begun/);
  });

  test("of one Cluster, with those that are over, as JSON that keeps to its schema, and as YAML", async (t) => {
    const { run } = await served(t, { [`GET ${TEAM_A}`]: list(DONE, RUNS, FAILED) });
    const json = await run("list -n team-a --for-cluster team-a/prod-1 --all -o json");
    assert.equal(json.code, 0, json.stderr);
    const report: { tasks: { name: string; over: boolean }[] } = await checked(
      "task",
      JSON.parse(json.stdout),
    );
    assert.deepEqual(
      report.tasks.map(({ name, over }) => [name, over]),
      [
        ["prod-1-backup-2", false],
        ["prod-1-backup-1", true],
      ],
    );
    const yaml = await run("list -n team-a --for-cluster team-a/prod-1 --all -o yaml");
    assert.deepEqual(parse(yaml.stdout, { version: "1.1" }), report);
  });

  test("says between two attempts that it waits for the next", async (t) => {
    const last = { name: "backup-a", startedAt: "2026-11-21T10:00:00Z", endedAt: "2999-11-21T10:10:00Z" };
    const waits = hookTask(
      { name: "prod-1-backup-2" },
      { phase: "Running", begun: 1, allowed: 2, message: "it took longer than 15m", attempts: [last] },
    );
    const one = `${TEAM_A}/prod-1-backup-2`;
    const { run } = await served(t, { [`GET ${TEAM_A}`]: list(waits), [`GET ${one}`]: waits });
    assert.match((await run("list -n team-a")).stdout, / Waiting \(attempt 2 of 2\) /);
    const { stdout } = await run("show -n team-a prod-1-backup-2");
    assert.match(stdout, /waits for +attempt 2 of 2, .*\n +because +it took longer than 15m\n/);
  });

  test("tells what was changed, which counts for nothing and is not tried again", async (t) => {
    const evil = { action: { create: { apiVersion: "batch/v1", kind: "Job", spec: "evil" } } };
    const failed = hookTask({ name: "prod-1-backup-2" }, { phase: "Failed", begun: 1 });
    const altered = { ...failed, spec: { ...failed.spec, ...evil } };
    const one = `${TEAM_A}/prod-1-backup-2`;
    const { run } = await served(t, {
      [`GET ${TEAM_A}`]: list(altered),
      [`GET ${one}`]: altered,
    });
    assert.match((await run("list -n team-a")).stdout, / Failed \(altered\) /);
    const { stdout } = await run("show -n team-a prod-1-backup-2");
    assert.match(stdout, /begin again +kubectl delete hooktask -n team-a prod-1-backup-2/);
    assert.doesNotMatch(stdout, /task retry|may still run/);
    const retried = await run("retry -n team-a prod-1-backup-2");
    assert.match(retried.stderr, /was changed: delete it, and its task begins again/);
  });

  test("says what may still run of one that was changed, before the command that lets it begin again", async (t) => {
    const runs = { name: "backup-a", uid: "a", startedAt: "2026-11-21T10:00:00Z" };
    const ended = { ...runs, endedAt: "2026-11-21T10:10:00Z" };
    const shown = async (last: object): Promise<string> => {
      const begun = hookTask({ name: "prod-1-backup-2" }, { begun: 1, attempts: [{ ...runs, ...last }] });
      const altered = { ...begun, spec: { ...begun.spec, renderedHash: "another" } };
      const { run } = await served(t, { [`GET ${TEAM_A}/prod-1-backup-2`]: altered });
      return (await run("show team-a/prod-1-backup-2")).stdout;
    };
    const first = /first +see that Job\/backup-a is gone, which may still run\n +begin again +kubectl delete/;
    assert.match(await shown({}), first);
    assert.match(await shown({ ...ended, outcome: "TimedOut" }), first);
    assert.doesNotMatch(await shown({ ...ended, outcome: "Failed" }), /first/);
  });

  test("says of what runs, and may not be read, that it cannot be observed", async (t) => {
    const attempts = [{ name: "backup-y", uid: "y", startedAt: "2026-11-21T11:58:00Z" }];
    const message = "it cannot be observed: a right is missing";
    const unseen = hookTask({ name: "prod-1-backup-4" }, { phase: "Running", attempts, message });
    const { run } = await served(t, {
      [`GET ${TEAM_A}`]: list(RUNS, unseen),
      [`GET ${TEAM_A}/prod-1-backup-4`]: unseen,
    });
    const { stdout } = await run("list -n team-a");
    assert.match(stdout, / backup +Running \(cannot be observed\) +[^]* backup +Running +Job/);
    assert.match(
      (await run("show -n team-a prod-1-backup-4")).stdout,
      /because +it cannot be observed: a right/,
    );
    assert.match((await run("retry -n team-a prod-1-backup-4")).stderr, /still runs/);
  });

  test("finds those of a Cluster in every namespace, or says that there is no such Cluster", async (t) => {
    const ALL = "GET /apis/cluster.x-k8s.io/v1beta2/clusters";
    const CLUSTERS = "GET /apis/cluster.x-k8s.io/v1beta2/namespaces/team-a/clusters";
    const prod = { metadata: { namespace: "team-a", name: "prod-1", uid: "u1", resourceVersion: "1" } };
    const listed = async (
      answers: Readonly<Record<string, object>>,
      ofCluster: string,
    ): ReturnType<typeof hookpolicy> => {
      const cluster = { ...SERVES_CLUSTERS, [`${CLUSTERS}/prod-1`]: prod, [ALL]: list(prod) };
      const { run } = await served(t, { ...cluster, ...answers });
      return await run(`list --for-cluster ${ofCluster}`);
    };
    const all = { [`GET ${TASKS}`]: list(FAILED, RUNS) };
    const found = await listed(all, "team-a/prod-1");
    assert.match(found.stdout, /prod-1-backup-2/);
    assert.doesNotMatch(found.stdout, /prod-2/);
    const few = { [`GET ${TASKS}`]: FORBIDDEN, [`GET ${TEAM_A}`]: list(FAILED) };
    const own = await listed(few, "team-a/prod-1");
    assert.match(own.stdout, /prod-1-backup-2/);
    assert.match(own.stderr, /warning: you may not list HookTasks in all namespaces/);
    const none = await listed({ [`GET ${TASKS}`]: list() }, "team-a/prod-1");
    assert.deepEqual([none.code, none.stderr], [0, "there is no HookTask of Cluster team-a/prod-1\n"]);
    const missing = await listed(all, "team-a/prod-0");
    assert.equal(missing.code, 2);
    assert.match(
      missing.stderr,
      /^error: there is no Cluster team-a\/prod-0 \(did you mean team-a\/prod-1\?\)/,
    );
  });

  test("says where there is none, what is missing, and what is forbidden", async (t) => {
    const cases = [
      [{ [`GET ${TEAM_A}`]: list() }, 0, /^there is no HookTask in namespace team-a\n$/],
      [{}, 2, /the API server serves no HookTasks: HookPolicy, or its CRDs, are not installed/],
      [{ [`GET ${TEAM_A}`]: FORBIDDEN }, 2, /list hooktasks\.hookpolicy\.dev/],
    ] as const;
    for (const [answers, code, words] of cases) {
      const { run } = await served(t, answers);
      const outcome = await run("list -n team-a");
      assert.deepEqual({ code: outcome.code, stdout: outcome.stdout }, { code, stdout: "" });
      assert.match(outcome.stderr, words);
    }
  });
});

describe("show", () => {
  test("says what it does, why it failed, what to run, and its attempts", async (t) => {
    const failed = hookTask(
      { name: "prod-1-backup-2" },
      {
        phase: "Failed",
        begun: 2,
        allowed: 2,
        object: "Job/backup-b",
        message: "the Job failed",
        attempts: [
          {
            namespace: "team-a",
            name: "backup-a",
            uid: "a",
            startedAt: "2026-11-21T11:00:00Z",
            endedAt: "2026-11-21T11:15:00Z",
            outcome: "TimedOut",
            message: "it took longer than 15m",
          },
          {
            namespace: "team-a",
            name: "backup-b",
            uid: "b",
            startedAt: "2026-11-21T11:16:00Z",
            endedAt: "2026-11-21T11:17:00Z",
            outcome: "Failed",
            message: "the Job failed",
          },
        ],
      },
    );
    const { run, kubeconfig } = await served(t, { [`GET ${TEAM_A}/prod-1-backup-2`]: failed });
    const { code, stdout } = await run("show team-a/prod-1-backup-2");
    assert.equal(code, 0);
    assert.equal(
      stdout.replaceAll(` --kubeconfig ${kubeconfig}`, ""),
      `HookTask team-a/prod-1-backup-2: Failed
  task      backup of rule backed-up-upgrade, HookPolicy team-a/backups
  for       BeforeClusterUpgrade (v1.35.0) of Cluster team-a/prod-1
  does      creates a Job
  acts as   ServiceAccount team-a/cluster-tasks
  attempts  2 of 2, each for at most 15m once it has begun
  because   the Job failed

  logs              kubectl logs -n team-a -l batch.kubernetes.io/job-name=backup-b --tail=-1 --all-containers --prefix
  events            kubectl describe -n team-a job/backup-b
  pods              kubectl describe pods -n team-a -l batch.kubernetes.io/job-name=backup-b
  try again         hookpolicy task retry -n team-a prod-1-backup-2
  go on without it  hookpolicy override team-a/prod-1 --hook BeforeClusterUpgrade --policy HookPolicy/backups --for 1h --reason 'why'

ATTEMPT           BEGAN                  TOOK   OUTCOME    MESSAGE
team-a/backup-a   2026-11-21T11:00:00Z   15m    TimedOut   it took longer than 15m
team-a/backup-b   2026-11-21T11:16:00Z   60s    Failed     the Job failed
`,
    );
  });

  test("names no command to look at what was deleted at its time-out", async (t) => {
    const shown = async (outcome: "TimedOut" | "Failed"): Promise<string> => {
      const ended = { startedAt: "2026-11-21T11:00:00Z", endedAt: "2026-11-21T11:15:00Z", outcome };
      const status = {
        phase: "Failed",
        begun: 1,
        attempts: [{ name: "backup-a", uid: "a", ...ended }],
      } as const;
      const task = hookTask({ name: "prod-1-backup-2" }, { ...status, attempts: [...status.attempts] });
      const { run } = await served(t, { [`GET ${TEAM_A}/prod-1-backup-2`]: task });
      return (await run("show team-a/prod-1-backup-2")).stdout;
    };
    assert.match(await shown("Failed"), /kubectl logs .*kubectl describe /s);
    assert.doesNotMatch(await shown("TimedOut"), /kubectl/);
  });

  test("that follows initialization names no override, which would only make it wait", async (t) => {
    const shown = async (status: HookTaskStatus): Promise<string> => {
      const hook = "AfterControlPlaneInitialized";
      const task = hookTask({ name: "prod-1-backup-2" }, status, { hook });
      const { run } = await served(t, { [`GET ${TEAM_A}/prod-1-backup-2`]: task });
      return (await run("show team-a/prod-1-backup-2")).stdout;
    };
    const failed = await shown({ phase: "Failed", begun: 2, allowed: 2 });
    assert.match(
      failed,
      /go on without it +set `onFailure: Proceed` for the task in HookPolicy team-a\/backups\n/,
    );
    assert.doesNotMatch(failed, /override/);
    assert.doesNotMatch(await shown({ phase: "Pending" }), /go on without it/);
  });

  test("a name that there is not is refused with what may be meant", async (t) => {
    const { run } = await served(t, { [`GET ${TEAM_A}`]: list(FAILED) });
    const outcome = await run("show -n team-a prod-1-backup");
    assert.deepEqual(outcome, {
      code: 2,
      stdout: "",
      stderr: "error: there is no HookTask team-a/prod-1-backup (did you mean prod-1-backup-2?)\n",
    });
  });
});

describe("retry", () => {
  const path = `${TEAM_A}/prod-1-backup-2`;

  test("asks for another attempt of one that failed, and says so if the operator does not answer", async (t) => {
    const { run, asked } = await served(t, { [`GET ${path}`]: FAILED, [`PATCH ${path}`]: FAILED });
    const { code, stdout, stderr } = await run("retry -n team-a prod-1-backup-2");
    assert.equal(code, 1);
    assert.match(stdout, /^asked for another attempt of HookTask team-a\/prod-1-backup-2\n$/);
    assert.match(
      stderr,
      /^server: .*\nerror: the operator has not answered yet: see 'hookpolicy task show -n \S+ \S+ --kubeconfig \S+'\n$/,
    );
    assert.ok(asked.includes(`PATCH ${path}`));
  });

  test("says which attempt it gives, how long that may not begin, and whether others follow", () => {
    const text = (status: HookTaskStatus): string =>
      retryText({
        key: { namespace: "team-a", name: "prod-1-backup-2" },
        object: hookTask({ name: "prod-1-backup-2" }, { phase: "Failed", ...status }),
      });
    const given = "HookTask team-a/prod-1-backup-2 has another attempt";
    const waits = "it waits for at most 15m until it can begin";
    assert.equal(
      text({ begun: 2, allowed: 2 }),
      `${given} (3 of 3): ${waits}, and no other follows without another retry`,
    );
    assert.equal(text({ begun: 1, allowed: 3 }), `${given} (2 of 3): ${waits}`);
  });

  const ENDED = { name: "backup-a", startedAt: "2026-11-21T10:00:00Z", endedAt: "2026-11-21T10:10:00Z" };
  const OPEN = { name: "backup-a", startedAt: "2026-11-21T10:00:00Z" };
  const useless: Readonly<Record<string, readonly [status: HookTaskStatus, words: RegExp]>> = {
    "has not begun": [{ phase: "Pending" }, /has not begun yet/],
    "cannot begin": [
      { phase: "Pending", attempts: [OPEN], message: "a right is missing" },
      /needs no retry: it begins by itself once this is corrected: a right is missing/,
    ],
    "has another attempt": [
      { phase: "Running", begun: 1, attempts: [ENDED] },
      /needs no retry: attempt 2 of 2 begins by itself/,
    ],
    runs: [{ phase: "Running" }, /still runs: a retry follows a failure/],
    "has succeeded": [{ phase: "Succeeded" }, /has succeeded/],
    "was cancelled": [{ phase: "Cancelled" }, /was cancelled, because it was no longer wanted/],
  };
  for (const [what, [status, words]] of Object.entries(useless))
    test(`changes nothing of one that ${what}`, async (t) => {
      const task = hookTask({ name: "prod-1-backup-2" }, status);
      const { run, asked } = await served(t, { [`GET ${path}`]: task });
      const outcome = await run("retry team-a/prod-1-backup-2");
      assert.equal(outcome.code, 2);
      assert.match(outcome.stderr, words);
      assert.ok(!asked.some((question) => question.startsWith("PATCH")));
    });

  test("changes nothing of one whose operation is over", async (t) => {
    const task = hookTask({ name: "prod-1-backup-2" }, { phase: "Failed", over: "2026-11-21T11:00:00Z" });
    const { run } = await served(t, { [`GET ${path}`]: task });
    assert.match((await run("retry team-a/prod-1-backup-2")).stderr, /belongs to an operation that is over/);
  });
});

refuses(
  "task",
  {
    "an unknown action": [["go"], /Allowed choices are list, show, retry/],
    "a list of a name": [["list", "a"], /list takes no name/],
    "nothing to show": [["show"], /show: name the HookTask/],
    "nothing to retry": [["retry"], /retry: name the HookTask/],
    "all to show": [["show", "a", "-A"], /--all-namespaces is for list/],
    "a Cluster to show": [["show", "a", "--for-cluster", "a/b"], /--for-cluster is for list/],
    "a retry as JSON": [["retry", "a", "-o", "json"], /-o is for list and show/],
    "two namespaces": [
      ["list", "-A", "-n", "a"],
      /'-A, --all-namespaces' cannot be used with option '-n, --namespace /,
    ],
    "no name": [["show", "a/b/c", "-n", "a"], /Allowed: NAMESPACE\/NAME/],
  },
  { env: { KUBECONFIG: "none" } },
);

test("task refuses another namespace", async (t) => {
  const { run } = await served(t, {});
  const { code, stdout, stderr } = await run("show a/b -n c");
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(stderr, /a\/b is not in namespace c, which -n says/);
});
