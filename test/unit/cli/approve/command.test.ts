import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { TEXT } from "../../../../src/hooks/hook-answer.ts";
import {
  answering,
  FORBIDDEN,
  list,
  type Lists,
  SERVES_CLUSTERS,
  SERVES_CONFIG_MAPS,
  servingCluster,
} from "../api-server.ts";
import { rawCluster, rawPolicy } from "../raw.ts";
import { hookpolicy } from "../resident.ts";
import { refuses } from "../usage.ts";

refuses("approve", {
  "no Cluster": [[], /^error: missing required argument 'cluster'/],
  "a Cluster of no name": [["team-a/"], /Allowed: NAMESPACE\/NAME/],
  "another namespace than that of the Cluster": [
    ["team-a/prod-1", "-n", "team-b"],
    /^error: team-a\/prod-1 is not in namespace team-b, which -n says/,
  ],
  "an unknown hook": [["a/b", "--hook", "BeforeClusterDelet"], /\(did you mean BeforeClusterDelete\?\)/],
  "no duration": [["a/b", "--timeout", "soon"], /Allowed: a duration such as 90s, 10m or 1h30m; see/],
  "a duration in days": [
    ["a/b", "--timeout", "2d"],
    /Allowed: a duration such as 90s, 10m or 1h30m \(write 48h\)/,
  ],
  "no kubeconfig": [["a/b", "--kubeconfig", "/none"], /^error: kubeconfig \/none: no such file\n$/],
});

test("approve and override take a Cluster by its name, in the namespace of -n or of the context", async (t) => {
  const { kubeconfig, asked } = await answering(t, SERVES_CLUSTERS);
  const override = ["--hook", "BeforeClusterDelete", "--reason", "why", "--for", "1h"];
  for (const [command, ...more] of [["approve"], ["override", ...override]]) {
    for (const [namespace, ...flags] of [["default"], ["team-a", "-n", "team-a"]]) {
      const args = [command ?? "", "prod-1", ...flags, ...more, "--kubeconfig", kubeconfig];
      assert.equal((await hookpolicy(args)).code, 2);
      const about = asked.filter((question) => question.includes("/namespaces/"));
      assert.match(about.at(-1) ?? "", new RegExp(`/namespaces/${namespace}\\b`), args.join(" "));
    }
  }
});

for (const [message, why] of [
  ['failed to call extension handler "h": no', `Cluster API's last call failed: failed to call .*: no\n$`],
  [`BeforeClusterDelete: ${TEXT.NotConfirmed}`, "the operator's last answer was that it could not confirm"],
] as const)
  test(`approve that waits in vain says why: ${message}`, async (t) => {
    const cluster = {
      ...rawCluster({
        uid: "uid-1",
        resourceVersion: "1",
        deletionTimestamp: "2026-01-01T00:00:00Z",
        finalizers: ["cluster.cluster.x-k8s.io"],
      }),
      status: { conditions: [{ type: "TopologyReconciled", status: "False", message }] },
    };
    const rule = {
      name: "r",
      hooks: ["BeforeClusterDelete"],
      until: [{ name: "g", annotation: { key: "example.com/go" } }],
    };
    const policy = rawPolicy(
      { name: "p", uid: "uid-p", generation: 1, resourceVersion: "1" },
      { rules: [rule] },
    );
    const lists = { "namespaces/team-a/hookpolicies": [policy], hookpolicies: [policy] };
    const { kubeconfig } = await answering(t, {
      ...servingCluster(cluster, lists),
      "PATCH /apis/cluster.x-k8s.io/v1beta2/namespaces/team-a/clusters/prod-1": cluster,
      "GET /apis/runtime.cluster.x-k8s.io": { versions: [] },
    });
    const args = ["approve", "team-a/prod-1", "-y", "--timeout", "1s", "--kubeconfig", kubeconfig];
    const { code, stderr } = await hookpolicy(args);
    assert.equal(code, 1, stderr);
    assert.match(stderr, new RegExp(`still held at BeforeClusterDelete after 1 s: ${why}`));
  });

describe("a Cluster that only a rollout could hold", () => {
  const metadata = { namespace: "team-a", name: "prod-1", uid: "uid-1", resourceVersion: "1" };
  const object = { apiVersion: "v1", kind: "ConfigMap", name: "approved" };
  const rollout = {
    metadata: { name: "upgrades", uid: "uid-r", resourceVersion: "1", generation: 1 },
    spec: {
      operation: "Upgrade",
      namespaceSelector: {},
      progressDeadline: "6h",
      stages: [{ name: "only", until: [{ name: "approved", object }] }],
    },
    status: {
      observedGeneration: 1,
      conditions: [{ type: "Ready", status: "True", reason: "Loaded", message: "" }],
      targets: [{ version: "v1.35.0", stages: [{ name: "only", members: 1 }] }],
    },
  };
  const told = async (t: test.TestContext, hookrollouts: Lists[string]): Promise<string> => {
    const { kubeconfig } = await answering(t, {
      ...servingCluster(rawCluster(metadata), { hookrollouts }),
      ...SERVES_CONFIG_MAPS,
      "GET /api/v1/namespaces/team-a/configmaps": list({ metadata: { ...metadata, name: "approved" } }),
      "GET /apis/runtime.cluster.x-k8s.io": { versions: [] },
    });
    const args = ["approve", "team-a/prod-1", "--hook", "BeforeClusterUpgrade", "--kubeconfig", kubeconfig];
    return (await hookpolicy(args)).stdout;
  };

  test("is not held once a stage's gate on an object is met", async (t) => {
    assert.equal(await told(t, [rollout]), "Cluster team-a/prod-1 is not held at BeforeClusterUpgrade\n");
  });

  test("is not known to be held, or not to be, if rollouts may not be read", async (t) => {
    assert.equal(
      await told(t, FORBIDDEN),
      "Cluster team-a/prod-1 is not known to be held at BeforeClusterUpgrade\n",
    );
  });
});
