/** What selectors of policies, rollouts and stages do not select, and what is unknown of them without the Namespaces of Clusters. */

import type { HookRolloutSpec } from "../../api/hook-policy.ts";
import { type Cluster, type LabelSelector, NAMESPACE_NAME } from "../../api/meta.ts";
import { firstNames } from "../../lib/first-names.ts";
import { compileSelector, describeSelector, type Labels } from "../../api/selector.ts";
import { NAMESPACE_MISSING, SELECTS_NOTHING } from "../../policy/validation/accepted.ts";
import { didYouMean, nearest, suggested } from "../../lib/did-you-mean.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import { requirementsOf } from "../../policy/validation/selector-overlap.ts";
import { memberOf } from "../../rollouts/member.ts";
import { stopsLaterStages } from "../../rollouts/rollout-conditions.ts";
import { counted } from "../../lib/counted.ts";
import { type Fleet, type FleetRollout, nameOf } from "./fleet.ts";
import { ownKind, policyKind, type RawObject, viewPolicy, viewRollout } from "./kinds.ts";

/** A Cluster, as selectors see it. */
interface Place {
  readonly labels: Labels;
  readonly namespace: string;
  /** Absent: unknown, so that every namespaceSelector may select it. */
  readonly namespaceLabels?: Labels;
}

interface Selection {
  readonly namespaceSelector?: LabelSelector | undefined;
  readonly clusterSelector?: LabelSelector | undefined;
}

export function clusterPlaces(fleet: Fleet): readonly Place[] {
  return fleet.clusters().map(({ metadata: { namespace = "", labels } }) => {
    const found = fleet.namespace(namespace);
    return {
      labels,
      namespace,
      ...(found !== undefined && { namespaceLabels: found.metadata.labels ?? {} }),
    };
  });
}

/** `object`: a valid policy or rollout; others select nothing by themselves. */
export function emptySelections(object: RawObject, places: readonly Place[]): readonly FieldError[] {
  if (ownKind(object) === "HookRollout") return emptyStages(viewRollout(object).spec, places);
  const kind = policyKind(object);
  if (kind === undefined || places.length === 0) return [];
  const { metadata, spec } = viewPolicy(kind, object);
  const effect = "so the policy holds nothing";
  if (kind === "ClusterHookPolicy") return emptiness(spec, places, { at: "spec", effect });
  const { namespace = "default" } = metadata;
  const own = places.filter((place) => place.namespace === namespace);
  if (own.length > 0) return emptiness(spec, own, { at: "spec", effect, of: `of namespace ${namespace}` });
  const used = [...new Set(places.map((place) => place.namespace))];
  const message = `namespace ${namespace} has none of the ${counted(places.length, "Cluster")}, which are in ${firstNames(used)}, ${effect}${didYouMean(namespace, used)}`;
  return [{ path: "metadata.namespace", id: SELECTS_NOTHING, message }];
}

/** Of a valid rollout: itself, or its stages. */
export function emptyStages(spec: HookRolloutSpec, places: readonly Place[]): readonly FieldError[] {
  if (places.length === 0) return [];
  const whole = emptiness(spec, places, { at: "spec", effect: "so the rollout limits nothing" });
  if (whole.length > 0) return whole;
  const { stages = [] } = spec;
  const members = places.filter((place) => selects(spec, place));
  return stages.flatMap((stage, index) => {
    const stops = stopsLaterStages(stage.minSucceeded, index, stages.length);
    const effect = `so stage ${stage.name} has no Cluster${stops ? ", and later stages wait until it does" : ""}`;
    return emptiness(stage, members, {
      at: `spec.stages[${index}]`,
      effect,
      of: "that the rollout may select",
    });
  });
}

interface SelectionText {
  readonly at: string;
  readonly effect: string;
  readonly of?: string;
}

function emptiness(selection: Selection, places: readonly Place[], told: SelectionText): FieldError[] {
  if (places.some((place) => selects(selection, place))) return [];
  const near = places.filter((place) => selectsNamespace(selection, place));
  const ofNamespaces = near.length === 0;
  const { namespaceSelector = {}, clusterSelector = {} } = selection;
  const selector = ofNamespaces ? namespaceSelector : clusterSelector;
  const labels = ofNamespaces
    ? places.map(({ namespaceLabels }) => namespaceLabels)
    : near.map((place) => place.labels);
  const of = told.of === undefined ? "" : ` ${told.of}`;
  const which = ofNamespaces ? "the namespace of none" : "none";
  const message = `${describeSelector(selector)} selects ${which} of the ${counted(labels.length, "Cluster")}${of}, ${told.effect}${instead(selector, labels)}`;
  const field = ofNamespaces ? "namespaceSelector" : "clusterSelector";
  return [{ path: `${told.at}.${field}`, id: SELECTS_NOTHING, message }];
}

function selects(selection: Selection, place: Place): boolean {
  return selectsNamespace(selection, place) && compileSelector(selection.clusterSelector)(place.labels);
}

function selectsNamespace({ namespaceSelector }: Selection, { namespaceLabels }: Place): boolean {
  return namespaceLabels === undefined || compileSelector(namespaceSelector)(namespaceLabels);
}

