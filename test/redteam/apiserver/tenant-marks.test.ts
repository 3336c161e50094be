/** A tenant names, in a policy of its own, what an administrator's `hookpolicy approve` would write. */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { clusterObject } from "../../apiserver/cluster-object.ts";
import type { KubeObject, Ref } from "../../controlplane/client.ts";
import type { ControlPlane } from "../../controlplane/control-plane.ts";
import { clusterRef } from "../../controlplane/lab.ts";
import { clusterPolicyRef, policyRef, storePolicy, storeRollout } from "../../controlplane/policies.ts";
import { sharedControlPlane } from "../../controlplane/shared.ts";
import type { GateSpec } from "../../../src/api/hook-policy.ts";
import type { Outcome } from "../../unit/cli/program.ts";
import { hookpolicy } from "../../unit/cli/resident.ts";

const HOOK = "BeforeClusterDelete";
const OWN = "example.com/mine";
const PLATFORM = "platform.example.com/approved";
const STAGE = "platform.example.com/stage";
const ENV = "platform.example.com/env";
const TIER = "platform.example.com/tier";
const CANARY = "platform.example.com/canary";

const namespaceRef = (name: string): Ref => ({ apiVersion: "v1", kind: "Namespace", name });

let cp: ControlPlane;

before(async () => {
  cp = await sharedControlPlane();
  await storePolicy(cp, clusterPolicyRef("tenantmarks"), {
    namespaceSelector: { matchLabels: { [ENV]: "prod" } },
    rules: [
      {
        name: "platform",
        hooks: [HOOK],
        until: [
          { name: "approved", annotation: { key: PLATFORM, from: "Namespace" } },
          { name: "staged", expression: `cluster.metadata.annotations['${STAGE}'] == 'done'` },
        ],
      },
    ],
  });
  await storeRollout(cp, "tenantmarks", {
    clusterSelector: { matchExpressions: [{ key: CANARY, operator: "Exists" }] },
    maxConcurrency: 1,
  });
  await cp.apply([
    {
      apiVersion: "runtime.cluster.x-k8s.io/v1beta2",
      kind: "ExtensionConfig",
      metadata: { name: "tenantmarks" },
      spec: {
        clientConfig: { url: "https://127.0.0.1:1" },
        namespaceSelector: { matchExpressions: [{ key: TIER, operator: "NotIn", values: ["free"] }] },
      },
    },
  ]);
});

/** A Cluster that is being deleted, in a namespace of the platform's, with a tenant's policy. */
async function held(namespace: string, gate: Omit<GateSpec, "name">): Promise<void> {
  const finalizers = ["example.com/machines"];
  await cp.apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }]);
  await cp.patch(namespaceRef(namespace), { metadata: { labels: { [ENV]: "prod" } } });
  await cp.create(clusterObject(namespace, "c1", { metadata: { finalizers } }));
  await cp.delete(clusterRef(namespace, "c1"));
  await storePolicy(cp, policyRef(namespace, "tenant"), {
    rules: [
      {
        name: "mine",
        hooks: [HOOK],
        until: [
          { name: "own", annotation: { key: OWN } },
          { name: "planted", ...gate },
        ],
      },
    ],
  });
}

const run = async (command: string, namespace: string, ...args: readonly string[]): Promise<Outcome> =>
  await hookpolicy([command, `${namespace}/c1`, ...args, "--kubeconfig", cp.adminKubeconfig]);

const approve = async (namespace: string, ...args: readonly string[]): Promise<Outcome> =>
  await run("approve", namespace, "--yes", "--no-wait", ...args);

const quoted = (text: string): string => text.replaceAll(/[.\\]/g, "\\$&");

const marksOf = ({ metadata: { labels, annotations } }: KubeObject): Record<string, string> => ({
  ...labels,
  ...annotations,
});

interface PlantedGate {
  readonly gate: Omit<GateSpec, "name">;
  readonly key: string;
  readonly on: "Cluster" | "Namespace";
  readonly why: RegExp;
}

