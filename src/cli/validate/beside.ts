/** Finds what objects of the files mean for others beside them. */

import { STEP_HOOKS } from "../../api/hook-catalog.ts";
import type { HookRollout, RuleSpec } from "../../api/hook-policy.ts";
import { type LabelSelector, NAMESPACE_NAME } from "../../api/meta.ts";
import type { HookName } from "../../api/runtime-hooks.ts";
import type { PolicyObject } from "../../memory/policy-set.ts";
import { policyName } from "../../policy/policy-ref.ts";
import { KEPT_SLOT, SHARED_CLUSTERS, WINDOWS_CONFLICT } from "../../policy/validation/accepted.ts";
import { BEGINS } from "../../operations/beginnings.ts";
import { areDisjoint } from "../../policy/validation/selector-overlap.ts";
import { compileWindow } from "../../policy/window/window.ts";
import { clusterProblems, isPlace, type SourceError, type UnbuiltFiles } from "../fleet/cluster-files.ts";
import { emptySelections, missingNamespaces, clusterPlaces, unknownSelection } from "../fleet/selections.ts";
import { Fleet, type FleetOptions } from "../fleet/fleet.ts";
import { knownTo, namesNothing } from "../fleet/idle-overrides.ts";
import { isCluster, ownKind, policyKind, viewOverride, viewPolicy, viewRollout } from "../fleet/kinds.ts";
import { entryOf } from "../../lib/entry-of.ts";
import { isAlone, type PlacedWindow, placedWindows } from "./time-lint.ts";
import { meets } from "../windows/openings.ts";
import type { SourceObject } from "../files/parsed.ts";

interface BesideOptions extends FleetOptions {
  readonly unbuilt: UnbuiltFiles;
}

/** `sound`: without errors. */
export function besides(
  sources: readonly SourceObject[],
  sound: readonly SourceObject[],
  options: BesideOptions,
): readonly SourceError[] {
  const policies = policiesIn(sound);
  const rollouts = rolloutsIn(sound);
  return [
    ...besideRollouts(rollouts, policies),
    ...besideWindows([...policies.flatMap(windowsIn), ...rollouts.flatMap(windowsOfStages)], options.now),
    ...besideClusters(sources, sound, options),
    ...besideOverrides(sources, sound, options.now),
  ];
}

type Selection = Partial<Pick<HookRollout["spec"], "namespaceSelector" | "clusterSelector">>;

interface Rollout extends HookRollout {
  readonly source: SourceObject;
}

/** A policy that holds Clusters: one in mode Audit does not. */
interface Policy extends Pick<PolicyObject, "spec"> {
  readonly source: SourceObject;
  readonly name: string;
  readonly selection: Selection;
}

function policiesIn(sources: readonly SourceObject[]): readonly Policy[] {
  return sources.flatMap((source) => {
    const kind = policyKind(source.object);
    if (kind === undefined) return [];
    const { metadata, spec } = viewPolicy(kind, source.object);
    if (spec.mode === "Audit") return [];
    const selection: Selection =
      kind === "HookPolicy" ? { ...spec, namespaceSelector: named(metadata.namespace ?? "default") } : spec;
    return [{ source, name: policyName({ kind, ...metadata }), spec, selection }];
  });
}

function named(namespace: string): LabelSelector {
  return { matchLabels: { [NAMESPACE_NAME]: namespace } };
}

function mayShare(a: Selection, b: Selection): boolean {
  return !(
    areDisjoint(a.namespaceSelector, b.namespaceSelector) || areDisjoint(a.clusterSelector, b.clusterSelector)
  );
}

/** In mode Audit they hold nothing. */
function rolloutsIn(sources: readonly SourceObject[]): readonly Rollout[] {
  return sources
    .filter(({ object }) => ownKind(object) === "HookRollout")
    .map((source): Rollout => ({ ...viewRollout(source.object), source }))
    .filter(({ spec }) => spec.mode !== "Audit");
}

