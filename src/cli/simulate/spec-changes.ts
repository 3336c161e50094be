/** Lists what changes in the specs of policies, overrides and rollouts, and which of it no Cluster shows. */

import { isDeepStrictEqual } from "node:util";
import { type Fields, fieldsOf, isFields, listOf } from "../../lib/fields.ts";
import { namespacedName } from "../../lib/keys.ts";
import type { Override } from "../../policy/world.ts";
import { storedSpec } from "../../policy/validation/schema.ts";
import { ownKind, type RawObject, titleOf } from "../fleet/kinds.ts";
import type { AnswerRule } from "./answer.ts";
import type { SimulatedChange } from "./change.ts";

export interface FieldChange {
  /** Such as rules[backup].until[fresh].object.minCount. */
  readonly path: string;
  /** Absent: the field is added. */
  readonly before?: unknown;
  /** Absent: the field is removed. */
  readonly after?: unknown;
}

export interface SpecChange {
  /** Such as HookPolicy team-a/backups. */
  readonly object: string;
  readonly change: "added" | "removed" | "changed";
  /** The innermost fields that differ, of an object that is changed. */
  readonly fields: readonly FieldChange[];
}

/** Specs by the names of their objects. */
type Specs = ReadonlyMap<string, unknown>;

export function specChanges(before: readonly RawObject[], after: readonly RawObject[]): SpecChange[] {
  const [old, now] = [specsIn(before), specsIn(after)];
  return [...new Set([...old.keys(), ...now.keys()])].toSorted().flatMap((object): SpecChange[] => {
    if (!old.has(object)) return [{ object, change: "added", fields: [] }];
    if (!now.has(object)) return [{ object, change: "removed", fields: [] }];
    const fields = fieldChanges(old.get(object), now.get(object), "");
    return fields.length === 0 ? [] : [{ object, change: "changed", fields }];
  });
}

/**
 * The rules with a change that can change their answer: "HookPolicy team-a/backups backup". A rule without a name stands for
 * all of its policy, a name without a rule for a rollout.
 */
export function changedRules(before: readonly RawObject[], after: readonly RawObject[]): ReadonlySet<string> {
  const [old, now] = [judgedIn(before), judgedIn(after)];
  const changed = [...old.keys(), ...now.keys()].filter(
    (rule) => !isDeepStrictEqual(old.get(rule), now.get(rule)),
  );
  return new Set(changed);
}

export function ruleKey(holder: string, rule: string): string {
  return `${holder} ${rule}`;
}

/** What decides about the answer of each rule: everything but its texts. */
function judgedIn(objects: readonly RawObject[]): Specs {
  const judged = [...specsIn(objects)].flatMap(([holder, spec]): [string, unknown][] => {
    const { rules, ...others } = fieldsOf(spec);
    const whole: [string, unknown] = [ruleKey(holder, ""), spec];
    const each = listOf(rules)
      .map(fieldsOf)
      .map(({ message: _, retryAfterSeconds: _retry, ...rule }): [string, unknown] => [
        ruleKey(holder, String(rule["name"])),
        [others, rule],
      ]);
    return [whole, ...each];
  });
  return new Map(judged);
}

/** The last object of a name counts. */
function specsIn(objects: readonly RawObject[]): Specs {
  return new Map(
    objects.flatMap((object): [string, unknown][] => {
      const kind = ownKind(object);
      return kind === undefined ? [] : [[titleOf(object), storedSpec(kind, object["spec"])]];
    }),
  );
}

function fieldChanges(before: unknown, after: unknown, path: string): readonly FieldChange[] {
  if (isDeepStrictEqual(before, after)) return [];
  const [old, now] = [partsOf(before), partsOf(after)];
  if (old === undefined || now === undefined) {
    return [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }];
  }
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((part) =>
    fieldChanges(old.get(part), now.get(part), `${path}${part}`.replace(/^\./, "")),
  );
}

/** The fields of an object, or the items of a list in which each has a name; `undefined`: it is shown as a whole. */
function partsOf(value: unknown): Specs | undefined {
  if (isFields(value)) return new Map(Object.entries(value).map(([key, field]) => [keyText(key), field]));
  if (!Array.isArray(value) || !value.every(hasName)) return undefined;
  return new Map(value.map((item) => [`[${item.name}]`, item]));
}

/** As in paths of errors: metadata.labels[example.com/tier]. */
function keyText(key: string): string {
  return /^\w+$/.test(key) ? `.${key}` : `[${key}]`;
}

function hasName(value: unknown): value is Fields & { readonly name: string } {
  return isFields(value) && typeof value["name"] === "string";
}

/**
 * "HookPolicy team-a/backups fresh". Only what Clusters show now is compared, so the rule can be looser or stricter all the
 * same: for example, for an approval that none of them has yet. `changed`: by changedRules().
 */
export function unseenChanges(
  changed: ReadonlySet<string>,
  specs: readonly SpecChange[],
  changes: readonly SimulatedChange[],
  overrides: readonly Override[],
): readonly string[] {
  const lifting = overrides.filter(
    ({ clusterRef, hooks, problem }) =>
      problem === undefined &&
      changes.some(({ cluster, hook }) => cluster === namespacedName(clusterRef) && hooks.has(hook)),
  );
  const lifted = lifting.map(({ name }) => ruleKey(`HookOverride ${name}`, ""));
  const seen = new Set([...changes.flatMap(rulesIn), ...lifted]);
  // A new policy or rollout can only hold more, a new override only less.
  const edited = specs
    .filter(({ object, change }) => change !== "added" || object.startsWith("HookOverride "))
    .map(({ object }) => object);
  return edited.flatMap((object) => {
    const all = [...changed].filter((key) => key.startsWith(`${object} `) && isOne(key, object));
    return all.filter((key) => !seen.has(key)).map((key) => key.trimEnd());
  });
}

/** A rollout or an override has no rules, and counts as a whole; of a policy, each rule counts. */
function isOne(key: string, object: string): boolean {
  return /^Hook(?:Rollout|Override) /.test(object) === (key === ruleKey(object, ""));
}

/** The rules of which the answers differ, or that are the doubt. */
function rulesIn({ before, after, doubts = [] }: SimulatedChange): readonly string[] {
  // The same rule with the same reason no longer holds, or now does, when its policy's mode changes.
  const isOther = before.holds !== after.holds;
  const [old, now] = [before, after].map(({ rules }) => new Set(rules.map(textOf)));
  const differing = [
    ...before.rules.filter((rule) => isOther || now?.has(textOf(rule)) === false),
    ...after.rules.filter((rule) => isOther || old?.has(textOf(rule)) === false),
  ];
  return [...differing, ...doubts].map(({ policy, rule }) =>
    ruleKey(policy, policy.startsWith("HookRollout ") ? "" : rule),
  );
}

function textOf({ policy, rule, gate, reason }: AnswerRule): string {
  return JSON.stringify([policy, rule, gate, reason]);
}
