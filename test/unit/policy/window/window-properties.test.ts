import assert from "node:assert/strict";
import test from "node:test";
import * as fc from "fast-check";
import type { WindowEntry, WindowGateSpec } from "../../../../src/api/hook-policy.ts";
import { compileWindow, type Window } from "../../../../src/policy/window/window.ts";
import { windowProblems } from "../../../../src/policy/window/window-check.ts";
import { runs } from "../../../generated.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const BEGIN = Date.UTC(2026, 0);

const instants = fc.integer({ min: BEGIN, max: Date.UTC(2028, 0) });
/** Often the second at which something starts or ends. */
const moments = fc.oneof(
  instants,
  instants.map((ms) => ms - (ms % HOUR)),
  instants.map((ms) => ms - (ms % HOUR) + 1),
);

const list = (min: number, max: number): fc.Arbitrary<string> =>
  fc.uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 2 }).map((values) => values.join(","));

const schedules = fc
  .tuple(
    list(0, 59),
    list(0, 23),
    fc.oneof(fc.constant("*"), list(1, 28)),
    fc.constantFrom("*", "*", "3,10", "JAN-JUN", "4,11"),
    fc.constantFrom("*", "*", "MON-FRI", "SAT,SUN", "7"),
  )
  .map((fields) => fields.join(" "));

const recurring: fc.Arbitrary<WindowEntry> = fc.record({
  schedule: schedules,
  duration: fc.constantFrom("1s", "10m", "1h", "1h30m", "8h", "24h", "49h30m"),
});

const single: fc.Arbitrary<WindowEntry> = fc
  .tuple(moments, fc.integer({ min: 1, max: 90 * DAY }))
  .map(([from, length]) => ({
    from: new Date(from).toISOString(),
    to: new Date(from + length).toISOString(),
  }));

const local: fc.Arbitrary<WindowEntry> = fc
  .tuple(moments, fc.integer({ min: 2, max: 90 }), fc.constantFrom(10, 16, 19), fc.constantFrom(10, 16, 19))
  .map(([from, days, a, b]) => ({
    from: new Date(from).toISOString().slice(0, a),
    to: new Date(from + days * DAY).toISOString().slice(0, b),
  }));

const entries = fc.oneof(
  { weight: 3, arbitrary: recurring },
  { weight: 1, arbitrary: single },
  { weight: 1, arbitrary: local },
);
const zones = fc.constantFrom(
  "Europe/Berlin",
  "America/Havana",
  "Australia/Lord_Howe",
  "Asia/Kathmandu",
  "UTC",
);

const specs: fc.Arbitrary<WindowGateSpec> = fc
  .record(
    {
      timeZone: zones,
      allow: fc.array(entries, { minLength: 1, maxLength: 3 }),
      deny: fc.array(entries, { minLength: 1, maxLength: 2 }),
    },
    { requiredKeys: ["timeZone"] },
  )
  .filter(({ allow, deny }) => allow !== undefined || deny !== undefined);

const isOpen = (spec: WindowGateSpec, ms: number): boolean => compileWindow(spec).at(new Date(ms)).open;

test("every window that is built here has no problem", () => {
  fc.assert(
    fc.property(specs, (spec) => assert.deepEqual(windowProblems(spec), [])),
    runs(100),
  );
});

test("a window stays as it is until the edge that it names, and changes there", () => {
  fc.assert(
    fc.property(specs, moments, fc.array(fc.double({ min: 0, max: 1, noNaN: true })), (spec, ms, shares) => {
      const window = compileWindow(spec);
      const { open, changesAt } = window.at(new Date(ms));
      const until = changesAt?.getTime() ?? ms + 2000 * DAY;
      assert.ok(until > ms);
      for (const share of [...shares, 1]) {
        const between = Math.floor(ms + share * (until - 1 - ms));
        assert.equal(window.at(new Date(between)).open, open, new Date(between).toISOString());
      }
      // The search for an edge ends after some hundred starts, of which these windows have at most a dozen a day.
      if (changesAt !== undefined && until - ms < 14 * DAY) assert.notEqual(window.at(changesAt).open, open);
    }),
    runs(300),
  );
});

test("nextOpen is the earliest instant at which a window is open", () => {
  fc.assert(
    fc.property(specs, moments, fc.array(fc.double({ min: 0, max: 1, noNaN: true })), (spec, ms, shares) => {
      const window = compileWindow(spec);
      const next = window.nextOpen(new Date(ms))?.getTime();
      if (next !== undefined) assert.ok(next >= ms && window.at(new Date(next)).open);
      const until = next ?? ms + 100 * DAY;
      for (const share of next === ms ? [] : [...shares, 1]) {
        const between = Math.floor(ms + share * (until - 1 - ms));
        assert.equal(window.at(new Date(between)).open, false, new Date(between).toISOString());
      }
    }),
    runs(300),
  );
});

