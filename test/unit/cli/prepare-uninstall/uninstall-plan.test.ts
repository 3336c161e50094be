/** What comes before the removal of the operator, against a few objects in memory. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { FINALIZER } from "../../../../src/api/hook-policy.ts";
import { KubeError } from "../../../../src/kube/kube-error.ts";
import type { KubeObject, ObjectKey, Resource } from "../../../../src/kube/resource.ts";
import { planUninstall } from "../../../../src/cli/prepare-uninstall/uninstall-plan.ts";

const OPTIONS = { namespace: "hooks", timeoutMs: 60_000 };
const NOT_FOUND = new KubeError("gone", { code: 404, reason: "NotFound" });

type Objects = Record<string, KubeObject>;
interface ListOptions {
  readonly namespace?: string;
  readonly project?: (raw: KubeObject) => unknown;
}
type Client = Parameters<typeof planUninstall>[0];

const keyOf = (resource: Resource, { namespace, name }: ObjectKey): string =>
  [resource.plural, namespace, name].filter((part) => part !== undefined).join("/");

/** An API server of those objects, and what was asked of it. */
function serverOf(objects: Objects, version = "v1beta2") {
  const calls: string[] = [];
  const found = (key: string): KubeObject => {
    const object = objects[key];
    if (object === undefined) throw NOT_FOUND;
    return object;
  };
  const client = {
    getPath: async () => {
      if (version === "") throw NOT_FOUND;
      return { versions: [{ version }] };
    },
    get: async (resource: Resource, key: ObjectKey) => found(keyOf(resource, key)),
    list: async (resource: Resource, { namespace, project }: ListOptions = {}) => {
      const prefix = [resource.plural, ...(namespace === undefined ? [] : [namespace])].join("/");
      const items = Object.keys(objects)
        .filter((key) => key.startsWith(`${prefix}/`))
        .map(found)
        .map(project ?? ((raw) => raw));
      return { items, resourceVersion: "1" };
    },
    mergePatch: async (resource: Resource, key: ObjectKey, patch: unknown) => {
      const name = keyOf(resource, key);
      calls.push(`patch ${name} ${JSON.stringify(patch)}`);
      const { metadata } = patch as { metadata?: KubeObject["metadata"] };
      const old = found(name);
      if (
        metadata?.resourceVersion !== undefined &&
        metadata.resourceVersion !== old.metadata.resourceVersion
      ) {
        throw new KubeError("changed", { code: 409, reason: "Conflict" });
      }
      objects[name] = { ...old, metadata: { ...old.metadata, ...metadata } };
      return objects[name];
    },
    replaceStatus: async (resource: Resource, value: KubeObject) => {
      const name = keyOf(resource, value.metadata);
      const old = found(name);
      calls.push(`status ${name}`);
      if (value.metadata.resourceVersion !== old.metadata.resourceVersion)
        throw new KubeError("changed", { code: 409, reason: "Conflict" });
      objects[name] = { ...old, status: value.status };
      return objects[name];
    },
    delete: async (resource: Resource, key: ObjectKey) => {
      calls.push(`delete ${resource.version} ${keyOf(resource, key)}`);
      found(keyOf(resource, key));
    },
  };
  return { client: client as unknown as Client, calls };
}

const named = (name: string, namespace?: string): KubeObject["metadata"] => ({
  name,
  uid: name,
  resourceVersion: "1",
  ...(namespace !== undefined && { namespace }),
});

const policy = (finalizers: readonly string[], resourceVersion = "1", blocked = 0): KubeObject => ({
  metadata: { ...named("protect", "team-a"), resourceVersion, finalizers },
  status: { blocked },
});

const DEPLOYMENT: KubeObject = {
  metadata: named("hookpolicy", "hooks"),
  spec: { replicas: 2, selector: { matchLabels: { app: "hookpolicy" } } },
};

const pod = (name: string, app: string): KubeObject => ({
  metadata: { ...named(name, "hooks"), labels: { app } },
});

