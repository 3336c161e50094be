/** What a confirmation reads of the real API server, while others write. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { LiveReads } from "../../src/controller/livereads.ts";
import type { PolicyKind } from "../../src/policy/policyref.ts";
import { ClusterResource } from "../../src/kube/clusterresource.ts";
import { KubeClient } from "../../src/kube/kubeclient.ts";
import { loadKubeConfig } from "../../src/kube/kubeconfig.ts";
import type { ObjectInformers } from "../../src/objects/objectinformers.ts";
import { ApiServer } from "../../src/operator/apiserver.ts";
import type { Ref } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/controlplane.ts";
import { NAMESPACE } from "../controlplane/operator.ts";
import { approvalRule, clusterPolicyRef, policyRef, storePolicy } from "../controlplane/policies.ts";
import { sharedControlPlane } from "../controlplane/shared.ts";

const TEAM = "livereads";
const MOVING = "livereads-moving";

let cp: ControlPlane;
let client: KubeClient;
let apiServer: ApiServer;

before(async () => {
  cp = await sharedControlPlane();
  client = new KubeClient(loadKubeConfig({ kubeconfig: await cp.kubeconfigFor(NAMESPACE, "hookpolicy") }));
  apiServer = new ApiServer({
    client,
    clusters: new ClusterResource(client),
    objects: {} as ObjectInformers,
    memory: () => assert.fail("only rollouts use it"),
  });
});
after(async () => {
  await client?.close();
  await cp?.stop();
});

const refOf = (kind: PolicyKind, name: string): Ref =>
  kind === "HookPolicy" ? policyRef(TEAM, name) : clusterPolicyRef(name);

async function store(kind: PolicyKind, name: string): Promise<void> {
  const selected = kind === "HookPolicy" ? {} : { namespaceSelector: { matchLabels: { of: TEAM } } };
  await storePolicy(cp, refOf(kind, name), { ...selected, rules: [approvalRule("BeforeClusterDelete")] });
}

test("a list as it was at a version shows what was there then", async () => {
  const names = async (at?: string): Promise<string[]> => {
    const { items } = await apiServer.policies("HookPolicy", TEAM, at);
    return items.map(({ name }) => name);
  };
  await store("HookPolicy", "early");
  const { resourceVersion: then } = await apiServer.policies("ClusterHookPolicy", undefined);
  await store("HookPolicy", "late");
  await cp.delete(refOf("HookPolicy", "early"));
  assert.deepEqual([await names(then), await names()], [["early"], ["late"]]);
  await cp.delete(refOf("HookPolicy", "late"));
});

test("a policy that moves from one kind to the other, again and again, is in each snapshot", async () => {
  const moving = new AbortController();
  await store("HookPolicy", MOVING);
  const mover = (async () => {
    for (let from: PolicyKind = "HookPolicy"; !moving.signal.aborted;) {
      const to: PolicyKind = from === "HookPolicy" ? "ClusterHookPolicy" : "HookPolicy";
      await store(to, MOVING);
      await cp.delete(refOf(from, MOVING));
      from = to;
    }
  })();
  const reads = new LiveReads(apiServer);
  const underWay = { share: { namespace: TEAM, cluster: "prod-1" }, over: false };
  const options = { namespace: TEAM, withRollouts: true, meanwhile: async () => await Promise.resolve() };
  const found: (number | undefined)[] = [];
  try {
    while (found.length < 60) {
      const snapshot = await reads.snapshot(underWay, options);
      found.push(snapshot?.policies.filter(({ metadata }) => metadata.name === MOVING).length);
    }
  } finally {
    moving.abort();
    await mover;
    for (const kind of ["HookPolicy", "ClusterHookPolicy"] as const) await cp.delete(refOf(kind, MOVING));
  }
  assert.ok(
    found.every((count) => count === 1 || count === 2),
    JSON.stringify(found),
  );
});