test("a window answers the same in whatever order it is asked, and when asked for the first time", () => {
  const questions = fc.array(fc.tuple(moments, fc.boolean()), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(specs, questions, (spec, asked) => {
      const warm = compileWindow(spec);
      for (const [ms, opening] of asked) {
        for (const near of [ms, ms + 1000, ms]) {
          const [now, fresh] = [new Date(near), compileWindow(spec)];
          if (opening) assert.deepEqual(warm.nextOpen(now), fresh.nextOpen(now));
          else assert.deepEqual(warm.at(now), fresh.at(now));
        }
      }
    }),
    runs(100),
  );
});

test("two neighbouring moments never disagree about the next edge", () => {
  fc.assert(
    fc.property(specs, moments, fc.integer({ min: 1, max: 3 * HOUR }), (spec, ms, later) => {
      const { open, changesAt } = compileWindow(spec).at(new Date(ms));
      const then = compileWindow(spec).at(new Date(ms + later));
      if (changesAt === undefined) assert.deepEqual(then, { open });
      else if (ms + later < changesAt.getTime() && changesAt.getTime() - ms < 14 * DAY) {
        assert.deepEqual(then, { open, changesAt });
      }
    }),
    runs(300),
  );
});

test("a window is open exactly where one of its allow entries is and none of its deny entries", () => {
  fc.assert(
    fc.property(specs, moments, (spec, ms) => {
      const { timeZone = "UTC", allow, deny = [] } = spec;
      const inForce = (entry: WindowEntry): boolean => isOpen({ timeZone, allow: [entry] }, ms);
      const expected = (allow === undefined || allow.some(inForce)) && !deny.some(inForce);
      assert.equal(isOpen(spec, ms), expected);
    }),
    runs(1000),
  );
});

test("another deny entry never opens a window, and another allow entry never closes one", () => {
  fc.assert(
    fc.property(specs, entries, moments, (spec, entry, ms) => {
      const { allow, deny = [] } = spec;
      if (isOpen({ ...spec, deny: [...deny, entry] }, ms)) assert.ok(isOpen(spec, ms));
      if (allow !== undefined && isOpen(spec, ms))
        assert.ok(isOpen({ ...spec, allow: [entry, ...allow] }, ms));
    }),
    runs(500),
  );
});

test("the order of entries does not matter", () => {
  fc.assert(
    fc.property(specs, moments, (spec, ms) => {
      const turned = {
        ...spec,
        ...(spec.allow !== undefined && { allow: spec.allow.toReversed() }),
        ...(spec.deny !== undefined && { deny: spec.deny.toReversed() }),
      };
      assert.deepEqual(compileWindow(turned).at(new Date(ms)), compileWindow(spec).at(new Date(ms)));
    }),
    runs(100),
  );
});

const words = fc.constantFrom(
  "0",
  "59",
  "60",
  "*",
  "*/2",
  "1-5",
  "5-1",
  "L",
  "?",
  "MON",
  "SUN",
  "JAN",
  ",",
  "#",
  "2W",
  "@daily",
);
const anyText = fc.oneof(
  fc.string(),
  words,
  fc.array(words, { minLength: 4, maxLength: 6 }).map((all) => all.join(" ")),
);
const anyEntry = fc.record(
  { schedule: anyText, duration: fc.oneof(anyText, fc.constant("1h")), from: anyText, to: anyText },
  { requiredKeys: [] },
);
const anySpec = fc.record(
  { timeZone: fc.oneof(anyText, zones), allow: fc.array(anyEntry), deny: fc.array(anyEntry) },
  { requiredKeys: [] },
);

test("whatever is written, which need not fit the schema, is refused or can be asked at any time", () => {
  fc.assert(
    fc.property(anySpec, fc.date({ noInvalidDate: false }), (spec, now) => {
      let window: Window;
      try {
        window = compileWindow(spec);
      } catch (error) {
        return assert.match(String(error), /^Error: window/);
      }
      assert.deepEqual(windowProblems(spec), []);
      assert.equal(typeof window.at(now).open, "boolean");
      window.nextOpen(now);
    }),
    runs(2000),
  );
});

test("whatever schedule is written is refused in words or starts at some time", () => {
  fc.assert(
    fc.property(anyText, (schedule) => {
      const spec = { timeZone: "UTC", allow: [{ schedule, duration: "1h" }] };
      if (windowProblems(spec).length > 0) return;
      assert.notEqual(compileWindow(spec).nextOpen(new Date(BEGIN)), undefined, schedule);
    }),
    runs(2000),
  );
});
