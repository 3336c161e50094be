/** A real cluster of two nodes: control plane, kubelets, containers, Services and DNS. */

import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createCertificateAuthority } from "../controlplane/certificates.ts";
import type { KubeObject } from "../controlplane/client.ts";
import {
  attachControlPlane,
  type ControlPlane,
  type ControlPlaneAddress,
} from "../controlplane/control-plane.ts";
import { waitFor } from "../controlplane/waits.ts";
import { API_SERVER } from "./addresses.ts";
import { writeCredentials } from "./credentials.ts";
import { RUN_FOLDER } from "./folders.ts";
import { certManagerImage, clusterApiImage, dnsImage, pauseImage } from "./images.ts";
import { linkBinaries, loadImage, NODES, onNode, startNode } from "./nodes.ts";

const ADDRESS_FILE = join(RUN_FOLDER, "address.json");
const START_TIMEOUT_MS = 120_000;

/** Its nodes run, and have the images of others; whether they are Ready is for who reaches their network. */
export async function startCluster(): Promise<void> {
  const authority = await createCertificateAuthority();
  const { certificate, key } = authority;
  const folder = join(RUN_FOLDER, "tests");
  await mkdir(folder, { recursive: true });
  await writeCredentials(join(RUN_FOLDER, "pki"), authority, NODES);
  const address: ControlPlaneAddress = { folder, url: API_SERVER, authority: { certificate, key } };
  await writeFile(ADDRESS_FILE, JSON.stringify(address), { mode: 0o600 });
  await linkBinaries();
  for (let node = 1; node <= NODES; node++) await startNode(node);
  for (let node = 1; node <= NODES; node++) await containersRun(node);
  for (const image of [pauseImage, dnsImage, clusterApiImage, certManagerImage])
    await loadImage(await image());
}

/** For a process in the network of a node. */
export async function attachCluster(): Promise<ControlPlane> {
  if (!existsSync(ADDRESS_FILE))
    throw new Error("No cluster runs: make test-cluster (FILE=test/cluster/NAME.test.ts) starts one");
  const address: ControlPlaneAddress = JSON.parse(await readFile(ADDRESS_FILE, "utf8"));
  return await attachControlPlane(address);
}

export async function containersRun(node: number): Promise<void> {
  const answers = async (): Promise<string> => await onNode(node, "ctr", "version");
  await waitFor(`containerd on n${node} to answer`, answers, { timeoutMs: START_TIMEOUT_MS });
}

export async function nodesAreReady(cp: ControlPlane, count = NODES): Promise<void> {
  const ready = async (): Promise<boolean> => {
    const nodes = await cp.list({ apiVersion: "v1", kind: "Node" });
    return nodes.filter((node) => conditionOf(node, "Ready") === "True").length === count;
  };
  await cp.waitFor(`${count} nodes to be Ready`, ready, START_TIMEOUT_MS);
}

/** Every replica is of the newest version and available, and no other is left. */
export async function isRolledOut(cp: ControlPlane, namespace: string, name: string): Promise<void> {
  const done = async (): Promise<boolean> => {
    const { metadata, spec, status } = await cp.get({
      apiVersion: "apps/v1",
      kind: "Deployment",
      namespace,
      name,
    });
    const counts = [status?.replicas, status?.updatedReplicas, status?.availableReplicas];
    return status?.observedGeneration === metadata.generation && counts.every((n) => n === spec.replicas);
  };
  await cp.waitFor(`${namespace}/${name} to be rolled out`, done, START_TIMEOUT_MS);
}

export function conditionOf(object: KubeObject, type: string): string | undefined {
  const conditions: readonly { type: string; status: string }[] = object["status"]?.conditions ?? [];
  return conditions.find((condition) => condition.type === type)?.status;
}