const PLANTED: Readonly<Record<string, PlantedGate>> = {
  "the level of Pods' privileges": {
    gate: { label: { key: "pod-security.kubernetes.io/enforce", from: "Namespace", value: "privileged" } },
    key: "pod-security.kubernetes.io/enforce",
    on: "Namespace",
    why: /kubernetes\.io belong to Kubernetes, Cluster API or HookPolicy/,
  },
  "a label of the Namespace by which a ClusterHookPolicy selects": {
    gate: { label: { key: ENV, from: "Namespace", value: "dev" } },
    key: ENV,
    on: "Namespace",
    why: /ClusterHookPolicy tenantmarks selects by this label/,
  },
  "a label of the Namespace by which an ExtensionConfig selects": {
    gate: { label: { key: TIER, from: "Namespace", value: "free" } },
    key: TIER,
    on: "Namespace",
    why: /ExtensionConfig tenantmarks selects by this label/,
  },
  "a label of the Cluster by which a HookRollout selects": {
    gate: { label: { key: CANARY } },
    key: CANARY,
    on: "Cluster",
    why: /HookRollout tenantmarks selects by this label/,
  },
  "an approval that an expression of the platform reads": {
    gate: { annotation: { key: STAGE, value: "done" } },
    key: STAGE,
    on: "Cluster",
    why: /ClusterHookPolicy tenantmarks waits for it/,
  },
  "Cluster API's unsafe marks, among alternatives": {
    gate: {
      anyOf: [
        { name: "never", expression: "false" },
        { name: "filtered", label: { key: "cluster-api.cluster.x-k8s.io/anything" } },
      ],
    },
    key: "cluster-api.cluster.x-k8s.io/anything",
    on: "Cluster",
    why: /cluster\.x-k8s\.io belong to Kubernetes, Cluster API or HookPolicy/,
  },
  "a key of the Namespace that something else may read": {
    gate: { annotation: { key: "other.example.com/inject", from: "Namespace", value: "yes" } },
    key: "other.example.com/inject",
    on: "Namespace",
    why: /--namespace-mark 'other\.example\.com\/inject=yes'|--namespace-mark other\.example\.com\/inject=yes/,
  },
};

describe("what a tenant's gate names is not written:", { concurrency: true }, () => {
  for (const [index, [name, { gate, key, on, why }]] of Object.entries(PLANTED).entries()) {
    test(name, async () => {
      const namespace = `tenantmarks-${index}`;
      await held(namespace, gate);
      const { code, stdout, stderr } = await approve(namespace);
      const object = await cp.get(on === "Cluster" ? clusterRef(namespace, "c1") : namespaceRef(namespace));
      const expected = key === ENV ? "prod" : undefined;
      assert.equal(marksOf(object)[key], expected, stdout);
      assert.equal(code, 0, stderr);
      assert.match(stdout, why);
      const cluster = await cp.get(clusterRef(namespace, "c1"));
      assert.equal(marksOf(cluster)[OWN], "true", "the tenant's own mark on the Cluster is set");

      const dry = await run("approve", namespace, "--dry-run");
      assert.doesNotMatch(dry.stdout, new RegExp(`kubectl .*${quoted(key)}`));
      const { stdout: explained } = await run("explain", namespace);
      assert.match(explained, new RegExp(quoted(key)));
      assert.doesNotMatch(explained, new RegExp(`kubectl .*${quoted(key)}`));
    });
  }
});

test("a mark on the Namespace is set if the administrator names it, and the platform's only then without a question", async () => {
  const namespace = "tenantmarks-named";
  await held(namespace, { annotation: { key: "other.example.com/inject", from: "Namespace", value: "yes" } });
  await approve(namespace, "--namespace-mark", "other.example.com/inject=no");
  assert.equal(marksOf(await cp.get(namespaceRef(namespace)))["other.example.com/inject"], undefined);

  const { code, stdout } = await approve(namespace, "--namespace-mark", "other.example.com/inject=yes");
  assert.equal(code, 0);
  assert.match(stdout, new RegExp(`--yes does not cover it: --namespace-mark ${quoted(PLATFORM)}=true`));
  const marks = marksOf(await cp.get(namespaceRef(namespace)));
  assert.equal(marks["other.example.com/inject"], "yes");
  assert.equal(marks[PLATFORM], undefined);

  await approve(namespace, "--namespace-mark", `${PLATFORM}=true`);
  assert.equal(marksOf(await cp.get(namespaceRef(namespace)))[PLATFORM], "true");
});
