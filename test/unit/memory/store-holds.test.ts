/** What people are told of holds: that one begins, once, and that the operation goes on, if it was held. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { Decision } from "../../../src/policy/decision.ts";
import {
  APPROVED,
  at,
  cluster,
  clusterHookPolicy,
  DELETE,
  gated,
  hookOverride,
  hookPolicy,
  NOW,
  letGo,
  period,
} from "../builders.ts";
import { type Fixture, passTo, statusOf, storeWith } from "./fixtures.ts";

const deletionTimestamp = "2026-11-21T11:00:00Z";
const deleting = cluster({ deletionTimestamp });
const approved = cluster({ deletionTimestamp, annotations: { [APPROVED]: "" }, resourceVersion: "200" });

const told = ({ holds }: Fixture): unknown[] =>
  holds.map(({ reason, identity, note }) => [
    reason,
    reason === "Held" ? identity.split(" ").at(-1) : /\((\w+)\)$/.exec(note)?.[1],
  ]);

/** A go is asked for and answered, as the handler does it. */
function release(fixture: Fixture, requested = approved): Decision {
  fixture.setCluster(requested);
  const request = { call: DELETE, cluster: requested };
  const decision = fixture.store.decider.ask(request, fixture.clock.now);
  if (!decision.holds) fixture.setCluster(letGo(requested));
  return decision;
}

describe("a hold", () => {
  test("is told of once, however often the operation is asked for, and once that it goes on", () => {
    const fixture = storeWith({ policies: [hookPolicy()], clusters: [deleting] });
    for (let n = 0; n < 3; n += 1) fixture.store.decider.ask({ call: DELETE, cluster: deleting }, NOW);
    assert.deepEqual(told(fixture), [["Held", "confirmed-delete"]]);
    assert.ok(!release(fixture).holds);
    release(fixture);
    assert.deepEqual(told(fixture).slice(1), [["Released", "GatesHold"]]);
  });

  test("by several policies is told of by each", () => {
    const policies = [hookPolicy(), clusterHookPolicy()];
    const fixture = storeWith({ policies, clusters: [deleting] });
    assert.equal(fixture.holds.length, 2);
  });

  test("is no news to a replica that finds it in the status", () => {
    const first = storeWith({ policies: [hookPolicy()], clusters: [deleting] });
    const status = statusOf(first, hookPolicy());
    const second = storeWith({ policies: [{ ...hookPolicy(), status }], clusters: [deleting] });
    assert.deepEqual(second.holds, []);
    release(second);
    assert.deepEqual(told(second), [["Released", "GatesHold"]]);
  });

  test("that ended while no replica was there is told of when the operation goes on", () => {
    const first = storeWith({ policies: [hookPolicy()], clusters: [deleting] });
    const status = statusOf(first, hookPolicy());
    const second = storeWith({ policies: [{ ...hookPolicy(), status }], clusters: [approved] });
    release(second);
    assert.deepEqual(told(second), [["Released", "GatesHold"]]);
  });

  test("that time ends and begins again is told of again", () => {
    const allow = [period("+1h", "+2h")];
    const fixture = storeWith({
      policies: [gated([{ name: "w", window: { allow } }])],
      clusters: [deleting],
    });
    passTo(fixture, at("+1h"));
    passTo(fixture, at("+2h"));
    assert.equal(fixture.holds.length, 2);
  });

  test("of a Cluster that is gone is not told of as a release", () => {
    const fixture = storeWith({ policies: [hookPolicy()], clusters: [deleting] });
    fixture.setCluster(undefined, "team-a/prod-1");
    fixture.setCluster(deleting);
    assert.equal(fixture.holds.length, 2);
    assert.ok(fixture.holds.every(({ reason }) => reason === "Held"));
  });
});

describe("nothing is told of", () => {
  test("holds of a policy whose status leaves rows out: they can be old", () => {
    const status = {
      ...statusOf(storeWith({ policies: [hookPolicy()] }), hookPolicy()),
      decisionsOmitted: 1,
    };
    const fixture = storeWith({ policies: [{ ...hookPolicy(), status }], clusters: [deleting] });
    assert.deepEqual(fixture.holds, []);
  });

  test("what an Audit policy would hold", () => {
    const fixture = storeWith({ policies: [hookPolicy({ mode: "Audit" })], clusters: [deleting] });
    release(fixture);
    assert.deepEqual(fixture.holds, []);
  });

  test("what an override lets go from the beginning", () => {
    const fixture = storeWith({
      policies: [hookPolicy()],
      overrides: [hookOverride()],
      clusters: [deleting],
    });
    release(fixture, deleting);
    assert.deepEqual(fixture.holds, []);
  });

  test("a go that nothing had held", () => {
    const fixture = storeWith({ policies: [hookPolicy()], clusters: [approved] });
    release(fixture);
    assert.deepEqual(fixture.holds, []);
  });
});
