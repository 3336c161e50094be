/** Checks whether Cluster API calls the operator, and for which hooks and namespaces. */

import { servedHooks } from "../../api/hook-catalog.ts";
import { counted } from "../../lib/counted.ts";
import { viewMetadata } from "../../policy/cluster.ts";
import {
  isDiscovered,
  isOurs,
  misplaced,
  MOVE,
  type Registration,
  selectsNamespace,
} from "../../hooks/registration.ts";
import {
  error,
  type Evidence,
  type Finding,
  ok,
  type Settings,
  some,
  unknown,
  unread,
  warning,
} from "./doctor.ts";
import type { CoverageSurvey } from "./check-coverage.ts";
import { capiVersion, minorOf, operators, TELL_CAPI } from "./check-install.ts";

function ours({ registrations }: Evidence, { serviceName }: Pick<Settings, "serviceName">): Registration[] {
  return registrations.ok ? registrations.value.filter((each) => isOurs(each, serviceName)) : [];
}

/** The operator's ExtensionConfigs, at least one, or why there is none to look at. */
export function foundOurs(
  evidence: Evidence,
  settings: Pick<Settings, "serviceName">,
): readonly [Registration, ...Registration[]] | Finding {
  const { registrations } = evidence;
  if (!registrations.ok) return unread(registrations);
  const [first, ...others] = ours(evidence, settings);
  return first === undefined
    ? unknown("no ExtensionConfig points to the operator", "do first what the check ExtensionConfig says")
    : [first, ...others];
}

export function registered(evidence: Evidence, settings: Settings): Finding {
  const { registrations } = evidence;
  if (!registrations.ok) return unread(registrations);
  const found = ours(evidence, settings);
  const names = found.map(({ metadata }) => metadata.name);
  if (found.length === 0) {
    return error(
      "no ExtensionConfig points to the operator: Cluster API never calls it",
      "kubectl apply -f manifests/extensionconfig.yaml",
    );
  }
  const place = operators(evidence)[0]?.namespace;
  const elsewhere = place === undefined ? undefined : misplaced(found, { ...settings, namespace: place });
  if (elsewhere !== undefined) return error(elsewhere, MOVE);
  if (found.length === 1) return ok(`ExtensionConfig ${names.join()}`);
  const superfluous = names.filter((name) => name !== "hookpolicy").slice(0, found.length - 1);
  return warning(
    `${found.length} ExtensionConfigs lead to the operator, which is asked by each of them: ${some(names)}`,
    `keep one: kubectl delete extensionconfig ${superfluous.join(" ")}`,
  );
}

export function discovered(evidence: Evidence, settings: Settings): Finding {
  const found = foundOurs(evidence, settings);
  if ("state" in found) return found;
  const failed = found.find((each) => !isDiscovered(each));
  if (failed !== undefined) {
    const { metadata, discovered: status = "missing", message } = failed;
    const detail = `ExtensionConfig ${metadata.name}: Discovered is ${status}${message === "" ? "" : `: ${message}`}`;
    const remedy =
      status === "missing"
        ? "kubectl get pods -A -l cluster.x-k8s.io/provider=cluster-api: Cluster API's manager has not looked at it"
        : "make what the message names reachable: kubectl get pods,endpointslices -A -l app.kubernetes.io/name=hookpolicy; Cluster API then tries again by itself";
    return error(detail, remedy);
  }
  const old = found.find(({ current }) => !current);
  if (old === undefined)
    return ok(
      found.map((each) => `${each.metadata.name}: ${counted(each.handlers.length, "handler")}`).join("; "),
    );
  const detail = `ExtensionConfig ${old.metadata.name} has changed since Cluster API looked at it`;
  return warning(detail, "kubectl get pods -A -l cluster.x-k8s.io/provider=cluster-api");
}

export function hooks(evidence: Evidence, settings: Settings): Finding {
  // The Deployment's --capi-version determines which hooks the operator offers.
  if (!evidence.deployments.ok) return unread(evidence.deployments);
  const { advertised, capiVersion: told } = settings.served;
  const minor = minorOf(capiVersion(evidence, settings));
  const known = minor === undefined ? advertised : servedHooks(minor).advertised;
  const strange = [...advertised.difference(known)];
  if (strange.length > 0) {
    const detail = `the operator offers hooks for Cluster API ${told}, and Cluster API 1.${minor} refuses all of them because of ${some(strange)}`;
    return error(detail, capiFlag(evidence, minor));
  }
  if (!evidence.registrations.ok) return unread(evidence.registrations);
  const found = ours(evidence, settings).filter(isDiscovered);
  const learnt = new Set(found.flatMap((each) => each.handlers.map(({ hook }) => hook)));
  const unlearnt = [...advertised.difference(learnt)];
  if (found.length > 0 && unlearnt.length > 0) {
    const detail = `Cluster API knows no handler for ${some(unlearnt)}: it has not looked since the operator offers that`;
    return error(
      detail,
      `kubectl annotate extensionconfig ${found[0]?.metadata.name} --overwrite hookpolicy.dev/discover=again`,
    );
  }
  const unserved = [...known.difference(advertised)];
  if (unserved.length > 0) {
    return warning(
      `the operator does not answer ${some(unserved)}, which Cluster API 1.${minor} calls`,
      capiFlag(evidence, minor),
    );
  }
  if (minor === undefined)
    return unknown(`for Cluster API ${told}; which one is installed is not known`, TELL_CAPI);
  if (found.length === 0) return NOT_DISCOVERED;
  return ok(`all that Cluster API 1.${minor} calls`);
}

const NOT_DISCOVERED = unknown(
  "no ExtensionConfig of the operator is discovered",
  "do first what the checks ExtensionConfig and discovery say",
);

function capiFlag(evidence: Evidence, minor: number | undefined): string {
  const { namespace = "hookpolicy-system", name = "hookpolicy" } = operators(evidence)[0] ?? {};
  return `in Deployment ${namespace}/${name} set the argument --capi-version=1.${minor}`;
}

/** Finds namespaces with policies or matched Clusters that the namespaceSelector of no ExtensionConfig selects. */
export function namespaces(evidence: Evidence, settings: Settings, surveyed: CoverageSurvey): Finding {
  const { registrations, policies, clusters } = evidence;
  for (const read of [registrations, policies, clusters]) if (!read.ok) return unread(read);
  if (!evidence.namespaces.ok) return unread(evidence.namespaces);
  const found = ours(evidence, settings).filter(isDiscovered);
  if (found.length === 0) return NOT_DISCOVERED;
  const metadata = evidence.namespaces.value.map((raw) => viewMetadata(raw["metadata"]));
  const left = metadata
    .filter(
      ({ name, labels }) =>
        surveyed.namespaces.has(name) && !found.some((each) => selectsNamespace(each, labels)),
    )
    .map(({ name }) => name);
  if (left.length === 0) return ok("every namespace with something to protect is selected");
  const patch = `kubectl patch extensionconfig ${found[0]?.metadata.name} --type merge -p '{"spec":{"namespaceSelector":null}}'`;
  return error(
    `the namespaceSelector leaves out namespaces with policies, which hold nothing there: ${some(left)}`,
    `label them, or select all: ${patch}`,
  );
}
