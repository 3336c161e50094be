/** Whether deletions in the foreground are refused, by what was read. */

import { describe } from "node:test";
import { absent, forbidden, foregroundBinding, found, table } from "./evidence-fixture.ts";

describe("foreground", () => {
  table({
    "as installed": ["foreground", () => ({}), "ok", /refuse-foreground-deletion is bound →/],
    "with Namespaces that opt out": [
      "foreground",
      () => ({
        namespaces: found([
          { metadata: { name: "team-a", labels: { "hookpolicy.dev/foreground-deletion": "allowed" } } },
          { metadata: { name: "team-b", labels: { "hookpolicy.dev/foreground-deletion": "no" } } },
        ]),
      }),
      "ok",
      /opt out by the label hookpolicy\.dev\/foreground-deletion: team-a →/,
    ],
    "when the Namespaces cannot be read": [
      "foreground",
      () => ({ namespaces: forbidden }),
      "ok",
      /which Namespaces have opted out is unknown/,
    ],
    "without the policy": [
      "foreground",
      () => ({ foregroundPolicy: absent, clusterWebhook: absent }),
      "error",
      /--cascade=foreground destroys a Cluster that is held.*kubectl apply -k/,
    ],
    "without the policy, before Kubernetes 1.30": [
      "foreground",
      () => ({ foregroundPolicy: absent, clusterWebhook: absent, serverVersion: "v1.29.4" }),
      "error",
      /since 1\.30: until then install the webhook for Clusters/,
    ],
    "without the policy, beside the webhook of Clusters": [
      "foreground",
      () => ({ foregroundPolicy: absent }),
      "warning",
      /the webhook for Clusters refuses/,
    ],
    "not bound": [
      "foreground",
      () => ({ policyBindings: found([foregroundBinding({ policyName: "another" })]) }),
      "warning",
      /is not bound with Deny/,
    ],
    "bound with Audit": [
      "foreground",
      () => ({ policyBindings: found([foregroundBinding({ validationActions: ["Audit"] })]) }),
      "warning",
      /is not bound with Deny/,
    ],
    "bound for some Clusters only": [
      "foreground",
      () => ({ policyBindings: found([foregroundBinding({ matchResources: { objectSelector: {} } })]) }),
      "warning",
      /is not bound with Deny/,
    ],
    "when bindings cannot be read": [
      "foreground",
      () => ({ policyBindings: forbidden }),
      "unknown",
      /you may not/,
    ],
  });
});
