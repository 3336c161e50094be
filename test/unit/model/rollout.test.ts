/**
 * HookRollouts in every order in which things can happen: never more Clusters in operation than there are slots, no stage
 * before its turn, nothing while it is paused or halted, and nothing waits for ever.
 */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { FULL } from "../../generated.ts";
import { rolloutScenarios, weakClocks, weakReleases, weakRollouts } from "./rollout.ts";
import { exploreScenario } from "./worker.ts";

/** The others take up to a minute or more: FULL=1 explores them. Each weakness below is explored all the same. */
const SMALL: readonly string[] = [
  "both replicas are asked about both Clusters",
  "both Clusters have the same value of a label that is limited",
  "a Cluster of a stage that soaks is scaled",
  "a gate holds the first Cluster",
  "another rollout is paused for the first Cluster",
  "the rollout is paused, and resumed",
  "a second upgrade is wanted where stages wait",
  "the version of a Cluster changes while its upgrade runs",
  "the version of a Cluster changes to an older one while its upgrade runs",
  "a claim outlives its deadline while no replica works",
];

describe("a rollout keeps its limits, and ends, where", () => {
  for (const name of Object.keys(rolloutScenarios).filter((each) => FULL || SMALL.includes(each))) {
    test(name, async (t) => {
      const { states, steps, atRest } = await exploreScenario(name);
      t.diagnostic(`${states} states, ${steps} steps, ${atRest} states at rest`);
      assert.ok(atRest > 0);
    });
  }
});

describe("the model finds too many Clusters in operation where", () => {
  for (const name of Object.keys({ ...weakRollouts, ...weakClocks }))
    test(name, async () => {
      const found = /^Error: (R1: a and b are in operation|R3: b begins, .* which has no free slot)/;
      await assert.rejects(exploreScenario(name), found);
    });
});

describe("the model finds a Cluster that a policy holds where", () => {
  for (const name of Object.keys(weakReleases))
    test(name, async () => {
      await assert.rejects(exploreScenario(name), /^Error: R3: b begins, .* now by a policy/);
    });
});
