/**
 * The finalizer of a HookPolicy, in every order in which things can happen: it goes too early never, stays too long
 * never, and leaves other finalizers alone.
 */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { FULL } from "../../generated.ts";
import { finalizerScenarios } from "./finalizer.ts";
import { exploreScenario } from "./worker.ts";

/** As many states as the others together; with FULL=1. */
const LARGEST = "in a namespace with a Cluster that one of two replicas has not seen";

describe("the finalizer", () => {
  for (const name of Object.keys(finalizerScenarios).filter((each) => FULL || each !== LARGEST)) {
    test(`goes and stays as it should ${name}`, async (t) => {
      const { states, steps, atRest } = await exploreScenario(name);
      t.diagnostic(`${states} states, ${steps} steps, ${atRest} states at rest`);
      assert.ok(atRest > 0);
    });
  }
});
