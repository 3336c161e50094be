/** What a task does for one Cluster: names, namespaces and selectors that come out of a template. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { TaskSpec } from "../../../../src/api/hook-policy.ts";
import { fieldsOf } from "../../../../src/lib/fields.ts";
import type { PolicyRef } from "../../../../src/policy/policy-ref.ts";
import { compileTasks } from "../../../../src/policy/tasks/compile-task.ts";
import { renderAction, type RenderedAction } from "../../../../src/policy/tasks/render-action.ts";
import { cluster, DELETE, namespace, NOW } from "../../builders.ts";
import { JOB, task } from "./fixtures.ts";

const OWN: PolicyRef = { kind: "HookPolicy", namespace: "team-a", name: "protect" };
const FLEET: PolicyRef = { kind: "ClusterHookPolicy", name: "fleet" };

function render(spec: Partial<TaskSpec>, policy = OWN, on = cluster()): RenderedAction {
  const { create: _, ...bare } = task();
  const account = { namespace: policy === OWN ? "team-a" : "tools", name: "worker" };
  const [compiled] = compileTasks([{ ...bare, ...spec }], account);
  assert.ok(compiled);
  return renderAction(
    compiled,
    { policy, account },
    { cluster: on, namespace: namespace(), call: DELETE, now: NOW },
  );
}

const problem = (rendered: RenderedAction): string => (rendered.ok ? "" : rendered.problem);
const metadata = (rendered: RenderedAction): unknown => {
  assert.ok(rendered.ok, problem(rendered));
  return (rendered.action.create ?? rendered.action.apply)?.["metadata"];
};
const named = (name: unknown, over: object = {}): Partial<TaskSpec> => ({
  create: { ...JOB, metadata: { name, ...over } },
});
const map = (meta: object): Partial<TaskSpec> => ({
  apply: { apiVersion: "v1", kind: "ConfigMap", metadata: meta },
});
const deleting = (over: object): Partial<TaskSpec> => ({
  delete: { apiVersion: "v1", kind: "Service", ...over },
});

describe("the name", () => {
  test("of what is created is a prefix: the task's own, or as written with dashes for dots, so short that a suffix fits", () => {
    assert.deepEqual(metadata(render({ create: JOB })), { name: "backup", namespace: "team-a" });
    const long = cluster({ name: `a.b${"c".repeat(100)}` });
    const { name } = metadata(render(named("<< cluster.metadata.name >>"), OWN, long)) as {
      readonly name: string;
    };
    assert.equal(name, `a-b${"c".repeat(49)}`);
    assert.ok(`${name}-0123456789`.length <= 63);
  });

  test("of what is applied stays as it is", () => {
    assert.deepEqual(metadata(render(map({ name: "a.b" }))), { name: "a.b", namespace: "team-a" });
  });

  test("must be one", () => {
    for (const name of ["<< null >>", "<< 1 >>", "<< '../x' >>", "<< '' >>"])
      assert.match(problem(render(map({ name }))), /metadata\.name: it gives no name of an object/, name);
    assert.match(problem(render(named("<< 1 >>"))), /metadata\.name/);
    assert.match(problem(render(named("<< '---' >>"))), /metadata\.name/);
    assert.match(problem(render({ create: { ...JOB, metadata: "<< 'a' >>" } })), /metadata: it is no object/);
  });
});

describe("labels and annotations", () => {
  const problemOf = (meta: object, more: Partial<TaskSpec> = {}): string =>
    problem(render({ ...map({ name: "a", ...meta }), ...more }));

  test("are objects of texts", () => {
    const given = {
      labels: { a: "<< cluster.metadata.name >>", b: "<< null >>" },
      annotations: "<< null >>",
    };
    assert.deepEqual(metadata(render(map({ name: "a", ...given }))), {
      name: "a",
      namespace: "team-a",
      labels: { a: "prod-1" },
    });
    for (const labels of ["<< 'a' >>", "<< ['a'] >>", "<< 1 >>"])
      assert.equal(problemOf({ labels }), "metadata.labels: expected an object of texts", labels);
    assert.equal(problemOf({ labels: { n: "<< 1 >>" } }), "metadata.labels[n]: expected a text");
    assert.equal(problemOf({ annotations: "<< {'n': 1} >>" }), "metadata.annotations[n]: expected a text");
    assert.match(problem(render(named("a", { labels: "<< 'a' >>" }))), /^metadata\.labels: /);
  });

  test("that the operator sets cannot be given another value", () => {
    assert.match(
      problemOf({ labels: "<< {'hookpolicy.dev/task': 'a'} >>" }),
      /labels\[hookpolicy\.dev\/task\]: /,
    );
    assert.match(
      problemOf({ labels: { "app.kubernetes.io/managed-by": "Helm" } }),
      /managed-by\]: HookPolicy sets it\. Remove it/,
    );
    assert.match(
      problemOf({ annotations: { "hookpolicy.dev/cluster-uid": "a" } }),
      /cluster-uid\]: HookPolicy sets it/,
    );
  });

  test("are not the only ones: owners are the operator's where it sets the Cluster as owner", () => {
    const ownerReferences = "<< [cluster.metadata.name] >>";
    assert.equal(problemOf({ ownerReferences }), "");
    assert.match(problemOf({ ownerReferences }, { ownedByCluster: true }), /^metadata\.ownerReferences: /);
  });

  test("of the Cluster is the owner only of what is in its namespace", () => {
    const owned = (meta: object): RenderedAction =>
      render({ ...map({ name: "a", ...meta }), ownedByCluster: true }, FLEET);
    const there = { namespace: "<< cluster.metadata.namespace >>" };
    assert.deepEqual(metadata(owned(there)), { name: "a", namespace: "team-a" });
    for (const elsewhere of [{}, { namespace: "team-b" }])
      assert.match(
        problem(owned(elsewhere)),
        /^ownedByCluster: .* set metadata\.namespace: << cluster.*, or remove ownedByCluster/,
      );
  });
});

describe("the namespace", () => {
  test("is that of the ServiceAccount, unless a ClusterHookPolicy names another", () => {
    assert.deepEqual(metadata(render(map({ name: "a" }), FLEET)), { name: "a", namespace: "tools" });
    const of = (given: unknown): unknown => metadata(render(map({ name: "a", namespace: given }), FLEET));
    assert.deepEqual(of("velero"), { name: "a", namespace: "velero" });
    assert.deepEqual(of("<< cluster.metadata.namespace >>"), { name: "a", namespace: "team-a" });
  });

  test("must be one", () => {
    for (const given of ["<< 'a/b' >>", "<< 1 >>", "<< '' >>", "a.b"])
      assert.match(
        problem(render(map({ name: "a", namespace: given }), FLEET)),
        /metadata\.namespace: it gives no name/,
      );
  });

  test("of a HookPolicy is its own, whatever is stored", () => {
    assert.match(problem(render(map({ name: "a", namespace: "team-b" }))), /stay in its own namespace/);
    assert.match(
      problem(render(map({ name: "a", namespace: "<< 'kube-system' >>" }))),
      /stay in its own namespace/,
    );
    assert.match(
      problem(render(deleting({ name: "a", namespace: "kube-system" }))),
      /stay in its own namespace/,
    );
    assert.deepEqual(metadata(render(map({ name: "a", namespace: "team-a" }))), {
      name: "a",
      namespace: "team-a",
    });
  });
});

test("a Job without a limit gets the task's", () => {
  const limit = (spec: Partial<TaskSpec>): unknown => {
    const rendered = render(spec);
    return rendered.ok && fieldsOf(rendered.action.create?.["spec"])["activeDeadlineSeconds"];
  };
  assert.equal(limit({ create: JOB, timeout: "15m" }), 900);
  assert.equal(limit({ create: JOB }), 3600);
  assert.equal(limit({ create: { ...JOB, spec: { ...JOB.spec, activeDeadlineSeconds: 5 } } }), 5);
});

describe("what is deleted", () => {
  const selecting = (value: string): Partial<TaskSpec> =>
    deleting({ selector: { matchLabels: { a: value, b: "<< cluster.metadata.name >>" } } });

  test("is named, or has labels with these values", () => {
    assert.deepEqual(render(deleting({ name: "<< cluster.metadata.name >>-lb" })), {
      ok: true,
      action: { delete: { apiVersion: "v1", kind: "Service", namespace: "team-a", name: "prod-1-lb" } },
    });
    assert.deepEqual(render(selecting("x")), {
      ok: true,
      action: {
        delete: {
          apiVersion: "v1",
          kind: "Service",
          namespace: "team-a",
          selector: { matchLabels: { a: "x", b: "prod-1" } },
        },
      },
    });
  });

  test("never is more, because a value is missing or no value of a label", () => {
    for (const value of ["<< '' >>", "<< 1 >>", "<< 'a,b' >>", "<< {'x': 'y'} >>"])
      assert.match(
        problem(render(selecting(value))),
        /selector\.matchLabels\[a\]: it gives no value of a label/,
        value,
      );
    assert.notEqual(problem(render(selecting("<< null >>"))), "");
    assert.match(problem(render(deleting({ name: "<< null >>" }))), /name: the expression gives null/);
  });
});

test("what is too large with its values is not rendered", () => {
  const big = cluster({ annotations: { big: "x".repeat(70_000) } });
  const data = { a: "<< cluster.metadata.annotations['big'] >>" };
  const spec = { apply: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data } };
  assert.match(problem(render(spec, OWN, big)), /more than 64 KiB/);
  assert.equal(problem(render(spec, OWN, cluster({ annotations: { big: "x" } }))), "");
});
