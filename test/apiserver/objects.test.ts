/** The kinds that gates name, watched under the shipped roles and the ones that users add to them. */

import { MemoryBudget } from "../../src/kube/memory-budget.ts";
import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { KubeClient } from "../../src/kube/kube-client.ts";
import { loadKubeConfig } from "../../src/kube/kubeconfig.ts";
import { ObjectInformers } from "../../src/objects/object-informers.ts";
import type { ObjectDemand } from "../../src/policy/policy.ts";
import { type FoundObjects, objectKindKey, type ObjectKind } from "../../src/policy/watched-objects.ts";
import { type KubeObject, type Ref, refOf, isRefused } from "../controlplane/client.ts";
import { sharedControlPlane } from "../controlplane/shared.ts";
import { NAMESPACE } from "../controlplane/operator.ts";
import { startProxy } from "../controlplane/proxy.ts";
import { allow, grant, readGrant } from "../controlplane/rights.ts";
import { DEFINITION_GONE_MS } from "../controlplane/waits.ts";
import { MemoryLogger } from "../unit/kube/fixtures.ts";

const cp = await sharedControlPlane();
const proxy = await startProxy({ upstream: cp.apiServer.url, authority: cp.authority });
const client = new KubeClient(
  loadKubeConfig({ kubeconfig: await cp.kubeconfigFor(NAMESPACE, "hookpolicy", { server: proxy.url }) }),
);
after(async () => {
  await client.close();
  await cp.stop();
  await proxy.stop();
});

/** What was told since the last look. */
interface Observation {
  readonly objects: ObjectInformers;
  readonly changes: string[];
  readonly available: string[];
}

/** Runs until the end of the test. */
function watching(t: TestContext, ...demands: readonly ObjectDemand[]): Observation {
  const [changes, available]: [string[], string[]] = [[], []];
  const objects = new ObjectInformers({
    client,
    log: new MemoryLogger(),
    budget: new MemoryBudget(new MemoryLogger()),
    onChange: (kind, namespace) => changes.push(`${objectKindKey(kind)} ${namespace ?? ""}`.trim()),
    onAvailability: (kind) => available.push(objectKindKey(kind)),
    tuning: { backoffMinMs: 100, backoffMaxMs: 1000 },
  });
  const stop = new AbortController();
  const done = objects.run(stop.signal);
  objects.want(demands);
  t.after(async () => {
    stop.abort();
    await done;
  });
  return { objects, changes, available };
}

const metadataOf = (kind: ObjectKind): ObjectDemand => ({ kind, whole: false });
const wholeOf = (kind: ObjectKind): ObjectDemand => ({ kind, whole: true });

interface Definition {
  readonly kind: ObjectKind;
  readonly plural: string;
  readonly crd: KubeObject;
  readonly ref: Ref;
}

function define(name: string, scope: "Namespaced" | "Cluster" = "Namespaced"): Definition {
  const [group, plural] = ["things.example.com", `${name.toLowerCase()}s`];
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: anything, status: anything } } };
  const apiVersion = "apiextensions.k8s.io/v1";
  const crd = {
    apiVersion,
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { kind: name, singular: name.toLowerCase(), plural },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
  const ref = { apiVersion, kind: crd.kind, name: crd.metadata.name };
  return { kind: { apiVersion: `${group}/v1`, kind: name }, plural, crd, ref };
}

function thing({ apiVersion, kind }: ObjectKind, name: string, more: object = {}): KubeObject {
  return { apiVersion, kind, metadata: { namespace: "default", name }, ...more };
}

function roleOf({ plural }: Definition): KubeObject {
  return readGrant(plural, "things.example.com");
}

const namesOf = (found: FoundObjects): string[] | string =>
  found.ok ? found.objects.map(({ metadata }) => metadata.name).toSorted() : found.reason;