/** Which labels there are, or the one that may be meant, where no labels meet a requirement. */
function instead(selector: LabelSelector, all: readonly Labels[]): string {
  const wrong = requirementsOf(selector).find(
    (each) => !all.some(compileSelector({ matchExpressions: [each] })),
  );
  if (wrong === undefined) return ": no Cluster meets all of it";
  const { key, values = [] } = wrong;
  const pairs = all.flatMap((labels) => Object.entries(labels ?? {}));
  const ofKey = pairs.filter(([name]) => name === key);
  const there = (ofKey.length > 0 ? ofKey : pairs).map((pair) => pair.join("=")).toSorted();
  const meant = values.map((value) => nearest(`${key}=${value}`, there)).find((each) => each !== undefined);
  if (meant !== undefined) return suggested(meant);
  return there.length === 0 ? ": they have no labels" : `: they have ${firstNames([...new Set(there)])}`;
}

/** `of`: the Namespaces that the answer needs; absent: those of all Clusters. */
export function missingNamespaces(fleet: Fleet, of?: string): readonly string[] {
  const needed = of === undefined ? fleet.clusters().map(({ metadata }) => metadata.namespace ?? "") : [of];
  return [...new Set(needed)].filter((name) => fleet.namespace(name) === undefined);
}

/** What these fleets cannot tell without the Namespaces; `undefined`: nothing. */
export function namespaceWarning(fleets: readonly Fleet[], of?: string): string | undefined {
  const missing = [...new Set(fleets.flatMap((fleet) => missingNamespaces(fleet, of)))];
  const policies = fleets.flatMap((fleet) =>
    fleet.policies.filter(({ compiled }) => compiled.selectsNamespace !== undefined).map(nameOf),
  );
  const rollouts = fleets.flatMap((fleet) =>
    fleet.rollouts.filter(readsNamespaces).map(({ compiled }) => `HookRollout ${compiled.name}`),
  );
  const selecting = [...new Set([...policies, ...rollouts])];
  if (missing.length === 0 || selecting.length === 0) return undefined;
  const effect = rollouts.length === 0 ? ", so the rules are not evaluable" : SHOWN_AS;
  return missingText(missing, `what ${firstNames(selecting)} selects of them is unknown${effect}`);
}

const SHOWN_AS =
  " (a rollout is shown as if it selected them, in no stage if one with a namespaceSelector could be theirs)";

function missingText(missing: readonly string[], effect: string): string {
  return `the Namespace of Clusters is not among the objects: ${firstNames(missing)}; ${effect}. Add it, with its labels, to the files`;
}

/** The Namespace of a Cluster without which it is not known whether, in which stage or with which others the rollout has it. */
export function lackedNamespace(fleet: Fleet, { compiled, spec }: FleetRollout): string | undefined {
  if (compiled.problem !== undefined) return undefined;
  const isWhole = isNarrow(spec.namespaceSelector) || spreadsByNamespace(spec);
  const stages = (spec.stages ?? []).map(({ clusterSelector, namespaceSelector }) => ({
    selectsCluster: compileSelector(clusterSelector),
    isByNamespace: isNarrow(namespaceSelector),
  }));
  const isStaged = ({ metadata: { labels } }: Cluster): boolean =>
    stages.find(({ selectsCluster }) => selectsCluster(labels))?.isByNamespace === true;
  const lacking = fleet.clusters().find((cluster) => {
    if (cluster.topology === undefined || fleet.namespaceOf(cluster) !== undefined) return false;
    return memberOf(compiled, cluster, undefined) !== undefined && (isWhole || isStaged(cluster));
  });
  return lacking?.metadata.namespace;
}

function readsNamespaces({ compiled, spec }: FleetRollout): boolean {
  const { stages = [] } = spec;
  if (compiled.problem !== undefined) return false;
  return (
    spreadsByNamespace(spec) || [spec, ...stages].some(({ namespaceSelector }) => isNarrow(namespaceSelector))
  );
}

function spreadsByNamespace({ spread = [] }: HookRolloutSpec): boolean {
  return spread.some(({ from, labelKey }) => from === "Namespace" && labelKey !== NAMESPACE_NAME);
}

function isNarrow({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}): boolean {
  return Object.keys(matchLabels).length + matchExpressions.length > 0;
}

/** `object`: valid. What it selects of these Clusters is unknown. */
export function unknownSelection(object: RawObject, missing: readonly string[]): readonly FieldError[] {
  if (missing.length === 0) return [];
  const { namespaceSelector, stages = [] } = selectionOf(object);
  const all = [namespaceSelector, ...stages.map((stage) => stage.namespaceSelector)];
  const first = all.findIndex((selector) => isNarrow(selector));
  if (first < 0) return [];
  const path = `${first === 0 ? "spec" : `spec.stages[${first - 1}]`}.namespaceSelector`;
  const message = missingText(missing, "whether this selects them is unknown");
  return [{ path, id: NAMESPACE_MISSING, message }];
}

function selectionOf(object: RawObject): Pick<HookRolloutSpec, "namespaceSelector" | "stages"> {
  if (ownKind(object) === "HookRollout") return viewRollout(object).spec;
  if (policyKind(object) !== "ClusterHookPolicy") return { namespaceSelector: {} };
  const { spec } = viewPolicy("ClusterHookPolicy", object);
  return { namespaceSelector: "namespaceSelector" in spec ? spec.namespaceSelector : {} };
}
