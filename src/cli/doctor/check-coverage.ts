/** Checks which Clusters are protected by which policies, and which policies hold nothing. */

import { counted } from "../../lib/counted.ts";
import type { Cluster } from "../../api/meta.ts";
import { clusterKey } from "../../policy/cluster.ts";
import { matches } from "../../policy/decide.ts";
import type { ObjectKind } from "../../policy/objects.ts";
import { demandsOf, isGated, mergeDemands } from "../../policy/policy.ts";
import {
  error,
  type Evidence,
  type Finding,
  ok,
  type Problem,
  problems,
  type Settings,
  some,
  together,
  unread,
  warning,
} from "./doctor.ts";
import { Fleet, type FleetPolicy } from "../fleet/fleet.ts";
import { grantCommand } from "../../objects/object-refusal.ts";
import { policyName } from "../../policy/policy-ref.ts";
import { stageDemands } from "../../rollouts/promotion.ts";
import { acceptWarnings } from "../../policy/validation/accepted.ts";
import { UNTIL_MISSING } from "../../policy/validation/contradictions.ts";
import { checkRules } from "../../policy/validation/semantics.ts";

/** The fleet, and which policies match which of its Clusters. */
export interface CoverageSurvey {
  readonly fleet: Fleet;
  /** Policies with gates, with the Clusters that they match. */
  readonly gated: ReadonlyMap<FleetPolicy, readonly Cluster[]>;
  readonly matched: ReadonlySet<string>;
  /** The namespaces of gated HookPolicies and of the Clusters that gated policies match or rollouts select. */
  readonly namespaces: ReadonlySet<string>;
}

export function survey(evidence: Evidence, settings: Settings): CoverageSurvey {
  const { policies, overrides, rollouts, clusters, namespaces } = evidence;
  const objects = [policies, overrides, rollouts, clusters, namespaces].flatMap((read) =>
    read.ok ? read.value : [],
  );
  const fleet = new Fleet(objects, settings);
  const clustersIn = Map.groupBy(fleet.clusters(), ({ metadata }) => metadata.namespace);
  const matching = ({ compiled }: FleetPolicy): readonly Cluster[] => {
    const { namespace } = compiled.ref;
    const scope = namespace === undefined ? fleet.clusters() : (clustersIn.get(namespace) ?? []);
    return scope.filter((cluster) => matches(compiled, fleet.world(cluster)) !== "no");
  };
  const all = new Map(fleet.policies.map((policy) => [policy, matching(policy)]));
  const gated = new Map([...all].filter(([{ compiled }]) => compiled.rules.some(isGated)));
  const scopes = [...gated].flatMap(([{ compiled }, found]) => [
    compiled.ref.namespace ?? "",
    ...found.map(({ metadata }) => metadata.namespace ?? ""),
  ]);
  const selected = fleet.rollouts.flatMap((rollout) => fleet.selectedBy(rollout));
  return {
    fleet,
    gated,
    matched: new Set([...all.values()].flat().map(clusterKey)),
    namespaces: new Set([...scopes, ...selected.map(({ metadata }) => metadata.namespace ?? "")]),
  };
}

/** The distinct kinds of objects that gates of policies and of rollouts' stages look at, as far as these were read. */
export function kindsIn(
  { policies, rollouts }: Pick<Evidence, "policies" | "rollouts">,
  settings: Settings,
): ObjectKind[] {
  const objects = [policies, rollouts].flatMap((read) => (read.ok ? read.value : []));
  const fleet = new Fleet(objects, settings);
  const demands = [
    ...fleet.policies.flatMap(({ compiled }) => demandsOf(compiled)),
    ...fleet.rollouts.flatMap(({ compiled }) => stageDemands(compiled)),
  ];
  return [...mergeDemands(demands).values()].map(({ kind }) => kind);
}

export const nameOf = ({ compiled }: FleetPolicy): string => policyName(compiled.ref);

export function effective(evidence: Evidence, { fleet, gated }: CoverageSurvey): Finding {
  const missing = unreadMatches(evidence, fleet);
  if (missing !== undefined) return missing;
  const found = together([withoutUntil(fleet), withoutCluster(fleet, gated)]);
  return found ?? ok(`every policy matches a Cluster, of ${fleet.clusters().length}`);
}

function withoutUntil({ policies }: Fleet): Finding | undefined {
  const forgotten = policies.flatMap(untilForgotten);
  if (forgotten.length === 0) return undefined;
  const hold = forgotten.length === 1 ? "holds" : "hold";
  const detail = `${counted(forgotten.length, "rule")} without until, which ${hold} nothing`;
  return problems("warning", detail, forgotten);
}

