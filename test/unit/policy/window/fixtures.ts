/** Windows. */

import type { WindowEntry, WindowGateSpec } from "../../../../src/api/hook-policy.ts";

export const WEEKEND: WindowGateSpec = {
  timeZone: "Europe/Berlin",
  allow: [{ schedule: "0 22 * * FRI", duration: "8h" }],
  deny: [{ from: "2026-12-20T00:00:00Z", to: "2027-01-06T00:00:00Z" }],
};

export function daily(schedule: string, timeZone: string, duration = "10m"): WindowGateSpec {
  return { timeZone, allow: [{ schedule, duration }] };
}

export function once(from: string, to: string): WindowEntry {
  return { from, to };
}
