/** Whatever a template gives, each of its fields is in the object that is sent, or the rule holds and says why not. */

import assert from "node:assert/strict";
import test from "node:test";
import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import type { TaskSpec } from "../../../src/api/hook-policy.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { isFields, withoutNulls } from "../../../src/lib/fields.ts";
import type { ExpressionVariables } from "../../../src/policy/cel/view.ts";
import type { PolicyRef } from "../../../src/policy/policy-ref.ts";
import { compileTasks } from "../../../src/policy/tasks/compile-task.ts";
import { renderAction } from "../../../src/policy/tasks/render-action.ts";
import { compileTemplate } from "../../../src/policy/tasks/template.ts";
import { carryOut } from "../../../src/tasks/attempt-work.ts";
import type { TaskObject, TaskObjects } from "../../../src/tasks/task-objects.ts";
import { runs } from "../../generated.ts";
import { cluster, DELETE, namespace, NOW } from "../builders.ts";
import { attempt, hookTask } from "./hook-tasks.ts";

const OWN: PolicyRef = { kind: "HookPolicy", namespace: "team-a", name: "protect" };
const ACCOUNT = { namespace: "team-a", name: "worker" };
const VARIABLES: ExpressionVariables = { cluster: cluster(), namespace: namespace(), call: DELETE, now: NOW };

/** Fields of `given` that `sent` lacks, or has with another value. */
function lost(given: unknown, sent: unknown, path = ""): string[] {
  if (!isFields(given)) return isDeepStrictEqual(given, sent) ? [] : [path];
  if (!isFields(sent)) return [path];
  return Object.entries(given).flatMap(([key, value]) => lost(value, sent[key], `${path}.${key}`));
}

async function sentFor(spec: TaskSpec): Promise<TaskObject | undefined> {
  const [compiled] = compileTasks([spec], ACCOUNT);
  assert.ok(compiled !== undefined);
  const rendered = renderAction(compiled, { policy: OWN, account: ACCOUNT }, VARIABLES);
  if (!rendered.ok) {
    assert.match(rendered.problem, /^[a-z]\S*: |^it /);
    return undefined;
  }
  let sent: TaskObject | undefined;
  const send = async (_: unknown, object: TaskObject): Promise<KubeObject> => {
    sent = object;
    return await Promise.resolve({ metadata: { name: "a", uid: "1", resourceVersion: "1" } });
  };
  const objects: Partial<TaskObjects> = { create: send, apply: send };
  const name = rendered.action.apply === undefined ? "backup-0123456789" : "a";
  const begun = attempt({ name });
  const stored = hookTask(
    { phase: "Running", begun: 1, allowed: 1, attempts: [begun] },
    { action: rendered.action },
  );
  const { metadata } = VARIABLES.cluster;
  const on = { metadata: { ...metadata, resourceVersion: "1" }, paused: false, created: true };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what a new attempt calls
  const [sender, clusterVersion] = [objects as TaskObjects, "cluster.x-k8s.io/v1beta2"];
  await carryOut({ objects: sender, task: stored, attempt: begun, cluster: on, clusterVersion, now: NOW });
  assert.ok(sent !== undefined);
  return sent;
}

const LITERAL = fc.oneof(
  fc.constantFrom<unknown>("a", "", 1, true, null, {}, [], ["a"], { a: "b" }, { a: 1 }, { a: { b: null } }),
  fc.constantFrom("app.kubernetes.io/managed-by", "hookpolicy.dev/task").map((key) => ({ [key]: "a" })),
  fc.constant({ "hookpolicy.dev/cluster-uid": "a" }),
);
const VALUE = fc.oneof(
  LITERAL,
  fc.constantFrom(
    "<< cluster.metadata.name >>",
    "x-<< 1 >>",
    "<< 1 >>",
    "<< null >>",
    "<< ['a'] >>",
    "<< {'a': 'b'} >>",
    "<< {'a': 1} >>",
    "<< {'hookpolicy.dev/task': 'a'} >>",
    "<< cluster.metadata.labels >>",
    "<< cluster.metadata.labels['none'] >>",
    "<< '<<' >>",
  ),
);
const TEXTS = fc.oneof(VALUE, fc.dictionary(fc.constantFrom("a", "b", "hookpolicy.dev/task"), VALUE));
const TEMPLATE = fc.record(
  {
    metadata: fc.record(
      { labels: TEXTS, annotations: TEXTS, ownerReferences: VALUE, finalizers: VALUE },
      { requiredKeys: [] },
    ),
    spec: VALUE,
    data: fc.dictionary(fc.constantFrom("a", "b"), VALUE),
  },
  { requiredKeys: ["metadata"] },
);

test("each field of a template is in the object that is sent, or the problem is said", async () => {
  const seen = { sent: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(
      TEMPLATE,
      fc.constantFrom("Job", "ConfigMap"),
      fc.boolean(),
      async (parts, kind, owned) => {
        const apiVersion = kind === "Job" ? "batch/v1" : "v1";
        const metadata = kind === "Job" ? parts.metadata : { ...parts.metadata, name: "a" };
        const template = { apiVersion, kind, ...parts, metadata };
        const spec: TaskSpec =
          kind === "Job"
            ? { name: "backup", create: template }
            : { name: "backup", apply: template, ownedByCluster: owned };
        const sent = await sentFor(spec);
        seen[sent === undefined ? "refused" : "sent"] += 1;
        if (sent === undefined) return;
        const whole = compileTemplate(template).render(VARIABLES);
        assert.ok(whole.ok);
        assert.deepEqual(lost(withoutNulls(whole.value), sent), []);
      },
    ),
    runs(3000),
  );
  assert.ok(seen.sent > 20 && seen.refused > 20, JSON.stringify(seen));
});
