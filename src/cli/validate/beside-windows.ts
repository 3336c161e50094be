/** Finds policies for the same Clusters whose windows are never open at the same time, so that the hook never proceeds. */

import type { WindowGateSpec } from "../../api/hook-policy.ts";
import type { HookName } from "../../api/runtime-hooks.ts";
import { policyName } from "../../policy/policy-ref.ts";
import { WINDOWS_CONFLICT } from "../../policy/validation/accepted.ts";
import { compileWindow } from "../../policy/window/window.ts";
import { windowProblems } from "../../policy/window/window-check.ts";
import type { SourceObject } from "../files/load.ts";
import { policyKind, viewPolicy } from "../fleet/kinds.ts";
import { type Beside, mayShare, type Selection, selectionOf } from "./beside-rollouts.ts";
import { meets } from "./time-lint.ts";

/** A window that must be open for the rule. */
interface PlacedWindow {
  readonly source: SourceObject;
  readonly policy: string;
  readonly selection: Selection;
  readonly gate: string;
  readonly path: string;
  readonly hooks: readonly HookName[];
  readonly spec: WindowGateSpec;
  readonly text: string;
}

/** `sources`: without errors. */
export function besideWindows(sources: readonly SourceObject[], now: Date): readonly Beside[] {
  const windows = sources.flatMap(windowsIn);
  const meet = meeting(now);
  return windows.flatMap((window, index) => {
    const other = windows.slice(0, index).find((each) => conflict(each, window) && !meet(each, window));
    if (other === undefined) return [];
    const { source, path } = window;
    const hook = window.hooks.find((each) => other.hooks.includes(each));
    const place = `${other.source.file}:${other.source.position(other.path).line}`;
    const message = `is never open at the same time as window ${other.gate} of ${other.policy} (${place}) in the next two years: a Cluster that both select waits at ${hook} until then. Make them overlap, or make their selectors exclude each other`;
    return [{ source, path, id: WINDOWS_CONFLICT, message }];
  });
}

function windowsIn(source: SourceObject): readonly PlacedWindow[] {
  const kind = policyKind(source.object);
  if (kind === undefined) return [];
  const { metadata, spec } = viewPolicy(kind, source.object);
  if (spec.mode === "Audit") return [];
  const selection = selectionOf(kind, { metadata, spec });
  const policy = policyName({ kind, ...metadata });
  return spec.rules.flatMap(({ hooks, matchConditions = [], until = [] }, rule) =>
    until.flatMap(({ name: gate, window }, index): PlacedWindow[] => {
      // A condition can make the rules exclude each other.
      if (window === undefined || matchConditions.length > 0 || windowProblems(window).length > 0) return [];
      const path = `spec.rules[${rule}].until[${index}].window`;
      return [{ source, policy, selection, gate, path, hooks, spec: window, text: JSON.stringify(window) }];
    }),
  );
}

function conflict(a: PlacedWindow, b: PlacedWindow): boolean {
  return (
    a.source !== b.source &&
    a.policy !== b.policy &&
    a.text !== b.text &&
    a.hooks.some((hook) => b.hooks.includes(hook)) &&
    mayShare(a.selection, b.selection)
  );
}

/** Remembers by texts: many policies have the same few windows. A window that never opens has a warning of its own. */
function meeting(now: Date): (a: PlacedWindow, b: PlacedWindow) => boolean {
  const known = new Map<string, boolean>();
  return (a, b) => {
    const key = `${a.text} ${b.text}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const windows = [a, b].map(({ spec }) => compileWindow(spec));
    const met = windows.some((each) => each.nextOpen(now) === undefined) || meets(windows, now) !== false;
    known.set(key, met);
    return met;
  };
}
