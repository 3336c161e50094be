/** What a confirmation reads of the real API server, while others write. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { GROUP, CRD_VERSION } from "../../src/api/hook-policy.ts";
import { LiveReads } from "../../src/decisions/live-reads.ts";
import { ClusterResource } from "../../src/kube/cluster-resource.ts";
import { KubeClient } from "../../src/kube/kube-client.ts";
import { loadKubeConfig } from "../../src/kube/kubeconfig.ts";
import type { ObjectInformers } from "../../src/objects/object-informers.ts";
import { ApiServerAdapter } from "../../src/adapters/api-server.ts";
import type { Ref } from "../controlplane/client.ts";
import { NAMESPACE } from "../controlplane/operator.ts";
import {
  approvalRule,
  clusterPolicyRef,
  policyRef,
  storePolicy,
  storeRollout,
} from "../controlplane/policies.ts";
import { sharedControlPlane } from "../controlplane/shared.ts";
import { cluster, DELETE } from "../unit/builders.ts";
import { silent } from "../unit/memory/fixtures.ts";

const TEAM = "livereads";
const MOVING = "livereads-moving";

const cp = await sharedControlPlane();
const client = new KubeClient(
  loadKubeConfig({ kubeconfig: await cp.kubeconfigFor(NAMESPACE, "hookpolicy") }),
);
after(async () => {
  await client.close();
  await cp.stop();
});
const apiServer = new ApiServerAdapter({
  client,
  clusters: new ClusterResource(client),
  objects: {} as ObjectInformers,
  memory: () => assert.fail("only rollouts use it"),
});

async function storeHolder(ref: Ref): Promise<void> {
  const namespaceSelector = { matchLabels: { of: TEAM } };
  if (ref.kind === "HookRollout") {
    await storeRollout(cp, ref.name, { namespaceSelector });
    return;
  }
  const selected = ref.kind === "HookPolicy" ? {} : { namespaceSelector };
  await storePolicy(cp, ref, { ...selected, rules: [approvalRule("BeforeClusterDelete")] });
}

test("a list as it was at a version shows what was there then", async () => {
  const names = async (at?: string): Promise<string[]> => {
    const { items } = await apiServer.policies("HookPolicy", TEAM, at);
    return items.map(({ name }) => name);
  };
  await storeHolder(policyRef(TEAM, "early"));
  const { resourceVersion: then } = await apiServer.policies("ClusterHookPolicy", undefined);
  await storeHolder(policyRef(TEAM, "late"));
  await cp.delete(policyRef(TEAM, "early"));
  assert.deepEqual([await names(then), await names()], [["early"], ["late"]]);
  await cp.delete(policyRef(TEAM, "late"));
});

const ROLLOUT: Ref = { apiVersion: `${GROUP}/${CRD_VERSION}`, kind: "HookRollout", name: MOVING };

const places: Readonly<Record<string, readonly [Ref, Ref]>> = {
  "a policy that moves from one kind to the other": [policyRef(TEAM, MOVING), clusterPolicyRef(MOVING)],
  "a policy and the rollout that takes its place": [policyRef(TEAM, MOVING), ROLLOUT],
  "a rollout and the ClusterHookPolicy that takes its place": [ROLLOUT, clusterPolicyRef(MOVING)],
};

for (const [what, [one, other]] of Object.entries(places))
  test(`${what}, again and again: one of the two is in each snapshot`, async () => {
    const moving = new AbortController();
    await storeHolder(one);
    const mover = (async () => {
      for (let [from, to] = [one, other]; !moving.signal.aborted; [from, to] = [to, from]) {
        await storeHolder(to);
        await cp.delete(from);
      }
    })();
    const reads = new LiveReads(apiServer, silent);
    const underWay = { share: { namespace: TEAM, cluster: "prod-1" }, over: false };
    const review = { call: DELETE, cluster: cluster({ namespace: TEAM }), admission: true } as const;
    const found: number[] = [];
    const seen = new Set<string>();
    try {
      while (found.length < 40) {
        const { policies, rollouts } = await reads.snapshot(underWay, review, true);
        const kinds = [
          ...policies.filter(({ metadata }) => metadata.name === MOVING).map(({ kind }) => kind),
          ...rollouts.filter(({ name }) => name === MOVING).map(() => "HookRollout"),
        ];
        for (const kind of kinds) seen.add(kind);
        found.push(kinds.length);
      }
    } finally {
      moving.abort();
      await mover;
      for (const ref of [one, other]) await cp.delete(ref);
    }
    assert.ok(
      found.every((count) => count === 1 || count === 2),
      JSON.stringify(found),
    );
    assert.deepEqual(seen, new Set([one.kind, other.kind]), "it moved");
  });
