/** How much time a namespace may use for what is evaluated ahead of calls. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { Alarm } from "../../../src/turns/alarm.ts";
import { Allowance } from "../../../src/turns/allowance.ts";
import { NOW } from "../builders.ts";

describe("the allowance of a namespace", () => {
  test("is a second at once, and a tenth of the time from then on", (t) => {
    let clock = 0;
    t.mock.method(performance, "now", () => clock);
    const allowance = new Allowance();
    allowance.spend("team-a", 1000);
    assert.equal(allowance.restMs("team-a"), 0);
    allowance.spend("team-a", 50);
    assert.equal(allowance.restMs("team-a"), 500);
    clock += 500;
    assert.equal(allowance.restMs("team-a"), 0);
    allowance.spend("team-a", 10);
    assert.equal(allowance.restMs("team-a"), 100);
    clock += 20_000;
    allowance.spend("team-a", 1000);
    assert.equal(allowance.restMs("team-a"), 0);
  });

  test("is its own, and nothing waits for longer than a second", (t) => {
    t.mock.method(performance, "now", () => 0);
    const allowance = new Allowance();
    allowance.spend("team-a", 60_000);
    assert.deepEqual([allowance.restMs("team-a"), allowance.restMs("team-b")], [1000, 0]);
  });

  test("does not count what belongs to no namespace", () => {
    const spent: string[] = [];
    const alarm = new Alarm({
      onSetBack: () => undefined,
      now: () => NOW,
      ownerOf: (key) => key,
      onDue: () => undefined,
      turnMs: Infinity,
      allowance: { spend: (owner) => spent.push(owner), restMs: () => 0 },
    });
    for (const owner of ["", "team-a"]) alarm.set(owner, NOW);
    alarm.ring();
    alarm.stop();
    assert.deepEqual(spent, ["team-a"]);
  });

  test("once used up, lets an alarm ring for the others, and for itself later", (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    let clock = 0;
    context.mock.method(performance, "now", () => clock);
    const allowance = new Allowance();
    const rung: string[] = [];
    const alarm = new Alarm({
      onSetBack: () => undefined,
      now: () => new Date(NOW.getTime() + clock),
      ownerOf: (key) => key.split(" ")[1] ?? "",
      onDue: (key) => rung.push(key),
      turnMs: Infinity,
      allowance,
    });
    allowance.spend("team-a", 1100);
    for (const key of ["one team-a", "one team-b", "one"]) alarm.set(key, NOW);
    alarm.ring();
    assert.deepEqual(rung.toSorted(), ["one", "one team-b"]);
    context.mock.timers.tick(999);
    assert.equal(rung.length, 2);
    clock = 1000;
    context.mock.timers.tick(1);
    assert.deepEqual(rung.at(-1), "one team-a");
    alarm.stop();
  });
});
