/** Checks which Clusters are protected by which policies, and which policies hold nothing. */

import { CONDITION, GROUP } from "../../api/hookpolicy.ts";
import type { Cluster } from "../../api/meta.ts";
import { clusterKey } from "../../policy/cluster.ts";
import { matches } from "../../policy/decide.ts";
import { type ObjectKind, objectKindKey } from "../../policy/objects.ts";
import { demandsOf, isGated } from "../../policy/policy.ts";
import {
  count,
  error,
  type Evidence,
  type Finding,
  ok,
  type Settings,
  some,
  unread,
  warning,
} from "./doctor.ts";
import { fieldsOf, listOf } from "../../api/fields.ts";
import { textOf } from "./objectsfields.ts";
import { operators } from "./checkinstall.ts";
import { createFleet, type Fleet, type FleetPolicy } from "../fleet/fleet.ts";
import type { RawObject } from "../fleet/kinds.ts";
import { policyName } from "../../policy/policyref.ts";

/** The fleet, and which policies match which of its Clusters. */
export interface Surveyed {
  readonly fleet: Fleet;
  /** Policies with gates, with the Clusters that they match. */
  readonly gated: ReadonlyMap<FleetPolicy, readonly Cluster[]>;
  readonly matched: ReadonlySet<string>;
  /** The namespaces of gated HookPolicies and of the Clusters that gated policies match. */
  readonly namespaces: ReadonlySet<string>;
}

export function survey(evidence: Evidence, { served, maxOverrideMs, now }: Settings): Surveyed {
  const { policies, clusters, namespaces } = evidence;
  const objects = [policies, clusters, namespaces].flatMap((read) => (read.ok ? read.value : []));
  const fleet = createFleet(objects, { served, maxOverrideMs, now });
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
  return {
    fleet,
    gated,
    matched: new Set([...all.values()].flat().map(clusterKey)),
    namespaces: new Set(scopes),
  };
}

/** The distinct kinds of objects that gates look at. */
export function kindsIn(
  policies: readonly RawObject[],
  { served, maxOverrideMs, now }: Settings,
): ObjectKind[] {
  const fleet = createFleet(policies, { served, maxOverrideMs, now });
  const demands = fleet.policies.flatMap(({ compiled }) => demandsOf(compiled));
  return [...new Map(demands.map(({ kind }) => [objectKindKey(kind), kind])).values()];
}

const nameOf = ({ compiled }: FleetPolicy): string => policyName(compiled.ref);

export function ready(evidence: Evidence, { fleet }: Surveyed): Finding {
  if (!evidence.policies.ok) return unread(evidence.policies);
  if (fleet.policies.length === 0) return warning("there is no policy: nothing is held", "hookpolicy init");
  const bad = fleet.policies.filter(
    ({ status }) => conditionOf(status, CONDITION.Ready)?.["status"] === "False",
  );
  if (bad[0] !== undefined) {
    const message = textOf(conditionOf(bad[0].status, CONDITION.Ready)?.["message"]);
    return error(
      `${count(bad.length, "policy")} not Ready: ${some(bad.map(nameOf))} (${message})`,
      `do what the message says: kubectl edit ${commandName(bad[0])}`,
    );
  }
  const unseen = fleet.policies.filter(
    ({ compiled, status }) => (status.observedGeneration ?? -1) < compiled.generation,
  );
  if (unseen.length > 0) {
    const { namespace = "hookpolicy-system", name = "hookpolicy" } = operators(evidence)[0] ?? {};
    return error(
      `the operator has not looked at ${some(unseen.map(nameOf))}`,
      `kubectl logs -n ${namespace} deployment/${name}`,
    );
  }
  return ok(`${count(fleet.policies.length, "policy")}, all Ready`);
}

/** The name as kubectl accepts it. */
function commandName({ compiled: { ref } }: FleetPolicy): string {
  return [
    ref.kind.toLowerCase(),
    ref.name,
    ...(ref.namespace === undefined ? [] : ["-n", ref.namespace]),
  ].join(" ");
}

function conditionOf(status: object, type: string): ReturnType<typeof fieldsOf> | undefined {
  return listOf(fieldsOf(status)["conditions"])
    .map(fieldsOf)
    .find((each) => each["type"] === type);
}

