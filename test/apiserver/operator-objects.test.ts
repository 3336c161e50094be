/** Object gates of a running operator on a real API server: what it watches, and what it says when it may not. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { GateSpec, ObjectGateSpec } from "../../src/api/hook-policy.ts";
import type { KubeObject, Ref } from "../controlplane/client.ts";
import { createCluster, NEXT_VERSION } from "../controlplane/lab.ts";
import { holdsFor } from "../controlplane/operator.ts";
import {
  clusterPolicyRef,
  condition,
  conditionIs,
  policyRow,
  noRow,
  policyIsReady,
  policyRef,
  storePolicy,
} from "../controlplane/policies.ts";
import { readGrant } from "../controlplane/rights.ts";
import { startLab } from "./operator-lab.ts";

const HOOK = "BeforeClusterUpgrade";
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };
const NODE = { apiVersion: "v1", kind: "Node" };

const lab = await startLab();
after(async () => await lab.stop());
const { cp } = lab;
await cp.apply([readGrant("configmaps"), readGrant("nodes")]);

describe("object gates", () => {
  async function gated(ref: Ref, object: ObjectGateSpec, ...more: readonly GateSpec[]): Promise<KubeObject> {
    const until = [{ name: "gate", object }, ...more];
    const rules = [{ name: "rule", hooks: [HOOK], until, retryAfterSeconds: 5 }];
    return await storePolicy(cp, ref, {
      ...(ref.namespace === undefined && { namespaceSelector: {} }),
      rules,
    });
  }

  async function create(namespace: string): Promise<void> {
    await createCluster(cp, { namespace, name: "c1", version: NEXT_VERSION });
  }

  async function configMap(
    namespace: string,
    name: string,
    data: Record<string, string> = {},
  ): Promise<void> {
    await cp.apply({ ...CONFIG_MAP, metadata: { namespace, name }, data });
  }

  async function watches(kind: string): Promise<number> {
    const text = await lab.operator.scrape();
    const series = `hookpolicy_informer_objects{resource="${kind}"}`;
    return text.split("\n").filter((line) => line.startsWith(series)).length;
  }

  test("share one watch, which ends with the last policy that needs it", async () => {
    const [a, b] = [policyRef("shared-a", "p"), policyRef("shared-b", "p")];
    const replaced = async (what: string): Promise<void> => {
      await cp.waitFor(`${what} to be watched`, () =>
        lab.proxy.requests.some(({ path, watch }) => watch && path.endsWith("/configmaps")),
      );
      await cp.waitFor("one watch to be open", () => lab.proxy.openWatches(/\/configmaps\?/) === 1);
      assert.equal(await watches("ConfigMap.v1"), 1);
      lab.proxy.forget();
    };
    await gated(a, { ...CONFIG_MAP, name: "go" });
    await replaced("metadata");
    await gated(b, { ...CONFIG_MAP, name: "go", expression: "object.data.go == 'yes'" });
    await replaced("whole objects");
    await cp.delete(b);
    await replaced("metadata alone");
    await cp.delete(a);
    await cp.waitFor("the watch to be closed", () => lab.proxy.openWatches(/\/configmaps\?/) === 0);
    assert.equal(await watches("ConfigMap.v1"), 0);
  });

  test("keep a wait that runs while the operator is started again", async () => {
    const ref = policyRef("soaked", "p");
    await create("soaked");
    await configMap("soaked", "go");
    await policyIsReady(
      cp,
      await gated(ref, { ...CONFIG_MAP, name: "go" }, { name: "soak", wait: { duration: "1h" } }),
    );
    await lab.ask(HOOK, "soaked", "c1");
    const row = await cp.waitFor("the wait to run", async () => {
      const found = await policyRow(cp, ref, "c1", HOOK);
      return found.timers?.[0]?.gatesMetSince !== undefined && found;
    });
    await cp.waitFor(
      "the wait to have begun",
      () => Date.now() > Date.parse(row.timers?.[0]?.gatesMetSince ?? ""),
    );
    await lab.start();
    await cp.waitFor("the objects to be read", () => lab.proxy.openWatches(/\/configmaps\?/) === 1);
    await holdsFor(3000, async () => {
      const { timers, reason } = await policyRow(cp, ref, "c1", HOOK);
      assert.deepEqual([reason, timers], ["WaitPending", row.timers]);
    });
    await cp.delete(ref);
  });

  test("of a HookPolicy reach its own namespace only", async () => {
    const own = policyRef("reach", "p");
    await create("reach");
    await gated(own, { ...NODE, selector: {}, absent: true });
    await lab.ask(HOOK, "reach", "c1");
    const row = await cp.waitFor("the refusal", async () => {
      const found = await policyRow(cp, own, "c1", HOOK);
      return found.reason === "ObjectOutOfReach" && found;
    });
    assert.deepEqual([row.verdict, /needs a ClusterHookPolicy/.test(row.message)], ["NotEvaluable", true]);
    await configMap("default", "elsewhere");
    await policyIsReady(cp, await gated(own, { ...CONFIG_MAP, name: "elsewhere" }));
    await cp.waitFor("the gate to wait", async () => {
      return (await policyRow(cp, own, "c1", HOOK)).reason === "WaitingForObject";
    });
    const wide = clusterPolicyRef("reach-all");
    const gate = { ...CONFIG_MAP, namespace: "default", name: "elsewhere" };
    await policyIsReady(cp, await gated(wide, gate));
    await cp.delete(own);
    await lab.releases("the Cluster to be let go", HOOK, "reach", "c1");
    await cp.delete(wide);
  });

  test("look at Clusters in selected namespaces without a grant, and at their labels as they are now", async () => {
    const wide = clusterPolicyRef("after-staging");
    const environment = async (name: string, value: string): Promise<void> => {
      const labels = { environment: value };
      await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
    };
    await create("staged-production");
    const object: ObjectGateSpec = {
      apiVersion: "cluster.x-k8s.io/v1beta2",
      kind: "Cluster",
      namespaceSelector: { matchLabels: { environment: "staging" } },
      selector: {},
      expression: "has(object.spec.topology) && object.spec.topology.version == request.toKubernetesVersion",
    };
    const until = [{ name: "gate", object }];
    const ready = await storePolicy(cp, wide, {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "staged-production" } },
      rules: [{ name: "rule", hooks: [HOOK], until, retryAfterSeconds: 5 }],
    });
    await policyIsReady(cp, ready);
    const retry = async (): Promise<number | undefined> =>
      (await lab.ask(HOOK, "staged-production", "c1")).retryAfterSeconds;
    assert.equal(await retry(), 5);
    await create("staged-staging");
    await environment("staged-staging", "staging");
    await cp.waitFor("the Cluster to be released", async () => (await retry()) === 0);
    await environment("staged-staging", "test");
    assert.equal(await retry(), 5, "a label that was there no longer counts");
    await cp.delete(wide);
  });

  test("that may not be read show in the first status: nothing says Ready in between", async () => {
    const ref = policyRef("ungranted", "p");
    await gated(ref, { apiVersion: "coordination.k8s.io/v1", kind: "Lease", name: "go" });
    const first = await cp.waitFor("the first status", async () => condition(await cp.get(ref), "Ready"));
    assert.deepEqual([first.status, first.reason], ["False", "ObjectsForbidden"]);
  });

  test("that can no longer be read show in the status, as in the answers", async () => {
    const ref = policyRef("revoked", "p");
    await create("revoked");
    await policyIsReady(cp, await gated(ref, { ...CONFIG_MAP, name: "go" }));
    assert.equal((await lab.ask(HOOK, "revoked", "c1")).retryAfterSeconds, 5);
    const { apiVersion, kind } = readGrant("configmaps");
    await cp.delete({ apiVersion, kind, name: "read-configmaps" });
    await cp.waitFor("the grant to be gone", async () => {
      const role = await cp.get({ apiVersion, kind, name: "hookpolicy-objects" });
      return !JSON.stringify(role["rules"] ?? []).includes("configmaps");
    });
    // The open watch still tells of it: memory says go, and the present cannot be read.
    await configMap("revoked", "go");
    await noRow(cp, ref, "c1", HOOK);
    await cp.waitFor("an answer that says why", async () => {
      const { retryAfterSeconds, message = "" } = await lab.ask(HOOK, "revoked", "c1");
      assert.equal(retryAfterSeconds, 5, message);
      return /rule rule is not evaluable: .*may not read configmaps/.test(message);
    });
    const row = await policyRow(cp, ref, "c1", HOOK);
    assert.deepEqual([row.verdict, row.reason], ["NotEvaluable", "ObjectsForbidden"]);
    await conditionIs(cp, ref, "Ready", "ObjectsForbidden");
    await cp.apply(readGrant("configmaps"));
    await policyIsReady(cp, await cp.get(ref));
    await noRow(cp, ref, "c1", HOOK);
    await lab.releases("the Cluster to be let go", HOOK, "revoked", "c1");
  });
});
