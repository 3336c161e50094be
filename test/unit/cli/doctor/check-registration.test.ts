/** Whether Cluster API asks, and trusts who answers, by what was read. */

import { X509Certificate } from "node:crypto";
import { describe } from "node:test";
import type { Evidence, Settings } from "../../../../src/cli/doctor/finding.ts";
import { servedHooks } from "../../../../src/api/hook-catalog.ts";
import type { CertificateAuthority } from "../../../controlplane/certificates.ts";
import {
  KEY,
  found,
  absent,
  forbidden,
  deployment,
  extension,
  authority,
  leaf,
  foreign,
  webhookOf,
  secretOf,
  registrations,
  table,
  other,
  OURS,
} from "./evidence-fixture.ts";
describe("registered", () => {
  const says = (conditions: object[]): Partial<Evidence> => ({
    registrations: registrations(extension({}, { conditions })),
  });
  const selecting = (matchLabels: object): Partial<Evidence> => {
    const raw = extension();
    return {
      registrations: registrations({
        ...raw,
        spec: { ...(raw["spec"] as object), namespaceSelector: { matchLabels } },
      }),
    };
  };
  const REFUSED = "handler a requestHook hooks/v1/BeforeWorkersUpgrade is not in the Runtime SDK catalog";
  const refused = says([{ type: "Discovered", status: "False", message: REFUSED }]);
  const capi = (version: string): Partial<Evidence> => ({
    providers: found([{ providerName: "cluster-api", version }]),
  });
  table("ExtensionConfig", {
    "by nothing": { given: { registrations: registrations() }, error: /never calls it/ },
    twice: {
      given: { registrations: registrations(extension(), extension({}, {}, "b")) },
      warning: /kubectl delete extensionconfig b$/,
    },
    "by another extension only": {
      given: {
        registrations: registrations(
          extension({ service: { namespace: "a", name: "b" } }, { handlers: [] }, "caren"),
        ),
      },
      error: /never calls it/,
    },
    "for another namespace than the operator's": {
      given: {
        registrations: registrations(
          extension(
            { service: { namespace: "elsewhere", name: "hookpolicy-webhook-service" } },
            { conditions: [{ type: "Discovered", status: "False", message: "no such host" }] },
          ),
        ),
      },
      error:
        /elsewhere\/hookpolicy-webhook-service, and the operator runs in namespace .*: Cluster API does not reach it/,
    },
  });
  table("discovery", {
    "but never looked at": { given: says([]), error: /Discovered is missing/ },
    "but not discovered": {
      given: says([{ type: "Discovered", status: "False", message: "no such host" }]),
      error:
        /Discovered is False: no such host \(Cluster API calls what it knew before; if its calls fail, too, no/,
    },
    "and never was": {
      given: { registrations: registrations(extension({}, { conditions: [], handlers: [] })) },
      error: /Discovered is missing \(it has never been discovered, so nothing is held\)/,
    },
    "but refused for a hook that Cluster API does not know": {
      given: refused,
      error: /→ in Deployment .* set the argument --capi-version=1\.14$/,
    },
    "but refused by a Cluster API of unknown version": {
      given: { ...refused, deployments: found([]) },
      error: /--capi-version=1\.MINOR$/,
    },
    "but changed since": {
      given: says([{ type: "Discovered", status: "True", observedGeneration: 0 }]),
      warning: /has changed since/,
    },
  });
  table("handlers", {
    "with hooks that an older Cluster API does not know": {
      given: capi("v1.11.0"),
      error: /1\.11 refuses all of them because of BeforeControlPlaneUpgrade.*--capi-version=1\.11/,
    },
    "with fewer hooks than Cluster API calls": {
      given: capi("v1.14.0"),
      settings: { served: servedHooks(11) },
      warning: /does not answer BeforeControlPlaneUpgrade.*--capi-version=1\.14/,
    },
    "before the operator offered more": {
      given: { registrations: registrations(extension({}, { handlers: [] })) },
      settings: { now: new Date("2026-11-23T12:00:00Z") },
      error: /knows no handler for BeforeClusterCreate.*kubectl annotate .*\/discover=2026-11-23T12:00:00Z$/,
    },
  });
  table("namespaces", {
    "for the namespace": { given: selecting({ a: "b" }), ok: /every namespace/ },
    "for other namespaces": { given: selecting({ a: "c" }), error: /hold nothing there: team-a/ },
  });
});

describe("the certificate", () => {
  const bundle = (each: CertificateAuthority): object => ({
    caBundle: Buffer.from(each.certificate).toString("base64"),
  });
  const later = (share: number): Partial<Settings> => ({
    now: new Date(Date.now() + share * 365 * 86_400_000),
  });
  table("certificate", {
    "without caBundle": {
      given: { registrations: registrations(extension({ caBundle: "" })) },
      error:
        /has no caBundle.*kubectl annotate extensionconfig hookpolicy .*inject-ca-from-secret=hookpolicy-system/,
    },
    "of an authority that Cluster API does not know": {
      given: { registrations: registrations(extension(bundle(other))) },
      error: /does not hold the authority.*kubectl annotate/,
    },
    "that its own Secret's ca.crt did not sign": {
      given: {
        registrations: registrations(extension(bundle(other))),
        secrets: secretOf(leaf, other.certificate),
      },
      error: /put that authority into ca\.crt of Secret/,
    },
    "for another name": {
      given: { secrets: secretOf(foreign, authority.certificate) },
      error: /is not for hookpolicy-webhook-service/,
    },
    "that has ended": { settings: later(20), error: /ended at/ },
    "that the operator should have renewed": {
      given: { deployments: found([deployment(OURS, "", ["--cert-management=Self"])]) },
      settings: later(20),
      error:
        /ended at .* → the operator should have renewed it.*; kubectl logs -n ns -l \S+ --tail=-1 --prefix --since=1h$/,
    },
    "that should have been renewed": {
      settings: { now: new Date(Date.parse(new X509Certificate(leaf).validTo) - 1000) },
      warning: /ends at .* and has not been renewed → renew tls\.crt/,
    },
    "that is nowhere": { given: { secrets: new Map([[KEY, absent]]) }, unknown: /issued elsewhere/ },
    "that the user may not read": { given: { secrets: new Map([[KEY, forbidden]]) }, unknown: /may not/ },
    "that is none": { given: { secrets: secretOf("", "") }, error: /no certificate in tls\.crt/ },
  });
  table("webhook", {
    "without webhook": { given: { webhook: absent }, warning: /kubectl apply -f manifests\/webhook\.yaml/ },
    "that the API server trusts not yet": { given: { webhook: webhookOf("") }, warning: /has no caBundle/ },
    "that the API server does not trust": {
      given: { webhook: webhookOf(Buffer.from(other.certificate).toString("base64")) },
      warning: /does not hold the authority/,
    },
    "that cannot be compared": { given: { secrets: new Map() }, unknown: /no Secret .* to compare it with/ },
  });
});