/** Rollouts that share Clusters, and policies that can hold a running upgrade. */
function besideRollouts(rollouts: readonly Rollout[], policies: readonly Policy[]): readonly SourceError[] {
  const upgrades = rollouts.filter(({ spec }) => spec.operation === "Upgrade");
  return [
    ...rollouts.flatMap((rollout, index) => sharedClusters(rollout, rollouts.slice(0, index))),
    ...policies.flatMap((policy) => heldSlots(policy, upgrades)),
  ];
}

function sharedClusters(
  { metadata, spec, source }: Rollout,
  earlier: readonly Rollout[],
): readonly SourceError[] {
  const other = earlier.find(
    (each) =>
      each.metadata.name !== metadata.name &&
      each.spec.operation === spec.operation &&
      mayShare(each.spec, spec),
  );
  if (other === undefined) return [];
  const message = `selects Clusters that HookRollout ${other.metadata.name} (${placeOf(other.source)}) may select for ${spec.operation}, too: such a Cluster waits for a slot of each. Make their selectors exclude each other, or make one rollout of them`;
  return [{ source, path: "spec.namespaceSelector", id: SHARED_CLUSTERS, message }];
}

function placeOf(source: SourceObject, path = "metadata.name"): string {
  return `${source.file}:${source.position(path).line}`;
}

const WITHIN_UPGRADE: readonly HookName[] = [...STEP_HOOKS, "AfterClusterUpgrade"];

function heldSlots(
  { source, spec, selection }: Policy,
  upgrades: readonly Rollout[],
): readonly SourceError[] {
  const rollout = upgrades.find((each) => mayShare(each.spec, selection));
  if (rollout === undefined) return [];
  return spec.rules.flatMap(({ hooks, until }, index) => {
    const at = hooks.findIndex((hook) => WITHIN_UPGRADE.includes(hook));
    if (until === undefined || at < 0) return [];
    const message = `a Cluster that this rule holds at ${hooks[at]} keeps its slot of HookRollout ${rollout.metadata.name} (${placeOf(rollout.source)}), and counts as failed after progressDeadline, ${rollout.spec.progressDeadline}. Its gates must not wait for other Clusters`;
    return [{ source, path: `spec.rules[${index}].hooks[${at}]`, id: KEPT_SLOT, message }];
  });
}

interface HoldingWindow extends PlacedWindow {
  readonly holder: Pick<Policy, "source" | "name">;
  /** A Cluster has to be in all of them. */
  readonly selections: readonly Selection[];
  readonly hooks: readonly HookName[];
  readonly text: string;
}

/** For the same Clusters, and never open at the same time, so that the hook never proceeds. */
function besideWindows(windows: readonly HoldingWindow[], now: Date): readonly SourceError[] {
  const meet = meeting(now);
  return windows.flatMap((window, index) => {
    const other = windows.slice(0, index).find((each) => conflict(each, window) && !meet(each, window));
    if (other === undefined) return [];
    const { holder, path } = window;
    const hook = window.hooks.find((each) => other.hooks.includes(each));
    const place = placeOf(other.holder.source, other.path);
    const message = `is never open at the same time as window ${other.name} of ${other.holder.name} (${place}) in the next two years: a Cluster that both select waits at ${hook} until then. Make them overlap, or make their selectors exclude each other`;
    return [{ source: holder.source, path, id: WINDOWS_CONFLICT, message }];
  });
}

function windowsIn(policy: Policy): readonly HoldingWindow[] {
  return policy.spec.rules.flatMap((rule, index) => {
    // A condition can make the rules exclude each other.
    if ((rule.matchConditions ?? []).length > 0) return [];
    return windowsAt(rule, `spec.rules[${index}]`, {
      holder: policy,
      selections: [policy.selection],
      hooks: rule.hooks,
    });
  });
}

