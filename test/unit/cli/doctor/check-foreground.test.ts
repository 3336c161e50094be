/** Whether deletions in the foreground are refused, by what was read. */

import { describe } from "node:test";
import { absent, forbidden, foregroundBinding, found, table } from "./evidence-fixture.ts";

describe("foreground", () => {
  table("foreground", {
    "as installed": { ok: /refuse-foreground-deletion is bound →/ },
    "with Namespaces that opt out": {
      given: {
        namespaces: found([
          { metadata: { name: "team-a", labels: { "hookpolicy.dev/foreground-deletion": "allowed" } } },
          { metadata: { name: "team-b", labels: { "hookpolicy.dev/foreground-deletion": "no" } } },
        ]),
      },
      ok: /opt out by the label hookpolicy\.dev\/foreground-deletion: team-a →/,
    },
    "when the Namespaces cannot be read": {
      given: { namespaces: forbidden },
      ok: /which Namespaces have opted out is unknown/,
    },
    "without the policy": {
      given: { foregroundPolicy: absent, clusterWebhook: absent },
      error: /--cascade=foreground destroys a Cluster that is held.*kubectl apply -k/,
    },
    "without the policy, before Kubernetes 1.30": {
      given: { foregroundPolicy: absent, clusterWebhook: absent, serverVersion: "v1.29.4" },
      error: /since 1\.30: until then install the webhook for Clusters/,
    },
    "without the policy, beside the webhook of Clusters": {
      given: { foregroundPolicy: absent },
      warning: /the webhook for Clusters refuses/,
    },
    "not bound": {
      given: { policyBindings: found([foregroundBinding({ policyName: "another" })]) },
      warning: /is not bound with Deny/,
    },
    "bound with Audit": {
      given: { policyBindings: found([foregroundBinding({ validationActions: ["Audit"] })]) },
      warning: /is not bound with Deny/,
    },
    "bound for some Clusters only": {
      given: { policyBindings: found([foregroundBinding({ matchResources: { objectSelector: {} } })]) },
      warning: /is not bound with Deny/,
    },
    "when bindings cannot be read": { given: { policyBindings: forbidden }, unknown: /you may not/ },
  });
});
