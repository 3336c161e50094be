/** Lists the windows of policies and of the stages of rollouts, and their next openings. */

import type { RuleSpec, WindowGateSpec } from "../../api/hook-policy.ts";
import { timestamp } from "../../lib/instant.ts";
import { type HolderRef, policyName } from "../../policy/policy-ref.ts";
import { validatePolicy } from "../../policy/validation/schema.ts";
import { checkRollout } from "../../policy/validation/rollout-semantics.ts";
import { checkRules } from "../../policy/validation/semantics.ts";
import type { Colour } from "../terminal/colour.ts";
import { holderRef, type RawObject, viewPolicy, viewRollout } from "../fleet/kinds.ts";
import { DENIES_NOTHING, denyHasPassed, type Opening, openingsOf, searchEndOf } from "./openings.ts";
import { tableLines } from "../terminal/table.ts";
import { durationText } from "../../lib/duration.ts";
import { instantText } from "../terminal/time-text.ts";
import { paragraphs } from "../terminal/tree.ts";

export interface PolicyWindow {
  readonly policy: HolderRef;
  /** Of a HookRollout, the stage. */
  readonly rule: string;
  readonly gate: string;
  readonly spec: WindowGateSpec;
}

export interface WindowHolder {
  readonly policy: HolderRef;
  /** Absent: the policy or rollout has errors, so its windows are unknown. */
  readonly windows?: readonly PolicyWindow[];
}

/** Keeps the order of the objects, rules or stages, and gates. */
export function windowsIn(objects: readonly RawObject[]): readonly WindowHolder[] {
  return objects.flatMap((raw) => {
    const policy = holderRef(raw);
    if (policy === undefined) return [];
    const parts = validatePolicy(policy.kind, raw).length > 0 ? undefined : partsOf(policy.kind, raw);
    return parts === undefined
      ? [{ policy }]
      : [{ policy, windows: parts.flatMap((part) => windowsOf(policy, part)) }];
  });
}

type GatedPart = Pick<RuleSpec, "name" | "until">;

/** The rules of a policy or the stages of a rollout; `undefined`: it has errors. */
function partsOf(kind: HolderRef["kind"], raw: RawObject): readonly GatedPart[] | undefined {
  if (kind === "HookRollout") {
    const { spec } = viewRollout(raw);
    return checkRollout(spec, []).errors.length > 0 ? undefined : (spec.stages ?? []);
  }
  const { rules } = viewPolicy(kind, raw).spec;
  return checkRules(rules, []).errors.length > 0 ? undefined : rules;
}

function windowsOf(policy: HolderRef, { name: rule, until = [] }: GatedPart): readonly PolicyWindow[] {
  return until
    .flatMap((gate) => [
      gate,
      ...(gate.anyOf ?? []).map((member) => ({ ...member, name: `${gate.name}/${member.name}` })),
    ])
    .flatMap(({ name: gate, window: spec }) => (spec === undefined ? [] : [{ policy, rule, gate, spec }]));
}

/** "protect" in any namespace, and "team-a/protect". */
export function namesOfHolder({ namespace, name }: HolderRef): readonly string[] {
  return namespace === undefined ? [name] : [name, `${namespace}/${name}`];
}

export interface ListedWindow extends PolicyWindow {
  readonly openings: readonly Opening[];
  readonly denyHasPassed: boolean;
  /** The search gave up here, and what comes after is not known. */
  readonly searchedUntil: Date | undefined;
}

export function listOpenings(
  windows: readonly PolicyWindow[],
  from: Date,
  count: number,
): readonly ListedWindow[] {
  return windows.map((window) => {
    const openings = openingsOf(window.spec, from, count);
    return {
      ...window,
      openings,
      denyHasPassed: denyHasPassed(window.spec, from),
      searchedUntil: searchEndOf(window.spec, from, openings),
    };
  });
}

/** `zone`: the one to print in; by default each window's own. */
export function windowsLines(
  listed: readonly ListedWindow[],
  zone: string | undefined,
  colour: Colour,
): string[] {
  return paragraphs(listed.map((window) => windowLines(window, zone, colour)));
}

function windowLines(
  { policy, rule, gate, spec, openings, denyHasPassed: isPast, searchedUntil }: ListedWindow,
  zone: string | undefined,
  colour: Colour,
): string[] {
  const own = spec.timeZone ?? "UTC";
  const shown = zone === undefined || zone === own ? own : `${own}, shown in ${zone}`;
  const part = policy.kind === "HookRollout" ? "stage" : "rule";
  const heading = `${colour.bold(policyName(policy))}, ${part} ${rule}, gate ${gate} (${shown})`;
  const text = (instant: Date): string => instantText(instant, zone ?? own);
  const later = searchedUntil === undefined ? "never" : `not before ${text(searchedUntil)}`;
  const rows = openings.map(({ opensAt, isOpen, closesAt, notes }) => [
    isOpen ? colour.green("open") : text(opensAt),
    closesAt === undefined ? later : text(closesAt),
    closesAt === undefined || isOpen ? "" : durationText(closesAt.getTime() - opensAt.getTime()),
    ...(notes.length === 0 ? [] : [colour.yellow("*")]),
  ]);
  const notes = openings
    .filter(({ notes: each }) => each.length > 0)
    .map(({ opensAt, notes: each }) => `${colour.yellow("*")} ${text(opensAt)}: ${each.join(", ")}`);
  const past = isPast ? [colour.yellow(DENIES_NOTHING)] : [];
  const table = tableLines(["OPENS", "CLOSES", "LASTS", ""], rows.length === 0 ? [[later]] : rows);
  return [heading, ...table, ...notes, ...past];
}

/** Schema: schemas/output/windows.json. */
export function windowsJson(listed: readonly ListedWindow[]): object {
  const windows = listed.map(({ policy, rule, gate, spec: { timeZone }, openings, searchedUntil }) => ({
    policy,
    rule,
    gate,
    ...(timeZone !== undefined && { timeZone }),
    openings: openings.map(({ opensAt, closesAt, ...rest }) => ({
      opensAt: timestamp(opensAt),
      ...(closesAt !== undefined && { closesAt: timestamp(closesAt) }),
      ...rest,
    })),
    ...(searchedUntil !== undefined && { searchedUntil: timestamp(searchedUntil) }),
  }));
  return { windows };
}
