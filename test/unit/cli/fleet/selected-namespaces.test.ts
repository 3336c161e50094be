/** Gates that select namespaces, for one Cluster and what its user may read of the API server. */

import assert from "node:assert/strict";
import test from "node:test";
import { readCluster } from "../../../../src/cli/fleet/live-fleet.ts";
import type { RawObject } from "../../../../src/cli/fleet/kinds.ts";
import type { KubeClient } from "../../../../src/kube/kube-client.ts";
import { KubeError } from "../../../../src/kube/kube-error.ts";
import type { KubeObject, Resource } from "../../../../src/kube/resource.ts";
import { parseOptions } from "../../../../src/operator/options.ts";
import type { Decision } from "../../../../src/policy/decision.ts";
import { decide } from "../../../../src/policy/decide.ts";
import { NOW } from "../../builders.ts";

const clusterAt = (namespace: string, name: string, version: string): RawObject => ({
  metadata: { name, namespace, uid: `uid-${name}`, resourceVersion: "1" },
  spec: { topology: { classRef: { name: "lab" }, version } },
});
const namespaceOf = (name: string, env: string): RawObject => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion: "1", labels: { env } },
});

const OBJECTS: Readonly<Record<string, readonly RawObject[]>> = {
  clusters: [clusterAt("team-a", "prod-1", "v1.35.0"), clusterAt("stage", "stage-1", "v1.35.0")],
  namespaces: [namespaceOf("team-a", "production"), namespaceOf("stage", "staging")],
  clusterhookpolicies: [
    {
      metadata: { name: "fleet", uid: "uid-fleet", resourceVersion: "1", generation: 1 },
      spec: {
        namespaceSelector: { matchLabels: { env: "production" } },
        rules: [
          {
            name: "r",
            hooks: ["BeforeClusterDelete"],
            until: [
              {
                name: "staged",
                object: {
                  apiVersion: "cluster.x-k8s.io/v1beta2",
                  kind: "Cluster",
                  namespaceSelector: { matchLabels: { env: "staging" } },
                  selector: {},
                },
              },
            ],
          },
        ],
      },
    },
  ],
};

/** An API server with these objects. */
function clientOf(forbidden: string, objects = OBJECTS): KubeClient {
  const inReach = (resource: Resource, namespace?: string): readonly RawObject[] =>
    (objects[resource.plural] ?? []).filter(
      ({ metadata }) =>
        namespace === undefined || (metadata as { readonly namespace?: string }).namespace === namespace,
    );
  const client = {
    getPath: async (path: string) =>
      path.endsWith("/v1beta2")
        ? { resources: [{ name: "clusters", kind: "Cluster", namespaced: true, verbs: ["list", "watch"] }] }
        : { versions: [{ version: "v1beta2" }] },
    get: async (resource: Resource, { namespace, name }: { namespace?: string; name: string }) => {
      const found = inReach(resource, namespace).find(
        ({ metadata }) => (metadata as { readonly name: string }).name === name,
      );
      if (found === undefined) throw new KubeError("not found", { code: 404, reason: "NotFound" });
      return found;
    },
    list: async (
      resource: Resource,
      { namespace, project }: { namespace?: string; project: (raw: KubeObject) => unknown },
    ) => {
      if (resource.plural === forbidden) throw new KubeError("no", { code: 403, reason: "Forbidden" });
      return { items: inReach(resource, namespace).map((raw) => project(raw as unknown as KubeObject)) };
    },
  };
  return client as unknown as KubeClient;
}

async function decided(forbidden: string): Promise<{ decision: Decision; unread: readonly string[] }> {
  const call = { hook: "BeforeClusterDelete" } as const;
  const { fleet, cluster, unread } = await readCluster(
    clientOf(forbidden),
    { namespace: "team-a", name: "prod-1" },
    {
      options: parseOptions({}),
      now: NOW,
      queries: (seen, found) =>
        seen
          .policiesFor(found)
          .flatMap(({ rules }) => rules.flatMap(({ gates }) => gates))
          .flatMap((gate) => gate.queries?.({ world: seen.world(found), call, now: NOW }) ?? []),
    },
  );
  const decision = decide(fleet.policiesFor(cluster), fleet.world(cluster), call, NOW);
  return { decision, unread: unread.map(({ verb }) => verb) };
}

test("they are evaluated with every Namespace", async () => {
  const { decision, unread } = await decided("");
  assert.deepEqual([decision.verdict, unread], ["Allowed", []]);
});

test("they are not evaluable for a user who may not list Namespaces, which is told", async () => {
  const { decision, unread } = await decided("namespaces");
  assert.deepEqual([decision.verdict, decision.holds], ["NotEvaluable", true]);
  assert.match(decision.message, /the Namespaces are not known/);
  assert.deepEqual(unread, ["list namespaces"]);
});

test("a stage by namespace and the object of a task need no right to list Namespaces, a gate on none left in one does", async () => {
  const unreadWith = async (kind: string, spec: object): Promise<readonly string[]> => {
    const object = { metadata: { name: "o", uid: "uid-o", resourceVersion: "1", generation: 1 }, spec };
    const client = clientOf("namespaces", { ...OBJECTS, clusterhookpolicies: [], [kind]: [object] });
    const settings = { options: parseOptions({}), now: NOW, queries: () => [] };
    const { unread } = await readCluster(client, { namespace: "team-a", name: "prod-1" }, settings);
    return unread.map(({ verb }) => verb);
  };
  const production = { namespaceSelector: { matchLabels: { env: "production" } } };
  const staged = (until: readonly object[]): object => ({
    operation: "Upgrade",
    namespaceSelector: {},
    progressDeadline: "6h",
    stages: [{ name: "production", ...production, until }],
  });
  const create = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "backups", name: "b" } };
  const rule = { name: "r", hooks: ["BeforeClusterDelete"], tasks: [{ name: "t", action: { create } }] };
  assert.deepEqual(await unreadWith("hookrollouts", staged([])), []);
  assert.deepEqual(await unreadWith("clusterhookpolicies", { ...production, rules: [rule] }), []);
  const object = { apiVersion: "v1", kind: "ConfigMap", name: "ok", namespace: "platform" };
  assert.deepEqual(await unreadWith("hookrollouts", staged([{ name: "g", object }])), []);
  const none = { ...object, absent: true };
  for (const gate of [{ object: none }, { anyOf: [{ name: "m", object: none }] }])
    assert.deepEqual(await unreadWith("hookrollouts", staged([{ name: "g", ...gate }])), ["list namespaces"]);
});
