/** Whether policies are asked, as the API server's ExtensionConfigs tell. */

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { KubeError } from "../../../src/kube/kube-error.ts";
import type { KubeObject, Resource } from "../../../src/kube/resource.ts";
import type { WatchEvent } from "../../../src/kube/watch-stream.ts";
import { Registrations, type RegistrationsOptions } from "../../../src/registration/registration-informer.ts";
import { compiled, hookPolicy, namespace } from "../builders.ts";
import { silent } from "../memory/fixtures.ts";
import { until } from "../kube/fixtures.ts";
import { FAST } from "../kube/informer-lab.ts";

const POLICY = compiled(hookPolicy());
const CONDITION = { type: "Discovered", status: "True" };

const HANDLER = { name: "d.hookpolicy", requestHook: { hook: "BeforeClusterDelete" } };

function extension(spec: object = {}, conditions: object[] = [CONDITION], resourceVersion = "1"): KubeObject {
  const handlers = conditions.length === 0 ? [] : [HANDLER];
  const metadata = { name: "hookpolicy", uid: "u", resourceVersion };
  return { metadata, spec: { clientConfig: {}, ...spec }, status: { conditions, handlers } };
}

type Client = RegistrationsOptions["client"];

interface Setup {
  readonly versions?: readonly string[];
  readonly items?: readonly KubeObject[];
  readonly fails?: () => KubeError | undefined;
}

/** What it lists never changes; events are for push(). */
class FakeClient implements Client {
  readonly listed: Resource[] = [];
  readonly #given: Setup;
  readonly #events: WatchEvent[] = [];
  #arrived = Promise.withResolvers<void>();

  constructor(given: Setup) {
    this.#given = given;
  }

  push(event: WatchEvent): void {
    this.#events.push(event);
    this.#arrived.resolve();
  }

