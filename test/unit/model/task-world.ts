/**
 * One Cluster, one policy with a task, two replicas of which one leads, and an API server whose answers get lost: everything
 * that the laws of tasks are about (task-laws.ts).
 */

import type { HookTask, HookTaskStatus, TaskAttempt } from "../../../src/api/hook-policy.ts";
import { servedHooks } from "../../../src/api/hook-catalog.ts";
import { type Cluster, type ObjectMeta, PENDING_HOOKS_ANNOTATION } from "../../../src/api/meta.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import type { Override } from "../../../src/policy/world.ts";
import type { CompiledPolicy } from "../../../src/policy/policy.ts";
import type { TaskRecord } from "../../../src/policy/tasks/task-record.ts";
import type { TaskIntent } from "../../../src/policy/tasks/task-trace.ts";
import { recordsOf } from "../../../src/tasks/stored-task.ts";
import { hookTaskOf } from "../../../src/tasks/task-store.ts";
import { APPROVED, cluster as builtCluster, compiled, NOW, override } from "../builders.ts";
import { task, withTasks } from "../policy/tasks/fixtures.ts";

export const SERVED = servedHooks(14);
export const HOOK = "BeforeClusterUpgrade";
export const RETRIES = 1;

/** mulberry32: the same seed gives the same story. */
export function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

/** What is so at one moment, apart from HookTasks and Jobs. */
export interface Facts {
  readonly uid: string;
  readonly running: string;
  readonly wanted: string;
  /** Cluster API has been told that it may begin. */
  readonly begun: boolean;
  readonly approved: boolean;
  readonly paused: boolean;
  readonly mode: "Enforce" | "Audit";
  /** Another template is another task. */
  readonly template: number;
  readonly generation: number;
  readonly overridden: boolean;
}

export interface Job {
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly account: string;
  readonly ends: "running" | "complete" | "failed";
  readonly deleting: boolean;
}

const START: Facts = {
  uid: "uid-1",
  running: "v1.34.0",
  wanted: "v1.34.0",
  begun: false,
  approved: false,
  paused: false,
  mode: "Enforce",
  template: 0,
  generation: 1,
  overridden: false,
};

export class TaskWorld {
  facts = START;
  now = NOW;
  version = 1;
  readonly tasks = new Map<string, HookTask>();
  readonly jobs = new Map<string, Job>();
  /** Jobs that are gone, and whose Pods are not: they were deleted in the background. */
  readonly left = new Map<string, Job>();
  /** How often an object of this name was created. */
  readonly created = new Map<string, number>();
  /** The account lacks a right. */
  refuses = false;
  /** The facts after each change, the first included. */
  readonly history: Facts[] = [START];
  /** How many attempts people have asked for, by HookTask. */
  readonly asked = new Map<string, number>();

  change(over: Partial<Facts>): void {
    this.facts = { ...this.facts, ...over };
    this.history.push(this.facts);
  }

  next(): string {
    this.version += 1;
    return String(this.version);
  }

  /** As HookTasks of a consistent read. */
  records(): readonly TaskRecord[] {
    return recordsOf([...this.tasks.values()]);
  }

  store(intent: TaskIntent): HookTask {
    const { name } = intent;
    if (this.tasks.has(name)) throw new KubeError("it exists", { code: 409, reason: "AlreadyExists" });
    const made = hookTaskOf(intent);
    const metadata = { ...made.metadata, uid: `uid-${name}`, resourceVersion: this.next() };
    const stored: HookTask = { ...made, metadata };
    this.tasks.set(name, stored);
    return stored;
  }

  replaceStatus({ metadata }: HookTask, status: HookTaskStatus): HookTask | undefined {
    const known = this.tasks.get(metadata.name);
    if (known === undefined || known.metadata.uid !== metadata.uid) return undefined;
    if (known.metadata.resourceVersion !== metadata.resourceVersion)
      throw new KubeError("it has changed", { code: 409, reason: "Conflict" });
    const stored = { ...known, metadata: { ...known.metadata, resourceVersion: this.next() }, status };
    this.tasks.set(metadata.name, stored);
    return stored;
  }

