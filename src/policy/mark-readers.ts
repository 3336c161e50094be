/** Which labels and annotations of Clusters and Namespaces a spec reads: by its selectors, gates and expressions. */

import { byText } from "../lib/compare-text.ts";
import { entryOf } from "../lib/entry-of.ts";
import { type Fields, fieldsOf, isFields, listOf } from "../lib/fields.ts";
import { isExpressionField } from "./tasks/template-text.ts";
import { readBy } from "./gates/gates.ts";
import { type Mark, type MarkReaders, placeOf } from "./mark.ts";

/** A ClusterHookPolicy, a HookRollout or an ExtensionConfig, valid or not. */
export interface Reader {
  /** "ClusterHookPolicy freeze" */
  readonly name: string;
  readonly spec: unknown;
}

type Reads = Readonly<Record<"gates" | "selectors", Set<string>>>;

/** If several read a mark, the first by name is named, so that every replica says the same. */
export function markReaders(readers: Iterable<Reader>, complete = false): MarkReaders {
  const found = { gates: new Map<string, string>(), selectors: new Map<string, string>() };
  for (const { name, spec } of [...readers].toSorted(byText((each) => each.name)))
    for (const by of ["gates", "selectors"] as const)
      for (const place of readsOf(spec)[by]) entryOf(found[by], place, () => name);
  return { ...found, complete };
}

const remembered = new WeakMap<object, Reads>();

function readsOf(spec: unknown): Reads {
  if (!isFields(spec)) return { gates: new Set(), selectors: new Set() };
  const known = remembered.get(spec);
  if (known !== undefined) return known;
  const reads = { gates: new Set<string>(), selectors: new Set<string>() };
  collect(spec, reads);
  remembered.set(spec, reads);
  return reads;
}

type On = Mark["on"];

const SELECTED: Readonly<Record<string, On>> = { clusterSelector: "Cluster", namespaceSelector: "Namespace" };
const LABEL_KEYS: ReadonlySet<string> = new Set(["labelKey", "orderLabelKey"]);

/** Looks at every field by its name, so that a new place for a gate or a selector is found, too. Each kind of gate says what it reads. */
function collect(fields: Fields, reads: Reads): void {
  for (const [name, value] of Object.entries(fields)) {
    const on = SELECTED[name];
    if (on !== undefined) addLabels(on, keysOf(value), reads.selectors);
    else if (LABEL_KEYS.has(name))
      addLabels(fields["from"] === "Namespace" ? "Namespace" : "Cluster", [value], reads.selectors);
    else {
      for (const place of readBy(name, value)) reads.gates.add(placeOf(place));
      for (const each of [value].flat()) collectValue(name, each, reads);
    }
  }
}

function collectValue(name: string, value: unknown, reads: Reads): void {
  if (typeof value === "string" && isExpressionField(name, value)) addMentions(value, reads.gates);
  if (isFields(value)) collect(value, reads);
}

function addLabels(on: On, keys: readonly unknown[], places: Set<string>): void {
  for (const key of keys) if (typeof key === "string") places.add(placeOf({ on, field: "label", key }));
}

function keysOf(selector: unknown): readonly unknown[] {
  const { matchLabels, matchExpressions } = fieldsOf(selector);
  return [
    ...Object.keys(fieldsOf(matchLabels)),
    ...listOf(matchExpressions).map((each) => fieldsOf(each)["key"]),
  ];
}

/** What could be a key in the text of an expression, and each part of a chain of fields. Too many is safe. */
function addMentions(expression: string, places: Set<string>): void {
  const words = expression.match(/[A-Za-z0-9](?:[-\w./]*[A-Za-z0-9])?/g) ?? [];
  for (const key of words.flatMap((word) => [word, ...word.split(".")]))
    for (const on of ["Cluster", "Namespace"])
      for (const field of ["annotation", "label"]) places.add(placeOf({ on, field, key }));
}
