/** What every command that reads Clusters from files says where their Namespace is not among them, in the same words. */

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { folder, yaml } from "../program.ts";
import { rawFleetPolicy, rawNamespace } from "../raw.ts";
import { hookpolicy } from "../resident.ts";
import { clusterOf, rolloutOf } from "../rollout/planned-fleet.ts";

const NAMESPACE = rawNamespace({ name: "fleet", labels: { env: "prod" } });
const PROD = { namespaceSelector: { matchLabels: { env: "prod" } } };
const window = { timeZone: "UTC", deny: [{ from: "2026-12-01", to: "2026-12-10" }] };
const FREEZE = rawFleetPolicy("freeze", {
  ...PROD,
  rules: [{ name: "freeze", hooks: ["BeforeClusterUpgrade"], until: [{ name: "over", window }] }],
});
const CLUSTERS = [clusterOf("a", "rest"), clusterOf("b", "canary")];
const AT = "2026-12-02T00:00:00Z";

const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  plan: ["rollout", "plan", "--duration", "40m", "--from", AT, "-f", "."],
  simulate: ["simulate", "--against", "fleet.yaml", "-f", "rest.yaml", "--at", AT],
  explain: ["explain", "fleet/a", "--hook", "BeforeClusterUpgrade", "--at", AT, "-f", "."],
  validate: ["validate", "."],
};

async function run(t: TestContext, args: readonly string[], ...rest: readonly object[]) {
  const cwd = await folder(t, { "fleet.yaml": yaml(...CLUSTERS), "rest.yaml": yaml(...rest) });
  const { code, stdout, stderr } = await hookpolicy(args, { cwd, env: { KUBECONFIG: "none" } });
  return { code, text: `${stderr}${stdout}` };
}

const MISSING =
  /the Namespace of Clusters is not among the objects: fleet; .*unknown.*\. Add it, with its labels, to the files/i;

for (const [name, args] of Object.entries(COMMANDS))
  test(`${name}: whether a rollout with a namespaceSelector selects Clusters is unknown without their Namespace`, async (t) => {
    const { text } = await run(t, args, rolloutOf("upgrades", PROD));
    assert.match(text, MISSING);
    const known = await run(t, args, rolloutOf("upgrades", PROD), NAMESPACE);
    assert.doesNotMatch(known.text, /not among the objects/);
    const every = await run(t, args, rolloutOf("upgrades"));
    assert.doesNotMatch(every.text, /not among the objects/);
  });

test("the plan says which rules it assumes to release because they are not evaluable, and asks for no action", async (t) => {
  const args = COMMANDS["plan"] ?? [];
  const { text } = await run(t, args, rolloutOf("upgrades"), FREEZE);
  assert.match(
    text,
    /^The Namespace of Clusters is not among the objects: fleet; what ClusterHookPolicy freeze selects of them is unknown, so the rules are not evaluable\. Add it/m,
  );
  assert.match(
    text,
    /^The plan assumes that rules which are not evaluable, with all their windows, release 2 Clusters: ClusterHookPolicy freeze, rule freeze \(the Cluster's Namespace is not known, [^)]*\)\.$/m,
  );
  assert.doesNotMatch(text, /released by an action/);
  const json = await run(t, [...args, "-o", "json"], rolloutOf("upgrades"), FREEZE);
  const { doubts, clusters } = JSON.parse(json.text) as {
    doubts: readonly string[];
    clusters: readonly { needsAction: boolean }[];
  };
  assert.match(doubts.join("\n"), /not among the objects: fleet/);
  assert.ok(clusters.every(({ needsAction }) => !needsAction));
  const known = await run(t, args, rolloutOf("upgrades"), FREEZE, NAMESPACE);
  assert.match(known.text, /^canary +1 +0 +2026-12-10T00:00Z/m);
});

test("explain says what is missing, and offers no break-glass for a policy that may hold nothing", async (t) => {
  const args = COMMANDS["explain"] ?? [];
  const { text } = await run(t, args, FREEZE);
  assert.match(text, /^note: the Namespace of Clusters is not among the objects: fleet; /);
  assert.match(text, /^ +released +unknown without the Cluster's Namespace$/m);
  assert.doesNotMatch(text, /if it cannot wait|after a user has acted/);
  const known = await run(t, args, FREEZE, NAMESPACE);
  assert.match(known.text, /if it cannot wait/);
});

test("validate names the warning, which the author can accept", async (t) => {
  const validate = ["validate", ".", "--strict"];
  const found = await run(t, validate, FREEZE);
  assert.equal(found.code, 1);
  assert.match(found.text, /spec\.namespaceSelector: the Namespace .* \[namespace-missing\]/);
  const annotations = { "hookpolicy.dev/accept": "namespace-missing" };
  const accepted = { ...FREEZE, metadata: { name: "freeze", annotations } };
  assert.equal((await run(t, validate, accepted)).code, 0);
});
