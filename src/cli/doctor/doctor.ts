/** The checks of `hookpolicy doctor`, in order. */

import type { Cluster } from "../../api/meta.ts";
import { matches } from "../../policy/decide.ts";
import { Fleet, type FleetPolicy } from "../fleet/fleet.ts";
import * as admission from "./check-admission.ts";
import * as certificates from "./check-certificates.ts";
import * as coverage from "./check-coverage.ts";
import * as install from "./check-install.ts";
import * as policies from "./check-policies.ts";
import * as registration from "./check-registration.ts";
import * as rollout from "./check-rollouts.ts";
import { rights } from "./check-rights.ts";
import { tasks } from "./check-tasks.ts";
import {
  type Check,
  type DoctorInput,
  type Evidence,
  type Finding,
  judged,
  ok,
  type Settings,
} from "./finding.ts";
import { adviceText, type CommandWords } from "../terminal/printed-command.ts";

/** Checks come after those that they depend on. */
const CHECKS: Readonly<Record<string, (examined: DoctorInput) => Finding>> = {
  "API server": ({ serverVersion }) => ok(`Kubernetes ${serverVersion}`),
  CRDs: install.definitions,
  operator: install.operator,
  rights,
  "Cluster API": install.clusterApi,
  "feature gates": install.featureGates,
  ExtensionConfig: registration.registered,
  discovery: registration.discovered,
  handlers: registration.hooks,
  namespaces: registration.namespaces,
  certificate: certificates.trust,
  webhook: certificates.webhook,
  admission: admission.admission,
  foreground: admission.foreground,
  references: admission.references,
  policies: policies.ready,
  calls: policies.called,
  effect: coverage.effective,
  topology: coverage.topology,
  "ok-to-delete": coverage.okToDelete,
  "unsafe marks": coverage.unsafe,
  coverage: coverage.unmatched,
  "owned objects": policies.owned,
  overrides: policies.overrides,
  rollouts: rollout.rollouts,
  "rollout Clusters": rollout.rolloutClusters,
  grants: coverage.grants,
  tasks,
};

/** `words`: absent for JSON. */
export function examine(evidence: Evidence, settings: Settings, words?: CommandWords): Check[] {
  const { policies: own, overrides, rollouts, clusters, namespaces } = evidence;
  const objects = [own, overrides, rollouts, clusters, namespaces].flatMap((read) =>
    read.ok ? read.value : [],
  );
  const fleet = new Fleet(objects, settings);
  const examined = { ...evidence, ...settings, fleet, matches: matchesIn(fleet) };
  return Object.entries(CHECKS).map(([name, look]) => {
    const { remedy, problems, ...found } = judged(() => look(examined));
    return {
      name,
      ...found,
      ...(remedy !== undefined && { remedy: adviceText(remedy, words) }),
      ...(problems !== undefined && {
        problems: problems.map((each) => ({ ...each, remedy: adviceText(each.remedy, words) })),
      }),
    };
  });
}

function matchesIn(fleet: Fleet): DoctorInput["matches"] {
  const inNamespace = Map.groupBy(fleet.clusters(), ({ metadata }) => metadata.namespace);
  const matched = ({ compiled }: FleetPolicy): readonly Cluster[] => {
    const { namespace } = compiled.ref;
    const scope = namespace === undefined ? fleet.clusters() : (inNamespace.get(namespace) ?? []);
    return scope.filter((cluster) => matches(compiled, fleet.world(cluster)) !== "no");
  };
  return new Map(fleet.policies.map((policy) => [policy, matched(policy)]));
}
