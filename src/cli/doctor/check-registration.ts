/** Checks whether Cluster API calls the operator, and for which hooks and namespaces. */

import { servedHooks } from "../../api/hook-catalog.ts";
import { counted } from "../../lib/counted.ts";
import { viewMetadata } from "../../views/cluster.ts";
import {
  isDiscovered,
  isOurs,
  isRefused,
  misplaced,
  MOVE,
  type Registration,
  selectsNamespace,
} from "../../registration/registration.ts";
import { firstNames } from "../../lib/first-names.ts";
import { timestamp } from "../../lib/instant.ts";
import {
  error,
  type DoctorInput,
  type Finding,
  known,
  ok,
  UndecidedError,
  unknown,
  warning,
} from "./finding.ts";
import { gatedIn } from "./check-coverage.ts";
import { ASSUMED, capiVersion, CORE_PODS, minorOf, operators, TELL_CAPI } from "./check-install.ts";
import { type Advice, advice, run } from "../terminal/printed-command.ts";

export function ours({ registrations, serviceName }: DoctorInput): Registration[] {
  return known(registrations).filter((each) => isOurs(each, serviceName));
}

export function foundOurs(examined: DoctorInput): readonly Registration[] {
  const found = ours(examined);
  if (found.length > 0) return found;
  const remedy = "do first what the check ExtensionConfig says";
  throw new UndecidedError(unknown("no ExtensionConfig points to the operator", remedy));
}

export function registered(examined: DoctorInput): Finding {
  const found = ours(examined);
  const names = found.map(({ metadata }) => metadata.name);
  if (found.length === 0) {
    return error(
      "no ExtensionConfig points to the operator: Cluster API never calls it",
      advice`apply it as you installed it; if that was with the manifests as they are: ${run("kubectl apply -f manifests/extensionconfig.yaml")}`,
    );
  }
  const deployed = operators(examined);
  const [place] = deployed.length === 1 ? deployed : [];
  const { serviceName } = examined;
  const elsewhere = place && misplaced(found, { serviceName, namespace: place.namespace });
  if (elsewhere !== undefined) return error(elsewhere, MOVE);
  if (found.length === 1) return ok(`ExtensionConfig ${names.join()}`);
  const superfluous = names.filter((name) => name !== "hookpolicy").slice(0, found.length - 1);
  return warning(
    `${found.length} ExtensionConfigs lead to the operator, which is asked by each of them: ${firstNames(names)}`,
    advice`keep one: ${run(`kubectl delete extensionconfig ${superfluous.join(" ")}`)}`,
  );
}

export function annotation(name: string | undefined, mark: string): Advice {
  return run(`kubectl annotate extensionconfig ${name} --overwrite ${mark}`);
}

export function discovered(examined: DoctorInput): Finding {
  const found = foundOurs(examined);
  const failed = found.find((each) => !isDiscovered(each));
  if (failed !== undefined) {
    const { metadata, discovered: status = "missing", message, handlers } = failed;
    const said = message === "" ? "" : `: ${message}`;
    const effect =
      handlers.length === 0
        ? "it has never been discovered, so nothing is held"
        : "Cluster API calls what it knew before; if its calls fail, too, no Cluster is created, upgraded or deleted";
    const detail = `ExtensionConfig ${metadata.name}: Discovered is ${status}${said} (${effect})`;
    const remedy = isRefused(failed)
      ? capiFlag(examined, minorOf(capiVersion(examined)))
      : status === "missing"
        ? advice`${CORE_PODS}: Cluster API's manager has not looked at it`
        : advice`make what the message names reachable: ${run("kubectl get pods,endpointslices -A -l app.kubernetes.io/name=hookpolicy")}; Cluster API then tries again by itself`;
    return error(detail, remedy);
  }
  const old = found.find(({ current }) => !current);
  if (old === undefined)
    return ok(
      found.map((each) => `${each.metadata.name}: ${counted(each.handlers.length, "handler")}`).join("; "),
    );
  const detail = `ExtensionConfig ${old.metadata.name} has changed since Cluster API looked at it`;
  return warning(detail, CORE_PODS);
}

export function hooks(examined: DoctorInput): Finding {
  // The Deployment's --capi-version determines which hooks the operator offers.
  known(examined.deployments);
  const { advertised, capiVersion: told } = examined.served;
  const minor = minorOf(capiVersion(examined));
  const called = minor === undefined ? advertised : servedHooks(minor).advertised;
  const strange = [...advertised.difference(called)];
  if (strange.length > 0) {
    const detail = `the operator offers hooks for Cluster API ${told}, and Cluster API 1.${minor} refuses all of them because of ${firstNames(strange)}`;
    return error(detail, capiFlag(examined, minor));
  }
  const found = ours(examined).filter(isDiscovered);
  const learnt = new Set(found.flatMap((each) => each.handlers.map(({ hook }) => hook)));
  const unlearnt = [...advertised.difference(learnt)];
  if (found.length > 0 && unlearnt.length > 0) {
    const detail = `Cluster API knows no handler for ${firstNames(unlearnt)}: it has not looked since the operator offers that`;
    // The value of an earlier time would change nothing, and Cluster API would not look.
    const value = timestamp(examined.now);
    return error(detail, annotation(found[0]?.metadata.name, `hookpolicy.dev/discover=${value}`));
  }
  const unserved = [...called.difference(advertised)];
  if (unserved.length > 0) {
    return warning(
      `the operator does not answer ${firstNames(unserved)}, which Cluster API 1.${minor} calls`,
      capiFlag(examined, minor),
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

function capiFlag(examined: DoctorInput, minor: number | "MINOR" = "MINOR"): string {
  const { namespace, name } = operators(examined)[0] ?? ASSUMED;
  return `in Deployment ${namespace}/${name} set the argument --capi-version=1.${minor}`;
}

/** Finds namespaces with policies or matched Clusters that the namespaceSelector of no ExtensionConfig selects. */
export function namespaces(examined: DoctorInput): Finding {
  known(examined.registrations);
  known(examined.policies);
  known(examined.clusters);
  const metadata = known(examined.namespaces).map((raw) => viewMetadata(raw["metadata"]));
  const found = ours(examined).filter(isDiscovered);
  if (found.length === 0) return NOT_DISCOVERED;
  const toProtect = namespacesToProtect(examined);
  const left = metadata
    .filter(
      ({ name, labels }) =>
        toProtect.has(name) && !found.some((each) => selectsNamespace(each, labels) === "yes"),
    )
    .map(({ name }) => name);
  if (left.length === 0) return ok("every namespace with something to protect is selected");
  const patch = run(
    `kubectl patch extensionconfig ${found[0]?.metadata.name} --type merge -p '{"spec":{"namespaceSelector":null}}'`,
  );
  return error(
    `the namespaceSelector leaves out namespaces with policies, which hold nothing there: ${firstNames(left)}`,
    advice`label them, or select all: ${patch}`,
  );
}

/** Those of gated HookPolicies, and of the Clusters that gated policies match or rollouts select. */
function namespacesToProtect({ fleet, matches }: DoctorInput): ReadonlySet<string> {
  const gated = [...gatedIn(matches)];
  const clusters = [
    ...gated.flatMap(([, found]) => found),
    ...fleet.rollouts.flatMap((rollout) => fleet.selectedBy(rollout)),
  ];
  return new Set([
    ...gated.map(([{ compiled }]) => compiled.ref.namespace ?? ""),
    ...clusters.map(({ metadata }) => metadata.namespace ?? ""),
  ]);
}