async function untilFound(
  { objects }: Observation,
  { kind }: Pick<Definition, "kind">,
  wanted: readonly string[] | string,
  timeoutMs?: number,
): Promise<FoundObjects> {
  const isFound = (): FoundObjects | false => {
    const found = objects.find(kind, "default");
    return String(namesOf(found)) === String(wanted) && typeof namesOf(found) === typeof wanted && found;
  };
  return await cp.waitFor(`${objectKindKey(kind)} to be ${String(wanted)}`, isFound, timeoutMs);
}

/** Installed and granted. */
async function install(...definitions: readonly Definition[]): Promise<void> {
  await cp.apply(definitions.map(({ crd }) => crd));
  await cp.apply(definitions.map(roleOf));
}

/** As soon as the new definition is served. */
async function createClusterScoped({ kind, plural }: Definition, name: string): Promise<void> {
  const object = { ...kind, metadata: { name } };
  await cp.waitFor(`${name} to be created`, async () => {
    const created = cp.request("POST", `/apis/${kind.apiVersion}/${plural}`, JSON.stringify(object));
    return !(await isRefused(created));
  });
}

test("a kind that is installed later is found then, and a grant that is given later is used", async (t) => {
  const gear = define("Gear");
  const seen = watching(t, metadataOf(gear.kind));
  assert.deepEqual(await untilFound(seen, gear, "ObjectKindUnknown"), {
    ok: false,
    reason: "ObjectKindUnknown",
    message: "the API server serves no kind Gear in things.example.com/v1: install it, or correct the gate",
  });
  await cp.apply(gear.crd);
  assert.deepEqual(await untilFound(seen, gear, "ObjectsForbidden"), {
    ok: false,
    reason: "ObjectsForbidden",
    message:
      "the operator may not read gears.things.example.com: bind the verbs get, list and watch in a ClusterRole " +
      'labelled hookpolicy.dev/aggregate-to-operator: "true"',
  });
  await cp.apply(thing(gear.kind, "one"));
  await cp.apply(roleOf(gear));
  await untilFound(seen, gear, ["one"]);
  assert.deepEqual(seen.available, Array<string>(3).fill("things.example.com/v1 Gear"));
  assert.deepEqual(seen.changes, [], "what the first list brings is told once, as availability");
});

test("a grant that is taken away is missed by reads at once, by memory with the next watch, until it is back", async (t) => {
  const cog = define("Cog");
  await install(cog);
  await cp.apply(thing(cog.kind, "one"));
  const seen = watching(t, metadataOf(cog.kind));
  await untilFound(seen, cog, ["one"]);
  const { objects } = seen;
  await cp.delete(refOf(roleOf(cog)));
  const refused = await cp.waitFor("reads to be refused", async () => {
    const found = await objects.read(cog.kind, "default", { whole: false });
    return !found.ok && found;
  });
  assert.match(refused.message, /^the operator may not read cogs\.things\.example\.com: /);
  assert.match(
    JSON.stringify(await objects.read(cog.kind, "default", { whole: false, name: "one" })),
    /the operator may not read cogs/,
  );
  assert.deepEqual(namesOf(objects.find(cog.kind, "default")), ["one"], "an open watch is not asked again");

  proxy.dropConnections();
  await untilFound(seen, cog, "ObjectsForbidden");
  await cp.apply(thing(cog.kind, "two"));
  await cp.apply(roleOf(cog));
  await untilFound(seen, cog, ["one", "two"]);
});

test("each object that comes, changes or goes is told with its namespace", async (t) => {
  const bolt = define("Bolt");
  await install(bolt);
  const seen = watching(t, wholeOf(bolt.kind));
  await untilFound(seen, bolt, []);
  const told = async (text: string): Promise<void> => {
    await cp.waitFor(`a change ${text}`, () => seen.changes.length > 0);
    assert.deepEqual(seen.changes.splice(0), ["things.example.com/v1 Bolt default"]);
  };
  await cp.apply(thing(bolt.kind, "one", { spec: { size: 1 } }));
  await told("for one that was created");
  await cp.apply(thing(bolt.kind, "one", { spec: { size: 2 } }));
  await told("for one that was changed");
  const found = seen.objects.find(bolt.kind, "default");
  assert.deepEqual(found.ok && found.objects[0]?.raw?.["spec"], { size: 2 });
  assert.deepEqual(namesOf(seen.objects.find(bolt.kind, "other")), []);
  await cp.delete({ ...bolt.kind, namespace: "default", name: "one" });
  await told("for one that was deleted");
  assert.deepEqual(namesOf(seen.objects.find(bolt.kind, "default")), []);
});

