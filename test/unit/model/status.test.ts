/** Two replicas that write one status, in every order in which things can happen: they lose nothing, and fall silent. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { statusScenarios } from "./status.ts";
import { exploreScenario } from "./worker.ts";

describe("the status is right in the end, and no row gets lost, where replicas", () => {
  for (const name of Object.keys(statusScenarios)) {
    test(name, async (t) => {
      const { states, steps, atRest } = await exploreScenario(name);
      t.diagnostic(`${states} states, ${steps} steps, ${atRest} states at rest`);
      assert.ok(atRest > 0);
    });
  }
});
