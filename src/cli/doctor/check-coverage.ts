/** Checks which Clusters are protected by which policies, and which policies hold nothing. */

import { counted } from "../../lib/counted.ts";
import { clusterKey } from "../../views/cluster.ts";
import { type Bypass, BYPASSES, bypassesOf } from "../../operations/bypasses.ts";
import { isGated } from "../../policy/policy.ts";
import { firstNames } from "../../lib/first-names.ts";
import {
  error,
  type DoctorInput,
  type Finding,
  isAbsent,
  known,
  ok,
  type Problem,
  problems,
  together,
  warning,
} from "./finding.ts";
import { kubectl } from "../fleet/caveats.ts";
import { emptySelections, clusterPlaces } from "../fleet/selections.ts";
import { type Fleet, type FleetPolicy, nameOf } from "../fleet/fleet.ts";
import { grantCommand } from "../../objects/object-refusal.ts";
import { acceptWarnings } from "../../policy/validation/accepted.ts";
import { advice, run } from "../terminal/printed-command.ts";
import { UNTIL_MISSING } from "../../policy/validation/contradictions.ts";
import { checkRules } from "../../policy/validation/semantics.ts";

export function gatedIn(matches: DoctorInput["matches"]): DoctorInput["matches"] {
  return new Map([...matches].filter(([{ compiled }]) => compiled.rules.some(isGated)));
}