function windowsOfStages({ metadata, spec, source }: Rollout): readonly HoldingWindow[] {
  const holder = { source, name: `HookRollout ${metadata.name}` };
  return (spec.stages ?? []).flatMap((stage, index) => {
    // What earlier stages leave is unknown.
    if (index > 0 && stage.clusterSelector === undefined && stage.namespaceSelector === undefined) return [];
    const selections = [spec, stage];
    return windowsAt(stage, `spec.stages[${index}]`, { holder, selections, hooks: [BEGINS[spec.operation]] });
  });
}

function windowsAt(
  gated: Pick<RuleSpec, "until">,
  path: string,
  rest: Pick<HoldingWindow, "holder" | "selections" | "hooks">,
): readonly HoldingWindow[] {
  const windows = placedWindows(gated, path).filter(isAlone);
  return windows.map((each) => ({ ...each, ...rest, text: JSON.stringify(each.spec) }));
}

function conflict(a: HoldingWindow, b: HoldingWindow): boolean {
  return (
    a.holder.source !== b.holder.source &&
    a.holder.name !== b.holder.name &&
    a.text !== b.text &&
    a.hooks.some((hook) => b.hooks.includes(hook)) &&
    a.selections.every((one) => b.selections.every((other) => mayShare(one, other)))
  );
}

/** Remembers by texts: many policies have the same few windows. A window that never opens has a warning of its own. */
function meeting(now: Date): (a: HoldingWindow, b: HoldingWindow) => boolean {
  const known = new Map<string, boolean>();
  return (a, b) =>
    entryOf(known, `${a.text} ${b.text}`, () => {
      const windows = [a, b].map(({ spec }) => compileWindow(spec));
      return windows.some((each) => each.nextOpen(now) === undefined) || meets(windows, now) !== false;
    });
}

/**
 * What selects none of the Clusters, or of which that is unknown, and Clusters that are not as a cluster would have them: where
 * one is, nothing is said of selectors.
 */
function besideClusters(
  sources: readonly SourceObject[],
  sound: readonly SourceObject[],
  { unbuilt, ...options }: BesideOptions,
): readonly SourceError[] {
  const placed = sources.filter(({ object }) => isPlace(object));
  if (!placed.some(({ object }) => isCluster(object))) return [];
  const unclear = clusterProblems(placed, unbuilt);
  if (unclear.size > 0) {
    const judged = new Set(sound.some(selects) ? sound : []);
    return [...unclear]
      .filter(([source]) => judged.has(source))
      .map(([source, problem]) => ({ source, ...problem, id: "unclear-cluster" }));
  }
  if (placed.some((source) => unbuilt.changed.has(source))) return [];
  const fleet = new Fleet(
    placed.map(({ object }) => object),
    options,
  );
  const [places, missing] = [clusterPlaces(fleet), missingNamespaces(fleet)];
  return sound.flatMap((source) => {
    const found = emptySelections(source.object, places);
    return (found.length > 0 ? found : unknownSelection(source.object, missing)).map((each) => ({
      source,
      ...each,
    }));
  });
}

function selects({ object }: SourceObject): boolean {
  return policyKind(object) !== undefined || ownKind(object) === "HookRollout";
}

/** HookOverrides that name a Cluster, a policy or a rollout that is not beside them. */
function besideOverrides(
  sources: readonly SourceObject[],
  sound: readonly SourceObject[],
  now: Date,
): readonly SourceError[] {
  const overrides = sound.filter(({ object }) => ownKind(object) === "HookOverride");
  if (overrides.length === 0) return [];
  const known = knownTo(sources.map(({ object }) => object));
  return overrides.flatMap((source) => {
    const override = viewOverride(source.object, now);
    // One that has expired is a record, also of what is gone.
    if (new Date(override.spec.expiresAt) <= now) return [];
    return namesNothing(override, known).map((each) => ({ source, ...each }));
  });
}
