/** What doctor says of policies that hold nothing. */

import { describe } from "node:test";
import { found, policy, table } from "./evidence-fixture.ts";

describe("Clusters are protected", () => {
  const rules = [{ name: "r", hooks: ["AfterControlPlaneInitialized"] }];
  const observer = policy({ clusterSelector: { matchLabels: { tier: "gold" } }, rules }, {}, "observer");
  table("effect", {
    "by every policy that can hold: one that only observes needs no Cluster": {
      given: { policies: found([policy(), observer]) },
      ok: /^every policy that can hold matches a Cluster, of 1/,
    },
  });
});

describe("Clusters are not protected", () => {
  table("effect", {
    "by one in a namespace without Clusters": {
      given: {
        policies: found([
          { ...policy(), metadata: { namespace: "team-z", name: "p", uid: "p", generation: 1 } },
        ]),
      },
      warning:
        /HookPolicy team-z\/p → metadata\.namespace: namespace team-z has none of the .*, which are in team-a, so the policy holds nothing.*\. A HookPolicy is about its own namespace: create it in that of the Clusters \(team-a\), or make it a ClusterHookPolicy$/,
    },
    "by one that selects other labels of Clusters": {
      given: { policies: found([policy({ clusterSelector: { matchLabels: { tier: "gold" } } })]) },
      warning:
        /spec\.clusterSelector: tier=gold selects none .*\. Correct it or the labels of the Clusters, or delete it$/,
    },
    "by one that selects other Namespaces": {
      given: {
        policies: found([
          {
            ...policy({ namespaceSelector: { matchLabels: { tier: "gold" } } }),
            kind: "ClusterHookPolicy",
            metadata: { name: "p", uid: "p", generation: 1 },
          },
        ]),
      },
      warning:
        /spec\.namespaceSelector: tier=gold selects the namespace of none .*\. Correct it or the labels of the Namespaces, or delete it$/,
    },
    "because there is none": {
      given: { clusters: found([]) },
      warning:
        /HookPolicy team-a\/p → Correct spec\.clusterSelector or the labels of the Clusters, or delete it$/,
    },
    "by one whose rule lacks until": {
      given: {
        policies: found([policy({ rules: [{ name: "r", hooks: ["BeforeClusterDelete"], message: "ask" }] })]),
      },
      warning:
        /1 rule without until, so without effect\nHookPolicy team-a\/p → spec\.rules\[0\]\.message has no effect/,
    },
    "by one without a Cluster, beside one whose rule lacks until": {
      given: {
        policies: found([
          policy({ rules: [{ name: "r", hooks: ["BeforeClusterDelete"], message: "ask" }] }),
          { ...policy(), metadata: { namespace: "team-z", name: "p", uid: "z", generation: 1 } },
        ]),
      },
      warning:
        /1 rule without until, so without effect; 1 policy without a Cluster\nHookPolicy team-a\/p → .*\nHookPolicy team-z\/p → metadata\.namespace: namespace team-z/,
    },
  });
});
