/** What is wrong with tasks beyond the schema, and what is probably not meant: each in its place. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec, RuleSpec, TaskSpec } from "../../../../src/api/hook-policy.ts";
import { checkRules, type Semantics } from "../../../../src/policy/validation/semantics.ts";
import type { TaskOwner } from "../../../../src/policy/validation/task-checks.ts";
import { scheduled } from "../../builders.ts";
import { JOB, task, taskRule } from "../tasks/fixtures.ts";

const OWN: TaskOwner = { kind: "HookPolicy", namespace: "team-a" };
const FLEET: TaskOwner = { kind: "ClusterHookPolicy" };
const AT = "spec.rules[0].tasks[0]";

function check(spec: Partial<TaskSpec>, owner: TaskOwner | undefined = OWN): Semantics {
  const { create: _, ...bare } = task();
  return checkRules([taskRule([{ ...bare, ...spec }])], [], { owner });
}

const pod = (spec: object): object => ({ template: { spec: { restartPolicy: "Never", ...spec } } });
const job = (spec: object, metadata?: object): Partial<TaskSpec> => ({
  create: { ...JOB, spec, ...(metadata && { metadata }) },
});
const map = (rest: object): Partial<TaskSpec> => ({
  apply: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, ...rest },
  succeeded: "true",
});
const deleting = (rest: object): Partial<TaskSpec> => ({
  delete: { apiVersion: "v1", kind: "Service", ...rest },
});

describe("an error", () => {
  const errors: Readonly<Record<string, readonly [spec: Partial<TaskSpec>, path: string, says: RegExp]>> = {
    "in when": [
      { create: JOB, when: "cluster.metadata.nam == ''" },
      ".when",
      /^column \d+: cluster\.metadata\.nam: unknown field/,
    ],
    "of the type of when": [
      { create: JOB, when: "cluster.metadata.name" },
      ".when",
      /gives string, expected bool/,
    ],
    "of a clock in when": [
      { create: JOB, when: "now > timestamp('2026-01-01T00:00:00Z')" },
      ".when",
      /unknown variable "now"/,
    ],
    "in succeeded": [
      map({}).apply ? { ...map({}), succeeded: "object.status.phase = 'x'" } : {},
      ".succeeded",
      /= is not an operator/,
    ],
    "in failed": [
      { create: JOB, failed: "namespaceObject.metadata.name == ''" },
      ".failed",
      /unknown variable "namespaceObject"/,
    ],
    "of a label that is no text": [
      map({ metadata: { name: "a", labels: { a: "<< 1 >>", b: 1 } } }),
      ".apply.metadata.labels[b]",
      /expected a text/,
    ],
    "of labels that are no object, and no expression": [
      map({ metadata: { name: "a", labels: "a", annotations: "<< {'a': 'b'} >>" } }),
      ".apply.metadata.labels",
      /expected an object of texts/,
    ],
    "of a label that the operator sets": [
      job(pod({}), { labels: { "hookpolicy.dev/task": "a" } }),
      ".create.metadata.labels[hookpolicy.dev/task]",
      /HookPolicy sets it\. Remove it/,
    ],
    "in a template, with its place in the text": [
      map({ data: { a: "x\nab << cluster.metadata.nam >>" } }),
      ".apply.data.a",
      /^line 2, column 23: cluster\.metadata\.nam: unknown field/,
    ],
    "of a type that no text has": [
      map({ data: { a: "x << cluster.metadata.labels >>" } }),
      ".apply.data.a",
      /gives map, expected text, a number or a bool/,
    ],
    "of a type that JSON has not": [
      map({ data: { a: "<< cluster.metadata.creationTimestamp >>" } }),
      ".apply.data.a",
      /gives timestamp, expected what JSON has: write string\(…\)/,
    ],
    "of attempts, which no template knows": [
      map({ data: { a: "<< task.attempt >>" } }),
      ".apply.data.a",
      /unknown variable "task"/,
    ],
    "of an expression without an end": [
      map({ data: { a: "cat <<EOF" } }),
      ".apply.data.a",
      /column 5: << begins an expression that no >> ends, or/,
    ],
    "of an expression in args": [
      job(pod({ containers: [{ args: ["--a=<< cluster.metadata.name >>"] }] })),
      ".create.spec.template.spec.containers[0].args[0]",
      /a value could become a command: .*in args write \$\(VALUE\)/,
    ],
    "of an expression that gives containers": [
      job(pod({ initContainers: ["<< cluster.topology.variables.container >>"] })),
      ".create.spec.template.spec.initContainers[0]",
      /a value could become a command: pass the value by env/,
    ],
    "of an expression that gives the env of a container": [
      job(pod({ containers: [{ env: "<< cluster.topology.variables.env >>" }] })),
      ".create.spec.template.spec.containers[0].env",
      /a value could become a command: pass the value by env/,
    ],
    "of an expression in command": [
      job(pod({ containers: [{ command: ["sh", "-c", "x << cluster.metadata.name >>"] }] })),
      ".create.spec.template.spec.containers[0].command[2]",
      /a value could become a command: pass the value by env/,
    ],
    "of an expression in a key": [
      map({ data: { "<< cluster.metadata.name >>": "a" } }),
      ".apply.data",
      /the name of a field must not have an expression/,
    ],
    "of an expression in the kind of a part": [
      map({ subjects: [{ kind: "<< cluster.metadata.name >>" }] }),
      ".apply.subjects[0].kind",
      /must not have an expression/,
    ],
    "of a Job that removes itself": [
      job({ ...pod({}), ttlSecondsAfterFinished: 1 }),
      ".create.spec.ttlSecondsAfterFinished",
      /Use keep/,
    ],
    "of a Job that always restarts": [
      job(pod({ restartPolicy: "Always" })),
      ".create.spec.template.spec.restartPolicy",
      /is never done/,
    ],
    "of a Pod that always restarts": [
      { create: { apiVersion: "v1", kind: "Pod", spec: {} } },
      ".create.spec.restartPolicy",
      /is never done/,
    ],
    "of a generated name": [
      job(pod({}), { generateName: "a-" }),
      ".create.metadata.generateName",
      /begins with metadata\.name/,
    ],
    "of what is applied without a name": [
      map({ metadata: {} }),
      ".apply.metadata.name",
      /what is applied needs a name/,
    ],
    "of a name that is no text": [job(pod({}), { name: 7 }), ".create.metadata.name", /expected a text/],
    "of metadata that is none": [map({ metadata: "a" }), ".apply.metadata", /expected an object/],
    "of another namespace": [
      map({ metadata: { name: "a", namespace: "team-b" } }),
      ".apply.metadata.namespace",
      /stay in its own namespace/,
    ],
    "of a namespace that is computed": [
      map({ metadata: { name: "a", namespace: "<< cluster.metadata.namespace >>" } }),
      ".apply.metadata.namespace",
      /stay in its own namespace/,
    ],
    "of a selector without the Cluster": [
      deleting({ selector: { matchLabels: { a: "b", c: "<< request.hook >>" } } }),
      ".delete.selector.matchLabels",
      /no value reads cluster/,
    ],
    "of what is too large, whose expressions are not looked at": [
      map({ data: { a: `<< not CEL >>${"x".repeat(16_384)}` } }),
      ".apply",
      /found \d+ bytes, expected at most 16384/,
    ],
  };
  for (const [name, [spec, path, says]] of Object.entries(errors)) {
    test(name, () => {
      const { errors: found } = check(spec);
      assert.deepEqual(
        found.map((each) => each.path),
        [`${AT}${path}`],
        JSON.stringify(found),
      );
      assert.match(found[0]?.message ?? "", says);
    });
  }

  test("of a namespace is none in a ClusterHookPolicy, or in a file that does not say where its policy is", () => {
    const elsewhere = map({ metadata: { name: "a", namespace: "team-b" } });
    assert.deepEqual(check(elsewhere, FLEET).errors, []);
    assert.deepEqual(check(elsewhere, { kind: "HookPolicy" }).errors, []);
    assert.equal(
      check(map({ metadata: { name: "a", namespace: "<< cluster.metadata.name >>" } }), {
        kind: "HookPolicy",
      }).errors.length,
      1,
    );
  });

  test("in one task hides none of another", () => {
    const { errors: found } = checkRules(
      [taskRule([task({ name: "a", when: "x" }), task({ name: "b", when: "y" })])],
      [],
    );
    assert.deepEqual(
      found.map(({ path }) => path),
      ["spec.rules[0].tasks[0].when", "spec.rules[0].tasks[1].when"],
    );
  });

  test("is none in what a platform would write", () => {
    const good = job(
      pod({
        containers: [
          { args: ["$(CLUSTER)"], env: [{ name: "CLUSTER", value: "<< cluster.metadata.name >>" }] },
        ],
      }),
      { name: "<< cluster.metadata.name >>" },
    );
    assert.deepEqual(check(good), { errors: [], warnings: [] });
    assert.deepEqual(check(deleting({ selector: { matchLabels: { c: "<< cluster.metadata.name >>" } } })), {
      errors: [],
      warnings: [],
    });
    assert.deepEqual(check(map({})), { errors: [], warnings: [] });
    const labelled = map({
      metadata: { name: "a", labels: { env: "<< cluster.metadata.labels['env'] >>" } },
    });
    assert.deepEqual(check(labelled).errors, []);
    const later = { ...map({}), succeeded: "object.status.phase == 'Done'", failed: "object.status.failed" };
    assert.deepEqual(check(later), { errors: [], warnings: [] });
  });
});

const rules = (...all: readonly RuleSpec[]): RuleSpec[] =>
  all.map((each, index) => ({ ...each, name: `r${index}` }));
const ids = (all: readonly RuleSpec[], owner = OWN): unknown[] =>
  checkRules(all, [], { owner }).warnings.map(({ id, path }) => [id, path]);

describe("a warning", () => {
  const looksAt = (object: object): GateSpec => ({
    name: "g",
    object: { apiVersion: "batch/v1", kind: "Job", name: "a", ...object },
  });

  test("of a gate that waits for what a task of the same hook does", () => {
    const expected = [["gate-waits-for-task", "spec.rules[0].until[0]"]];
    assert.deepEqual(ids(rules(taskRule([task()], { until: [looksAt({})] }))), expected);
    assert.deepEqual(
      ids(rules(taskRule([task()], { until: [looksAt({ apiVersion: "batch/v2" })] }))),
      expected,
    );
    const gone = deleting({ selector: { matchLabels: { c: "<< cluster.metadata.name >>" } } });
    const { create: _, ...bare } = task();
    assert.deepEqual(
      ids(
        rules(
          taskRule([{ ...bare, ...gone }], {
            until: [looksAt({ apiVersion: "v1", kind: "Service", absent: true })],
          }),
        ),
      ),
      expected,
    );
    const apart = rules(taskRule([task()]), taskRule([], { until: [looksAt({})] }));
    assert.deepEqual(
      ids(apart.map(({ tasks, ...rest }) => (tasks?.length === 0 ? rest : { ...rest, tasks: tasks ?? [] }))),
      [["gate-waits-for-task", "spec.rules[1].until[0]"]],
    );
  });

  test("of no gate on other kinds or hooks, or if the task begins first", () => {
    assert.deepEqual(ids(rules(taskRule([task()], { until: [looksAt({ kind: "CronJob" })] }))), []);
    assert.deepEqual(ids(rules(taskRule([task({ begins: "First" })], { until: [looksAt({})] }))), []);
    const { tasks: _, ...plain } = taskRule([], { until: [looksAt({})], hooks: ["BeforeClusterCreate"] });
    assert.deepEqual(ids(rules(taskRule([task()]), plain)), []);
  });

  test("of tasks at several hooks of one upgrade", () => {
    const hooks = ["BeforeClusterDelete", "BeforeClusterUpgrade", "AfterClusterUpgrade"] as const;
    assert.deepEqual(ids(rules(taskRule([task()], { hooks: [...hooks] }))), [
      ["tasks-at-several-hooks", "spec.rules[0].hooks[2]"],
    ]);
    assert.deepEqual(
      ids(rules(taskRule([task()], { hooks: ["BeforeClusterDelete", "BeforeClusterUpgrade"] }))),
      [],
    );
  });

  test("of what is chosen by a name that Clusters of several namespaces may have", () => {
    const [name, uid] = ["<< cluster.metadata.name >>", "<< cluster.metadata.uid >>"];
    const own = "<< cluster.metadata.namespace >>";
    const of = (spec: Partial<TaskSpec>, owner = FLEET): unknown[] =>
      check(spec, owner)
        .warnings.filter(({ id }) => id !== "field-may-be-missing")
        .map(({ id, path }) => [id, path.slice(AT.length + 1)]);
    const selecting = (labels: object, rest: object = {}): Partial<TaskSpec> =>
      deleting({ selector: { matchLabels: labels }, ...rest });
    const warned = [["same-name-elsewhere", "delete.selector"]];
    assert.deepEqual(of(selecting({ cluster: name })), warned);
    assert.deepEqual(of(selecting({ cluster: "<< cluster.metadata.labels['a'] >>" })), warned);
    for (const sound of [
      selecting({ cluster: uid }),
      selecting({ cluster: name, of: own }),
      selecting({ cluster: name, of: "<< namespaceObject.metadata.name >>" }),
      selecting({ cluster: name }, { namespace: own }),
      map({ metadata: { name: `${own}-${name}` } }),
      map({ metadata: { name, namespace: own } }),
      map({ metadata: { name: "a" } }),
    ])
      assert.deepEqual(of(sound), []);
    assert.deepEqual(of(map({ metadata: { name: `addon-${name}` } })), [
      ["same-name-elsewhere", "apply.metadata.name"],
    ]);
    assert.deepEqual(of(selecting({ cluster: name }), OWN), []);
  });

  test("of what a tenant writes in a policy that is not theirs", () => {
    const name = "<< cluster.metadata.labels['a'] >>";
    const owner = FLEET;
    const of = (spec: Partial<TaskSpec>, who = owner): unknown[] =>
      check(spec, who)
        .warnings.filter(({ id }) => id === "tenant-written-field")
        .map(({ path }) => path.slice(AT.length + 1));
    assert.deepEqual(of(map({ metadata: { name: "a", namespace: name } })), ["apply.metadata.namespace"]);
    assert.deepEqual(of(job(pod({ containers: [{ image: `a:${name}` }], serviceAccountName: name }))), [
      "create.spec.template.spec.containers[0].image",
      "create.spec.template.spec.serviceAccountName",
    ]);
    assert.deepEqual(of(map({ subjects: [{ name }] })), ["apply.subjects[0].name"]);
    assert.deepEqual(of(deleting({ name })), ["delete.name"]);
    assert.deepEqual(of(deleting({ name }), OWN), []);
    assert.deepEqual(of(map({ data: { a: name } })), []);
    assert.deepEqual(
      of(map({ metadata: { name: "a", namespace: "<< namespaceObject.metadata.name >>" } })),
      [],
    );
  });

  test("of what a Cluster is to own and may be in another namespace", () => {
    const of = (metadata: object, owner: TaskOwner): unknown => {
      const { errors, warnings } = check({ ...map({ metadata }), ownedByCluster: true }, owner);
      return [...errors, ...warnings].map(({ id, path }) => [id, path.slice(AT.length + 1)]);
    };
    const warned = [["owned-elsewhere", "apply.metadata.namespace"]];
    for (const namespace of [undefined, "tools"])
      assert.deepEqual(of({ name: "a", namespace }, FLEET), warned);
    assert.deepEqual(of({ name: "a", namespace: "<< cluster.metadata.namespace >>" }, FLEET), []);
    assert.deepEqual(of({ name: "a" }, OWN), []);
  });

  test("of a success that is too old before the release", () => {
    const late = task({ name: "b", timeout: "12h", retries: 1 });
    assert.deepEqual(ids(rules(taskRule([task({ name: "a", validFor: "1h" }), late]))), []);
    const first = [task({ name: "a", validFor: "24h" }), { ...late, begins: "First" as const }];
    assert.deepEqual(ids(rules(taskRule(first))), [["endless-tasks", "spec.rules[0].tasks[0].validFor"]]);
    const short = ["a", "b", "c"].map((name) =>
      task({ name, validFor: "1h", timeout: "40m", begins: "First" }),
    );
    assert.deepEqual(ids(rules(taskRule(short.slice(1)))), []);
    assert.deepEqual(ids(rules(taskRule(short))), [["endless-tasks", "spec.rules[0].tasks[0].validFor"]]);
    const window = scheduled("w", "0 0 * * SAT", "1h");
    assert.deepEqual(ids(rules(taskRule([task({ validFor: "2h" })], { until: [window] }))), [
      ["endless-tasks", "spec.rules[0].tasks[0].validFor"],
    ]);
    assert.deepEqual(ids(rules(taskRule([task()], { until: [window] }))), [
      ["endless-tasks", "spec.rules[0].tasks[0].create"],
    ]);
    assert.deepEqual(ids(rules(taskRule([task({ timeout: "10m" })], { until: [window] }))), []);
  });

  test("of nothing to wait for is none for a rule with tasks", () => {
    assert.deepEqual(ids(rules(taskRule([task()], { message: "ask" }))), []);
  });
});
