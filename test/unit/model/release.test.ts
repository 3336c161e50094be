/** A Cluster is released only if it wanted that, and nothing held it, at one moment since the call. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { releaseScenarios, weakConfirmations } from "./release.ts";
import { exploreScenario } from "./worker.ts";

describe("no held Cluster is released while", () => {
  for (const name of Object.keys(releaseScenarios)) {
    test(name, async (t) => {
      const { states, steps, atRest } = await exploreScenario(name);
      t.diagnostic(`${states} states, ${steps} steps`);
      assert.equal(atRest, states);
    });
  }
});

describe("the model finds a Cluster that is released while", () => {
  for (const name of Object.keys(weakConfirmations))
    test(name, async () => {
      await assert.rejects(exploreScenario(name), /a Cluster was let go that was held all the time/);
    });
});
