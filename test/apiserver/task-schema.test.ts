/** What the API server keeps and shows of a HookTask, and that nothing of what it says to do can be changed. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { HookTaskSpec, HookTaskStatus } from "../../src/api/hook-policy.ts";
import { decide } from "../../src/policy/decide.ts";
import { isAlteredTask } from "../../src/policy/tasks/task-identity.ts";
import { CLUSTER_UID } from "../../src/policy/tasks/template-metadata.ts";
import { sharedControlPlane } from "../controlplane/shared.ts";
import { compiled, DELETE, NOW } from "../unit/builders.ts";
import { fleetWithTasks, JOB, task, taskWorld } from "../unit/policy/tasks/fixtures.ts";

const NAMESPACE = "task-schema";

const cp = await sharedControlPlane();
after(async () => await cp.stop());
await cp.apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } }]);

/** What decide() lets begin. */
function specOf(over: Parameters<typeof task>[0] = {}): HookTaskSpec {
  const policy = compiled(fleetWithTasks([task({ timeout: "15m", retries: 2, ...over })]));
  const [intent] = decide([policy], taskWorld(), DELETE, NOW).begins ?? [];
  assert.ok(intent);
  return intent.spec;
}

describe("a HookTask", () => {
  const ref = { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookTask", namespace: NAMESPACE, name: "one" };
  const { apiVersion, kind, ...metadata } = ref;
  const create = {
    ...JOB,
    metadata: { labels: { a: "b" } },
    spec: {
      ...JOB.spec,
      list: [1, { deep: true }, 1.5, 1e21, 1e-7, -0, 9_007_199_254_740_991, ""],
      none: null,
      nested: { none: null, empty: {}, text: "\u2028 <é> \u{1f600}", 10: "b", 9: "a" },
    },
  };

  before(async () => await cp.create({ apiVersion, kind, metadata, spec: specOf({ create }) }));

  test("is kept as decide() made it, whatever its object has", async () => {
    const { spec } = await cp.get(ref);
    assert.deepEqual(spec, JSON.parse(JSON.stringify(specOf({ create }))));
    const kept = {
      ...metadata,
      uid: "",
      resourceVersion: "",
      labels: { [CLUSTER_UID]: spec.clusterRef.uid },
    };
    assert.equal(isAlteredTask({ metadata: kept, spec }), false, "its hash is the same as before");
  });

  const changes: Readonly<Record<string, object>> = {
    "another task": { task: "other" },
    "another ServiceAccount": { serviceAccountName: "cluster-admin" },
    "more attempts": { retries: 3 },
    "another name": { action: { create: { metadata: { name: "x" } } } },
    "what is run": { action: { create: { spec: { list: [] } } } },
    "more to do": { action: { create: { spec: { more: "x" } } } },
    "what was absent": { succeeded: "true" },
  };
  for (const [what, spec] of Object.entries(changes)) {
    test(`cannot be changed later: ${what}`, async () => {
      await assert.rejects(
        cp.patch(ref, { spec }),
        /cannot be changed\. The operator makes another HookTask/,
      );
    });
  }

  test("has a generation of its own, so that a change would show", async () => {
    await cp.patch(ref, { metadata: { annotations: { "hookpolicy.dev/retry": "2026-11-21T10:00:00Z" } } });
    assert.equal((await cp.get(ref)).metadata.generation, 1);
  });

  test("tells its story to kubectl get", async () => {
    const time = "2026-11-21T10:00:00Z";
    const status: HookTaskStatus = {
      phase: "Running",
      begun: 1,
      allowed: 3,
      startedAt: time,
      object: "Job/backup-0123456789",
      message: "the Job has not ended",
      attempts: [{ name: "backup-0123456789", namespace: NAMESPACE, uid: "3f0c", startedAt: time }],
    };
    await cp.patchStatus(ref, status);
    assert.deepEqual((await cp.get(ref))["status"], status, "nothing is dropped");
    const [head = "", row = ""] = (await cp.kubectl("get", "hkt", "-n", NAMESPACE, "one")).split("\n");
    assert.match(head, /^NAME +CLUSTER +HOOK +VERSION +TASK +PHASE +OBJECT +AGE/);
    assert.match(row, /^one +prod-1 +BeforeClusterDelete +backup +Running +Job\/backup-0123456789 +\d/);
    // While other files define and remove kinds on the same control plane, kubectl finds a kind and no resource.
    await cp.waitFor("kubectl to list a category", async () =>
      /hooktask\.hookpolicy\.dev\/one/.test(
        await cp.kubectl("get", "cluster-api", "-n", NAMESPACE, "-o", "name"),
      ),
    );
  });

  test("of a delete has no object, and one that says nothing to do is not refused here", async () => {
    const { create: _, ...bare } = task();
    const deletion = {
      apiVersion: "v1",
      kind: "Service",
      selector: { matchLabels: { c: "<< cluster.metadata.name >>" } },
    };
    const policy = compiled(fleetWithTasks([{ ...bare, delete: deletion }]));
    const [intent] = decide([policy], taskWorld(), DELETE, NOW).begins ?? [];
    assert.ok(intent);
    await cp.create({ apiVersion, kind, metadata: { ...metadata, name: "two" }, spec: intent.spec });
    assert.deepEqual((await cp.get({ ...ref, name: "two" })).spec, intent.spec);
  });
});