  annotate(name: string, annotations: Readonly<Record<string, string>>): void {
    const known = this.tasks.get(name);
    if (known === undefined) return;
    const metadata = { ...known.metadata, annotations, resourceVersion: this.next() };
    this.tasks.set(name, { ...known, metadata });
    this.asked.set(name, (this.asked.get(name) ?? 0) + 1);
  }

  createJob(account: string, name: string, labels: Readonly<Record<string, string>>): Job {
    if (this.refuses) throw new KubeError("it may not", { code: 403, reason: "Forbidden" });
    if (this.jobs.has(name)) throw new KubeError("it exists", { code: 409, reason: "AlreadyExists" });
    const job: Job = { name, uid: `job-${this.next()}`, labels, account, ends: "running", deleting: false };
    this.jobs.set(name, job);
    this.created.set(name, (this.created.get(name) ?? 0) + 1);
    return job;
  }
}

export function clusterOf({ uid, wanted, running, begun, approved, paused }: Facts): Cluster {
  const annotations = {
    ...(approved && { [APPROVED]: "" }),
    ...(begun && { [PENDING_HOOKS_ANNOTATION]: "AfterClusterUpgrade" }),
  };
  const isHeld = wanted !== running && !begun;
  return builtCluster(
    { uid, annotations },
    {
      paused,
      topology: { className: "lab", version: wanted },
      progress: isHeld ? { heldAt: HOOK, plan: [] } : { reconciled: !begun },
    },
  );
}

/** Whether the Cluster waits for the hook. */
export function waits({ wanted, running, begun, paused }: Facts): boolean {
  return wanted !== running && !begun && !paused;
}

/** A gate, and a task that begins last. */
function policyOf({ mode, template, generation }: Facts): PolicyObject {
  const until = [{ name: "approved", annotation: { key: APPROVED } }];
  const { create } = task();
  const backup = task({
    retries: RETRIES,
    timeout: "10m",
    create: { apiVersion: "", kind: "", ...create, metadata: { labels: { template: String(template) } } },
  });
  return withTasks([backup], { hooks: [HOOK], until }, { mode }, { generation });
}

const known = new Map<string, CompiledPolicy>();
export function compiledOf(facts: Facts): CompiledPolicy {
  const key = JSON.stringify([facts.mode, facts.template, facts.generation]);
  const policy = known.get(key) ?? compiled(policyOf(facts));
  known.set(key, policy);
  return policy;
}

const FREE = override({ hooks: [HOOK], expiresAt: "2027-01-01T00:00:00Z" });
const LASTING: Override = {
  ...FREE,
  expiresAt: new Date("2036-01-01T00:00:00Z"),
  problem: undefined as never,
};

export function overridesOf({ overridden }: Facts): readonly Override[] {
  const { problem: _, ...lasting } = LASTING;
  return overridden ? [lasting] : [];
}

export function metaOf(
  { uid, generation }: { readonly uid: string; readonly generation: number },
  name: string,
): ObjectMeta {
  return { name, uid, generation, resourceVersion: "1" };
}

/** As the API server shows it. */
export function jobObject({ name, uid, labels, ends, deleting }: Job): KubeObject {
  const type = ends === "complete" ? "Complete" : "Failed";
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name,
      namespace: "team-a",
      uid,
      resourceVersion: "1",
      labels,
      ...(deleting && { deletionTimestamp: "2026-11-21T12:00:00Z" }),
    },
    ...(ends !== "running" && { status: { conditions: [{ type, status: "True" }] } }),
  };
}

export function attemptsOf({ status }: HookTask): readonly TaskAttempt[] {
  return status?.attempts ?? [];
}