test("that a kind is removed is not that there are no objects, and its next definition may have another scope", async (t) => {
  const nut = define("Nut");
  await install(nut);
  const kept = thing(nut.kind, "kept");
  await cp.apply({ ...kept, metadata: { ...kept.metadata, finalizers: ["example.com/keep"] } });
  await cp.apply(thing(nut.kind, "gone"));
  const seen = watching(t, metadataOf(nut.kind));
  await untilFound(seen, nut, ["gone", "kept"]);
  await cp.delete(nut.ref);
  await untilFound(seen, nut, ["kept"], DEFINITION_GONE_MS);
  const { objects } = seen;
  const read = async (): Promise<FoundObjects> => await objects.read(nut.kind, "default", { whole: false });
  assert.deepEqual(await read(), {
    ok: false,
    reason: "ObjectKindTerminating",
    message: "kind Nut in things.example.com/v1 is being removed from the API server",
  });
  await cp.patch(refOf(kept), { metadata: { finalizers: [] } });
  await untilFound(seen, nut, "ObjectKindUnknown", DEFINITION_GONE_MS);
  assert.equal(namesOf(await read()), "ObjectKindUnknown");

  await cp.apply(define("Nut", "Cluster").crd);
  await createClusterScoped(nut, "everywhere");
  const found = await untilFound(seen, nut, ["everywhere"]);
  assert.ok(found.ok && !found.namespaced);
  assert.deepEqual(namesOf(await read()), ["everywhere"]);
  seen.changes.length = 0;
  await cp.request("DELETE", "/apis/things.example.com/v1/nuts/everywhere");
  await cp.waitFor("the deletion to be told", () => seen.changes.length > 0);
  assert.deepEqual(seen.changes, ["things.example.com/v1 Nut"], "cluster-scoped: no namespace");
});

test("a definition that is replaced in one go leaves nothing of the old one behind", async (t) => {
  const cam = define("Cam");
  await install(cam);
  await cp.apply(thing(cam.kind, "old"));
  const seen = watching(t, metadataOf(cam.kind));
  await untilFound(seen, cam, ["old"]);
  await cp.kubectl("delete", "crd", "--wait", cam.ref.name);
  await cp.apply(define("Cam", "Cluster").crd);
  await createClusterScoped(cam, "new");
  await untilFound(seen, cam, ["new"]);
});

test("metadata alone is watched until a whole object is needed, and nothing is missing in between", async (t) => {
  const pin = define("Pin");
  await install(pin);
  const last = { "kubectl.kubernetes.io/last-applied-configuration": "{}" };
  const one = thing(pin.kind, "one", { spec: { size: 1 } });
  await cp.apply({
    ...one,
    metadata: { ...one.metadata, annotations: { ...last, "example.com/note": "kept" } },
  });
  const seen = watching(t, metadataOf(pin.kind));
  const { objects } = seen;
  const bare = await untilFound(seen, pin, ["one"]);
  assert.ok(bare.ok);
  assert.deepEqual(Object.keys(bare.objects[0] ?? {}), ["metadata"]);

  const paths = (): number => proxy.openWatches(/^GET \/apis\/things\.example\.com\/v1\/pins\?/);
  proxy.delay(500, /\/pins\?limit=/);
  objects.want([metadataOf(pin.kind), wholeOf(pin.kind)]);
  assert.deepEqual(namesOf(objects.find(pin.kind, "default")), ["one"], "the old watch serves meanwhile");
  const raw = await cp.waitFor("the whole object", () => {
    const found = objects.find(pin.kind, "default");
    assert.ok(found.ok);
    return found.objects[0]?.raw;
  });
  proxy.resume();
  assert.equal(raw["kind"], "Pin");
  assert.deepEqual(raw["spec"], { size: 1 });
  const metadata = raw["metadata"] as Record<string, unknown>;
  assert.deepEqual(metadata["annotations"], { "example.com/note": "kept" });
  assert.ok(!("managedFields" in metadata));
  await cp.waitFor("the old watch to be closed", () => paths() === 1);

  const read = await objects.read(pin.kind, "default", { whole: true, name: "one" });
  assert.deepEqual(read, objects.find(pin.kind, "default"));
  objects.want([metadataOf(pin.kind)]);
  await cp.waitFor("metadata only", () => {
    const found = objects.find(pin.kind, "default");
    return found.ok && found.objects[0]?.raw === undefined;
  });
  await cp.waitFor("the old watch to be closed", () => paths() === 1);
});

