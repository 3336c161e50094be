/** A gate that is met inside its time windows. */

import type { WindowGateSpec } from "../../api/hook-policy.ts";
import { namespacedName } from "../../lib/keys.ts";
import { timestamp } from "../../lib/instant.ts";
import type { CompiledGate, GateResult } from "../policy.ts";
import { affordWindow, exhausted } from "../budget.ts";
import { READS_NOTHING } from "../../api/target-version.ts";
import { compileWindow, type Window } from "../window/window.ts";
import { windowProblems, windowWarnings } from "../window/window-check.ts";
import type { GateKind, GateOwner } from "./gate-kind.ts";

export const windowGate: GateKind<WindowGateSpec> = {
  compile,
  reads: "NoMark",
  check: (spec) => {
    const errors = windowProblems(spec);
    return { errors, warnings: errors.length === 0 ? windowWarnings(spec) : [] };
  },
};

function compile(name: string, spec: WindowGateSpec, { policy, asks }: GateOwner): CompiledGate {
  const window = compileWindow(spec, asks);
  const look = [`hookpolicy windows ${namespacedName(policy)}`];
  return {
    name,
    requestFields: READS_NOTHING,
    windows: [{ gate: name, alone: true, window }],
    evaluate: ({ now }) => evaluate(window, look, now),
    opensAt: (now) => window.nextOpen(now) ?? "Never",
  };
}

function evaluate(window: Window, look: readonly string[], now: Date): GateResult {
  if (!affordWindow(window, now)) return exhausted();
  const { open, changesAt, isSearchEnd } = window.at(now);
  const edge = changesAt === undefined ? {} : { changesAt, ...(isSearchEnd === true && { isSearchEnd }) };
  if (open) {
    const until =
      changesAt === undefined ? "" : ` until ${isSearchEnd ? "at least " : ""}${timestamp(changesAt)}`;
    return { met: true, reason: "Holds", wanted: "its window", observed: `open${until}`, ...edge };
  }
  return {
    met: false,
    reason: "WindowClosed",
    wanted: `its window, which ${opening(changesAt, isSearchEnd)}`,
    observed: "closed",
    look,
    ...edge,
  };
}

function opening(at: Date | undefined, isSearchEnd = false): string {
  if (at === undefined) return "does not open again";
  return isSearchEnd ? `does not open before ${timestamp(at)}` : `opens at ${timestamp(at)}`;
}
