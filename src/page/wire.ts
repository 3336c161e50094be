/** The JSON that the server of `hookpolicy ui` sends to its page. */

import type { DecisionRow, HookRollout, TornDown } from "../api/hook-policy.ts";
import type { Branch, Detail } from "./branch.ts";

export interface About {
  /** The first and the last words of printed commands. */
  readonly program: string;
  readonly connection: string;
  readonly server: string;
  /** The hooks that Cluster API calls, in the order of a Cluster's life. */
  readonly hooks: readonly string[];
}

/** As `hookpolicy get -o json` lists it. */
export interface HeldObject extends Pick<
  DecisionRow,
  "clusterUID" | "hook" | "rule" | "reason" | "message" | "firstAsked" | "since"
> {
  /** namespace/name */
  readonly cluster: string;
  readonly targetVersion?: string | undefined;
  readonly policy: { readonly kind: string; readonly namespace?: string; readonly name: string };
  /** Its first gate that is not met. */
  readonly gate?: string | undefined;
  readonly verdict: "Blocked" | "NotEvaluable";
  /** Absent: time alone does not release it. */
  readonly earliestRelease?: string | undefined;
  /** Others than Cluster API delete what the Cluster owns. */
  readonly tornDown?: TornDown | undefined;
  /** hookpolicy approve can meet the gate. */
  readonly approvable: boolean;
}

export interface HeldRow extends HeldObject {
  /** Releases it, or what it waits for; absent: no command does. */
  readonly command?: string | undefined;
}

export interface RolloutRow {
  readonly object: HookRollout;
  /** A few words for the user. */
  readonly state: string;
}

/** What the server pushes, whole after each change. */
export interface LiveState {
  /** The operation that waits longest comes first. */
  readonly rows: readonly HeldRow[];
  /** Statuses leave out operations that are held. */
  readonly omits?: boolean;
  readonly notes: readonly string[];
  /** What the user may not read. */
  readonly unread: readonly string[];
  readonly rollouts: readonly RolloutRow[];
  /** Why the API server cannot be read at present: the rest is as it was before. */
  readonly lost?: string | undefined;
}

export interface ClusterRow {
  readonly cluster: string;
  readonly version: string;
  readonly phase: string;
  readonly paused: boolean;
}

export interface DrawnSpan {
  readonly verdict: string;
  readonly from: string;
  readonly to: string;
}

/** An explanation as `hookpolicy explain` prints it, before it has lines. */
export interface DrawnExplanation {
  readonly alarm: Branch | undefined;
  readonly notes: readonly string[];
  /** Neither is an operation held, nor does Cluster API hold an upgrade itself. */
  readonly waitsForNothing: boolean;
  readonly operations: readonly DrawnOperation[];
}

export interface DrawnOperation {
  readonly hook: string;
  readonly verdict: string;
  readonly subject: string;
  /** What to do, and when it is released. */
  readonly details: readonly Detail[];
  /** The command that overrides what holds it; absent: nothing does. */
  readonly override: string | undefined;
  /** Policies and rollouts. */
  readonly branches: readonly Branch[];
}

export interface ClusterExplanation extends DrawnExplanation {
  /** The verdicts of the first operation over the time of the slider. */
  readonly spans: readonly DrawnSpan[];
  readonly from: string;
  readonly to: string;
}

export interface Stretch {
  /** Absent: it has begun before the calendar. */
  readonly from?: string;
  /** Absent: it does not end within the calendar. */
  readonly to?: string;
  readonly notes: readonly string[];
}

export interface CalendarWindow {
  readonly policy: string;
  readonly rule: string;
  readonly gate: string;
  readonly zone: string;
  readonly open: readonly Stretch[];
  readonly freezes: readonly Stretch[];
}

export interface Calendar {
  readonly zone: string;
  /** Four weeks of days from Monday on; each begins at this instant. `change`: what its clocks do. */
  readonly days: readonly {
    readonly at: string;
    readonly date: string;
    readonly change?: string | undefined;
  }[];
  readonly end: string;
  readonly windows: readonly CalendarWindow[];
  readonly invalid: readonly string[];
}

export interface PlanAnswer {
  readonly lines: readonly string[];
  /** The same as an SVG. */
  readonly picture: string;
}

/** What is simulated is a list of these. */
export interface GivenFile {
  /** "": it was typed. */
  readonly name: string;
  readonly text: string;
}

export interface SimulationReport {
  readonly warnings: readonly string[];
  /** The lines about what changes in each object, whatever the fleet. */
  readonly objects: readonly (readonly string[])[];
  readonly totals: readonly string[];
  readonly effects: readonly SimulatedEffect[];
}

/** A change of answers, or what a task of the file would do, for the Clusters for which it is the same. */
export interface SimulatedEffect {
  /** "newly blocked", or "task clean" */
  readonly title: string;
  readonly tone: "held" | "audit" | "busy";
  /** The hook, or the request at admission. */
  readonly hook: string;
  readonly facts: readonly (readonly [label: string, text: string])[];
  readonly clusters: readonly string[];
}
