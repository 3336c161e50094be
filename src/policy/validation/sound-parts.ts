/** The parts of rules that fit the schema, so that one error hides none of the others. */

import type {
  AnyOfGateSpec,
  GateSpec,
  MatchCondition,
  RuleSpec,
  TaskSpec,
  WindowEntry,
  WindowGateSpec,
} from "../../api/hook-policy.ts";
import { type FieldError, isWithin } from "./schema.ts";

export interface SoundRule {
  readonly path: string;
  /** Without the parts that do not fit; in a list they are replaced, so that the other items keep their index. */
  readonly rule: RuleSpec;
}

/** A rule with this many errors may have more, which were cut off. */
const MANY = 32;
const NO_GATE: GateSpec = { name: "" };
/** It does nothing. */
const NO_TASK: TaskSpec = { name: "" };
/** The schema admits no empty expression. */
const NO_CONDITION: MatchCondition = { name: "", expression: "" };

export interface GateField {
  readonly gate: AnyOfGateSpec;
  readonly path: string;
}

/** The gates of the rule at the path, each before its members. */
export function gatesOf({ until = [] }: RuleSpec, path: string): readonly GateField[] {
  return until.flatMap((gate, index) => {
    const at = `${path}.until[${index}]`;
    const members = (gate.anyOf ?? []).map((member, i) => ({ gate: member, path: `${at}.anyOf[${i}]` }));
    return [{ gate, path: at }, ...members];
  });
}

/** Leaves out a rule in which nothing can be read. `at`: the path of the list. */
export function soundRules(
  rules: readonly RuleSpec[],
  schemaErrors: readonly FieldError[],
  at = "spec.rules",
): readonly SoundRule[] {
  return rules.flatMap((rule, index): SoundRule[] => {
    const path = `${at}[${index}]`;
    if (schemaErrors.some((each) => isWithin(path, each.path))) return [];
    const mine = schemaErrors.filter((each) => isWithin(each.path, path));
    if (mine.length >= MANY) return [];
    return [{ path, rule: mine.length === 0 ? rule : soundParts(rule, path, mine) }];
  });
}

/** Whether a part of what is at `path` fits, and whether it has the right form, whatever is wrong in it. */
function partsAt(
  path: string,
  errors: readonly FieldError[],
): { readonly fits: (part: string) => boolean; readonly isFormed: (part: string) => boolean } {
  return {
    fits: (part) => !errors.some((each) => isWithin(each.path, `${path}.${part}`)),
    isFormed: (part) => !errors.some((each) => each.path === `${path}.${part}`),
  };
}

function soundParts(rule: RuleSpec, path: string, errors: readonly FieldError[]): RuleSpec {
  const { fits, isFormed } = partsAt(path, errors);
  const { name, hooks, matchConditions, until, tasks } = rule;
  return {
    name,
    hooks: fits("hooks") ? hooks : [],
    ...(matchConditions !== undefined &&
      isFormed("matchConditions") && {
        matchConditions: matchConditions.map((each, i) =>
          fits(`matchConditions[${i}]`) ? each : NO_CONDITION,
        ),
      }),
    ...(until !== undefined &&
      isFormed("until") && {
        until: until.map((gate, i) => soundGate(gate, `${path}.until[${i}]`, errors)),
      }),
    ...(tasks !== undefined &&
      isFormed("tasks") && { tasks: tasks.map((task, i) => (fits(`tasks[${i}]`) ? task : NO_TASK)) }),
  };
}

/** Without the condition that does not fit; of a window, what of it fits. */
function soundGate(gate: GateSpec, path: string, errors: readonly FieldError[]): GateSpec {
  const mine = errors.filter((each) => isWithin(each.path, path));
  if (mine.length === 0) return gate;
  if (mine.some((each) => each.path === path)) return NO_GATE;
  const { window, anyOf, ...conditions } = gate;
  const { fits, isFormed } = partsAt(path, mine);
  const fitting = Object.fromEntries(Object.entries(conditions).filter(([field]) => fits(field)));
  return {
    ...fitting,
    name: fits("name") ? gate.name : "",
    ...(window !== undefined &&
      isFormed("window") && { window: soundWindow(window, `${path}.window`, mine) }),
    ...(anyOf !== undefined &&
      isFormed("anyOf") && {
        anyOf: anyOf.map((each, i) => soundGate(each, `${path}.anyOf[${i}]`, mine)),
      }),
  };
}

/** In the place of what does not fit: nothing that could be wrong, and no `deny` that covers an `allow`. */
const ANY: Readonly<Record<"allow" | "deny", Required<Pick<WindowEntry, "from" | "to" | "duration">>>> = {
  allow: { from: "2000-01-01T00:00:00Z", to: "2000-01-01T00:00:01Z", duration: "1s" },
  deny: { from: "2000-02-01T00:00:00Z", to: "2000-02-01T00:00:01Z", duration: "2s" },
};

function soundWindow(window: WindowGateSpec, path: string, errors: readonly FieldError[]): WindowGateSpec {
  const { fits, isFormed } = partsAt(path, errors);
  /** A schedule that fits stays, whatever is wrong beside it. */
  const soundEntry = (entry: WindowEntry, field: "allow" | "deny", at: string): WindowEntry => {
    if (fits(at)) return entry;
    const { duration, ...once } = ANY[field];
    const { schedule } = isFormed(at) && fits(`${at}.schedule`) ? entry : {};
    return schedule === undefined ? once : { schedule, duration };
  };
  const list = (field: "allow" | "deny"): WindowEntry[] | undefined =>
    isFormed(field)
      ? window[field]?.map((entry, i) => soundEntry(entry, field, `${field}[${i}]`))
      : [soundEntry({}, field, field)];
  const [allow, deny] = [list("allow"), list("deny")];
  const timeZone = fits("timeZone") ? window.timeZone : "UTC";
  return {
    ...(timeZone !== undefined && { timeZone }),
    ...(allow !== undefined && { allow }),
    ...(deny !== undefined && { deny }),
  };
}