const EVERYTHING = (): Objects => ({
  "extensionconfigs/hookpolicy": { metadata: named("hookpolicy") },
  "validatingwebhookconfigurations/hookpolicy": { metadata: named("hookpolicy") },
  "deployments/hooks/hookpolicy": DEPLOYMENT,
  "hookpolicies/team-a/protect": policy(["a", FINALIZER, "b"]),
});

async function carryOut(client: Client): Promise<void> {
  const { steps } = await planUninstall(client, OPTIONS);
  for (const { run } of steps) await run();
}

test("Cluster API stops calling, then the webhook goes, then the operator stops, then policies are released", async () => {
  const { client, calls } = serverOf(EVERYTHING());
  const { steps } = await planUninstall(client, OPTIONS);
  assert.deepEqual(calls, [], "a plan changes nothing");
  for (const { run } of steps) await run();
  assert.deepEqual(calls, [
    "delete v1beta2 extensionconfigs/hookpolicy",
    "delete v1 validatingwebhookconfigurations/hookpolicy",
    'patch deployments/hooks/hookpolicy {"spec":{"replicas":0}}',
    'patch hookpolicies/team-a/protect {"metadata":{"resourceVersion":"1","finalizers":["a","b"]}}',
  ]);
});

test("without the operator the webhook of Clusters would refuse every deletion: it goes before the operator stops", async () => {
  const clusters = "validatingwebhookconfigurations/hookpolicy-clusters";
  const { client, calls } = serverOf({
    ...EVERYTHING(),
    [clusters]: { metadata: named("hookpolicy-clusters") },
  });
  await carryOut(client);
  const [deleted, stopped] = [`delete v1 ${clusters}`, "patch deployments/hooks/hookpolicy "].map((start) =>
    calls.findIndex((call) => call.startsWith(start)),
  );
  assert.ok(
    deleted !== undefined && stopped !== undefined && 0 <= deleted && deleted < stopped,
    calls.join(),
  );
});

test("what is not there is no step, also without Cluster API", async () => {
  assert.deepEqual(await planUninstall(serverOf({}).client, OPTIONS), { steps: [], held: [] });
  assert.deepEqual(await planUninstall(serverOf({}, "").client, OPTIONS), { steps: [], held: [] });
});

test("an operator that is stopped already is no step, unless a Pod is left", async () => {
  const stopped = { ...DEPLOYMENT, spec: { ...(DEPLOYMENT.spec as object), replicas: 0 } };
  const objects: Objects = { "deployments/hooks/hookpolicy": stopped };
  assert.equal((await planUninstall(serverOf(objects).client, OPTIONS)).steps.length, 0);
  objects["pods/hooks/last"] = pod("last", "hookpolicy");
  assert.equal((await planUninstall(serverOf(objects).client, OPTIONS)).steps.length, 1);
});

test("the ExtensionConfig of an older Cluster API is deleted in its version", async () => {
  const { client, calls } = serverOf(EVERYTHING(), "v1alpha1");
  await carryOut(client);
  assert.equal(calls[0], "delete v1alpha1 extensionconfigs/hookpolicy");
});

test("policies keep the finalizer until the last Pod of the operator is gone", async () => {
  const objects = EVERYTHING();
  objects["pods/hooks/ours"] = pod("ours", "hookpolicy");
  objects["pods/hooks/theirs"] = pod("theirs", "other");
  const { client, calls } = serverOf(objects);
  let looks = 0;
  const list: Client["list"] = async (resource: Resource, options?: object) => {
    if (resource.plural === "pods" && ++looks === 2) delete objects["pods/hooks/ours"];
    assert.ok(looks !== 1 || calls.length === 3, "nothing happens in between");
    return (await client.list(resource, options)) as never;
  };
  await carryOut({ ...client, list });
  assert.equal(looks, 2);
  assert.equal(calls.length, 4);
});

