/** Upgrades that Cluster API holds itself, without asking. */

import assert from "node:assert/strict";
import test from "node:test";
import { explain } from "../../../../src/cli/explain/explanation.ts";
import { drawnExplanation } from "../../../../src/cli/explain/report.ts";
import { Fleet } from "../../../../src/cli/fleet/fleet.ts";
import type { RawObject } from "../../../../src/cli/fleet/kinds.ts";
import { ALL_HOOKS } from "../../builders.ts";
import { yaml } from "../program.ts";
import { rawCluster } from "../raw.ts";
import { onFiles } from "../resident.ts";

const cluster = (annotations: object): object => rawCluster({ uid: "5d2c", generation: 1, annotations });

async function explained(
  t: test.TestContext,
  objects: readonly object[],
  ...args: readonly string[]
): Promise<string> {
  const command = ["explain", "team-a/prod-1", "-f", "fleet.yaml", ...args];
  const { code, stdout, stderr } = await onFiles(t, { "fleet.yaml": yaml(...objects) }, command);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  return stdout;
}

function onPage(object: RawObject): ReturnType<typeof drawnExplanation> {
  const now = new Date();
  const fleet = new Fleet([object], { served: ALL_HOOKS, maxOverrideMs: 0, now });
  const found = fleet.cluster("team-a", "prod-1");
  assert.ok(found);
  const explanation = explain(fleet, { cluster: found, now, unread: [], live: true });
  return drawnExplanation(explanation, { program: "hookpolicy", connection: "" }, false);
}

test("an annotation by which Cluster API holds the upgrade itself is named as the holder", async (t) => {
  const key = "before-upgrade.hook.cluster.cluster.x-k8s.io/backup";
  const annotated = cluster({ [key]: "" });
  const blocking = {
    type: "TopologyReconciled",
    status: "False",
    reason: "LifecycleHookBlocking",
    observedGeneration: 1,
    message: `Following hooks are blocking upgrade: BeforeClusterUpgrade: annotation ${key} is set`,
  };
  const held = await explained(t, [{ ...annotated, status: { conditions: [blocking] } }]);
  for (const [object, isFree] of [
    [{ ...annotated, status: { conditions: [blocking] } }, false],
    [annotated, true],
  ] as const)
    assert.equal(onPage(object as RawObject).waitsForNothing, isFree);
  assert.equal(
    held,
    `Blocked: Cluster API itself holds the upgrade because of annotation ${key}, and asks no policy and no rollout before that is removed: kubectl annotate clusters.cluster.x-k8s.io -n team-a prod-1 ${key}-\n`,
  );
  const asked = await explained(t, [annotated], "--hook", "BeforeClusterUpgrade", "--to-version", "v1.36.0");
  assert.match(
    asked,
    /^note: Cluster API itself would hold the upgrade because of annotation before-upgrade/,
  );
  assert.doesNotMatch(await explained(t, [annotated], "--hook", "BeforeClusterDelete"), /before-upgrade/);
});

const PREFIX = "before-upgrade.hook.cluster.cluster.x-k8s.io/";
const ASKED = ["--hook", "BeforeClusterUpgrade", "--to-version", "v1.36.0"];
const PENDING = { "runtime.cluster.x-k8s.io/pending-hooks": "AfterClusterUpgrade" };

test("several annotations are taken away by one command", async (t) => {
  const several = cluster({ [`${PREFIX}a`]: "", [`${PREFIX}b`]: "" });
  assert.match(
    await explained(t, [several], ...ASKED),
    /because of annotations \S+\/a, \S+\/b, .* team-a prod-1 \S+\/a- \S+\/b-$/m,
  );
});

test("an annotation holds no upgrade that is under way", async (t) => {
  const upgrading = cluster({ [`${PREFIX}backup`]: "", ...PENDING });
  assert.doesNotMatch(await explained(t, [upgrading], ...ASKED), /before-upgrade/);
});

test("an annotation holds nothing where no upgrade waits", async (t) => {
  const idle = cluster({ [`${PREFIX}backup`]: "" });
  assert.doesNotMatch(await explained(t, [idle]), /before-upgrade/);
});
