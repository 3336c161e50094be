/** Checks whether Cluster API calls the operator, for which hooks and namespaces, and whether callers trust its certificate. */

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
  isAbsent,
  judged,
  known,
  ok,
  UndecidedError,
  unknown,
  warning,
  worse,
} from "./finding.ts";
import { gatedIn } from "./check-coverage.ts";
import {
  capiVersion,
  CORE_PODS,
  flagOf,
  lookAtPods,
  minorOf,
  operators,
  TELL_CAPI,
} from "./check-install.ts";
import type { X509Certificate } from "node:crypto";
import { warningOf } from "../../certificates/lifetime.ts";
import { isSignedBy, parseCertificates } from "../../certificates/pem.ts";
import { fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import type { RawObject } from "../fleet/kinds.ts";
import { type Advice, advice, run } from "../terminal/printed-command.ts";

export function ours({ registrations, serviceName }: DoctorInput): Registration[] {
  return known(registrations).filter((each) => isOurs(each, serviceName));
}

function foundOurs(examined: DoctorInput): readonly Registration[] {
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

function annotation(name: string | undefined, mark: string): Advice {
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
  const { namespace = "hookpolicy-system", name = "hookpolicy" } = operators(examined)[0] ?? {};
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

const INJECTED_FROM = "runtime.cluster.x-k8s.io/inject-ca-from-secret";

/** "namespace/name" of the Secret with the serving certificate; absent if unknown. */
export function secretOf({ metadata, service }: Registration): string | undefined {
  const annotated = metadata.annotations?.[INJECTED_FROM];
  return annotated ?? (service && `${service.namespace}/${service.name}-cert`);
}

export function trust(examined: DoctorInput): Finding {
  return foundOurs(examined)
    .map((each) => judged(() => trusts(each, examined)))
    .reduce((a, b) => (worse(b, a) < 0 ? b : a));
}

function trusts(registration: Registration, examined: DoctorInput): Finding {
  const { metadata, caBundle } = registration;
  const { name } = metadata;
  const key = secretOf(registration);
  const secret = examined.secrets.get(key ?? "");
  const inject = annotation(name, `${INJECTED_FROM}=${key ?? "NAMESPACE/SECRET"}`);
  if (caBundle === undefined) {
    return error(
      `ExtensionConfig ${name} has no caBundle: Cluster API trusts no certificate of ours`,
      inject,
    );
  }
  if (key === undefined || secret === undefined) {
    return unknown(`the Secret with the serving certificate of ExtensionConfig ${name} is unknown`, inject);
  }
  if (isAbsent(secret))
    return unknown(`there is no Secret ${key}: the certificate is issued elsewhere`, inject);
  const pem = known(secret);
  const leaf = leafOf(pem);
  if (leaf === undefined) {
    return error(`Secret ${key} holds no certificate in tls.crt`, `put one into tls.crt of Secret ${key}`);
  }
  if (!isSigned(leaf, decoded(caBundle))) {
    return error(
      `the caBundle of ExtensionConfig ${name} does not hold the authority that signed tls.crt of Secret ${key}`,
      isSigned(leaf, pem["ca.crt"]) ? inject : `put that authority into ca.crt of Secret ${key}`,
    );
  }
  return nameProblem(registration, leaf, key) ?? lifetime(leaf, key, examined);
}

function nameProblem({ service }: Registration, leaf: X509Certificate, key: string): Finding | undefined {
  const host = service && `${service.name}.${service.namespace}.svc`;
  if (host === undefined || leaf.checkHost(host) !== undefined) return undefined;
  return error(
    `the certificate in Secret ${key} is not for ${host}, by which Cluster API calls`,
    `issue it for the DNS name ${host}`,
  );
}

function lifetime(
  { validFromDate, validToDate }: X509Certificate,
  key: string,
  examined: DoctorInput,
): Finding {
  const { now } = examined;
  const end = validToDate.toISOString();
  const issuer = operators(examined).find((each) => flagOf(each, "cert-management") === "Self");
  const renew = issuer
    ? advice`the operator should have renewed it, and its log says why it did not: ${lookAtPods(issuer)}`
    : `renew tls.crt and tls.key of Secret ${key}: the operator takes them up without a restart`;
  if (validToDate <= now) return error(`the certificate in Secret ${key} ended at ${end}`, renew);
  if (warningOf({ notBefore: validFromDate, notAfter: validToDate }) <= now)
    return warning(`the certificate in Secret ${key} ends at ${end} and has not been renewed`, renew);
  return ok(`Cluster API trusts the certificate in Secret ${key}, which ends at ${end}`);
}

function leafOf(pem: Readonly<Record<string, string>>): X509Certificate | undefined {
  return parseCertificates(pem["tls.crt"] ?? "")[0];
}

function decoded(base64: string): string {
  return Buffer.from(base64, "base64").toString("utf8");
}

function isSigned(leaf: X509Certificate, bundle: string | undefined): boolean {
  return parseCertificates(bundle ?? "").some((each) => isSignedBy(leaf, each));
}

const APPLY_WEBHOOK = run("kubectl apply -f manifests/webhook.yaml");

/** A problem of this webhook is only a warning, because it helps authors, and decisions do not depend on it. */
export function webhook(examined: DoctorInput): Finding {
  if (isAbsent(examined.webhook)) {
    return warning(
      "there is no ValidatingWebhookConfiguration: only the status of a policy shows its errors",
      APPLY_WEBHOOK,
    );
  }
  return apiServerTrust(known(examined.webhook), examined, "ValidatingWebhookConfiguration");
}

/** Whether the API server trusts the serving certificate for the webhooks of a configuration. */
export function apiServerTrust(configuration: RawObject, examined: DoctorInput, name: string): Finding {
  const bundles = listOf(configuration["webhooks"]).map((each) =>
    textOf(fieldsOf(fieldsOf(each)["clientConfig"])["caBundle"]),
  );
  const keep = keeping(configuration, examined);
  if (bundles.length === 0) {
    return warning(`the ${name} has no webhook: only the status of a policy shows its errors`, APPLY_WEBHOOK);
  }
  if (bundles.some((bundle) => bundle === "")) {
    return warning(`the ${name} has no caBundle: the API server trusts no certificate of ours`, keep);
  }
  const certificate = servingCertificate(examined);
  if (bundles.every((bundle) => isSigned(certificate, decoded(bundle))))
    return ok("the API server trusts the serving certificate");
  return warning(`the caBundle of the ${name} does not hold the authority of the serving certificate`, keep);
}

/** The annotation by which cert-manager writes the caBundle of a webhook configuration. */
const INJECTED_BY_CERT_MANAGER = "cert-manager.io/inject-ca-from";

function injectedFrom({ metadata }: RawObject): string {
  return textOf(fieldsOf(fieldsOf(metadata)["annotations"])[INJECTED_BY_CERT_MANAGER]);
}

/** How the caBundle of a webhook configuration comes to hold the authority. */
function keeping(configuration: RawObject, { webhook: ofPolicies }: DoctorInput): Advice {
  const certificate = injectedFrom(configuration);
  if (certificate !== "") {
    const [namespace = "", name = ""] = certificate.split("/");
    return advice`cert-manager writes it: ${run(`kubectl describe certificate -n ${namespace} ${name}`)}`;
  }
  const beside = ofPolicies.ok ? injectedFrom(ofPolicies.value) : "";
  if (beside !== "") {
    const { name } = viewMetadata(configuration["metadata"]);
    const annotate = `kubectl annotate validatingwebhookconfiguration ${name} ${INJECTED_BY_CERT_MANAGER}=${beside}`;
    return advice`cert-manager writes it once it is told to: ${run(annotate)}`;
  }
  return "the operator writes it, from ca.crt beside its certificate: put that into its Secret, and look at the operator's log";
}

function servingCertificate(examined: DoctorInput): X509Certificate {
  const secrets = foundOurs(examined)
    .map(secretOf)
    .map((key) => examined.secrets.get(key ?? ""));
  const leaf = secrets.find((each) => each?.ok === true) ?? secrets[0];
  const certificate = leaf === undefined || isAbsent(leaf) ? undefined : leafOf(known(leaf));
  if (certificate !== undefined) return certificate;
  throw new UndecidedError(
    unknown(
      "it has a caBundle; there is no Secret with a serving certificate to compare it with",
      "compare it with the authority that issues the operator's certificate",
    ),
  );
}
