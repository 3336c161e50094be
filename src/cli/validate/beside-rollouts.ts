/** Finds rollouts that share Clusters, and policies that can hold a running upgrade of a rollout. */

import { STEP_HOOKS } from "../../api/hook-catalog.ts";
import type { HookRollout } from "../../api/hook-policy.ts";
import type { LabelSelector } from "../../api/meta.ts";
import type { HookName } from "../../api/runtime-hooks.ts";
import type { PolicyObject } from "../../memory/policy-set.ts";
import type { PolicyKind } from "../../policy/policy-ref.ts";
import { KEPT_SLOT, SHARED_CLUSTERS } from "../../policy/validation/accepted.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import { areDisjoint } from "../../policy/validation/selector-overlap.ts";
import type { SourceObject } from "../files/load.ts";
import { ownKind, policyKind, viewPolicy, viewRollout } from "../fleet/kinds.ts";

export interface Beside extends FieldError {
  readonly source: SourceObject;
}

export type Selection = Partial<Pick<HookRollout["spec"], "namespaceSelector" | "clusterSelector">>;

interface Rollout extends HookRollout {
  readonly source: SourceObject;
}

/** The hooks that Cluster API calls, and waits for, while an upgrade runs. */
const WITHIN_UPGRADE: readonly HookName[] = [...STEP_HOOKS, "AfterClusterUpgrade"];

/** `sources`: without errors. A rollout or policy in mode Audit holds nothing. */
export function besideRollouts(sources: readonly SourceObject[]): readonly Beside[] {
  const rollouts = sources
    .filter(({ object }) => ownKind(object) === "HookRollout")
    .map((source): Rollout => ({ ...viewRollout(source.object), source }))
    .filter(({ spec }) => spec.mode !== "Audit");
  const upgrades = rollouts.filter(({ spec }) => spec.operation === "Upgrade");
  return [
    ...rollouts.flatMap((rollout, index) => sharedClusters(rollout, rollouts.slice(0, index))),
    ...sources.flatMap((source) => {
      const kind = policyKind(source.object);
      return kind === undefined ? [] : heldSlots(source, kind, upgrades);
    }),
  ];
}

function sharedClusters(rollout: Rollout, earlier: readonly Rollout[]): readonly Beside[] {
  const { metadata, spec, source } = rollout;
  const other = earlier.find(
    (each) =>
      each.metadata.name !== metadata.name &&
      each.spec.operation === spec.operation &&
      mayShare(each.spec, spec),
  );
  if (other === undefined) return [];
  const message = `selects Clusters that HookRollout ${other.metadata.name} (${placeOf(other)}) may select for ${spec.operation}, too: such a Cluster waits for a slot of each. Make their selectors exclude each other, or make one rollout of them`;
  return [{ source, path: "spec.namespaceSelector", id: SHARED_CLUSTERS, message }];
}

function placeOf({ source }: Rollout): string {
  return `${source.file}:${source.position("metadata.name").line}`;
}

function heldSlots(source: SourceObject, kind: PolicyKind, upgrades: readonly Rollout[]): readonly Beside[] {
  const { metadata, spec } = viewPolicy(kind, source.object);
  if (spec.mode === "Audit") return [];
  const selection = selectionOf(kind, { metadata, spec });
  const rollout = upgrades.find((each) => mayShare(each.spec, selection));
  if (rollout === undefined) return [];
  return spec.rules.flatMap(({ hooks, until }, index) => {
    const at = hooks.findIndex((hook) => WITHIN_UPGRADE.includes(hook));
    if (until === undefined || at < 0) return [];
    const message = `a Cluster that this rule holds at ${hooks[at]} keeps its slot of HookRollout ${rollout.metadata.name} (${placeOf(rollout)}), and counts as failed after progressDeadline, ${rollout.spec.progressDeadline}. Its gates must not wait for other Clusters`;
    return [{ source, path: `spec.rules[${index}].hooks[${at}]`, id: KEPT_SLOT, message }];
  });
}

export function selectionOf(
  kind: PolicyKind,
  { metadata, spec }: Pick<PolicyObject, "metadata" | "spec">,
): Selection {
  return kind === "HookPolicy"
    ? { ...spec, namespaceSelector: named(metadata.namespace ?? "default") }
    : spec;
}

/** Kubernetes labels each Namespace with its name. */
function named(namespace: string): LabelSelector {
  return { matchLabels: { "kubernetes.io/metadata.name": namespace } };
}

export function mayShare(a: Selection, b: Selection): boolean {
  return !(
    areDisjoint(a.namespaceSelector, b.namespaceSelector) || areDisjoint(a.clusterSelector, b.clusterSelector)
  );
}
