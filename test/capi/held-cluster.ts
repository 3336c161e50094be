/** A Cluster that a policy holds under a real Cluster API, and somebody who types what a page says. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { parse } from "yaml";
import type { KubeObject } from "../controlplane/client.ts";
import type { ClusterApi } from "../controlplane/cluster-api.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { registerExtension } from "../controlplane/extension.ts";
import { createCluster, deleteCluster, provision, waitUntilGone } from "../controlplane/lab.ts";
import { NAMESPACE, startOperator } from "../controlplane/operator.ts";
import { environment } from "../controlplane/processes.ts";
import { applyPolicy, policyRow, policyRef } from "../controlplane/policies.ts";
import { startFleet, topologySays } from "./fleet.ts";
import { blocksOf, ROOT } from "./pages.ts";
import { pathOfPrograms } from "./programs.ts";

const run = promisify(execFile);

/** The names that the docs use. */
export const TEAM = "team-a";
export const CLUSTER = "prod-1";
export const HOOK = "BeforeClusterDelete";

/** How a page asks the Cluster why it waits. */
export const WHY = `kubectl get clusters.cluster.x-k8s.io -n team-a prod-1 -o jsonpath='{.status.conditions[?(@.type=="TopologyReconciled")].message}'`;

export interface HeldCluster {
  readonly cp: ControlPlane;
  readonly capi: ClusterApi;
  /** In a shell, as a person would: quotes and backslashes are part of what is tested. Rejects when it fails. */
  readonly sh: (command: string) => Promise<string>;
  /** Starts the operator where it does not run, and registers it. */
  readonly serving: () => Promise<void>;
  /** No policy of the team is left, everything runs, and README's policy under that name is in force. */
  readonly enforced: (policy: string) => Promise<void>;
  /** The same, and it holds the deletion of team-a/prod-1. */
  readonly held: (policy: string) => Promise<void>;
  /** HOOK holds team-a/prod-1 no longer. */
  readonly gone: () => Promise<void>;
  /** Of every operator of the scene. */
  readonly admissionPort: number;
  /** As a node dies: nobody gives anything back. */
  readonly kill: () => Promise<void>;
}

/** As in the shipped Deployment, as far as there is something to see. */
const FLAGS = { "leader-elect": "true", namespace: NAMESPACE };

export async function startHeldCluster(): Promise<HeldCluster> {
  const fleet = await startFleet({ operator: { flags: FLAGS } });
  const { cp, capi } = fleet;
  let { operator } = fleet;
  const path = await pathOfPrograms(cp);
  await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: TEAM } });

  const sh = async (command: string): Promise<string> => {
    const env = environment({ KUBECONFIG: cp.adminKubeconfig, PATH: path });
    return (await run("bash", ["-ec", command], { env, cwd: ROOT, timeout: 300_000 })).stdout;
  };
  const serving = async (): Promise<void> => {
    if (!operator.daemon.running()) {
      operator = await startOperator(cp, {
        ports: operator.ports,
        name: `${operator.daemon.name}-again`,
        flags: FLAGS,
      });
    }
    await registerExtension(cp, { name: "hookpolicy", url: operator.url });
  };
  const enforced = async (policy: string): Promise<void> => {
    await serving();
    for (const { metadata } of await policiesOf(cp)) await cp.delete(policyRef(TEAM, metadata.name));
    await cp.waitFor("no policy to be left", async () => (await policiesOf(cp)).length === 0);
    const { spec } = readmePolicy();
    const rules = spec.rules.map((rule: object) => ({ ...rule, retryAfterSeconds: 5 })); // 10 s are long here
    await applyPolicy(cp, policyRef(TEAM, policy), { ...spec, rules });
  };
  const held = async (policy: string): Promise<void> => {
    await enforced(policy);
    await holdAnother(cp, policy);
    await topologySays(cp, TEAM, CLUSTER, new RegExp(HOOK));
  };
  const gone = async (): Promise<void> => await waitUntilGone(cp, TEAM, CLUSTER);
  const admissionPort = operator.ports.admission;
  const kill = async (): Promise<void> => await operator.daemon.stop("SIGKILL");
  return { cp, capi, sh, serving, enforced, held, gone, admissionPort, kill };
}

/** Makes a Cluster of the team, deletes it, and sees that this policy holds it. */
export async function holdAnother(cp: ControlPlane, policy: string, name = CLUSTER): Promise<void> {
  await createCluster(cp, { namespace: TEAM, name, labels: { tier: "production" } });
  await provision(cp, TEAM, name);
  await deleteCluster(cp, TEAM, name);
  await policyRow(cp, policyRef(TEAM, policy), name, HOOK);
}

export async function policiesOf(cp: ControlPlane): Promise<KubeObject[]> {
  return await cp.list({ apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookPolicy", namespace: TEAM });
}

function readmePolicy(): KubeObject {
  const block = blocksOf("README.md").find(({ language }) => language === "yaml");
  assert.ok(block);
  return parse(block.text) as KubeObject;
}
