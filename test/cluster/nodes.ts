/** Two nodes of a real cluster on this machine (nodes/node.sh): started, cut off their power, entered. */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { controlPlaneBinaries, nodeBinaries } from "../controlplane/binaries.ts";
import { cacheRoot } from "../controlplane/parts.ts";
import { environment } from "../controlplane/processes.ts";
import { CLUSTER_CACHE, NODES_FOLDER, RUN_FOLDER } from "./folders.ts";
import type { Image } from "./images.ts";
import { nodePackages } from "./packages.ts";

const run = promisify(execFile);

export const NODES = 2;
const FORWARDED = "FORWARD";
/** The number is that of nodes/inside.sh. */
const QUEUED = [FORWARDED, ..."-m conntrack --ctstate NEW -j NFQUEUE --queue-num 100".split(" ")];
const BIN = join(CLUSTER_CACHE, "bin");

/** What a node runs in its PATH, under the names by which the parts look for each other. */
export async function linkBinaries(): Promise<void> {
  const { etcd, kubeApiserver } = await controlPlaneBinaries();
  const links = { etcd, "kube-apiserver": kubeApiserver, ...(await nodeBinaries()) };
  await rm(BIN, { recursive: true, force: true });
  await mkdir(BIN, { recursive: true });
  for (const [name, target] of Object.entries(links)) await symlink(target, join(BIN, name));
}

/** A node boots with what is on its disk: nothing at first, later what it had when it was cut. */
export async function startNode(node: number): Promise<void> {
  await nodeScript("start", String(node));
}

/** Its processes end at once, as if its power was cut. */
export async function cutNode(node: number): Promise<void> {
  await nodeScript("crash", String(node));
}

/** Ends what runs in the nodes, and removes what they have written. Safe where nothing runs. */
export async function stopNodes(): Promise<void> {
  await nodeScript("stop");
}

/** What the command prints that runs on the node, as its root would. */
export async function onNode(node: number, ...command: readonly string[]): Promise<string> {
  return await nodeScript("enter", String(node), ...command);
}

/** New connections through the nodes, as those of Pods, are decided about by network-policies, which runs on each. */
export async function enforceNetworkPolicies(): Promise<void> {
  await ignoreNetworkPolicies();
  for (let node = 1; node <= NODES; node++) await onNode(node, "iptables-nft", "--append", ...QUEUED);
}

export async function ignoreNetworkPolicies(): Promise<void> {
  for (let node = 1; node <= NODES; node++) await onNode(node, "iptables-nft", "--flush", FORWARDED);
}

/** There is no registry: each node is given the image. */
export async function loadImage({ file }: Image): Promise<void> {
  const nodes = Array.from({ length: NODES }, (_, index) => index + 1);
  const load = ["ctr", "--namespace", "k8s.io", "images", "import", "--local", file];
  await Promise.all(nodes.map(async (node) => await onNode(node, ...load)));
}

/** A process with this network namespace reaches what a Pod reaches. */
export function networkOf(node: number): string {
  return `/proc/${readFileSync(join(RUN_FOLDER, `n${node}`, "pid"), "utf8").trim()}/ns/net`;
}

/** The last lines of each log of the nodes, and more of those of their Pods: who held, and who did not ask. */
export async function nodeLogs(): Promise<string> {
  const tails = `cd "$1"; tail -n 5 n*/log/*.log; tail -n 60 n*/upper/var/log/pods/*/*/*.log | cut -c 1-500`;
  const { stdout } = await run("sh", ["-c", tails, "sh", RUN_FOLDER], { maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

async function nodeScript(...args: readonly string[]): Promise<string> {
  const env = environment({
    CACHE: join(cacheRoot(), ".."),
    BIN,
    PACKAGES: await nodePackages(),
    RUN: RUN_FOLDER,
    NODES: String(NODES),
  });
  try {
    const { stdout } = await run(join(NODES_FOLDER, "node.sh"), args, { env, maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
    throw new Error(`${args.join(" ")}: ${said || String(error)}`, { cause: error });
  }
}
