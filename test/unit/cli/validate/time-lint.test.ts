/** Windows that open at another time than their author means, or never. */

import assert from "node:assert/strict";
import test from "node:test";
import type { GateSpec, RuleSpec } from "../../../../src/api/hook-policy.ts";
import { timeWarnings } from "../../../../src/cli/validate/time-lint.ts";
import { rule } from "../../builders.ts";

type WindowEntry = { schedule?: string; duration?: string; from?: string; to?: string };
const NOW = new Date("2026-11-23T00:00:00Z");

const weekly = (schedule: string, duration: string, timeZone = "Europe/Berlin"): GateSpec => ({
  name: `on-${schedule.split(" ")[4]?.toLowerCase()}`,
  window: { timeZone, allow: [{ schedule, duration }] },
});
const once = (from: string, to: string): { from: string; to: string } => ({ from, to });
const denying = (deny: WindowEntry[], allow?: WindowEntry[]): GateSpec => ({
  name: "w",
  window: { timeZone: "Europe/Berlin", deny, ...(allow !== undefined && { allow }) },
});

const FRIDAY = { schedule: "0 22 * * FRI", duration: "8h" };

const CASES: Readonly<
  Record<string, { readonly until: readonly GateSpec[]; readonly warns: readonly RegExp[] }>
> = {
  "a weekly night is none, whatever the clocks show at its end": {
    until: [weekly("0 22 * * SAT", "8h")],
    warns: [],
  },
  "a start within the hour that clocks skip is moved": {
    until: [weekly("30 2 * * *", "30m")],
    warns: [
      /^until\[0\]\.window clock-change-moves: on Sun 2027-03-28 03:00 \+02:00, where clocks change, it opens at 03:00 instead of 02:30, and 1 more within two years/,
    ],
  },
  "the same in a zone without changes is none": { until: [weekly("30 2 * * *", "30m", "UTC")], warns: [] },
  "a deny of short entries lapses where clocks go back": {
    until: [denying([{ schedule: "0,30 2 * * *", duration: "30m" }])],
    warns: [/ clock-change-moves: /, / clock-change-length: /],
  },
  "times that have passed": {
    until: [{ name: "w", window: { allow: [once("2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z")] } }],
    warns: [/^until\[0\]\.window window-never-opens: never opens again: all of its times have passed$/],
  },
  "a freeze of last year": {
    until: [denying([once("2025-12-18", "2026-01-04")])],
    warns: [/^until\[0\]\.window deny-has-passed: denies nothing any more: all times of deny have passed$/],
  },
  "a freeze of last year beside a window": {
    until: [denying([once("2025-12-18", "2026-01-04")], [FRIDAY])],
    warns: [/ deny-has-passed: /],
  },
  "a freeze of this year beside that of last year": {
    until: [denying([once("2025-12-18", "2026-01-04"), once("2026-12-18", "2027-01-04")])],
    warns: [],
  },
  "a deny that covers every allow": {
    until: [denying([{ schedule: "0 0 * * *", duration: "25h" }], [FRIDAY])],
    warns: [/ deny-covers-allow: never opens again, because deny covers all of allow$/],
  },
  "a deny that covers every allow for some time only": {
    until: [denying([once("2026-01-01T00:00:00Z", "2028-01-01T00:00:00Z")], [FRIDAY])],
    warns: [],
  },
  "a deny that goes on for decades": {
    until: [denying([once("2026-01-01", "2100-01-01")])],
    warns: [
      /^until\[0\]\.window window-opens-late: does not open before Fri 2100-01-01 00:00 \+01:00, which is more than two years ahead$/,
    ],
  },
  "a deny that goes on for decades beside a window": {
    until: [denying([once("2026-01-01T00:00:00Z", "2100-01-01T00:00:00Z")], [FRIDAY])],
    warns: [/ window-opens-late: does not open before Fri 2100-01-01 /],
  },
  "a deny of every time": {
    until: [denying([{ schedule: "0 0 * * *", duration: "25h" }])],
    warns: [/ deny-covers-allow: never opens again, because deny covers every time$/],
  },
  "windows that are never open together": {
    until: [weekly("0 22 * * FRI", "8h"), weekly("0 10 * * MON", "8h")],
    warns: [/^until\[0\]\.window windows-never-meet: the windows on-fri, on-mon of the rule are never open/],
  },
  "windows that meet now and then": {
    until: [weekly("0 22 * * FRI", "8h"), weekly("0 0 13 * *", "24h")],
    warns: [],
  },
  "windows of which one is enough": {
    until: [{ name: "any", anyOf: [weekly("0 22 * * FRI", "8h"), weekly("0 10 * * MON", "8h")] }],
    warns: [],
  },
  "a window within anyOf": {
    until: [{ name: "any", anyOf: [weekly("0 22 * * FRI", "8h"), weekly("0 2 * * *", "1h")] }],
    warns: [/^until\[0\]\.anyOf\[1\]\.window clock-change-moves: /],
  },
};

for (const [name, { until, warns }] of Object.entries(CASES)) {
  test(`time lint: ${name}`, () => {
    const rules: readonly RuleSpec[] = [rule({ until: [...until] })];
    const told = timeWarnings(rules, NOW).map(
      ({ path, id, message }) => `${path.replace("spec.rules[0].", "")} ${id}: ${message}`,
    );
    assert.equal(told.length, warns.length, told.join("\n"));
    for (const [index, pattern] of warns.entries()) assert.match(told[index] ?? "", pattern);
  });
}
