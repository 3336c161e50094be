/** One timer for many instants. */

import assert from "node:assert/strict";
import test, { describe, type TestContext } from "node:test";
import * as fc from "fast-check";
import { Alarm } from "../../../src/turns/alarm.ts";
import { at, NOW } from "../builders.ts";

interface Lab {
  readonly alarm: Alarm;
  readonly rung: string[];
  readonly clock: { now: Date };
}

const NAMED = { ownerOf: () => "", onSetBack: () => undefined };

/** `turnMs`: -1 for one piece of work in each turn. */
function alarmWith(
  onDue: (key: string, alarm: Alarm) => void = () => undefined,
  turnMs: number = Infinity,
): Lab {
  const rung: string[] = [];
  const clock = { now: NOW };
  const alarm: Alarm = new Alarm({
    ...NAMED,
    now: () => clock.now,
    turnMs,
    onDue: (key) => {
      rung.push(key);
      onDue(key, alarm);
    },
  });
  return { alarm, rung, clock };
}

describe("an alarm", () => {
  test("may be set again by what it calls", () => {
    const { alarm, rung, clock } = alarmWith((key, self) => self.set(key, at("+2m")));
    alarm.set("again", at("+1m"));
    clock.now = at("+1m");
    alarm.ring();
    assert.deepEqual([rung, alarm.get("again")], [["again"], at("+2m")]);
  });

  test("that is set to what is due already comes to an end all the same", () => {
    const { alarm, rung } = alarmWith((key, self) => self.set(key, NOW), -1);
    alarm.set("always", NOW);
    alarm.ring();
    assert.deepEqual(rung, ["always"]);
    alarm.stop();
  });
});

describe("its timer", () => {
  const mocked = (t: TestContext, lab: Lab): ((ms: number) => void) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    return (ms) => {
      lab.clock.now = new Date(lab.clock.now.getTime() + ms);
      t.mock.timers.tick(ms);
    };
  };

  test("rings at the instant, however far that is", (t) => {
    const lab = alarmWith();
    const pass = mocked(t, lab);
    lab.alarm.set("far", at("+5m"));
    for (let second = 0; second < 299; second += 1) pass(1000);
    assert.deepEqual(lab.rung, []);
    pass(1000);
    assert.deepEqual(lab.rung, ["far"]);
  });

  test("rings for an instant that is set later and comes earlier", (t) => {
    const lab = alarmWith();
    const pass = mocked(t, lab);
    lab.alarm.set("late", at("+20s"));
    lab.alarm.set("early", at("+5s"));
    pass(5000);
    assert.deepEqual(lab.rung, ["early"]);
    pass(15_000);
    assert.deepEqual(lab.rung, ["early", "late"]);
  });

  test("works off in further turns what does not fit into one", (t) => {
    const lab = alarmWith(undefined, -1);
    const pass = mocked(t, lab);
    for (let n = 0; n < 5; n += 1) lab.alarm.set(`key ${n}`, at("+1s"));
    pass(1000);
    for (let turn = 0; turn < 5; turn += 1) pass(1);
    assert.equal(lab.rung.length, 5);
  });

  test("tells once that the clock was set back, and of no few seconds", () => {
    let told = 0;
    const clock = { now: NOW };
    const alarm = new Alarm({
      ...NAMED,
      now: () => clock.now,
      onDue: () => undefined,
      onSetBack: () => (told += 1),
    });
    alarm.set("later", at("+1d"));
    for (const when of ["-5s", "-1m", "-1m"]) {
      clock.now = at(when);
      alarm.ring();
    }
    alarm.stop();
    assert.equal(told, 1);
  });

  test("rings no more once it was stopped", (t) => {
    const lab = alarmWith();
    const pass = mocked(t, lab);
    lab.alarm.set("a", at("+1s"));
    lab.alarm.stop();
    lab.alarm.set("b", NOW);
    pass(60_000);
    assert.deepEqual(lab.rung, []);
  });
});

test("owners take turns, and the one that was served last waits for the others", () => {
  const rung: string[] = [];
  const alarm = new Alarm({
    ...NAMED,
    now: () => NOW,
    onDue: (key) => rung.push(key),
    ownerOf: (key) => key.slice(0, 1),
    turnMs: -1,
  });
  for (const key of ["a1", "a2", "a3", "b1", "c1", "c2"]) alarm.set(key, NOW);
  for (let turn = 0; turn < 6; turn += 1) alarm.ring();
  assert.deepEqual(rung, ["a1", "b1", "c1", "a2", "c2", "a3"]);
  alarm.stop();
});

test("work that is due already keeps its place when it is set again", () => {
  const { alarm, rung } = alarmWith();
  for (const key of ["first", "second", "first"]) alarm.set(key, NOW);
  alarm.ring();
  assert.deepEqual(rung, ["first", "second"]);
});

test("thousands that become due at one instant are called back once each, some in each turn", () => {
  const { alarm, rung, clock } = alarmWith();
  for (let n = 0; n < 2500; n += 1) alarm.set(`key ${n}`, at("+1m"));
  clock.now = at("+1m");
  for (const count of [1000, 2000, 2500]) {
    alarm.ring();
    assert.equal(rung.length, count);
  }
  assert.equal(new Set(rung).size, 2500);
  alarm.stop();
});

test("work of one instant is called back in the order in which it was set", () => {
  const { alarm, rung, clock } = alarmWith();
  const names = Array.from({ length: 40 }, (_, n) => `key ${n}`);
  for (const name of names) alarm.set(name, at("+1m"));
  clock.now = at("+1m");
  alarm.ring();
  assert.deepEqual(rung, names);
});

test("work that is moved thousands of times takes nothing away from other work", () => {
  const { alarm, rung, clock } = alarmWith();
  alarm.set("far", at("+2d"));
  for (let n = 0; n < 5000; n += 1) alarm.set("moved", new Date(at("+1d").getTime() - n));
  clock.now = at("+1d");
  alarm.ring();
  assert.deepEqual(rung, ["moved"]);
  clock.now = at("+2d");
  for (let turn = 0; turn < 5; turn += 1) alarm.ring();
  assert.deepEqual(rung, ["moved", "far"]);
});

const anyKey = fc.constantFrom("a", "b", "c", "d", "e");
const anyAct = fc.oneof(
  fc.record({ what: fc.constant("set" as const), key: anyKey, minutes: fc.integer({ min: -3, max: 9 }) }),
  fc.record({ what: fc.constant("ring" as const), minutes: fc.integer({ min: -2, max: 4 }) }),
);

test("whatever is set and moved, and wherever the clock goes, its timer rings for what is due, and for nothing else", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const plus = (minutes: number): Date => new Date(NOW.getTime() + minutes * 60_000);
  fc.assert(
    fc.property(fc.array(anyAct, { maxLength: 60 }), (story) => {
      const { alarm, rung, clock } = alarmWith();
      const known = new Map<string, number>();
      let minute = 0;
      const setTo = (key: string, instant: number): void => {
        alarm.set(key, plus(instant));
        known.set(key, instant);
        assert.deepEqual(alarm.get(key), plus(instant));
      };
      for (const act of story) {
        if (act.what === "set") setTo(act.key, minute + act.minutes);
        else {
          minute += act.minutes;
          clock.now = plus(minute);
          t.mock.timers.tick(30_000); // the longest that it does not look at the clock
          const due = [...known].filter(([, instant]) => instant <= minute).map(([key]) => key);
          for (const key of due) known.delete(key);
          assert.deepEqual(rung.splice(0).toSorted(), due.toSorted());
        }
      }
      alarm.stop();
    }),
    { numRuns: 500 },
  );
});