test("Pods that do not stop in time are named, and no policy is released", async () => {
  const objects = { ...EVERYTHING(), "pods/hooks/ours": pod("ours", "hookpolicy") };
  const { client, calls } = serverOf(objects);
  const { steps } = await planUninstall(client, { ...OPTIONS, timeoutMs: 0 });
  await assert.rejects(async () => {
    for (const { run } of steps) await run();
  }, /still running after --timeout: Pod hooks\/ours;.* run it again/);
  assert.equal(calls.length, 3);
});

test("a policy that the operator marks before it stops is released, too", async () => {
  const objects = { ...EVERYTHING(), "hookpolicies/team-a/late": policy([]) };
  const { client } = serverOf(objects);
  const { steps } = await planUninstall(client, OPTIONS);
  objects["hookpolicies/team-a/late"] = {
    metadata: { ...named("late", "team-a"), resourceVersion: "2", finalizers: [FINALIZER] },
  };
  for (const { run } of steps) await run();
  assert.deepEqual(objects["hookpolicies/team-a/late"].metadata.finalizers, []);
});

test("a ClusterHookPolicy that has the finalizer is released, too, also after a conflict", async () => {
  const all = (resourceVersion: string): KubeObject => ({
    metadata: { ...named("all"), resourceVersion, finalizers: ["a", FINALIZER] },
  });
  const objects = { ...EVERYTHING(), "clusterhookpolicies/all": all("1") };
  const { client } = serverOf(objects);
  let patches = 0;
  const mergePatch: Client["mergePatch"] = async (resource, key, patch) => {
    if (key.name === "all" && ++patches === 1) objects["clusterhookpolicies/all"] = all("2");
    return await client.mergePatch(resource, key, patch);
  };
  const { steps } = await planUninstall(client, OPTIONS);
  assert.equal(steps.at(-1)?.does, `remove the finalizer ${FINALIZER} from 2 policies`);
  await carryOut({ ...client, mergePatch });
  assert.deepEqual([patches, objects["clusterhookpolicies/all"].metadata.finalizers], [2, ["a"]]);
});

test("a finalizer that another client adds meanwhile stays", async () => {
  const objects = EVERYTHING();
  const { client } = serverOf(objects);
  let patches = 0;
  const mergePatch: Client["mergePatch"] = async (resource, key, patch) => {
    if (resource.plural === "hookpolicies" && ++patches === 1) {
      objects["hookpolicies/team-a/protect"] = policy(["c", FINALIZER], "2");
    }
    return await client.mergePatch(resource, key, patch);
  };
  await carryOut({ ...client, mergePatch });
  assert.deepEqual(objects["hookpolicies/team-a/protect"]?.metadata.finalizers, ["c"]);
});

