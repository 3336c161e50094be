/** Whether rules that speak at admission are heard there, by what was read. */

import { describe } from "node:test";
import type { RawObject } from "../../../../src/cli/fleet/kinds.ts";
import type { Evidence, ReadResult } from "../../../../src/cli/doctor/finding.ts";
import { absent, authority, forbidden, found, other, policy, table, webhookOf } from "./evidence-fixture.ts";

const DENYING = policy({
  rules: [
    {
      name: "r",
      hooks: ["BeforeClusterDelete"],
      admission: "Deny",
      until: [{ name: "g", annotation: { key: "k" } }],
    },
  ],
});
const bundle = (ca: { readonly certificate: string }): string =>
  Buffer.from(ca.certificate).toString("base64");
const denying = (over: Partial<Evidence>): Partial<Evidence> => ({ policies: found([DENYING]), ...over });

const ownWorkers = { name: "workers.hookpolicy.dev", failurePolicy: "Fail" };

const injected = (name: string): ReadResult<RawObject> =>
  found({
    metadata: { name, annotations: { "cert-manager.io/inject-ca-from": "ns/serving" } },
    webhooks: [{ ...ownWorkers, clientConfig: {} }],
  });

const calling = found({
  webhooks: [
    {
      clientConfig: {
        caBundle: bundle(authority),
        service: { namespace: "hookpolicy-system", name: "hooks" },
      },
      name: "clusters.hookpolicy.dev",
      failurePolicy: "Fail",
    },
    { ...ownWorkers, clientConfig: { caBundle: bundle(authority) } },
  ],
});
const endpoints = (ready: boolean): Evidence["clusterEndpoints"] =>
  found([{ endpoints: [{ conditions: { ready } }] }, { endpoints: null }]);

describe("admission", () => {
  table("admission", {
    "without webhook": {
      given: denying({ clusterWebhook: absent }),
      error: /no effect in HookPolicy team-a\/p/,
    },
    "without webhook, when the policies cannot be read": {
      given: denying({ clusterWebhook: absent, policies: forbidden }),
      unknown: /may not/,
    },
    "without webhook in its configuration": {
      given: denying({ clusterWebhook: found({ webhooks: [] }) }),
      error: /has no webhook/,
    },
    "that the API server trusts not yet": {
      given: denying({ clusterWebhook: webhookOf("") }),
      error: /has no caBundle.*until then it refuses to create/,
    },
    "that cert-manager was not told of": {
      given: denying({
        webhook: injected("hookpolicy"),
        clusterWebhook: found({
          metadata: { name: "hookpolicy-clusters" },
          webhooks: [{ ...ownWorkers, clientConfig: {} }],
        }),
      }),
      error:
        /has no caBundle.* → .*kubectl annotate validatingwebhookconfiguration hookpolicy-clusters cert-manager\.io\/inject-ca-from=ns\/serving$/,
    },
    "that cert-manager has not written yet": {
      given: denying({ clusterWebhook: injected("hookpolicy-clusters") }),
      error: /has no caBundle.* → cert-manager writes it: kubectl describe certificate -n ns serving$/,
    },
    "that the API server does not trust": {
      given: denying({ clusterWebhook: webhookOf(bundle(other)) }),
      error: /does not hold the authority/,
    },
    "that lets requests pass without an answer": {
      given: denying({ clusterWebhook: webhookOf(bundle(authority), "Ignore") }),
      warning: /while no replica answers, nothing is refused/,
    },
    "whose Service has no ready Pod": {
      given: denying({ clusterWebhook: calling, clusterEndpoints: endpoints(false) }),
      error:
        /Service hookpolicy-system\/hooks, .* has no ready Pod; until then it refuses.* → kubectl describe service -n hookpolicy-system hooks/,
    },
    "whose Service has one": {
      given: denying({ clusterWebhook: calling, clusterEndpoints: endpoints(true) }),
      ok: /^the API server trusts the serving certificate →/,
    },
    "whose endpoints may not be read": {
      given: denying({ clusterWebhook: calling, clusterEndpoints: forbidden }),
      ok: /trusts/,
    },
  });
});