test("a read tells a missing object from a missing kind", async (t) => {
  const rod = define("Rod");
  await install(rod);
  const { objects } = watching(t);
  await cp.waitFor(
    "the grant to work",
    async () => (await objects.read(rod.kind, "default", { whole: true })).ok,
  );
  assert.deepEqual(await objects.read(rod.kind, "default", { whole: true, name: "none" }), {
    ok: true,
    namespaced: true,
    objects: [],
  });
  const namespaces = await objects.read({ apiVersion: "v1", kind: "Namespace" }, "ignored", {
    whole: false,
    name: "default",
  });
  assert.deepEqual([namespaces.ok && namespaces.namespaced, namesOf(namespaces)], [false, ["default"]]);
  const unknown = { apiVersion: "things.example.com/v2", kind: "Rod" };
  assert.equal(namesOf(await objects.read(unknown, "default", { whole: false })), "ObjectKindUnknown");
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview" };
  assert.equal(namesOf(await objects.read(review, "default", { whole: false })), "ObjectsNotWatchable");
});

/** In one namespace: the other files look at what the operator may do everywhere. */
async function grantSecrets(namespace: string): Promise<void> {
  const operator = { kind: "ServiceAccount", namespace: NAMESPACE, name: "hookpolicy" };
  const rules = [allow("", "secrets", "get", "list", "watch")];
  await cp.apply(grant({ namespace, name: "read-secrets" }, rules, operator));
}

test("a Secret is never read, even where the operator was granted it", async (t) => {
  const secret = { apiVersion: "v1", kind: "Secret" };
  await grantSecrets("default");
  const seen = watching(t, wholeOf(secret), metadataOf({ apiVersion: "v1", kind: "Namespace" }));
  const kind = { apiVersion: "v1", kind: "Namespace" };
  await cp.waitFor("another kind to be read", () => namesOf(seen.objects.find(kind, "")).includes("default"));
  assert.equal(namesOf(seen.objects.find(secret, "default")), "SecretsRefused");
  assert.equal(namesOf(await seen.objects.read(secret, "default", { whole: true })), "SecretsRefused");
  assert.equal(proxy.count(/secrets/), 0);
});

test("many kinds are watched at once, and each watch is closed when no policy needs it", async (t) => {
  const definitions = Array.from({ length: 25 }, (_, i) => define(`Kind${i}`));
  await install(...definitions);
  await cp.apply(definitions.map(({ kind }) => thing(kind, "one")));
  const seen = watching(t, ...definitions.map(({ kind }) => wholeOf(kind)));
  for (const definition of definitions) await untilFound(seen, definition, ["one"]);
  const watches = (): number => proxy.openWatches(/\/kind\d+s\?/);
  assert.equal(watches(), 25);
  assert.equal([...seen.objects.informers()].length, 25);

  const [first] = definitions;
  assert.ok(first);
  seen.objects.want([wholeOf(first.kind)]);
  await cp.waitFor("the other watches to be closed", () => watches() === 1);
  assert.equal(namesOf(seen.objects.find(define("Kind1").kind, "default")), "ObjectsNotLoaded");
  assert.deepEqual(namesOf(seen.objects.find(first.kind, "default")), ["one"]);
  seen.objects.want([]);
  await cp.waitFor("the last watch to be closed", () => watches() === 0);
});
