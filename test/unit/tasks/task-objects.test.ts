import assert from "node:assert/strict";
import { test } from "node:test";
import { TaskObjects } from "../../../src/tasks/task-objects.ts";

const ROLE = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" };
const VERBS = ["create", "delete", "get", "list", "patch", "update"];
const resources = [{ name: "clusterroles", kind: "ClusterRole", namespaced: false, verbs: VERBS }];

function objectsAnd(asked: string[]): TaskObjects {
  const noted = (verb: string) => async () => {
    asked.push(verb);
    return await Promise.resolve({ items: [], metadata: { name: "free", uid: "1", resourceVersion: "1" } });
  };
  return new TaskObjects({
    getPath: async () => await Promise.resolve({ resources }),
    create: noted("create"),
    apply: noted("apply"),
    get: noted("get"),
    list: noted("list"),
    delete: noted("delete"),
  } as unknown as ConstructorParameters<typeof TaskObjects>[0]);
}

const account = { namespace: "team-a", name: "cluster-tasks" };

async function doAll(objects: TaskObjects, namespacedOnly: boolean): Promise<readonly string[]> {
  const actor = { ...account, namespacedOnly };
  const ref = { ...ROLE, namespace: "team-a", name: "free" };
  const object = { ...ROLE, metadata: { name: "free", namespace: "team-a" } };
  const results = await Promise.allSettled([
    objects.create(actor, object),
    objects.apply(actor, object, "hookpolicy-1"),
    objects.find(actor, ref),
    objects.select(actor, ref, "a=b"),
    objects.delete(actor, ref, "uid", "Background"),
  ]);
  return results.map((result) =>
    result.status === "rejected" ? (result.reason as { reason: string }).reason : "done",
  );
}

test("a HookPolicy does nothing to kinds without namespaces, whatever its account may do", async () => {
  const asked: string[] = [];
  const done = await doAll(objectsAnd(asked), true);
  assert.deepEqual([done, asked], [Array.from({ length: 5 }, () => "BadRequest"), []]);
});

test("a ClusterHookPolicy may", async () => {
  const asked: string[] = [];
  const done = await doAll(objectsAnd(asked), false);
  assert.deepEqual([new Set(done), asked.length], [new Set(["done"]), 5]);
});
