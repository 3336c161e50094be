import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { HookTask, HookTaskSpec, TaskAttempt } from "../../../src/api/hook-policy.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { carryOut, newAttempt, observe, whyNotGone } from "../../../src/tasks/attempt-work.ts";
import type { TaskObject, TaskObjects } from "../../../src/tasks/task-objects.ts";
import { ago, attempt, hookTask, NOW } from "./hook-tasks.ts";

type Objects = Pick<TaskObjects, "create" | "apply" | "find" | "select" | "delete">;

const cluster = {
  metadata: { name: "prod-1", namespace: "team-a", uid: "cluster-uid", resourceVersion: "1" },
  paused: false,
  created: true,
};
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };

function object(uid: string, more: object = {}): KubeObject {
  return { metadata: { name: "clean-0123456789", uid, resourceVersion: "1", ...more }, status: {} };
}

function refuses(code: number, reason: string): () => Promise<never> {
  return async () => await Promise.reject(new KubeError(`it says ${reason}`, { code, reason }));
}

function server(over: Partial<Objects> = {}): Objects & { readonly seen: string[]; sent?: TaskObject } {
  const seen: string[] = [];
  const told = {
    seen,
    create: async (_: unknown, sent: TaskObject): Promise<KubeObject> => {
      told.sent = sent;
      return await Promise.resolve(object("job-1"));
    },
    apply: async (_: unknown, sent: TaskObject, manager: string): Promise<KubeObject> => {
      seen.push(manager);
      told.sent = sent;
      return await Promise.resolve(object("map-1"));
    },
    find: async (): Promise<KubeObject | undefined> => await Promise.resolve(undefined),
    select: async (): Promise<readonly KubeObject[]> => await Promise.resolve([]),
    delete: async (_: unknown, { name }: { name: string }, uid: string, how: string): Promise<void> => {
      seen.push(`delete ${name} ${uid} ${how}`);
      await Promise.resolve();
    },
    ...over,
  } as Objects & { seen: string[]; sent?: TaskObject };
  return told;
}

function running(one: Partial<TaskAttempt> = {}, spec: Partial<HookTaskSpec> = {}): HookTask {
  return hookTask({ phase: "Running", begun: 1, allowed: 1, attempts: [attempt(one)] }, spec);
}

const workOf = (objects: Objects, task: HookTask) => {
  const [last] = task.status?.attempts ?? [];
  assert.ok(last !== undefined);
  return { objects, task, attempt: last, cluster, clusterVersion: "cluster.x-k8s.io/v1beta1", now: NOW };
};

