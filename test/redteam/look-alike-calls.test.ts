/**
 * Calls that begin as another one, and say something else further on: they change no answer to it. The operator repeats
 * some answers after a look at the beginning and the end of a call (src/hooks/hook-request.ts).
 */

import assert from "node:assert/strict";
import test from "node:test";
import type { HookName } from "../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../src/memory/policy-set.ts";
import { APPROVED, cluster, hookPolicy, NOW, rule } from "../unit/builders.ts";
import { Operators } from "./operators.ts";
import { blocking, shown } from "./shown-clusters.ts";

const deletionTimestamp = NOW.toISOString();

interface CallParts {
  readonly settings?: object;
  readonly annotations?: object;
  readonly versions?: object;
}

/** As Cluster API writes it: settings first, then the Cluster, then the versions. */
function callAbout(
  { name, uid }: { readonly name: string; readonly uid: string },
  { settings = {}, annotations = {}, versions = {} }: CallParts,
): string {
  const metadata = { name, namespace: "team-a", uid, resourceVersion: "1", annotations };
  return JSON.stringify({ settings, cluster: { metadata }, ...versions });
}

const until = (expression: string): PolicyObject =>
  hookPolicy({
    rules: [
      rule({
        hooks: ["BeforeClusterDelete", "BeforeClusterUpgrade"],
        until: [{ name: "as-told", expression }],
      }),
    ],
  });

const deleting = cluster({ deletionTimestamp });
const upgrading = shown({
  version: "v1.33.0",
  message: blocking("BeforeClusterUpgrade", "v1.33.0", "v1.33.0"),
});
const from = (version: string): object => ({
  fromKubernetesVersion: version,
  toKubernetesVersion: "v1.33.0",
});

const MEANT: Readonly<
  Record<
    string,
    { policy: PolicyObject; hook: HookName; on: typeof deleting; real: CallParts; forged: CallParts }
  >
> = {
  settings: {
    policy: until("request.settings.region == 'eu'"),
    hook: "BeforeClusterDelete",
    on: deleting,
    real: { settings: { region: "eu" } },
    forged: { settings: { region: "us" } },
  },
  "another version to come from": {
    policy: until("request.fromKubernetesVersion == 'v1.32.0'"),
    hook: "BeforeClusterUpgrade",
    on: upgrading,
    real: { versions: from("v1.32.0") },
    forged: { versions: from("v1.31.0") },
  },
};

/** `text` with more fields. Of two fields with one name the last counts. */
const withMore = (text: string, more: object): string =>
  `${text.slice(0, -1)},${JSON.stringify(more).slice(1)}`;

for (const [what, { policy, hook, on, real, forged }] of Object.entries(MEANT)) {
  test(`a call with ${what} that begins as a real one does not hold the Cluster for the real one`, async () => {
    const operators = new Operators({ policies: [policy], clusters: [on] });
    const call = callAbout(on.metadata, real);
    const { settings, versions } = forged;
    const made = withMore(call, { ...(settings && { settings }), ...versions });
    const held = await operators.askInBytes(0, hook, Buffer.from(made));
    assert.notEqual(held.retryAfterSeconds, 0, held.message);
    assert.equal((await operators.askInBytes(0, hook, Buffer.from(call))).retryAfterSeconds, 0);
  });
}

const [approved, waiting] = [
  cluster({ deletionTimestamp, annotations: { [APPROVED]: "" } }),
  cluster({ deletionTimestamp, name: "dev-1", uid: "uid-dev-1" }),
];
const hook = "BeforeClusterDelete";

/** Begins as a call about `first`, and is one about `last`. */
const twofold = (first: typeof approved, last: typeof approved): Buffer =>
  Buffer.from(withMore(callAbout(first.metadata, {}), { cluster: { metadata: last.metadata } }));

function operatorsOfBoth(): Operators {
  const policy = hookPolicy({
    rules: [rule({ until: [{ name: "approved", annotation: { key: APPROVED } }] })],
  });
  return new Operators({ policies: [policy], clusters: [approved, waiting] });
}

async function callsAreRight(operators: Operators): Promise<void> {
  const held = await operators.askInBytes(0, hook, Buffer.from(callAbout(waiting.metadata, {})));
  assert.match(held.message ?? "", /approved/);
  const go = await operators.askInBytes(0, hook, Buffer.from(callAbout(approved.metadata, {})));
  assert.equal(go.retryAfterSeconds, 0, go.message);
}

for (const [first, last] of [
  [approved, waiting],
  [waiting, approved],
] as const) {
  test(`a call that begins with ${first.metadata.name} and is about ${last.metadata.name} changes no answer about either`, async () => {
    const operators = operatorsOfBoth();
    for (let times = 0; times < 2; times++) {
      await operators.askInBytes(0, hook, twofold(first, last));
      await callsAreRight(operators);
    }
  });
}

test("a call about a Cluster whose variables look like a held one is about itself", async () => {
  const operators = operatorsOfBoth();
  const { name, namespace, uid } = waiting.metadata;
  await operators.askInBytes(0, hook, Buffer.from(callAbout(waiting.metadata, {})));
  for (const fields of [
    ["name", "generateName", "namespace", "uid"],
    ["uid", "namespace", "name"],
  ]) {
    const own: Readonly<Record<string, unknown>> = { ...approved.metadata, generateName: "prod-" };
    const metadata = Object.fromEntries(fields.map((field) => [field, own[field]]));
    const variables = [{ name: "peer", value: { metadata: { name, namespace, uid } } }];
    const call = JSON.stringify({ settings: {}, cluster: { metadata, spec: { topology: { variables } } } });
    const go = await operators.askInBytes(0, hook, Buffer.from(call));
    assert.equal(go.retryAfterSeconds, 0, go.message);
  }
});

test("a call that begins as one about a held Cluster is held, even where the rest is no JSON", async () => {
  const operators = operatorsOfBoth();
  const call = callAbout(waiting.metadata, {});
  const held = await operators.askInBytes(0, hook, Buffer.from(call));
  const broken = await operators.askInBytes(0, hook, Buffer.from(call.slice(0, -1)));
  assert.deepEqual(broken, held);
  assert.notEqual(broken.retryAfterSeconds, 0);
});
