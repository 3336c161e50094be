/** How long an answer may be repeated without deciding again. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as fc from "fast-check";
import type { GateSpec } from "../../../src/api/hookpolicy.ts";
import type { PolicyObject } from "../../../src/controller/policyset.ts";
import { decide } from "../../../src/policy/decide.ts";
import { standsUntil } from "../../../src/policy/standing.ts";
import { remember } from "../../../src/operations/timers.ts";
import type { World } from "../../../src/policy/world.ts";
import { APPROVED, at, compiled, DELETE, gated, NOW, rule, world } from "../builders.ts";
import * as any from "./decidearbitraries.ts";
import { runs } from "../../generated.ts";

/** At 12:00; the window opens at 13:00. */
const LATER: GateSpec = {
  name: "later",
  window: { timeZone: "UTC", allow: [{ from: at("+1h").toISOString(), to: at("+2h").toISOString() }] },
};
const APPROVAL: GateSpec = { name: "approved", annotation: { key: APPROVED } };
const CLOCK: GateSpec = {
  name: "clock",
  expression: "now < timestamp('2020-01-01T00:00:00Z')",
};
const OBJECT: GateSpec = {
  name: "object",
  object: { apiVersion: "v1", kind: "ConfigMap", name: "ready" },
};

function untilOf(...objects: readonly PolicyObject[]): Date | "Never" | undefined {
  const policies = objects.map(compiled);
  return standsUntil(policies, decide(policies, world(), DELETE, NOW));
}

describe("a decision stands", () => {
  test("forever, if only a user can change it", () => {
    assert.equal(untilOf(gated([APPROVAL])), "Never");
  });

  test("until its retry would have to shrink ahead of an edge", () => {
    const policy = gated([APPROVAL, LATER], { retryAfterSeconds: 60 });
    assert.deepEqual(untilOf(policy), new Date(at("+1h").getTime() - 60_000));
  });

  test("not at all, where an expression looks at the clock", () => {
    assert.equal(untilOf(gated([CLOCK])), undefined);
    assert.equal(untilOf(gated([{ name: "any", anyOf: [CLOCK, LATER] }])), undefined);
    const matchConditions = [{ name: "now", expression: "now > timestamp('2020-01-01T00:00:00Z')" }];
    assert.equal(untilOf(gated([APPROVAL], { matchConditions })), undefined);
  });

  test("not at all, where a gate looks at objects", () => {
    assert.equal(untilOf(gated([APPROVAL]), gated([OBJECT])), undefined);
  });

  test("whatever rules on other hooks, and policies that do not match, look at", () => {
    const elsewhere = gated([APPROVAL]);
    elsewhere.spec.rules.push(rule({ name: "other", hooks: ["BeforeClusterUpgrade"], until: [CLOCK] }));
    const unmatched = gated([CLOCK]);
    unmatched.spec.clusterSelector = { matchLabels: { no: "such" } };
    assert.equal(untilOf(elsewhere, unmatched), "Never");
  });
});

test("while a decision stands, deciding again says the same to the byte", () => {
  const size = runs(300);
  let compared = 0;
  fc.assert(
    fc.property(
      any.policies(true),
      any.situation,
      fc.double({ min: 0, max: 1, noNaN: true }),
      (objects, situation, part) => {
        const policies = objects.map(compiled);
        const { call } = situation;
        const decision = decide(policies, situation.at, call, NOW);
        const until = standsUntil(policies, decision);
        if (until === undefined) return;
        const end = until === "Never" ? at("+90d") : until;
        if (end <= NOW) return;
        const state = situation.at.state ?? { firstAsked: NOW, rules: new Map() };
        const remembered: World = { ...situation.at, state: remember(state, policies, decision.trace) };
        for (const now of [NOW.getTime() + (end.getTime() - 1 - NOW.getTime()) * part, end.getTime() - 1]) {
          const again = decide(policies, remembered, call, new Date(now));
          const { verdict, holds, message, retryAfterSeconds } = again;
          const { verdict: v, holds: h, message: m, retryAfterSeconds: r } = decision;
          assert.deepEqual(
            { verdict, holds, message, retryAfterSeconds },
            { verdict: v, holds: h, message: m, retryAfterSeconds: r },
          );
          compared += 1;
        }
      },
    ),
    size,
  );
  assert.ok(compared > size.numRuns / 3, String(compared));
});
