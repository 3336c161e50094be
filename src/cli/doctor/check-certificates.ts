/** Checks whether Cluster API and the API server trust the operator's certificate. */

import type { X509Certificate } from "node:crypto";
import { warningOf } from "../../certificates/lifetime.ts";
import { isSignedBy, parseCertificates } from "../../certificates/pem.ts";
import { fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import type { Registration } from "../../registration/registration.ts";
import { viewMetadata } from "../../views/cluster.ts";
import type { RawObject } from "../fleet/kinds.ts";
import { type Advice, advice, run } from "../terminal/printed-command.ts";
import { flagOf, lookAtPods, operators } from "./check-install.ts";
import { annotation, foundOurs } from "./check-registration.ts";
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
