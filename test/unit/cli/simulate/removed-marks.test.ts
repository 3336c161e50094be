/** Labels and annotations that the applied files have no more. */

import assert from "node:assert/strict";
import test from "node:test";
import { yaml } from "../program.ts";
import { rawCluster, rawFleetPolicy, rawNamespace } from "../raw.ts";
import { onFiles } from "../resident.ts";

const KEPT: readonly unknown[] = [0, undefined];
const GONE: readonly unknown[] = [1, "newly allowed: BeforeClusterDelete"];
const SELECTOR = { matchLabels: { tier: "production" } };
const LABELLED = { labels: SELECTOR.matchLabels };

const policy = (selector: object): object =>
  rawFleetPolicy("protect", {
    ...selector,
    rules: [
      {
        name: "confirmed",
        hooks: ["BeforeClusterDelete"],
        until: [{ name: "ok", annotation: { key: "example.com/ok" } }],
      },
    ],
  });

async function change(
  t: test.TestContext,
  before: readonly object[],
  after: readonly object[],
): Promise<readonly unknown[]> {
  const args = ["simulate", "-f", "branch.yaml", "--against", "main.yaml", "--fail-on", "any"];
  const { code, stdout } = await onFiles(
    t,
    { "main.yaml": yaml(...before), "branch.yaml": yaml(...after) },
    args,
  );
  return [code, /^newly allowed: .*/m.exec(stdout)?.[0]];
}

const ofCluster = async (t: test.TestContext, before: object, after: object): Promise<readonly unknown[]> => {
  const others = [policy({ clusterSelector: SELECTOR }), rawNamespace({})];
  return await change(t, [...others, rawCluster(before)], [...others, rawCluster(after)]);
};

test("what the files of the fleet have, and the applied ones have not, is gone", async (t) => {
  assert.deepEqual(await ofCluster(t, LABELLED, {}), GONE);
  assert.deepEqual(await ofCluster(t, LABELLED, LABELLED), KEPT);
  const others = [policy({ namespaceSelector: SELECTOR }), rawCluster({})];
  assert.deepEqual(await change(t, [...others, rawNamespace(LABELLED)], [...others, rawNamespace({})]), GONE);
});

test("of a stored object, what was applied is gone, and what others have written stays", async (t) => {
  const stored = { ...LABELLED, uid: "5d2c" };
  assert.deepEqual(await ofCluster(t, stored, {}), KEPT);
  const last = JSON.stringify({ metadata: LABELLED });
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": last };
  assert.deepEqual(await ofCluster(t, { ...stored, annotations }, {}), GONE, "kubectl apply");
  const by = (operation: string): object => {
    const fieldsV1 = { "f:metadata": { "f:labels": { "f:tier": {} } } };
    return { ...stored, managedFields: [{ manager: "kustomize-controller", operation, fieldsV1 }] };
  };
  assert.deepEqual(await ofCluster(t, by("Apply"), {}), GONE, "server-side apply");
  assert.deepEqual(await ofCluster(t, by("Update"), {}), KEPT, "another client");
});
