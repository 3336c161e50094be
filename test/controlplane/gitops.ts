/** What GitOps tools show of an object, and how they delete one, by the libraries and the script that they use. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { gitopsBinary } from "./binaries.ts";
import type { KubeObject } from "./client.ts";

export interface ObjectStatus {
  /** kstatus: InProgress, Current, Failed, Terminating… Argo CD: Progressing, Healthy, Degraded… */
  readonly status: string;
  readonly message: string;
}

/** By the library of Flux and Helm, which kubectl wait and cli-utils have, too. */
export async function kstatusOf(object: KubeObject): Promise<ObjectStatus> {
  return await judge(object, "kstatus");
}

export interface HealthCheckExpressions {
  readonly inProgress?: string;
  readonly failed?: string;
  readonly current: string;
}

/** By Flux, for a Kustomization with these `healthCheckExprs`. */
export async function fluxHealthOf(
  object: KubeObject,
  expressions: HealthCheckExpressions,
): Promise<ObjectStatus> {
  return await judge(object, "exprs", JSON.stringify(expressions));
}

/** By Argo CD's Lua. */
export async function argoHealthOf(object: KubeObject, script: string): Promise<ObjectStatus> {
  return await judge(object, "health", script);
}

export interface PruneOptions {
  readonly tool: "argo" | "flux";
  readonly kubeconfig: string;
  /** Of Argo CD: its sync option PrunePropagationPolicy. */
  readonly propagation?: "Foreground" | "Background";
}

/** Deletes an object that has left Git: gitops-engine's sync says Pruned or Failed, Flux's ssa says deleted or Failed. */
export async function prune(
  object: KubeObject,
  { tool, kubeconfig, propagation }: PruneOptions,
): Promise<ObjectStatus> {
  return await judge(object, "prune", tool, kubeconfig, ...(propagation === undefined ? [] : [propagation]));
}

/** Argo CD syncs a commit that has the successor instead of the object: Succeeded, Failed, or Running. */
export async function rename(
  object: KubeObject,
  successor: KubeObject,
  { kubeconfig, isPrunedLast }: { readonly kubeconfig: string; readonly isPrunedLast: boolean },
): Promise<ObjectStatus> {
  const last = isPrunedLast ? ["last"] : [];
  return await judge(object, "rename", kubeconfig, JSON.stringify(successor), ...last);
}

/** Flux applies the object with `force: true`. */
export async function force(object: KubeObject, kubeconfig: string): Promise<ObjectStatus> {
  return await judge(object, "force", kubeconfig);
}

async function judge(object: KubeObject, ...args: readonly string[]): Promise<ObjectStatus> {
  const child = spawn(await gitopsBinary(), args, { stdio: ["pipe", "pipe", "pipe"] });
  const ended = once(child, "close");
  child.stdin.end(JSON.stringify(object));
  const [said, complaint] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await ended;
  if (code !== 0) throw new Error(`gitops ${args.join(" ")}: ${complaint.trim()}`);
  const shown: ObjectStatus = JSON.parse(said);
  return shown;
}
