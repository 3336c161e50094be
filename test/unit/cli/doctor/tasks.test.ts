/** Whether tasks can act as the ServiceAccounts that their policies name. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { Check, Evidence, ExaminedAccount, TaskRight } from "../../../../src/cli/doctor/finding.ts";
import { decide } from "../../../../src/policy/decide.ts";
import type { TaskRecord } from "../../../../src/policy/tasks/task-record.ts";
import { compiled, DELETE, NOW } from "../../builders.ts";
import { stored, task, taskWorld, withTasks } from "../../policy/tasks/fixtures.ts";
import { listing } from "../api-server.ts";
import { rawPolicy } from "../raw.ts";
import {
  absent,
  check,
  deployment,
  diagnosed,
  forbidden,
  found,
  OURS,
  webhookOf,
} from "./evidence-fixture.ts";

const right = (over: Partial<TaskRight> = {}): TaskRight => ({
  resource: "jobs.batch",
  verbs: ["create", "get", "delete"],
  namespace: "team-a",
  missing: found([]),
  policies: ["HookPolicy team-a/backups"],
  ...over,
});
const account = (over: Partial<ExaminedAccount> = {}): ExaminedAccount => ({
  namespace: "team-a",
  name: "cluster-tasks",
  policies: ["HookPolicy team-a/backups"],
  exists: found(true),
  optedIn: found(true),
  rights: [right()],
  ...over,
});
const SETUP =
  "hookpolicy init tasks -n team-a --service-account cluster-tasks --operator ns/default --may create,get,delete:jobs.batch | kubectl apply -f -";

describe("the check tasks", () => {
  test("is ok without tasks, and where the account may do what they need", () => {
    assert.deepEqual(check("tasks"), { name: "tasks", state: "ok", detail: "no policy has tasks" });
    const { state, detail } = check("tasks", { taskAccounts: [account()] });
    assert.equal(state, "ok");
    assert.match(detail, /^the operator may act as team-a\/cluster-tasks/);
  });

  test("says who else uses an account while the webhook ignores failures", () => {
    const taskAccounts = [account()];
    assert.match(
      check("tasks", { taskAccounts, webhook: webhookOf("", "Ignore") }).detail,
      /while the webhook of policies does not answer, who writes a policy there uses it, too/,
    );
    assert.doesNotMatch(check("tasks", { taskAccounts, webhook: webhookOf("") }).detail, /webhook/);
  });

  test("prints the opt-in as the program was started, and for the same cluster", () => {
    const words = { program: "kubectl hookpolicy", connection: " --context prod" };
    const { problems } = check("tasks", { taskAccounts: [account({ optedIn: found(false) })] }, {}, words);
    const [init, apply] = SETUP.split(" | ");
    assert.equal(problems?.[0]?.remedy, `kubectl ${init} | ${apply} --context prod`);
  });

  test("names the opt-in that is missing, and prints it", () => {
    const { state, problems } = check("tasks", { taskAccounts: [account({ optedIn: found(false) })] });
    assert.equal(state, "error");
    assert.deepEqual(problems, [
      {
        detail:
          "the operator may not act as ServiceAccount team-a/cluster-tasks of HookPolicy team-a/backups",
        remedy: SETUP,
      },
    ]);
  });

  test("names the operator where one is found", () => {
    const setUpFrom = (deployments: Evidence["deployments"]): string =>
      check("tasks", { deployments, taskAccounts: [account({ optedIn: found(false) })] }).problems?.[0]
        ?.remedy ?? "";
    assert.equal(setUpFrom(found([])), SETUP.replace(" --operator ns/default", ""));
    const named = deployment(OURS, "hookpolicy:0.1.0", []);
    const spec = { replicas: 1, template: { spec: { serviceAccountName: "ops", containers: [] } } };
    assert.match(setUpFrom(found([{ ...named, spec }])), / --operator ns\/ops /);
  });

  test("names the rights that a template needs and the account lacks", () => {
    const taskAccounts = [account({ rights: [right({ missing: found(["create", "delete"]) })] })];
    const { state, problems } = check("tasks", { taskAccounts });
    assert.equal(state, "error");
    assert.deepEqual(problems, [
      {
        detail: "ServiceAccount team-a/cluster-tasks may not create, delete jobs.batch in namespace team-a",
        remedy: SETUP,
      },
    ]);
  });

  test("names a kind without namespaces, which is nothing for a HookPolicy", () => {
    const nodes = { resource: "nodes", namespace: "", missing: found(["delete"]) };
    const of = (over: object): string =>
      check("tasks", { taskAccounts: [account({ rights: [right({ ...nodes, ...over })] })] }).problems?.[0]
        ?.detail ?? "";
    assert.match(of({}), /^HookPolicy team-a\/backups: nodes have no namespace, and tasks of a HookPolicy/);
    assert.equal(
      of({ policies: ["ClusterHookPolicy backups"] }),
      "ServiceAccount team-a/cluster-tasks may not delete nodes",
    );
  });

  test("names a kind that is not served, and who has a task for it", () => {
    const rights = [right({ resource: "Jbo in batch/v1", missing: absent })];
    const policies = ["HookPolicy team-a/backups", "HookPolicy team-a/innocent"];
    const taskAccounts = [account({ policies, rights })];
    const { state, problems } = check("tasks", { taskAccounts });
    assert.equal(state, "error");
    assert.equal(
      problems?.[0]?.detail,
      "HookPolicy team-a/backups: the API server serves no Jbo in batch/v1",
    );
  });

  test("warns of an account that does not exist, because its rights do", () => {
    const { state, detail } = check("tasks", { taskAccounts: [account({ exists: found(false) })] });
    assert.equal(state, "warning");
    assert.match(detail, /there is no ServiceAccount team-a\/cluster-tasks/);
  });

  test("says where it could not look: other namespaces, and what may not be read", () => {
    const elsewhere = right({ namespace: undefined, missing: found(["create"]) });
    assert.match(
      check("tasks", { taskAccounts: [account({ rights: [elsewhere] })] }).detail,
      /its rights on jobs\.batch in namespaces that expressions name were not checked/,
    );
    const unread = [
      { taskAccounts: [account({ optedIn: forbidden })] },
      { taskAccounts: [account({ exists: forbidden })] },
      { taskAccounts: [account({ rights: [right({ missing: forbidden })] })] },
      { taskAccounts: [account()], deployments: forbidden },
      { policies: forbidden },
    ];
    for (const evidence of unread) assert.equal(check("tasks", evidence).state, "unknown");
  });
});

test("the check tasks warns of failures that hold Clusters, with the command for another attempt", () => {
  const failing = (onFailure: "Hold" | "Proceed"): Evidence["policies"] => {
    const { metadata, spec } = withTasks([task({ onFailure })]);
    return found([rawPolicy(metadata, spec)]);
  };
  const [intent] = decide([compiled(withTasks([task()]))], taskWorld(), DELETE, NOW).begins ?? [];
  const failed = stored(intent ?? assert.fail("no task begins"), { phase: "Failed", name: "prod-1-backup" });
  const judged = (over: Partial<TaskRecord>, onFailure: "Hold" | "Proceed" = "Hold"): Check =>
    check("tasks", {
      taskAccounts: [account()],
      policies: failing(onFailure),
      hookTasks: found([{ ...failed, ...over }]),
    });
  const { state, detail, remedy } = judged({});
  assert.deepEqual(
    [state, detail],
    ["warning", "1 HookTask failed, so Clusters stay held: team-a/prod-1-backup"],
  );
  assert.match(remedy ?? "", /correct the cause, then hookpolicy task retry -n team-a prod-1-backup$/);
  const initialized = withTasks([task()], { hooks: ["AfterControlPlaneInitialized"] });
  const record = {
    ...failed,
    identity: { ...failed.identity, hook: "AfterControlPlaneInitialized" as const },
  };
  assert.equal(
    check("tasks", {
      taskAccounts: [account()],
      policies: found([{ ...initialized }]),
      hookTasks: found([record]),
    }).detail,
    "1 HookTask failed, so Clusters lack what they do: team-a/prod-1-backup",
  );
  assert.equal(judged({}, "Proceed").state, "ok");
  assert.equal(judged({ over: true }).state, "ok");
  assert.equal(judged({ phase: "Running" }).state, "ok");
  assert.equal(check("tasks", { taskAccounts: [account()], hookTasks: forbidden }).state, "unknown");
});

test("doctor reviews the rights of each template as its ServiceAccount", async (t) => {
  const NEVER = { spec: { restartPolicy: "Never" } };
  const tasks = [
    { name: "a", create: { apiVersion: "batch/v1", kind: "Job", spec: { template: NEVER } } },
    {
      name: "b",
      delete: {
        apiVersion: "batch/v1",
        kind: "Job",
        selector: { matchLabels: { a: "<< cluster.metadata.name >>" } },
      },
    },
  ];
  const rules = [{ name: "r", hooks: ["BeforeClusterDelete"], tasks }];
  const policy = (name: string, spec: object): object => ({
    metadata: { namespace: "team-a", name, uid: name, resourceVersion: "1" },
    spec: { ...spec, rules },
  });
  const verbs = ["get", "list", "watch"];
  const { state, problems, bodies } = await diagnosed(t, "tasks", {
    ...listing({
      hookpolicies: [policy("p", { serviceAccountName: "cluster-tasks" })],
      clusterhookpolicies: [
        policy("c", { serviceAccount: { namespace: "ops", name: "backups" }, namespaceSelector: {} }),
      ],
    }),
    "GET /apis/batch/v1": { resources: [{ name: "jobs", kind: "Job", namespaced: true, verbs }] },
    "POST /apis/authorization.k8s.io/v1/subjectaccessreviews": { status: { allowed: false } },
  });
  assert.equal(state, "error");
  assert.deepEqual(
    problems?.map(({ detail }) => detail),
    [
      "the operator may not act as ServiceAccount ops/backups of ClusterHookPolicy c",
      "ServiceAccount ops/backups may not create, get, delete, list jobs.batch in namespace ops",
      "the operator may not act as ServiceAccount team-a/cluster-tasks of HookPolicy team-a/p",
      "ServiceAccount team-a/cluster-tasks may not create, get, delete, list jobs.batch in namespace team-a",
    ],
  );
  const asked = bodies.map(({ spec }) => spec).filter((spec) => spec !== undefined);
  assert.deepEqual(
    asked
      .filter(({ user }) => user.endsWith(":ops:backups"))
      .map(({ resourceAttributes: { verb } }) => verb)
      .toSorted(), // they are asked at the same time
    ["create", "delete", "get", "list"],
  );
});
