/** A Cluster goes on only where it might have gone on at some time since the call, whatever is changed meanwhile. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { releaseScenarios } from "./release.ts";
import { exploreScenario } from "./worker.ts";

describe("no held Cluster is let go while", () => {
  for (const name of Object.keys(releaseScenarios)) {
    test(name, async (t) => {
      const { states, steps, atRest } = await exploreScenario(name);
      t.diagnostic(`${states} states, ${steps} steps`);
      assert.equal(atRest, states);
    });
  }
});
