/** A gate that holds inside its time windows. */

import type { WindowGateSpec } from "../../api/hookpolicy.ts";
import { timestamp } from "../instant.ts";
import type { CompiledGate, GateResult } from "../policy.ts";
import { affordWindow, exhausted } from "../budget.ts";
import { compileWindow, type Window } from "../window/window.ts";

/** The spec has been checked (semantics.ts). */
export function windowGate(name: string, spec: WindowGateSpec, asks?: number): CompiledGate {
  const window = compileWindow(spec, asks);
  return {
    name,
    windows: [{ gate: name, alone: true, window }],
    evaluate: (_world, _call, now) => evaluate(window, now),
    opensAt: (now) => window.nextOpen(now) ?? "Never",
  };
}

function evaluate(window: Window, now: Date): GateResult {
  if (!affordWindow(window, now)) return exhausted();
  const { open, changesAt } = window.at(now);
  const edge = changesAt === undefined ? {} : { changesAt };
  if (open) {
    const until = changesAt === undefined ? "" : ` until ${timestamp(changesAt)}`;
    return { holds: true, reason: "Holds", wanted: "its window", observed: `open${until}`, ...edge };
  }
  const opening =
    changesAt === undefined ? "which does not open again" : `which opens at ${timestamp(changesAt)}`;
  return {
    holds: false,
    reason: "WindowClosed",
    wanted: `its window, ${opening}`,
    observed: "closed",
    ...edge,
  };
}
