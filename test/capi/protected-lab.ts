/** An API server with manifests/admission/ in force and Cluster API under it, for the tests of what that refuses. */

import assert from "node:assert/strict";
import { admissionPolicies } from "./recipe-fleet.ts";
import { blocksOf } from "./recipe-pages.ts";
import { ApiError, type Client, type KubeObject, type Ref, isRefused } from "../controlplane/client.ts";
import { installClusterApi } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { registerExtension } from "../controlplane/extension.ts";
import { clusterRef, createCluster, installLab, provision } from "../controlplane/lab.ts";
import { installHookPolicy, startOperator } from "../controlplane/operator.ts";
import { createAccountWith } from "../controlplane/rights.ts";

const OK_TO_DELETE = "runtime.cluster.x-k8s.io/ok-to-delete";
export const PENDING_HOOKS = "runtime.cluster.x-k8s.io/pending-hooks";
export const MARKS = [OK_TO_DELETE, PENDING_HOOKS, "topology.internal.cluster.x-k8s.io/upgrade-step"];
export const FINALIZER = "cluster.cluster.x-k8s.io";
export const DELETE_APPROVED = "hooks.example.com/delete-approved";
/** One of the group that docs/recipes/protect-marks.md lists. */
export const MOVER = ["--as=otto", "--as-group=cluster-movers", "--as-group=system:masters"];
export const PRODUCTION = { tier: "production" };

export let cp: ControlPlane;
/** May do everything that RBAC can grant, and is not listed. */
export let person: Client;
/** The identity that docs/recipes/protect-marks.md adds to the list. */
export let restorer: Client;

export async function startProtected(): Promise<void> {
  cp = await startControlPlane({ seed: "clusterApi" });
  await installHookPolicy(cp);
  await createAccountWith(cp, "capi-system", "capi-manager", { everywhere: "cluster-admin" });
  const kubeconfig = await cp.kubeconfigFor("capi-system", "capi-manager");
  const [operator] = await Promise.all([startOperator(cp), installClusterApi(cp, { kubeconfig })]);
  await installLab(cp);
  await registerExtension(cp, { name: "hookpolicy", url: operator.url });
  person = await clientOf("people", "anna");
  restorer = await clientOf("velero", "velero");
  await installPolicies();
}

export async function stopProtected(): Promise<void> {
  person?.close();
  restorer?.close();
  await cp?.stop();
}

/** Of a ServiceAccount that may do everything. */
async function clientOf(namespace: string, name: string): Promise<Client> {
  await createAccountWith(cp, namespace, name, { everywhere: "cluster-admin" });
  return cp.as(await cp.tokenFor(namespace, name));
}

/** With the kustomization of docs/recipes/protect-marks.md, beside a copy of this repository. */
async function installPolicies(): Promise<void> {
  const block = blocksOf("protect-marks.md").find(({ text }) => /^components:/m.test(text));
  assert.ok(block, "the page shows a kustomization");
  const policies = await admissionPolicies(cp, block.text);
  assert.equal(policies.length, 18);
  await cp.apply(policies);
  await inForce();
}

/** The API server takes up new policies within a second or so. */
async function inForce(): Promise<void> {
  await createCluster(cp, { namespace: "probe", name: "c1", labels: PRODUCTION });
  await cp.patch(namespaceRef("probe"), { metadata: { labels: PRODUCTION } });
  const dry: readonly (readonly [string, string, unknown])[] = [
    ["DELETE", pathOf("probe", "c1"), undefined],
    ["DELETE", "/api/v1/namespaces/probe", undefined],
    ["PATCH", pathOf("probe", "c1"), annotations({ [OK_TO_DELETE]: "" })],
  ];
  for (const [method, path, body] of dry) {
    const text = body === undefined ? undefined : JSON.stringify(body);
    await cp.waitFor(`${method} ${path} to be refused`, async () => {
      const type = "application/merge-patch+json";
      return await isRefused(person.request(method, `${path}?dryRun=All`, text, type), 403);
    });
  }
}

export function pathOf(namespace: string, name: string, version = "v1beta2"): string {
  return `/apis/cluster.x-k8s.io/${version}/namespaces/${namespace}/clusters/${name}`;
}

export function namespaceRef(name: string): Ref {
  return { apiVersion: "v1", kind: "Namespace", name };
}

export function annotations(map: Readonly<Record<string, string | null>>): object {
  return { metadata: { annotations: map } };
}

/** What it says after "denied request:". */
export async function refused(attempt: Promise<unknown>, wanted: RegExp): Promise<string> {
  const error: unknown = await attempt.then(
    () => undefined,
    (e: unknown) => e,
  );
  assert.ok(error instanceof ApiError, "it was not refused");
  assert.equal(error.code, 403, error.message);
  assert.match(error.message, wanted);
  return error.message.replace(/^.*denied request: /s, "");
}

export async function running(
  namespace: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<Ref> {
  await createCluster(cp, { namespace, name: "c1", labels });
  await provision(cp, namespace, "c1");
  await cp.waitFor("the Cluster to be up", async () => {
    const cluster = await cp.get(clusterRef(namespace, "c1"));
    return cluster.metadata.finalizers?.includes(FINALIZER) && markOf(cluster, PENDING_HOOKS) === undefined;
  });
  return clusterRef(namespace, "c1");
}

export function markOf({ metadata }: KubeObject, key: string): string | undefined {
  return metadata.annotations?.[key];
}
