/**
 * The finalizer of a HookPolicy, in every order in which things can happen: it goes too early never, stays too long
 * never, and leaves other finalizers alone.
 */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { finalizerScenarios } from "./finalizer.ts";
import { exploreScenario } from "./worker.ts";

describe("the finalizer", () => {
  for (const name of Object.keys(finalizerScenarios)) {
    test(`goes and stays as it should ${name}`, async (t) => {
      const { states, steps, atRest } = await exploreScenario(name);
      t.diagnostic(`${states} states, ${steps} steps, ${atRest} states at rest`);
      assert.ok(atRest > 0);
    });
  }
});
