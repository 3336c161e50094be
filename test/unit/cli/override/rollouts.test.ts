/** What `hookpolicy override` lifts where a HookRollout holds the Cluster. */

import assert from "node:assert/strict";
import test from "node:test";
import { Fleet } from "../../../../src/cli/fleet/fleet.ts";
import type { RawObject } from "../../../../src/cli/fleet/kinds.ts";
import {
  findHolder,
  liftedBy,
  newOverride,
  overrideProblems,
  type OverrideWish,
} from "../../../../src/cli/override/new-override.ts";
import { liftedLines } from "../../../../src/cli/override/report.ts";
import { PLAIN } from "../../../../src/cli/terminal/colour.ts";
import { ALL_HOOKS, NOW } from "../../builders.ts";
import { rawCluster, rawNamespace, rawPolicy, rawRollout } from "../raw.ts";

const UPGRADE = "BeforeClusterUpgrade";
const DELETE = "BeforeClusterDelete";

const CLUSTER = rawCluster({ uid: "u1" });
const NAMESPACE = rawNamespace();

function rollout(name: string, spec: object = {}): RawObject {
  const ready = { type: "Ready", status: "True", reason: "Loaded", message: "", lastTransitionTime: "" };
  return {
    ...rawRollout({ name, uid: name, generation: 1 }, { progressDeadline: "1h", paused: true, ...spec }),
    status: { observedGeneration: 1, conditions: [ready] },
  };
}

function freeze(): RawObject {
  const until = [{ name: "never", expression: "false" }];
  return rawPolicy(
    { name: "freeze", uid: "freeze" },
    { rules: [{ name: "frozen", hooks: [UPGRADE], until }] },
  );
}

function known(...objects: readonly RawObject[]) {
  const options = { served: ALL_HOOKS, maxOverrideMs: 168 * 3_600_000, now: NOW };
  const fleet = new Fleet([CLUSTER, NAMESPACE, ...objects], options);
  const cluster = fleet.cluster("team-a", "prod-1");
  assert.ok(cluster);
  return { fleet, cluster };
}

/** The lines, without the head. */
function shown(objects: readonly RawObject[], ...names: readonly string[]): readonly string[] {
  const { fleet, cluster } = known(...objects);
  const hooks = [UPGRADE] as const;
  const wish: OverrideWish = {
    hooks,
    reason: "r",
    forMs: 3_600_000,
    ...(names.length > 0 && { policies: names.map((name) => findHolder(fleet, cluster, name, hooks)) }),
  };
  const made = newOverride(cluster, wish, NOW);
  assert.deepEqual(overrideProblems(made), []);
  const lines = liftedLines(made, liftedBy(fleet, cluster, wish, NOW), { colour: PLAIN });
  return lines.slice(2).map((line) => line.trim().replace(/ {2,}/, " "));
}

test("a rollout that holds the Cluster is lifted, by its name or with everything", () => {
  const lifted = [
    "lifts HookRollout upgrades",
    "HookRollout upgrades: is paused (hookpolicy rollout status upgrades)",
  ];
  assert.deepEqual(shown([rollout("upgrades")]), lifted);
  assert.deepEqual(shown([rollout("upgrades")], "upgrades"), lifted);
  assert.deepEqual(shown([rollout("upgrades")], "HookRollout/upgrades"), lifted);
});

test("a policy is not lifted with the rollout, nor the rollout with a policy", () => {
  const objects = [freeze(), rollout("upgrades", { stages: [{ name: "canary" }] })];
  assert.equal(
    shown(objects, "HookRollout/upgrades").at(-1),
    "held by HookPolicy team-a/freeze all the same",
  );
  assert.deepEqual(shown(objects, "HookRollout/upgrades").slice(0, 1), [
    "lifts HookRollout upgrades, stage canary",
  ]);
  assert.equal(shown(objects, "freeze").at(-1), "held by HookRollout upgrades all the same");
});

test("only rollouts of the Cluster and of the hook have a name", () => {
  const { fleet, cluster } = known(
    rollout("upgrades"),
    rollout("deletions", { operation: "Delete" }),
    rollout("others", { clusterSelector: { matchLabels: { tier: "lab" } } }),
  );
  const found = (text: string): unknown => findHolder(fleet, cluster, text, [DELETE]);
  assert.deepEqual(found("deletions"), { kind: "HookRollout", name: "deletions" });
  for (const text of ["upgrades", "others"])
    assert.throws(() => found(text), {
      message: `--policy: no policy or HookRollout that speaks about the Cluster at ${DELETE} is named "${text}"`,
    });
  assert.throws(() => found("HookRollout/deletion"), {
    message: /\(did you mean HookRollout\/deletions\?\)$/,
  });
});
