/** What is seen in the bytes of a request is what it says, or nothing is seen. */

import assert from "node:assert/strict";
import test from "node:test";
import * as fc from "fast-check";

import { HOOK_NAMES, type HookName, VERSION_FIELDS } from "../../../src/api/runtime-hooks.ts";
import { decodeRequest, seenSubject, type Subject } from "../../../src/hooks/hook-request.ts";
import { WholeBody } from "../../../src/server/bodies.ts";
import { runs } from "../../generated.ts";
import { CLUSTER_VERSIONS, goldenRequest } from "../../contract/golden.ts";

const seen = (hook: HookName, ...pieces: readonly Buffer[]): Subject | undefined =>
  seenSubject(hook, new WholeBody(pieces));

/** What the request says, but for its settings. */
function said(hook: HookName, body: Buffer): Subject | undefined {
  const subject = decodeRequest(hook, body.toString())?.subject;
  return subject && { clusterUID: subject.clusterUID, operation: subject.operation };
}

for (const version of CLUSTER_VERSIONS) {
  for (const hook of HOOK_NAMES) {
    test(`is seen in ${hook} as Cluster API writes it, with a Cluster of ${version}`, () => {
      const body = goldenRequest(version, hook);
      assert.notEqual(said(hook, body), undefined);
      assert.deepEqual(seen(hook, body), said(hook, body));
      const middle = body.length / 2;
      assert.deepEqual(seen(hook, body.subarray(0, middle), body.subarray(middle)), said(hook, body));
    });
  }
}

const metadata = { name: "prod-1", namespace: "team-a", uid: "uid-1" };
const versions = { fromKubernetesVersion: "v1.33.0", toKubernetesVersion: "v1.34.0" };
const upgrade = (settings: object, cluster: object, more: object = versions): Buffer =>
  Buffer.from(JSON.stringify({ settings, cluster, ...more }));
const whole = upgrade({}, { metadata });
const uid = whole.indexOf("uid-1");
const { name, ...unnamed } = metadata;

const UNSEEN: Readonly<Record<string, readonly Buffer[]>> = {
  "after long settings": [upgrade({ a: "x".repeat(2048) }, { metadata })],
  "in a first piece that ends before the uid": [whole.subarray(0, uid), whole.subarray(uid)],
  "in a last piece that begins after the versions": [whole.subarray(0, -20), whole.subarray(-20)],
  "in fields of another order": [upgrade({}, { metadata: { ...unnamed, name } })],
  "in the metadata of a variable": [
    upgrade(
      {},
      { metadata: { ...unnamed, name }, spec: { variables: [{ name: "v", value: { metadata } }] } },
    ),
  ],
  "in versions of another order": [
    upgrade({}, { metadata }, Object.fromEntries(Object.entries(versions).toReversed())),
  ],
  "before a long rest": [upgrade({}, { metadata }, { ...versions, more: "x".repeat(2048) })],
  "in texts": [upgrade({ a: JSON.stringify({ metadata }) }, { metadata: {} })],
  "without bytes": [],
};
for (const [where, pieces] of Object.entries(UNSEEN)) {
  test(`is not seen ${where}`, () => assert.equal(seen("BeforeClusterUpgrade", ...pieces), undefined));
}

test("is seen where the name was generated", () => {
  const { namespace, uid: own } = metadata;
  const body = upgrade({}, { metadata: { name, generateName: "prod-", namespace, uid: own } });
  assert.deepEqual(seen("BeforeClusterUpgrade", body), said("BeforeClusterUpgrade", body));
});

test("is that of the call, whatever texts and variables look like it", () => {
  const other = { metadata: { name: "dev-1", namespace: "team-b", uid: "uid-2" }, ...versions };
  const lookalike = fc.constantFrom<string>(
    JSON.stringify(other),
    JSON.stringify(other).slice(1),
    `\\${JSON.stringify(other)}`,
    '"metadata":{"name":"dev-1","namespace":"team-b","uid":"uid-2"',
    '"fromKubernetesVersion":"v1.0.0","toKubernetesVersion":"v1.1.0"',
  );
  const text = fc.oneof(fc.string({ unit: "grapheme" }), lookalike);
  const texts = fc.dictionary(fc.oneof(text, fc.constantFrom("uid", "metadata")), text, { maxKeys: 3 });
  const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(other), texts);
  fc.assert(
    fc.property(
      fc.constantFrom(...HOOK_NAMES),
      fc.record({
        settings: texts,
        annotations: texts,
        variables: fc.array(fc.record({ name: text, value })),
        fields: fc.shuffledSubarray(Object.entries({ ...metadata, generateName: "prod-" }), { minLength: 3 }),
        cut: fc.nat(2500),
      }),
      (hook, { settings, annotations, variables, fields, cut }) => {
        const named = Object.fromEntries([...fields, ["annotations", annotations]]);
        const cluster = { kind: "Cluster", metadata: named, spec: { variables } };
        const own = Object.fromEntries(VERSION_FIELDS[hook].map((field) => [field, "v1.34.0"]));
        const body = upgrade(settings, cluster, own);
        const at = Math.min(cut, body.length);
        for (const what of [seen(hook, body), seen(hook, body.subarray(0, at), body.subarray(at))])
          if (what !== undefined) assert.deepEqual(what, said(hook, body));
      },
    ),
    runs(10_000),
  );
});
