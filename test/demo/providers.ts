/** Plays the providers of every Cluster of the lab's class, its nodes included, for as long as the demo runs. */

import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, type KubeObject, type Ref } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { labCondition, labParts, makeReachable, provisionParts } from "../controlplane/lab.ts";
import { CLUSTER_API, LAB_BOOTSTRAP, LAB_INFRASTRUCTURE } from "../controlplane/lab-kinds.ts";

/** How long a step of a provider takes: long enough to see it, short enough to wait for it. */
const STEP_MS = 500;

/** Rejects when `signal` aborts, or when the API server refuses something for another reason than a change meanwhile. */
export async function playProviders(cp: ControlPlane, signal: AbortSignal): Promise<never> {
  for (;;) {
    await sleep(STEP_MS, undefined, { signal });
    await each(cp, { apiVersion: CLUSTER_API, kind: "Cluster" }, playCluster);
    await each(cp, { apiVersion: LAB_BOOTSTRAP, kind: "LabConfig" }, playBootstrap);
    await each(cp, { apiVersion: LAB_INFRASTRUCTURE, kind: "LabMachine" }, playMachine);
  }
}

async function each(
  cp: ControlPlane,
  kind: { readonly apiVersion: string; readonly kind: string },
  play: (cp: ControlPlane, object: KubeObject) => Promise<void>,
): Promise<void> {
  for (const object of await cp.list(kind)) {
    if (object.metadata.deletionTimestamp !== undefined) continue;
    try {
      await play(cp, object);
    } catch (error) {
      // It, or a part of it, has gone or changed since it was listed: the next turn sees that.
      if (!(error instanceof ApiError && [404, 409].includes(error.code))) throw error;
    }
  }
}

async function playCluster(cp: ControlPlane, cluster: KubeObject): Promise<void> {
  const { namespace = "", name } = cluster.metadata;
  const parts = labParts(cluster);
  if (parts === undefined) return;
  const { spec, status } = await cp.get(parts.controlPlane);
  if (status?.initialization?.controlPlaneInitialized !== true) {
    await makeReachable(cp, namespace, name);
    await provisionParts(cp, parts);
  } else if (status.version !== spec.version) {
    await cp.patchStatus(parts.controlPlane, { version: spec.version });
  }
}

async function playBootstrap(cp: ControlPlane, config: KubeObject): Promise<void> {
  if (config["status"]?.initialization?.dataSecretCreated === true) return;
  const { name } = config.metadata;
  await cp.patchStatus(refOf(config), {
    dataSecretName: name,
    initialization: { dataSecretCreated: true },
    conditions: [labCondition("Ready", true)],
  });
}

/** A machine whose Node joins at once; every Cluster's API server is the one of the demo. */
async function playMachine(cp: ControlPlane, machine: KubeObject): Promise<void> {
  if (machine["status"]?.initialization?.provisioned === true) return;
  const { namespace = "", name } = machine.metadata;
  const providerID = `lab:///${namespace}/${name}`;
  const node = { apiVersion: "v1", kind: "Node", name: `${namespace}-${name}` };
  await cp.apply({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: node.name },
    spec: { providerID },
  });
  const pressures = ["MemoryPressure", "DiskPressure", "PIDPressure"];
  const conditions = pressures.map((type) => labCondition(type, false));
  await cp.patchStatus(node, { conditions: [labCondition("Ready", true), ...conditions] });
  await cp.patch(refOf(machine), { spec: { providerID } });
  await cp.patchStatus(refOf(machine), {
    initialization: { provisioned: true },
    conditions: [labCondition("Ready", true)],
  });
}

function refOf({ apiVersion, kind, metadata: { namespace = "", name } }: KubeObject): Ref {
  return { apiVersion, kind, namespace, name };
}
