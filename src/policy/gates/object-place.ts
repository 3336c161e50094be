/** Where an object gate looks, which is one namespace, or those that its namespaceSelector selects. */

import type { ObjectGateSpec } from "../../api/hook-policy.ts";
import type { LabelSelector, StoredNamespace } from "../../api/meta.ts";
import { exhausted } from "../budget.ts";
import { meter } from "../cel/meter.ts";
import type { FoundObjects, ObjectKind, ObjectLook, WatchedObject } from "../watched-objects.ts";
import { type GateResult, NAMESPACE_UNKNOWN, unevaluable } from "../policy.ts";
import { compileSelector, describeSelector, labelsOfNamespace, selected } from "../../api/selector.ts";
import { strictestOf } from "../strict-reasons.ts";
import { describeTooLarge, TOO_LARGE } from "../../views/too-large.ts";
import type { World } from "../world.ts";

/** Each of them is read by itself before a release. */
const MAX_NAMESPACES = 100;

export interface Place {
  readonly namespaces: readonly string[];
  /** For messages: "namespace team-a". */
  readonly where: string;
  /** Why missing objects prove nothing. */
  readonly doubt?: { readonly met: false | undefined; readonly reason: string; readonly observed: string };
}

export interface PlaceFinder {
  /** For messages, if the place is unknown. */
  readonly where: string;
  /** Charges the steps of the search. */
  readonly find: (world: World, wanted: string) => Place | GateResult;
}

export function compilePlaces({ namespace, namespaceSelector }: ObjectGateSpec): PlaceFinder {
  if (namespaceSelector !== undefined) return selectedPlaces(namespaceSelector);
  return { where: "", find: (world) => onePlace(namespace, world) };
}

/** In a namespace that is being deleted, or does not exist, nothing is left, which proves nothing. */
function onePlace(given: string | undefined, world: World): Place {
  const own = world.cluster.metadata.namespace ?? "";
  const name = given ?? own;
  const doubt = name === own ? doubtOfOwn(world) : doubtOfOther(name, world);
  return { namespaces: [name], where: `namespace ${name}`, ...(doubt !== undefined && { doubt }) };
}

function doubtOfOwn({ namespace }: World): Place["doubt"] {
  if (namespace !== undefined) return doubtOfGoing(namespace, "its namespace");
  return { met: undefined, reason: NAMESPACE_UNKNOWN, observed: "the Namespace is not known" };
}

function doubtOfOther(name: string, { namespaces }: World): Place["doubt"] {
  if (namespaces === undefined) return NAMESPACES_UNKNOWN;
  const namespace = namespaces.get(name);
  if (namespace !== undefined) return doubtOfGoing(namespace, "the namespace");
  const observed = "there is no such Namespace, so missing objects prove nothing";
  return { met: undefined, reason: "NoSuchNamespace", observed };
}

/** Of a namespace that is too large, memory does not even know which objects of a kind it lacks. */
function doubtOfGoing({ metadata, tooLarge }: StoredNamespace, which: string): Place["doubt"] {
  if (tooLarge === true) return tooLargeFor(metadata.name);
  return metadata.deletionTimestamp === undefined ? undefined : terminating(which);
}

function tooLargeFor(namespace: string): NonNullable<Place["doubt"]> {
  return { met: undefined, reason: TOO_LARGE, observed: describeTooLarge(namespace) };
}

const NAMESPACES_UNKNOWN = {
  met: undefined,
  reason: "NamespacesUnknown",
  observed: "the Namespaces are not known",
} as const;

function terminating(which: string): NonNullable<Place["doubt"]> {
  const observed = `${which} is being deleted, so missing objects prove nothing`;
  return { met: false, reason: "NamespaceTerminating", observed };
}

/** A selector with a misspelt label must not prove that nothing is left. */
const NONE_SELECTED = {
  met: undefined,
  reason: "NoNamespaceSelected",
  observed: "namespaceSelector selects no Namespace, so missing objects prove nothing",
} as const;

function selectedPlaces(selector: LabelSelector): PlaceFinder {
  const selects = compileSelector(selector);
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const parts = 1 + Object.keys(matchLabels).length + matchExpressions.length;
  const text = describeSelector(selector);
  const where = text === "" ? "all namespaces" : `the namespaces with ${text}`;
  const find: PlaceFinder["find"] = ({ namespaces }, wanted) => {
    if (namespaces === undefined) return { ...NAMESPACES_UNKNOWN, wanted };
    const all = [...namespaces.list()];
    // A label that is compared costs as much as a letter.
    if (!meter.affordText(all.length * parts)) return exhausted();
    const places = all.filter((each) => selected(selects, labelsOfNamespace(each)) !== "no");
    if (places.length > MAX_NAMESPACES) {
      const problem = `namespaceSelector selects more than ${MAX_NAMESPACES} namespaces: narrow it`;
      return unevaluable("TooManyNamespaces", wanted, problem);
    }
    const doubts = places.flatMap((each) => doubtOfGoing(each, "a selected namespace") ?? []);
    const doubt = places.length === 0 ? NONE_SELECTED : strictestOf(doubts);
    const names = places.map(({ metadata }) => metadata.name).toSorted();
    return { namespaces: names, where, ...(doubt !== undefined && { doubt }) };
  };
  return { where, find };
}

/** The objects of all these namespaces; unknown if they are unknown in one of them. */
export function findObjects(
  { objects }: World,
  kind: ObjectKind,
  namespaces: readonly string[],
  look: ObjectLook,
): FoundObjects {
  const found: WatchedObject[] = [];
  for (const namespace of namespaces) {
    const part = objects.find(kind, namespace, look);
    if (!part.ok || !part.namespaced || namespaces.length === 1) return part;
    for (const object of part.objects) found.push(object);
  }
  return { ok: true, namespaced: true, objects: found };
}