describe("what is held now is named:", () => {
  const row = (cluster: string, verdict: string) => ({
    namespace: "team-a",
    cluster,
    clusterUID: cluster,
    hook: "BeforeClusterDelete",
    verdict,
  });
  const running: KubeObject = { ...DEPLOYMENT, status: { availableReplicas: 2 } };
  const heldIn = async (objects: Objects): Promise<readonly string[]> =>
    (await planUninstall(serverOf(objects).client, OPTIONS)).held.map(({ text }) => text);
  const registered = { ...EVERYTHING(), "deployments/hooks/hookpolicy": running };

  test("each operation that a status names, and how many it leaves out", async () => {
    const decisions = [row("prod-1", "Blocked"), row("free", "Allowed"), row("odd", "NotEvaluable")];
    const protect = { metadata: named("protect", "team-a"), status: { decisions, decisionsOmitted: 3 } };
    assert.deepEqual(await heldIn({ ...registered, "hookpolicies/team-a/protect": protect }), [
      "Cluster team-a/odd at BeforeClusterDelete, by HookPolicy team-a/protect",
      "Cluster team-a/prod-1 at BeforeClusterDelete, by HookPolicy team-a/protect",
      "3 operations by HookPolicy team-a/protect that its status does not name",
    ]);
  });

  test("the Clusters that wait for a rollout, but not for one in mode Audit", async () => {
    const waiting = (mode: string): KubeObject => ({
      metadata: named(mode),
      spec: { mode },
      status: { heldOmitted: 2 },
    });
    const rollouts = { "hookrollouts/Enforce": waiting("Enforce"), "hookrollouts/Audit": waiting("Audit") };
    assert.deepEqual(await heldIn({ ...registered, ...rollouts }), [
      "2 operations by HookRollout Enforce that its status does not name",
    ]);
  });

  test("a Cluster that a policy and a rollout hold is one line", async () => {
    const deletion = { ...row("prod-1", "Blocked"), clusterUID: "u1" };
    const protect = { metadata: named("protect", "team-a"), status: { decisions: [deletion] } };
    const upgrade = {
      namespace: "team-a",
      name: "prod-1",
      uid: "u1",
      reason: "NoFreeSlot",
      message: "",
      since: "",
    };
    const rollout = (name: string) => ({
      metadata: named(name),
      spec: { operation: "Delete" },
      status: { held: [upgrade], heldOmitted: 0 },
    });
    const objects = {
      "hookpolicies/team-a/protect": protect,
      "hookrollouts/deletions": rollout("deletions"),
    };
    assert.deepEqual(await heldIn({ ...registered, ...objects }), [
      "Cluster team-a/prod-1 at BeforeClusterDelete, by HookPolicy team-a/protect, HookRollout deletions",
    ]);
  });

  test("and that it is not known, where no operator runs or rollouts may not be listed", async () => {
    const unknown = ["what else waits is not known: no replica of the operator is available"];
    assert.deepEqual(await heldIn(registered), []);
    assert.deepEqual(await heldIn(EVERYTHING()), unknown);
    const { "deployments/hooks/hookpolicy": _, ...gone } = registered;
    assert.deepEqual(await heldIn(gone), unknown);
    const { "hookpolicies/team-a/protect": __, ...unused } = EVERYTHING();
    assert.deepEqual(await heldIn(unused), [], "without a policy and a rollout nothing is held");
    const { client } = serverOf(registered);
    const list: Client["list"] = async (resource: Resource, options?: object) => {
      if (resource.plural === "hookrollouts") throw new KubeError("no", { code: 403, reason: "Forbidden" });
      return (await client.list(resource, options)) as never;
    };
    const { held } = await planUninstall({ ...client, list }, OPTIONS);
    assert.deepEqual(held, [{ text: "what HookRollouts hold is not known: you may not list them" }]);
  });

  test("a Cluster that is being deleted and paused, or that Clusters may not be listed", async () => {
    const topology = { classRef: { name: "c" }, version: "v1.34.0" };
    const objects = {
      ...registered,
      "clusterhookpolicies/all": {
        metadata: named("all"),
        spec: { rules: [{ hooks: ["BeforeClusterDelete"] }] },
      },
      "clusters/team-a/prod-1": {
        metadata: { ...named("prod-1", "team-a"), deletionTimestamp: "2026-11-23T12:00:00Z" },
        spec: { paused: true, topology },
      },
    };
    assert.match(
      (await heldIn(objects)).join(),
      /^Cluster team-a\/prod-1, which is being deleted and paused/,
    );
    const { client } = serverOf(objects);
    const list: Client["list"] = async (resource: Resource, options?: object) => {
      if (resource.plural === "clusters") throw new KubeError("no", { code: 403, reason: "Forbidden" });
      return (await client.list(resource, options)) as never;
    };
    const { held } = await planUninstall({ ...client, list }, OPTIONS);
    assert.match(held.map(({ text }) => text).join(), /is not known: you may not list Clusters$/);
  });

  test("nothing, once Cluster API does not call the operator any more", async () => {
    const { "extensionconfigs/hookpolicy": _, ...unregistered } = EVERYTHING();
    assert.deepEqual(await heldIn(unregistered), []);
  });
});