describe("an attempt", () => {
  test("has a name of its own, which ends in ten letters that nobody can guess", () => {
    const [first, second] = [newAttempt(hookTask()), newAttempt(hookTask())];
    assert.match(first.name, /^clean-[0-9a-f]{10}$/);
    assert.notEqual(first.name, second.name);
    const create = { ...CONFIG_MAP, metadata: { name: "x.".repeat(60) } };
    assert.ok(newAttempt(hookTask({}, { action: { create } })).name.length <= 63);
  });

  test("creates the object under its name, with the Cluster's uid", async () => {
    const api = server();
    const status = await carryOut(workOf(api, running()));
    assert.equal(status.attempts?.[0]?.uid, "job-1");
    const { metadata } = api.sent ?? {};
    assert.equal(metadata?.name, "clean-0123456789");
    assert.deepEqual(metadata?.["annotations"], { "hookpolicy.dev/cluster-uid": "cluster-uid" });
    assert.deepEqual(metadata?.["labels"], {
      "app.kubernetes.io/managed-by": "hookpolicy",
      "hookpolicy.dev/task": "prod-1-clean-0123456789abcdef",
    });
  });

  test("takes the object that a lost answer has left, and nobody else's", async () => {
    const exists = refuses(409, "AlreadyExists");
    const labels = { "hookpolicy.dev/task": "prod-1-clean-0123456789abcdef" };
    const own = server({
      create: exists,
      find: async () => await Promise.resolve(object("job-1", { labels })),
    });
    assert.equal((await carryOut(workOf(own, running()))).attempts?.[0]?.uid, "job-1");
    const foreign = server({ create: exists, find: async () => await Promise.resolve(object("job-2")) });
    const status = await carryOut(workOf(foreign, running()));
    assert.deepEqual([status.attempts?.[0]?.uid, status.attempts?.[0]?.outcome], [undefined, "Conflict"]);
    assert.equal(status.message, "Job clean-0123456789 exists already, and this task has not created it");
    const late = await carryOut(
      workOf(
        server({ create: refuses(503, "ServiceUnavailable"), find: foreign.find.bind(foreign) }),
        running({ askedAt: ago(1000) }),
      ),
    );
    assert.deepEqual([late.attempts?.[0]?.uid, late.attempts?.[0]?.outcome], [undefined, "TimedOut"]);
    assert.equal(await whyNotGone(foreign, running(), attempt()), undefined);
    assert.deepEqual(foreign.seen, [], "it is not deleted");
  });

  for (const [code, reason, outcome] of [
    [400, "BadRequest", "Refused"],
    [422, "Invalid", "Refused"],
    [409, "FieldManagerConflict", "Conflict"],
  ] as const)
    test(`fails at once with ${reason}`, async () => {
      const status = await carryOut(workOf(server({ create: refuses(code, reason) }), running()));
      assert.deepEqual([status.phase, status.attempts?.[0]?.outcome], ["Failed", outcome]);
    });

  for (const [code, reason] of [
    [403, "Forbidden"],
    [404, "NotFound"],
    [409, "Conflict"],
    [429, "TooManyRequests"],
    [500, "InternalError"],
    [0, "ConnectionRefused"],
  ] as const)
    test(`is repeated after ${reason}, until its time-out`, async () => {
      const api = server({ create: refuses(code, reason) });
      const begun = hookTask({ phase: "Pending", begun: 1, attempts: [attempt()] });
      const status = await carryOut(workOf(api, begun));
      const who = code === 403 ? "admission refuses it (correct what it names): " : "";
      assert.deepEqual([status.phase, status.attempts?.[0]?.message], ["Pending", `${who}it says ${reason}`]);
      const late = await carryOut(workOf(api, running({ askedAt: ago(1000) })));
      assert.deepEqual([late.phase, late.attempts?.[0]?.outcome], ["Failed", "TimedOut"]);
      assert.match(late.message ?? "", /could not begin within 15m: .*it says/);
    });

  test("may take its whole time-out, however long it could not begin", async () => {
    const late = running({ askedAt: ago(1000) });
    const created = async (): Promise<KubeObject> =>
      await Promise.resolve(object("job-1", { creationTimestamp: ago(5) }));
    const { phase, attempts } = await carryOut(workOf(server({ create: created }), late));
    assert.deepEqual([phase, attempts?.[0]?.askedAt], ["Running", ago(5)]);

    const apply = { ...CONFIG_MAP, metadata: { name: "settings", namespace: "team-a" } };
    const old = async (): Promise<KubeObject> =>
      await Promise.resolve(object("map-1", { creationTimestamp: ago(10_000) }));
    const applied = running({ askedAt: ago(1000) }, { action: { apply }, succeeded: "false" });
    assert.equal((await carryOut(workOf(server({ apply: old }), applied))).attempts?.[0]?.askedAt, ago(0));

    const action = { delete: { ...CONFIG_MAP, namespace: "team-a", name: "settings" } };
    const removed = await carryOut(
      workOf(server({ find: old }), running({ askedAt: ago(1000) }, { action })),
    );
    assert.deepEqual([removed.phase, removed.attempts?.[0]?.askedAt], ["Running", ago(0)]);
  });

  test("counts no instant of the API server's clock that this machine has not reached, or had before", async () => {
    for (const [created, counted] of [
      [ago(2000), ago(30)],
      [ago(-600), ago(0)],
    ] as const) {
      const create = async (): Promise<KubeObject> =>
        await Promise.resolve(object("job-1", { creationTimestamp: created }));
      const { phase, attempts } = await carryOut(workOf(server({ create }), running({ askedAt: ago(30) })));
      assert.deepEqual([phase, attempts?.[0]?.askedAt], ["Running", counted]);
    }
  });

  test("that was carried out unseen may take its time-out from when its object was created", async () => {
    const labels = { "hookpolicy.dev/task": "prod-1-clean-0123456789abcdef" };
    const find = async (): Promise<KubeObject> =>
      await Promise.resolve(object("job-1", { labels, creationTimestamp: ago(60) }));
    const api = server({ create: refuses(503, "ServiceUnavailable"), find });
    const { phase, attempts } = await carryOut(workOf(api, running({ askedAt: ago(1000) })));
    assert.deepEqual([phase, attempts?.[0]?.askedAt], ["Running", ago(60)]);
  });

  test("applies with a manager for policy, task and Cluster, and as the Cluster's own if it is to be", async () => {
    const apply = { ...CONFIG_MAP, metadata: { name: "settings", namespace: "team-a" } };
    const task = running(
      { name: "settings" },
      { action: { apply, ownedByCluster: true }, succeeded: "true" },
    );
    const api = server();
    const status = await carryOut(workOf(api, task));
    assert.equal(status.phase, "Succeeded");
    assert.match(api.seen[0] ?? "", /^hookpolicy-[0-9a-f]{16}$/);
    const owners = [
      { apiVersion: "cluster.x-k8s.io/v1beta1", kind: "Cluster", name: "prod-1", uid: "cluster-uid" },
    ];
    assert.deepEqual(api.sent?.metadata["ownerReferences"], owners);
  });

  test("applies with the same manager again only for a policy, a task and a Cluster of the same names", async () => {
    const managerOf = async (spec: Partial<HookTaskSpec> = {}): Promise<string> => {
      const api = server();
      const apply = { ...CONFIG_MAP, metadata: { name: "settings" } };
      await carryOut(workOf(api, running({}, { action: { apply }, ...spec })));
      return api.seen[0] ?? "";
    };
    const { policyRef, clusterRef } = hookTask().spec;
    const manager = await managerOf();
    const again = { policyRef: { ...policyRef, uid: "2" }, clusterRef: { ...clusterRef, uid: "2" } };
    assert.equal(await managerOf({ ...again, hook: "AfterControlPlaneInitialized", rule: "other" }), manager);
    const { namespace: _, ...clusterWide } = policyRef;
    const others = await Promise.all([
      managerOf({ task: "other" }),
      managerOf({ policyRef: { ...policyRef, name: "other" } }),
      managerOf({ policyRef: { ...policyRef, namespace: "other" } }),
      managerOf({ policyRef: { ...clusterWide, kind: "ClusterHookPolicy" } }),
      managerOf({ clusterRef: { ...clusterRef, name: "other" } }),
      managerOf({ clusterRef: { ...clusterRef, namespace: "other" } }),
    ]);
    assert.equal(new Set([manager, ...others]).size, 7);
  });

  test("has not succeeded when its object is gone, or another one", async () => {
    const task = running({ uid: "job-1" });
    for (const [found, why] of [
      [undefined, "is gone, and was not seen to be done"],
      [object("job-2"), "was replaced by another"],
    ] as const) {
      const status = await observe(workOf(server({ find: async () => await Promise.resolve(found) }), task));
      assert.deepEqual([status.phase, status.attempts?.[0]?.outcome], ["Failed", "Vanished"]);
      assert.equal(status.message, `Job clean-0123456789 ${why}`);
    }
  });

  test("says that a right is missing, where the refusal has the name of a user", async () => {
    const text = 'User "system:serviceaccount:team-a:cluster-tasks" cannot';
    const error = new KubeError(text, { code: 403, reason: "Forbidden" });
    const api = server({ create: async () => await Promise.reject(error) });
    const { message } = await carryOut(workOf(api, running()));
    assert.equal(message, `a right is missing (hookpolicy doctor prints which): ${text}`);
  });

  test("waits while its object is being deleted, or cannot be read", async () => {
    const task = running({ uid: "job-1" });
    const deleting = object("job-1", { deletionTimestamp: ago(1) });
    const one = await observe(workOf(server({ find: async () => await Promise.resolve(deleting) }), task));
    assert.deepEqual([one.phase, one.message], ["Running", "it is being deleted"]);
    const other = await observe(workOf(server({ find: refuses(503, "ServiceUnavailable") }), task));
    assert.deepEqual([other.phase, other.message], ["Running", "it says ServiceUnavailable"]);
    for (const [code, reason] of [
      [403, "Forbidden"],
      [404, "KindNotServed"],
    ] as const) {
      const unseen = await observe(workOf(server({ find: refuses(code, reason) }), task));
      assert.match(unseen.message ?? "", /^it cannot be observed: .*it says/);
    }
  });

  test("deletes what it found, and is done when those are gone", async () => {
    const action = { delete: { ...CONFIG_MAP, namespace: "team-a", selector: { matchLabels: { a: "b" } } } };
    const found = [object("map-1"), object("map-2")];
    const listed = await carryOut(
      workOf(server({ select: async () => await Promise.resolve(found) }), running({}, { action })),
    );
    const targets = listed.attempts?.[0]?.targets ?? [];
    assert.deepEqual(
      targets.map(({ uid }) => uid),
      ["map-1", "map-2"],
    );
    const api = server({ find: async () => await Promise.resolve(object("map-1")) });
    const waits = await observe(workOf(api, running({ targets }, { action })));
    assert.deepEqual([waits.phase, api.seen], ["Running", ["delete clean-0123456789 map-1 Background"]]);
    const done = await observe(workOf(server(), running({ targets }, { action })));
    assert.equal(done.phase, "Succeeded");
  });

  test("deletes at most a hundred objects", async () => {
    const action = { delete: { ...CONFIG_MAP, selector: { matchLabels: { a: "b" } } } };
    const many = Array.from({ length: 101 }, (_, index) => object(`map-${index}`));
    const status = await carryOut(
      workOf(server({ select: async () => await Promise.resolve(many) }), running({}, { action })),
    );
    assert.match(status.message ?? "", /101 objects are selected/);
    assert.equal(status.phase, "Failed");
  });

  test("asks about many objects at once, and deletes ten of them in one look", async () => {
    const action = { delete: { ...CONFIG_MAP, namespace: "team-a", selector: { matchLabels: { a: "b" } } } };
    const targets = Array.from({ length: 100 }, (_, index) => ({
      name: `map-${index}`,
      uid: `uid-${index}`,
    }));
    const left = targets.map(({ name, uid }) => object(uid, { name }));
    let looks = 0;
    const find = async (): Promise<KubeObject | undefined> => {
      looks += 1;
      return await Promise.resolve(undefined);
    };
    const api = server({ select: async () => await Promise.resolve([object("new"), ...left]), find });
    const waits = await observe(workOf(api, running({ targets }, { action })));
    assert.deepEqual([api.seen.length, looks], [10, 0]);
    assert.equal(waits.message, "ConfigMap map-0 and 99 more still exists");
    const done = await observe(workOf(server({ find }), running({ targets }, { action })));
    assert.deepEqual([done.phase, looks], ["Succeeded", 100]);
  });

  test("waits for an object that has lost the label, and stops at the first", async () => {
    const action = { delete: { ...CONFIG_MAP, namespace: "team-a", selector: { matchLabels: { a: "b" } } } };
    const targets = Array.from({ length: 100 }, (_, index) => ({
      name: `map-${index}`,
      uid: `uid-${index}`,
    }));
    let looks = 0;
    const find = async (_: unknown, { name }: { readonly name: string }): Promise<KubeObject> => {
      looks += 1;
      return await Promise.resolve(object(name.replace("map", "uid"), { name }));
    };
    const api = server({ find });
    const waits = await observe(workOf(api, running({ targets }, { action })));
    assert.deepEqual([waits.phase, looks, api.seen], ["Running", 1, ["delete map-0 uid-0 Background"]]);
  });

  test("that was never seen is gone for who may not read it, or cannot name its kind", async () => {
    const why = async (find: Objects["find"], uid?: string): Promise<string | undefined> =>
      await whyNotGone(server({ find }), hookTask(), attempt(uid === undefined ? {} : { uid }));
    const unreadable = [refuses(403, "Forbidden"), refuses(404, "KindNotServed"), refuses(400, "BadRequest")];
    for (const find of unreadable) {
      assert.equal(await why(find), undefined);
      assert.match((await why(find, "job-1")) ?? "", /it says/);
    }
    assert.match((await why(refuses(503, "ServiceUnavailable"))) ?? "", /it says/);
    const labels = { "hookpolicy.dev/task": "prod-1-clean-0123456789abcdef" };
    assert.equal(
      await why(async () => await Promise.resolve(object("job-1", { labels }))),
      "it still exists",
    );
  });

  test("is removed with its uid, and is gone when another one has its name", async () => {
    const api = server({ find: async () => await Promise.resolve(object("job-1")) });
    assert.equal(await whyNotGone(api, hookTask(), attempt({ uid: "job-1" })), "it still exists");
    assert.deepEqual(api.seen, ["delete clean-0123456789 job-1 Foreground"]);
    assert.equal(await whyNotGone(api, hookTask(), attempt({ uid: "job-0" })), undefined);
    assert.equal(api.seen.length, 1);
  });
});