export function called(evidence: Evidence, { fleet }: Surveyed): Finding {
  if (!evidence.policies.ok) return unread(evidence.policies);
  const silent = fleet.policies.filter(
    ({ status }) => conditionOf(status, CONDITION.NotCalled)?.["status"] === "True",
  );
  if (silent[0] === undefined) return ok("no policy says that nothing asks it");
  const { reason, message } = conditionOf(silent[0].status, CONDITION.NotCalled) ?? {};
  return error(`Cluster API does not ask ${some(silent.map(nameOf))}: ${textOf(reason)}`, textOf(message));
}

export function effective({ policies, clusters }: Evidence, { fleet, gated }: Surveyed): Finding {
  if (!policies.ok) return unread(policies);
  if (!clusters.ok) return unread(clusters);
  const idle = [...gated].filter(([, found]) => found.length === 0).map(([policy]) => nameOf(policy));
  if (idle.length === 0) return ok(`every policy matches a Cluster, of ${fleet.clusters().length}`);
  return warning(
    `${count(idle.length, "policy")} without a Cluster: ${some(idle)}`,
    "correct spec.clusterSelector or the labels of the Clusters, or delete them",
  );
}

export function topology({ clusters }: Evidence, { fleet, gated }: Surveyed): Finding {
  if (!clusters.ok) return unread(clusters);
  const without = fleet
    .clusters()
    .filter((cluster) => cluster.topology === undefined)
    .map(clusterKey);
  if (without.length === 0) return ok("every Cluster has one");
  const believed = new Set([...gated.values()].flat().map(clusterKey));
  const misled = without.filter((key) => believed.has(key));
  const detail = `Cluster API calls no hook for Clusters without spec.topology: ${count(without.length, "Cluster")} (${some(without)})`;
  const refuse =
    "refuse their deletion at admission instead: kubectl apply -k manifests/admission/refuse-deletion";
  if (misled.length === 0) return warning(detail, refuse);
  return error(
    `policies match ${count(misled.length, "Cluster")} without spec.topology, for which Cluster API calls no hook: ${some(misled)}`,
    `leave them out by spec.clusterSelector, and ${refuse}`,
  );
}

export function unmatched({ clusters }: Evidence, { fleet, matched }: Surveyed): Finding {
  if (!clusters.ok) return unread(clusters);
  const alone = fleet
    .clusters()
    .map(clusterKey)
    .filter((key) => !matched.has(key));
  if (alone.length === 0) return ok(`a policy for each of ${count(fleet.clusters().length, "Cluster")}`);
  return warning(
    `no policy matches ${count(alone.length, "Cluster")}: ${some(alone)}`,
    "a ClusterHookPolicy with namespaceSelector: {} matches every Cluster",
  );
}

export function overrides({ policies }: Evidence, { fleet }: Surveyed, { now }: Settings): Finding {
  if (!policies.ok) return unread(policies);
  const active = fleet.overrides.filter(({ problem, expiresAt }) => problem === undefined && now < expiresAt);
  if (active[0] === undefined) return ok("none is active");
  const told = active.map(
    ({ name, clusterRef, expiresAt }) =>
      `${name} (${clusterRef.namespace}/${clusterRef.name} until ${expiresAt.toISOString()})`,
  );
  return warning(
    `policies do not hold what these release: ${some(told)}`,
    `kubectl delete hookoverride ${active[0].name}, when it is not needed any more`,
  );
}

export function grants(evidence: Evidence): Finding {
  const { grants: asked } = evidence;
  const lacking = asked.filter(({ missing }) => missing.ok && missing.value.length > 0);
  if (lacking[0] !== undefined) {
    const { resource } = lacking[0];
    const name = `hookpolicy-${resource}`;
    const verbs = lacking[0].missing.ok ? lacking[0].missing.value.join(", ") : "";
    return error(
      `the operator may not ${verbs} ${some(lacking.map((each) => each.resource))}: gates that look at them hold`,
      `kubectl create clusterrole ${name} --verb=get,list,watch --resource=${resource} && kubectl label clusterrole ${name} ${GROUP}/aggregate-to-operator=true`,
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
  if (asked.length === 0) return ok("no gate looks at objects");
  return ok(`the operator may read ${some(asked.map(({ resource }) => resource))}`);
}