export function effective(examined: DoctorInput): Finding {
  checkMatches(examined);
  const { fleet, matches } = examined;
  const idle = [...gatedIn(matches)].filter(([, found]) => found.length === 0);
  const places = clusterPlaces(fleet);
  const found = together([
    problems(
      "warning",
      fleet.policies.flatMap(untilForgotten),
      (n) => `${counted(n, "rule")} without until, so without effect`,
    ),
    problems(
      "warning",
      idle.map(([policy]) => idleProblem(policy, places)),
      (n) => `${counted(n, "policy")} without a Cluster`,
    ),
  ]);
  return found ?? ok(`every policy that can hold matches a Cluster, of ${fleet.clusters().length}`);
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

function idleProblem(policy: FleetPolicy, places: ReturnType<typeof clusterPlaces>): Problem {
  const [why] = policy.compiled.errors.length > 0 ? [] : emptySelections(policy.raw, places);
  const cause = why === undefined ? "" : `${why.path}: ${why.message}. `;
  return { detail: nameOf(policy), remedy: `${cause}${cureOfIdle(why?.path, places)}` };
}

/** `path`: of what selects no Cluster. */
function cureOfIdle(path: string | undefined, places: ReturnType<typeof clusterPlaces>): string {
  if (path === undefined) return "Correct spec.clusterSelector or the labels of the Clusters, or delete it";
  if (path === "metadata.namespace") {
    const used = [...new Set(places.map(({ namespace }) => namespace))];
    return `A HookPolicy is about its own namespace: create it in that of the Clusters (${firstNames(used)}), or make it a ClusterHookPolicy`;
  }
  const labelled = path.endsWith("namespaceSelector") ? "Namespaces" : "Clusters";
  return `Correct it or the labels of the ${labelled}, or delete it`;
}

/** Whether it is known which policies match which Clusters. */
function checkMatches({ policies, clusters, namespaces, fleet }: DoctorInput): void {
  known(policies);
  known(clusters);
  if (fleet.policies.some(({ compiled }) => compiled.selectsNamespace !== undefined)) known(namespaces);
}

export function topology({ clusters, fleet, matches }: DoctorInput): Finding {
  known(clusters);
  const without = fleet
    .clusters()
    .filter((cluster) => cluster.topology === undefined)
    .map(clusterKey);
  if (without.length === 0) return ok("every Cluster has one");
  const believed = new Set([...gatedIn(matches).values()].flat().map(clusterKey));
  const misled = without.filter((key) => believed.has(key));
  const detail = `Cluster API calls no hook for Clusters without spec.topology: ${counted(without.length, "Cluster")} (${firstNames(without)})`;
  const refuse = advice`refuse their deletion at admission instead, with hookpolicy-admission-refuse-deletion.yaml of a release, or ${run("kubectl apply -k manifests/admission/refuse-deletion")}`;
  if (misled.length === 0) return warning(detail, refuse);
  return error(
    `policies match ${counted(misled.length, "Cluster")} without spec.topology, for which Cluster API calls no hook: ${firstNames(misled)}`,
    advice`leave them out by spec.clusterSelector, and ${refuse}`,
  );
}

export function unmatched(examined: DoctorInput): Finding {
  checkMatches(examined);
  const { fleet, matches } = examined;
  const matched = new Set([...matches.values()].flat().map(clusterKey));
  const alone = fleet
    .clusters()
    .map(clusterKey)
    .filter((key) => !matched.has(key));
  if (alone.length === 0) return ok(`a policy for each of ${counted(fleet.clusters().length, "Cluster")}`);
  return warning(
    `no policy matches ${counted(alone.length, "Cluster")}: ${firstNames(alone)}`,
    "a ClusterHookPolicy with namespaceSelector: {} matches every Cluster",
  );
}

export function grants({ grants: asked, policies, rollouts, deployments }: DoctorInput): Finding {
  known(policies);
  if (asked.length === 0) {
    known(rollouts);
    return ok("no gate looks at objects");
  }
  // A Deployment names the operator's ServiceAccount.
  known(deployments);
  const lacking = asked.flatMap(({ resource, missing }) =>
    missing.ok && missing.value.length > 0 ? [{ resource, verbs: missing.value.join(", ") }] : [],
  );
  if (lacking[0] !== undefined) {
    const resources = lacking.map((each) => each.resource);
    return error(
      `the operator may not ${lacking[0].verbs} ${firstNames(resources)}: rules that look at them hold`,
      run(grantCommand(resources)),
    );
  }
  const unsure = asked.find(({ missing }) => !missing.ok);
  if (unsure !== undefined && isAbsent(unsure.missing))
    return error(
      `the API server serves no ${unsure.resource}, which a gate looks at`,
      "install it, or correct the gate",
    );
  if (unsure !== undefined) known(unsure.missing);
  known(rollouts);
  return ok(`the operator may read ${firstNames(asked.map(({ resource }) => resource))}`);
}

/** An annotation of a restore, or of a forgotten break-glass. Cluster API looks for it at the deletion, not for when it was set. */
export function okToDelete({ clusters, fleet }: DoctorInput): Finding {
  known(clusters);
  return (
    problems(
      "error",
      marked(fleet, ["ok-to-delete"]),
      (n) =>
        `Cluster API will not ask before it deletes ${counted(n, "Cluster")} with ${BYPASSES["ok-to-delete"]}, although no deletion has begun`,
    ) ?? ok("no Cluster has it ahead of its deletion")
  );
}

export function unsafe({ clusters, fleet }: DoctorInput): Finding {
  known(clusters);
  return (
    problems(
      "warning",
      marked(fleet, ["disable-update-version-check", "disable-update-class-name-check"]),
      (n) =>
        `checks of Cluster API are disabled by an annotation unsafe.topology.cluster.x-k8s.io/… on ${counted(n, "Cluster")}`,
    ) ?? ok("no Cluster has one")
  );
}

/** The Clusters with one of these annotations, and how to remove it. */
function marked(fleet: Fleet, wanted: readonly Bypass[]): readonly Problem[] {
  return fleet.clusters().flatMap((cluster) => {
    const bypasses = bypassesOf(cluster).filter((each) => wanted.includes(each));
    if (bypasses.length === 0) return [];
    const remove = bypasses.map((bypass) => `${BYPASSES[bypass]}-`);
    return [{ detail: clusterKey(cluster), remedy: run(kubectl("annotate", cluster.metadata, ...remove)) }];
  });
}