describe("the last step says in statuses that the operator is gone", () => {
  const ready = {
    type: "Ready",
    status: "True",
    reason: "Loaded",
    message: "in force",
    lastTransitionTime: "t",
  };
  const stuck = { ...ready, type: "Restrictive", reason: "ActionRequired" };
  const rows = [{ cluster: "prod-1" }];
  const claiming = (resourceVersion = "1"): KubeObject => ({
    ...policy([], resourceVersion),
    status: { conditions: [ready, { ...ready, type: "Reconciling" }, stuck], decisions: rows },
  });
  const statusOf = (objects: Objects): { conditions: object[]; decisions: object[] } =>
    objects["hookpolicies/team-a/protect"]?.status as never;

  test("and keeps what they say of operations, for the next operator", async () => {
    const objects = { "hookpolicies/team-a/protect": claiming() };
    const { client } = serverOf(objects);
    await carryOut(client);
    const { conditions, decisions } = statusOf(objects);
    assert.deepEqual(decisions, rows);
    assert.deepEqual(conditions[1], stuck);
    const { lastTransitionTime, message, ...gone } = conditions[0] as typeof ready;
    assert.deepEqual(gone, { type: "Ready", status: "Unknown", reason: "OperatorGone" });
    assert.match(`${lastTransitionTime} ${message}`, /^20\S+Z The operator was stopped/);
    assert.deepEqual((await planUninstall(client, OPTIONS)).steps, [], "it is done once");
  });

  test("also in those of rollouts, which keep the slots that they tell", async () => {
    const running = [{ name: "prod-1" }];
    const objects = {
      "hookpolicies/team-a/protect": claiming(),
      "hookrollouts/upgrades": { metadata: named("upgrades"), status: { conditions: [ready], running } },
    };
    const { client } = serverOf(objects);
    const { steps } = await planUninstall(client, OPTIONS);
    assert.deepEqual(
      steps.map(({ does }) => does),
      ["say in the status of 1 policy and 1 rollout that the operator is gone"],
    );
    await carryOut(client);
    const status = objects["hookrollouts/upgrades"].status as unknown as {
      conditions: (typeof ready)[];
      running: object[];
    };
    assert.deepEqual(status.running, running);
    assert.deepEqual(
      status.conditions.map(({ type, status: is, reason }) => [type, is, reason]),
      [["Ready", "Unknown", "OperatorGone"]],
    );
    assert.deepEqual((await planUninstall(client, OPTIONS)).steps, [], "it is done once");
  });

  test("and without the right to list rollouts, in those of policies alone", async () => {
    const objects = { "hookpolicies/team-a/protect": claiming() };
    const { client } = serverOf(objects);
    const list: Client["list"] = async (resource: Resource, options?: object) => {
      if (resource.plural === "hookrollouts")
        throw new KubeError("no right", { code: 403, reason: "Forbidden" });
      return (await client.list(resource, options)) as never;
    };
    await carryOut({ ...client, list });
    assert.equal((statusOf(objects).conditions[0] as typeof ready).reason, "OperatorGone");
  });

  test("also where another client writes in between", async () => {
    const objects = { "hookpolicies/team-a/protect": claiming() };
    const { client, calls } = serverOf(objects);
    const replaceStatus: Client["replaceStatus"] = async (...given) => {
      if (calls.length === 0) objects["hookpolicies/team-a/protect"] = claiming("2");
      return await client.replaceStatus(...given);
    };
    await carryOut({ ...client, replaceStatus });
    assert.equal(calls.length, 2);
    assert.equal(statusOf(objects).conditions.length, 2);
  });

  test("and is left out without the right to do it", async () => {
    const { steps } = await planUninstall(
      serverOf({ ...EVERYTHING(), "hookpolicies/team-a/b": claiming() }).client,
      OPTIONS,
    );
    assert.deepEqual(
      steps.map(({ optional }) => optional === true),
      [false, false, false, false, true],
    );
  });
});

test("what may not be read is an error, not an absence", async () => {
  const { client } = serverOf(EVERYTHING());
  const get: Client["get"] = async () => {
    throw new KubeError("no", { code: 403, reason: "Forbidden" });
  };
  await assert.rejects(planUninstall({ ...client, get }, OPTIONS), /no/);
});
