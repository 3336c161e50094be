/** Two replicas that write one status, in every order in which things can happen: they lose nothing, and fall silent. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { FULL } from "../../generated.ts";
import { statusScenarios } from "./status.ts";
import { exploreScenario } from "./worker.ts";

/** Many times as many states as the others together; with FULL=1. */
const LARGEST: readonly string[] = [
  "see two Clusters held",
  "see the end of a hold",
  "see one Cluster held, one after the other",
];

describe("the status is right in the end, and no row gets lost, where replicas", () => {
  for (const name of Object.keys(statusScenarios).filter((each) => FULL || !LARGEST.includes(each))) {
    test(name, async (t) => {
      const { states, steps, atRest } = await exploreScenario(name);
      t.diagnostic(`${states} states, ${steps} steps, ${atRest} states at rest`);
      assert.ok(atRest > 0);
    });
  }
});