function withoutCluster(fleet: Fleet, gated: CoverageSurvey["gated"]): Finding | undefined {
  const idle = [...gated].filter(([, found]) => found.length === 0).map(([policy]) => policy);
  if (idle.length === 0) return undefined;
  const all = idle.map((policy) => ({ detail: nameOf(policy), remedy: cureOfIdle(policy, fleet) }));
  return problems("warning", `${counted(idle.length, "policy")} without a Cluster`, all);
}

/** Rules of which the author expects that they hold something. */
function untilForgotten(policy: FleetPolicy): readonly Problem[] {
  const { compiled, object } = policy;
  if (compiled.errors.length > 0) return [];
  const { rules, mode } = object.spec;
  const { warnings } = checkRules(rules, [], { mode });
  const { left } = acceptWarnings(object.metadata.annotations, rules, warnings);
  return left
    .filter(({ id }) => id === UNTIL_MISSING)
    .map(({ path, message }) => ({ detail: nameOf(policy), remedy: `${path} ${message}` }));
}

/** A HookPolicy in a namespace without Clusters matches none, whatever it selects. */
function cureOfIdle({ compiled: { ref } }: FleetPolicy, fleet: Fleet): string {
  const { namespace } = ref;
  const used = [...new Set(fleet.clusters().map(({ metadata }) => metadata.namespace ?? ""))];
  if (namespace !== undefined && used.length > 0 && !used.includes(namespace))
    return `namespace ${namespace} has no Cluster, and a HookPolicy is about its own namespace: create it in that of the Clusters (${some(used)}), or make it a ClusterHookPolicy`;
  return "correct spec.clusterSelector or the labels of the Clusters, or delete it";
}

/** A failed read, because of which it is unknown which policies match which Clusters. */
function unreadMatches({ policies, clusters, namespaces }: Evidence, fleet: Fleet): Finding | undefined {
  const selects = fleet.policies.some(({ compiled }) => compiled.selectsNamespace !== undefined);
  const needed = [policies, clusters, ...(selects ? [namespaces] : [])];
  const [missing] = needed.flatMap((read) => (read.ok ? [] : [unread(read)]));
  return missing;
}

export function topology({ clusters }: Evidence, { fleet, gated }: CoverageSurvey): Finding {
  if (!clusters.ok) return unread(clusters);
  const without = fleet
    .clusters()
    .filter((cluster) => cluster.topology === undefined)
    .map(clusterKey);
  if (without.length === 0) return ok("every Cluster has one");
  const believed = new Set([...gated.values()].flat().map(clusterKey));
  const misled = without.filter((key) => believed.has(key));
  const detail = `Cluster API calls no hook for Clusters without spec.topology: ${counted(without.length, "Cluster")} (${some(without)})`;
  const refuse =
    "refuse their deletion at admission instead: kubectl apply -k manifests/admission/refuse-deletion";
  if (misled.length === 0) return warning(detail, refuse);
  return error(
    `policies match ${counted(misled.length, "Cluster")} without spec.topology, for which Cluster API calls no hook: ${some(misled)}`,
    `leave them out by spec.clusterSelector, and ${refuse}`,
  );
}

export function unmatched(evidence: Evidence, { fleet, matched }: CoverageSurvey): Finding {
  const missing = unreadMatches(evidence, fleet);
  if (missing !== undefined) return missing;
  const alone = fleet
    .clusters()
    .map(clusterKey)
    .filter((key) => !matched.has(key));
  if (alone.length === 0) return ok(`a policy for each of ${counted(fleet.clusters().length, "Cluster")}`);
  return warning(
    `no policy matches ${counted(alone.length, "Cluster")}: ${some(alone)}`,
    "a ClusterHookPolicy with namespaceSelector: {} matches every Cluster",
  );
}

export function grants(evidence: Evidence): Finding {
  const { grants: asked, policies, rollouts, deployments } = evidence;
  if (!policies.ok) return unread(policies);
  const ofAll = (finding: Finding): Finding => (rollouts.ok ? finding : unread(rollouts));
  if (asked.length === 0) return ofAll(ok("no gate looks at objects"));
  // A Deployment names the operator's ServiceAccount.
  if (!deployments.ok) return unread(deployments);
  const lacking = asked.flatMap(({ resource, missing }) =>
    missing.ok && missing.value.length > 0 ? [{ resource, verbs: missing.value.join(", ") }] : [],
  );
  if (lacking[0] !== undefined) {
    const resources = lacking.map((each) => each.resource);
    return error(
      `the operator may not ${lacking[0].verbs} ${some(resources)}: rules that look at them hold`,
      grantCommand(resources),
    );
  }
  const { resource: unservedKind, missing: unsure } = asked.find(({ missing }) => !missing.ok) ?? {};
  if (unsure?.ok === false)
    return unsure.why === "NotFound"
      ? error(
          `the API server serves no ${unservedKind}, which a gate looks at`,
          "install it, or correct the gate",
        )
      : unread(unsure);
  return ofAll(ok(`the operator may read ${some(asked.map(({ resource }) => resource))}`));
}
