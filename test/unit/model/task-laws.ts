/**
 * What must never happen with tasks, in whatever order things happen (a search of seeded stories):
 * T1: a task begins, or begins again, although a gate is not met or the Cluster does not want it.
 * T2: two objects for one attempt, two attempts of one task at once, or more attempts than were allowed.
 * T3: a release without a success for this Cluster, version and template that counts.
 * T4: an object that is made as another account than the policy's.
 */

import type { HookTask } from "../../../src/api/hook-policy.ts";
import { actionHash } from "../../../src/policy/tasks/task-identity.ts";
import { compiledOf, type Facts, type Job, RETRIES, type TaskWorld, waits } from "./task-world.ts";

export class TaskLaws {
  readonly #world: TaskWorld;
  readonly #broken: string[] = [];

  constructor(world: TaskWorld) {
    this.#world = world;
  }

  get broken(): readonly string[] {
    return this.#broken;
  }

  /** A HookTask is to be stored, as of a confirmation that read these facts. */
  begins(facts: Facts): void {
    if (!waits(facts)) this.#broken.push("T1: a task begins, and the Cluster does not want the operation");
    else if (!facts.approved) this.#broken.push("T1: a task begins, and a gate is not met");
    if (facts.mode !== "Enforce" || facts.overridden)
      this.#broken.push("T1: a task begins that holds nothing");
  }

  /** An attempt is written into the status; `since`: the moment in history at which its HookTask was read. */
  attempts(task: HookTask, since: number): void {
    const moments = this.#world.history.slice(since);
    if (!moments.some((facts) => isWanted(task, facts)))
      this.#broken.push("T1: an attempt begins that was not wanted at any moment since it was looked at");
    const allowed = 1 + RETRIES + (this.#world.asked.get(task.metadata.name) ?? 0);
    if ((task.status?.begun ?? 0) > allowed) this.#broken.push(`T2: more than ${allowed} attempts`);
  }

  creates(job: Job): void {
    const { created, jobs, left } = this.#world;
    if ((created.get(job.name) ?? 0) > 1) this.#broken.push("T2: two objects for one attempt");
    const active = [...jobs.values(), ...left.values()].filter(({ ends }) => ends === "running");
    if (new Set(active.map(({ labels }) => labels["hookpolicy.dev/cluster-uid"] ?? "")).size < active.length)
      this.#broken.push("T2: two attempts of one task run at once");
    if (job.account !== "team-a/worker") this.#broken.push(`T4: ${job.name} is made as ${job.account}`);
  }

  /** The operation is released, as of a confirmation that read these facts and HookTasks. */
  releases(facts: Facts, tasks: readonly HookTask[]): void {
    if (facts.overridden || facts.mode === "Audit") return;
    if (!facts.approved) this.#broken.push("T3: a release while a gate is open");
    const done = tasks.some(
      (task) => isAbout(task, facts) && task.status?.phase === "Succeeded" && task.status.over === undefined,
    );
    if (!done) this.#broken.push("T3: a release without a success that counts");
  }
}

function isAbout({ metadata, spec }: HookTask, facts: Facts): boolean {
  return (
    metadata.namespace === "team-a" &&
    spec.clusterRef.uid === facts.uid &&
    spec.version === facts.wanted &&
    spec.actionHash === hashOf(facts)
  );
}

function isWanted(task: HookTask, facts: Facts): boolean {
  return isAbout(task, facts) && waits(facts) && facts.mode === "Enforce" && !facts.overridden;
}

const hashes = new Map<number, string>();
function hashOf(facts: Facts): string {
  const hash =
    hashes.get(facts.template) ?? compiledOf(facts).rules[0]?.tasks[0]?.actionHash ?? actionHash("");
  hashes.set(facts.template, hash);
  return hash;
}