  getPath: Client["getPath"] = async () => {
    const failure = this.#given.fails?.();
    if (failure !== undefined) throw failure;
    return { versions: (this.#given.versions ?? ["v1beta2", "v1alpha1"]).map((version) => ({ version })) };
  };

  list = (async (resource: Resource, options: { project: (raw: KubeObject) => unknown }) => {
    this.listed.push(resource);
    return { items: (this.#given.items ?? []).map(options.project), resourceVersion: "1" };
  }) as Client["list"];

  watch: Client["watch"] = async (_, { signal }) => this.#follow(signal);

  async *#follow(signal: AbortSignal): AsyncGenerator<WatchEvent, void, undefined> {
    const aborted = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => aborted.resolve(), { once: true });
    while (!signal.aborted) {
      this.#arrived = Promise.withResolvers();
      yield* this.#events.splice(0);
      await Promise.race([this.#arrived.promise, aborted.promise]);
    }
  }
}

function running(
  t: TestContext,
  given: Setup = {},
): { registrations: Registrations; client: FakeClient; changes: () => number } {
  const client = new FakeClient(given);
  let changes = 0;
  const registrations = new Registrations({
    client,
    namespaces: { get: () => namespace() },
    place: { namespace: "hooks", serviceName: "s" },
    log: silent,
    onChange: () => (changes += 1),
    tuning: FAST,
  });
  const stop = new AbortController();
  const done = registrations.informer.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await done;
  });
  return { registrations, client, changes: () => changes };
}

const reasonOf = (registrations: Registrations): string | undefined => {
  const found = registrations.notCalled(POLICY);
  return typeof found === "object" ? found.reason : found;
};

test("nothing is said before the first list", () => {
  const options = {
    client: new FakeClient({}),
    namespaces: { get: () => namespace() },
    place: { namespace: "hooks", serviceName: "s" },
    log: silent,
  };
  assert.equal(reasonOf(new Registrations({ ...options, onChange: () => undefined })), "Unknown");
});

test("an empty list means that Cluster API never calls, a discovered one that it does", async (t) => {
  const { registrations } = running(t);
  await until("the list", () => registrations.state === "Known");
  assert.equal(reasonOf(registrations), "NotRegistered");
  const other = running(t, { items: [extension()] }).registrations;
  await until("the list", () => other.state === "Known");
  assert.equal(reasonOf(other), undefined);
});

test("a kind that is not served is a reason, and one that is forbidden none", async (t) => {
  const notServed = running(t, { versions: ["v9"] }).registrations;
  await until("it is known", () => notServed.state === "NotServed");
  assert.equal(reasonOf(notServed), "RuntimeSDKNotInstalled");
  const failure = new KubeError("forbidden", { code: 403, reason: "Forbidden" });
  const forbidden = running(t, { fails: () => failure }).registrations;
  await until("it is known", () => forbidden.state === "Forbidden");
  assert.equal(reasonOf(forbidden), undefined);
});

test("does not warn a policy that holds nothing of what is not served", async (t) => {
  const { registrations } = running(t, { versions: [] });
  await until("it is known", () => registrations.state === "NotServed");
  const observer = compiled(hookPolicy({ rules: [{ name: "r", hooks: ["BeforeClusterDelete"] }] }));
  assert.equal(registrations.notCalled(observer), undefined);
  const found = registrations.hookNotCalled("BeforeClusterUpgrade");
  assert.equal(typeof found === "object" && found.reason, "RuntimeSDKNotInstalled");
});

test("the newest version that is served is read", async (t) => {
  const old = running(t, { versions: ["v1alpha1"] });
  await until("the list", () => old.registrations.state === "Known");
  assert.equal(old.client.listed[0]?.version, "v1alpha1");
  const both = running(t);
  await until("the list", () => both.registrations.state === "Known");
  assert.equal(both.client.listed[0]?.version, "v1beta2");
});

test("a new ExtensionConfig that Cluster API has not discovered is a reason only after a while", async (t) => {
  for (const [age, reason] of [
    [5_000, "Unknown"],
    [120_000, "NotDiscovered"],
  ] as const) {
    const creationTimestamp = new Date(Date.now() - age).toISOString();
    const found = extension({}, []);
    const item = { ...found, metadata: { ...found.metadata, creationTimestamp } };
    const { registrations } = running(t, { items: [item] });
    await until("the list", () => registrations.state === "Known");
    assert.equal(reasonOf(registrations), reason);
  }
});

test("one ExtensionConfig that Cluster API has not looked at becomes a reason when its minute has passed", async (t) => {
  const created = Date.now() - 5_000;
  const found = extension({}, []);
  const metadata = { ...found.metadata, creationTimestamp: new Date(created).toISOString() };
  const { registrations } = running(t, { items: [{ ...found, metadata }] });
  await until("the list", () => registrations.state === "Known");
  const clock = t.mock.method(Date, "now", () => created + 59_999);
  assert.deepEqual([reasonOf(registrations), registrations.awaitsDiscovery()], ["Unknown", true]);
  clock.mock.mockImplementation(() => created + 60_000);
  assert.deepEqual([reasonOf(registrations), registrations.awaitsDiscovery()], ["NotDiscovered", false]);
});

test("reports only changes that matter to policies", async (t) => {
  const { registrations, client, changes } = running(t, { items: [extension()] });
  await until("the list", () => registrations.state === "Known");
  assert.equal(changes(), 1);
  client.push({ type: "MODIFIED", object: extension({}, [CONDITION], "2") });
  client.push({ type: "MODIFIED", object: extension({}, [], "3") });
  await until("the second one", () => reasonOf(registrations) === "NotDiscovered");
  assert.equal(changes(), 2);
});

test("a discovery that fails after one that has succeeded is told, and not as hooks that are not called", async (t) => {
  const { registrations, client } = running(t, { items: [extension()] });
  assert.equal(registrations.discoveryFailed(), undefined);
  await until("the list", () => registrations.discoveryFailed() === false);
  client.push({ type: "MODIFIED", object: extension({}, [{ ...CONDITION, status: "False" }], "2") });
  await until("the failure", () => registrations.discoveryFailed() === true);
  assert.equal(reasonOf(registrations), "Unknown");
  assert.equal(registrations.hookNotCalled("BeforeClusterDelete"), undefined);
});

test("the settings are those of the one ExtensionConfig that leads here, or of several that agree", async (t) => {
  const settingsOf = async (...each: readonly (Record<string, string> | undefined)[]): Promise<unknown> => {
    const items = each.map((settings, index) => {
      const clientConfig = { service: { namespace: "n", name: "s" } };
      const object = extension({ clientConfig, ...(settings !== undefined && { settings }) });
      return { ...object, metadata: { ...object.metadata, name: `e${index}` } };
    });
    const { registrations } = running(t, { items });
    await registrations.whenKnown(AbortSignal.timeout(5000));
    assert.equal(registrations.state, "Known");
    return registrations.settings("team-a");
  };
  const [eu, us] = [{ region: "eu" }, { region: "us" }];
  assert.deepEqual(await settingsOf(eu), eu);
  assert.deepEqual(await settingsOf(undefined), {});
  assert.deepEqual(await settingsOf(eu, eu), eu);
  assert.equal(await settingsOf(eu, us), undefined);
  assert.equal(await settingsOf(), undefined);
});

test("nothing is waited for where ExtensionConfigs are not served, or longer than is wanted", async (t) => {
  const { registrations } = running(t, { versions: [] });
  await registrations.whenKnown(AbortSignal.timeout(5000));
  assert.equal(registrations.state, "NotServed");
  const away = new KubeError("no contact", { code: 503, reason: "ServiceUnavailable" });
  const unknown = running(t, { fails: () => away }).registrations;
  await unknown.whenKnown(AbortSignal.timeout(100));
  assert.equal(unknown.state, "Unknown");
});
