/** Checks whether all parts are installed, running and compatible. */

import { byText } from "../../lib/compare-text.ts";
import { fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import { GROUP, CRD_VERSION } from "../../api/hook-policy.ts";
import { APPLY_CRDS, compareFields } from "../../api/crd-fields.ts";
import { viewMetadata } from "../../views/cluster.ts";
import { firstNames } from "../../lib/first-names.ts";
import {
  error,
  type Evidence,
  type DoctorInput,
  type Finding,
  isAbsent,
  judged,
  known,
  ok,
  unknown,
  warning,
  worse,
} from "./finding.ts";
import type { RawObject } from "../fleet/kinds.ts";
import { type Advice, advice, run } from "../terminal/printed-command.ts";

export const APPLY = advice`apply the manifests of this release: ${run("kubectl apply -k .")}`;
const APPLY_DEFINITIONS = run(APPLY_CRDS);

export function definitions({ definitions: read }: DoctorInput): Finding {
  const served = ok(`${[...read.keys()].join(", ")} are served as ${GROUP}/${CRD_VERSION}`);
  const found = [...read].map(([kind, crd]) =>
    isAbsent(crd)
      ? error(`there is no CustomResourceDefinition of ${kind}`, APPLY_DEFINITIONS)
      : judged(() => definitionProblem(kind, known(crd)) ?? served),
  );
  return found.toSorted(worse)[0] ?? served;
}

function definitionProblem(kind: string, crd: RawObject): Finding | undefined {
  const conditions = listOf(fieldsOf(crd["status"])["conditions"]).map(fieldsOf);
  const established = conditions.find(({ type }) => type === "Established");
  const name = textOf(fieldsOf(crd["metadata"])["name"]);
  if (established?.["status"] !== "True") {
    return error(`${name} is not established`, run(`kubectl describe crd ${name}`));
  }
  const versions = listOf(fieldsOf(crd["spec"])["versions"]).map(fieldsOf);
  const version = versions.find((each) => each["name"] === CRD_VERSION && each["served"] === true);
  if (version === undefined) return error(`${name} does not serve ${CRD_VERSION}`, APPLY_DEFINITIONS);
  return schemaProblem(name, kind, fieldsOf(version["schema"])["openAPIV3Schema"]);
}

/** The API server drops unknown fields from an applied policy, which then hold nothing. */
function schemaProblem(name: string, kind: string, schema: unknown): Finding | undefined {
  const { missing, more } = compareFields(kind, schema);
  if (missing.length > 0) {
    return error(`${name} is older than this program: it lacks ${firstNames(missing)}`, APPLY_DEFINITIONS);
  }
  if (more.length === 0) return undefined;
  const detail = `${name} is newer than this program, which does not know ${firstNames(more)}`;
  return warning(detail, "use the hookpolicy of the release that is installed");
}

export const CORE_PODS = run("kubectl get pods -A -l cluster.x-k8s.io/provider=cluster-api");

export type Deployment = Pick<Evidence, "deployments">;

export interface Program {
  readonly namespace: string;
  readonly name: string;
  readonly wanted: number;
  readonly available: number;
  readonly image: string;
  readonly version: string | undefined;
  readonly args: readonly string[];
  readonly serviceAccount: string;
}

function programs({ deployments }: Deployment, label: string, value: string): Program[] {
  if (!deployments.ok) return [];
  return deployments.value
    .filter((each) => viewMetadata(each["metadata"]).labels?.[label] === value)
    .map(viewProgram)
    .toSorted(byText(({ namespace }) => namespace));
}

export const operators = (deployed: Deployment): Program[] =>
  programs(deployed, "app.kubernetes.io/name", "hookpolicy");

/** Where the manifests put the operator, for advice while its Deployment is not known. */
export const ASSUMED = { namespace: "hookpolicy-system", name: "hookpolicy", serviceAccount: "hookpolicy" };

const coreManagers = (deployed: Deployment): Program[] =>
  programs(deployed, "cluster.x-k8s.io/provider", "cluster-api");

function viewProgram(deployment: RawObject): Program {
  const { namespace = "", name, labels } = viewMetadata(deployment["metadata"]);
  const spec = fieldsOf(deployment["spec"]);
  const pod = fieldsOf(fieldsOf(spec["template"])["spec"]);
  const container = fieldsOf(listOf(pod["containers"])[0]);
  const available = fieldsOf(deployment["status"])["availableReplicas"];
  return {
    namespace,
    name,
    wanted: typeof spec["replicas"] === "number" ? spec["replicas"] : 1,
    available: typeof available === "number" ? available : 0,
    image: textOf(container["image"]),
    version: labels?.[VERSION_LABEL],
    args: [...listOf(container["command"]), ...listOf(container["args"])].map(textOf),
    serviceAccount: textOf(pod["serviceAccountName"]) || "default",
  };
}

/** The value of `--name=value` or `--name value`. */
export function flagOf({ args }: Pick<Program, "args">, name: string): string | undefined {
  const index = args.findLastIndex((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`));
  const arg = args[index];
  return arg?.includes("=") === true ? arg.slice(arg.indexOf("=") + 1) : args[index + 1 || args.length];
}

export function operator(examined: DoctorInput): Finding {
  known(examined.deployments);
  const [found, ...others] = operators(examined);
  if (found === undefined) {
    return error("there is no Deployment with the label app.kubernetes.io/name=hookpolicy", APPLY);
  }
  if (others.length > 0) return moreThanOne([found, ...others]);
  const { namespace, name, wanted, available } = found;
  const { operatorSilence } = examined;
  if (operatorSilence !== undefined && wanted > 0 && available > 0) return silent(operatorSilence, found);
  const detail = `Deployment ${namespace}/${name}: ${available} of ${wanted} available`;
  if (wanted === 0)
    return error(detail, run(`kubectl scale deployment -n ${namespace} ${name} --replicas=2`));
  if (available >= wanted) return ok(detail);
  const remedy = run(`kubectl describe pods -n ${namespace} -l app.kubernetes.io/name=hookpolicy`);
  return available === 0 ? error(detail, remedy) : warning(detail, remedy);
}

/** The cluster-wide objects of each have the same names, so only the one that was applied last has rights and is called. */
function moreThanOne(found: readonly Program[]): Finding {
  const names = firstNames(found.map(({ namespace, name }) => `${namespace}/${name}`));
  return error(
    `${found.length} Deployments of the operator, of which only the one that was applied last has rights and is called: ${names}`,
    "apply the one that you keep again; then delete the Deployment of the other, and nothing else of it",
  );
}

/** A Deployment can still count as available when its Pods do nothing any more. */
function silent(silence: string, program: Program): Finding {
  const { namespace, name, available, wanted } = program;
  return error(
    `${silence}, though Deployment ${namespace}/${name} has ${available} of ${wanted} available`,
    lookAtPods(program),
  );
}

/** Of one Deployment, kubectl shows the log of one Pod, which need not be the leader's. */
export function lookAtPods({ namespace }: Program): Advice {
  const pods = `-n ${namespace} -l app.kubernetes.io/name=hookpolicy`;
  return advice`${run(`kubectl get pods ${pods}`)}; ${run(`kubectl logs ${pods} --tail=-1 --prefix --since=1h`)}`;
}

/**
 * The version of Cluster API, such as "v1.14.2", from the first source that names one: the user, the records of clusterctl
 * and of the Cluster API Operator, the manager's image, the label of its Deployment or of the CRD; `undefined`: unknown.
 */
export function capiVersion(examined: DoctorInput): string | undefined {
  const { providers, coreProviders, clusterDefinition, toldCapi } = examined;
  const provider = providers.ok
    ? providers.value.find((each) => each["providerName"] === "cluster-api")
    : undefined;
  const core = coreProviders.ok ? coreProviders.value[0] : undefined;
  const [manager] = coreManagers(examined);
  const tag = /:([^:@/]+)(?:@.*)?$/.exec(manager?.image ?? "")?.[1];
  const crd = clusterDefinition.ok ? viewMetadata(clusterDefinition.value["metadata"]).labels : undefined;
  const told = [
    toldCapi,
    provider?.["version"],
    fieldsOf(core?.["status"])["installedVersion"],
    tag,
    manager?.version,
    crd?.[VERSION_LABEL],
  ];
  return told.map(textOf).find((each) => minorOf(each) !== undefined);
}

const VERSION_LABEL = "app.kubernetes.io/version";

function servesV1Beta2({ clusterDefinition }: DoctorInput): boolean {
  if (!clusterDefinition.ok) return false;
  const versions = listOf(fieldsOf(clusterDefinition.value["spec"])["versions"]).map(fieldsOf);
  return versions.some(({ name, served }) => name === "v1beta2" && served === true);
}

export function minorOf(version: string | undefined): number | undefined {
  const [, minor] = /^v?1\.(\d+)(?![\w-])/.exec(version ?? "") ?? [];
  return minor === undefined ? undefined : Number(minor);
}

export function clusterApi(examined: DoctorInput): Finding {
  if (isAbsent(examined.clusters))
    return error("the API server serves no Clusters: Cluster API is not installed", "clusterctl init");
  if (isAbsent(examined.registrations)) {
    return error(
      "the API server serves no ExtensionConfigs: this Cluster API has no Runtime SDK",
      "clusterctl upgrade plan",
    );
  }
  const version = capiVersion(examined);
  if (version !== undefined) return ok(`Cluster API ${version}`);
  const least = servesV1Beta2(examined) ? " (1.11 or newer: it serves v1beta2)" : "";
  return unknown(`Cluster API is installed, but its version is unknown${least}`, TELL_CAPI);
}

export const TELL_CAPI = advice`say which it is, such as: ${run("hookpolicy doctor --capi-version 1.13")}; ${run("kubectl get deployments -A -o wide -l cluster.x-k8s.io/provider=cluster-api")} shows its image`;

const GATES = ["ClusterTopology", "RuntimeSDK"];

/** Judges the manager's flags and its webhook, which rejects ExtensionConfigs while RuntimeSDK is off. */
export function featureGates(examined: DoctorInput): Finding {
  const { creation, registrations } = examined;
  const managers = coreManagers(examined);
  const off = managers.flatMap((manager) => GATES.filter((gate) => !hasGate(manager, gate)));
  if (off.length > 0) return gatesOff(off, managers[0]);
  if (creation.ok && !creation.value) return gatesOff(["RuntimeSDK"], managers[0]);
  if (creation.ok) return ok(managers.length > 0 ? `${GATES.join(" and ")} are on` : "RuntimeSDK is on");
  if (managers.length > 0 && creation.why === "Forbidden") return ok(`${GATES.join(" and ")} are on`);
  if (isAbsent(registrations)) return unknown("there is no Cluster API to have it", "clusterctl init");
  if (creation.why === "Forbidden") known(creation);
  return error(`Cluster API's manager does not answer: ${creation.message}`, CORE_PODS);
}

function hasGate(manager: Program, gate: string): boolean {
  return (flagOf(manager, "feature-gates") ?? "").split(",").includes(`${gate}=true`);
}

function gatesOff(off: readonly string[], manager: Program | undefined): Finding {
  const gates = GATES.map((gate) => `${gate}=true`).join(",");
  const { namespace = "capi-system", name = "capi-controller-manager" } = manager ?? {};
  return error(
    `feature gates of Cluster API are off, so no hook is called: ${off.join(", ")}`,
    `in Deployment ${namespace}/${name} set --feature-gates=${gates} (with clusterctl: CLUSTER_TOPOLOGY=true EXP_RUNTIME_SDK=true)`,
  );
}
