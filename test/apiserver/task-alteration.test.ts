/** Who may patch a HookTask can change its action by two patches, and makes the operator do nothing but hold. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { HookTask } from "../../src/api/hook-policy.ts";
import { CLUSTER_UID } from "../../src/policy/tasks/template-metadata.ts";
import { RETRY_ANNOTATION } from "../../src/tasks/next-step.ts";
import type { Ref } from "../controlplane/client.ts";
import { APPROVED } from "../controlplane/policies.ts";
import { endJob, HOOK_TASKS, jobsIn, jobTask, openJob, taskIs, tasksIn } from "../controlplane/tasks.ts";
import { startTaskLab } from "./task-lab.ts";

const EVIL = {
  template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "example.com/evil:1" }] } },
};
const UNTRUSTED =
  /task clean cannot be trusted: its HookTask was changed \((?:see that what it created is gone, then )?kubectl delete hooktask -n/;

const { lab, cp, tasks } = await startTaskLab();
after(async () => await lab.stop());

describe("a HookTask whose action was changed", () => {
  function refOf({ metadata: { namespace = "", name } }: HookTask): Ref {
    return { ...HOOK_TASKS, namespace, name };
  }

  /** The rule of the CRD compares what the schema knows, and of all else only how much there is. */
  async function alter(task: HookTask, spec: object): Promise<void> {
    await cp.patch(refOf(task), { spec: { action: { create: { spec: null, other: {} } } } });
    await cp.patch(refOf(task), { spec: { action: { create: { spec, other: null } } } });
  }

  async function isMarked(namespace: string): Promise<HookTask> {
    return await cp.waitFor("the HookTask to be marked", async () =>
      (await tasksIn(cp, namespace)).find(({ status }) => status?.altered !== undefined),
    );
  }

  /** The task of a Cluster that is not approved yet. */
  async function succeeded(ns: string): Promise<HookTask> {
    const until = [{ name: "approved", annotation: { key: APPROVED } }];
    const stored = await tasks.begins(ns, { until, tasks: [jobTask("clean", { begins: "First" })] });
    await endJob(cp, await openJob(cp, ns), "Complete");
    await taskIs(cp, ns, "Succeeded");
    return stored;
  }

  test("begins no further attempt, even if it was changed back, and begins again when it is deleted", async () => {
    const ns = "altered-action";
    const stored = await tasks.begins(ns, { tasks: [jobTask("clean")] });
    await endJob(cp, await openJob(cp, ns), "Failed");
    await taskIs(cp, ns, "Failed");
    await alter(stored, EVIL);
    await cp.patch(refOf(stored), { metadata: { annotations: { [RETRY_ANNOTATION]: "now" } } });
    assert.match((await isMarked(ns)).status?.message ?? "", /is not what the operator stored.*delete this/);
    await tasks.isHeld(ns, UNTRUSTED);
    await alter(stored, stored.spec.action.create?.["spec"] as object);
    assert.deepEqual((await cp.get(refOf(stored)))["spec"], stored.spec);
    await cp.patch(refOf(stored), { metadata: { annotations: { [RETRY_ANNOTATION]: "again" } } });
    await tasks.isHeld(ns, UNTRUSTED);
    assert.equal((await jobsIn(cp, ns)).length, 1);

    await cp.delete(refOf(stored));
    const job = await cp.waitFor("the task to begin again", async () => {
      await tasks.ask(ns);
      return (await jobsIn(cp, ns))[1];
    });
    assert.equal(job["spec"].template.spec.containers[0].image, "registry.example.com/work:1.0");
    await endJob(cp, job, "Complete");
    await tasks.isReleased(ns);
  });

  test("does not count, although it has succeeded", async () => {
    const ns = "altered-success";
    const stored = await succeeded(ns);
    await alter(stored, EVIL);
    await tasks.approve(ns);
    await tasks.isHeld(ns, UNTRUSTED);
    await isMarked(ns);
    await cp.waitFor("an Event to say so", async () =>
      (await cp.list({ apiVersion: "events.k8s.io/v1", kind: "Event", namespace: ns })).some(
        (event) => event["reason"] === "TaskAltered" && event["type"] === "Warning",
      ),
    );
  });

  test("holds with a reason, although it has succeeded, when a confirmation does not find it by its label", async () => {
    const ns = "altered-label";
    const stored = await succeeded(ns);
    await cp.patch(refOf(stored), { metadata: { labels: { [CLUSTER_UID]: null } } });
    await isMarked(ns);
    await tasks.approve(ns);
    await tasks.isHeld(ns, UNTRUSTED);
    await cp.delete(refOf(stored));
    await tasks.asksUntilStored(ns);
  });

  test("has a hash that nobody can change", async () => {
    const ns = "fixed-hash";
    const stored = await tasks.begins(ns, { tasks: [jobTask("clean")] });
    await openJob(cp, ns);
    const ref = refOf(stored);
    const { metadata, spec } = await cp.get(ref);
    const renderedHash = "0".repeat(64);
    const { renderedHash: own, ...hashless } = spec;
    const path = `/apis/hookpolicy.dev/v1alpha1/namespaces/${ns}/hooktasks/${stored.metadata.name}`;
    const kind = { apiVersion: HOOK_TASKS.apiVersion, kind: HOOK_TASKS.kind };
    const put = async (over: object, subresource = ""): Promise<unknown> => {
      const current = { ...kind, metadata: (await cp.get(ref)).metadata, ...over };
      return await cp.request("PUT", `${path}${subresource}`, JSON.stringify(current));
    };
    const json = async (op: object): Promise<unknown> => await cp.patch(ref, [op], { type: "json" });
    const at = "/spec/renderedHash";
    const ways: Readonly<Record<string, () => Promise<unknown>>> = {
      "merge patch": async () => await cp.patch(ref, { spec: { renderedHash } }),
      "merge patch, removed": async () => await cp.patch(ref, { spec: { renderedHash: null } }),
      "merge patch, without spec": async () => await cp.patch(ref, { spec: null }),
      "json patch": async () => await json({ op: "replace", path: at, value: renderedHash }),
      "json patch, removed": async () => await json({ op: "remove", path: at }),
      "json patch, without spec": async () => await json({ op: "remove", path: "/spec" }),
      "json patch of the whole": async () =>
        await json({ op: "replace", path: "/spec", value: { ...spec, renderedHash } }),
      apply: async () =>
        await cp.apply({
          ...kind,
          metadata: { namespace: ns, name: metadata.name },
          spec: { ...spec, renderedHash },
        }),
      replace: async () => await put({ spec: { ...spec, renderedHash } }),
      "replace, removed": async () => await put({ spec: hashless }),
      "replace, without spec": async () => await put({}),
    };
    for (const [way, change] of Object.entries(ways)) {
      await assert.rejects(change(), /cannot be changed|Required value/, way);
      assert.equal((await cp.get(ref))["spec"].renderedHash, own, way);
    }
    // A write of the status takes nothing else.
    const { status } = await cp.get(ref);
    await put({ spec: { ...spec, renderedHash }, status }, "/status");
    assert.equal((await cp.get(ref))["spec"].renderedHash, own);
    assert.equal((await cp.get(ref)).metadata.generation, 1);
  });
});
