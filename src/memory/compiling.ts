/** Compiles specs over several turns of the event loop: the largest specs take longer than calls can wait. */

import type { Steps } from "../lib/steps.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import type { PolicyObject } from "./policy-set.ts";
import { isSameSpec } from "./same-object.ts";
import { Turn, TURN_MS } from "../turns/turn.ts";

interface Job {
  object: PolicyObject;
  readonly steps: Steps<CompiledPolicy>;
  /** The newest edit that arrived meanwhile; the edits in between are never compiled. */
  next?: PolicyObject;
}

interface Finished extends Pick<Job, "object" | "next"> {
  readonly compiled: CompiledPolicy;
}

export class Compiling {
  readonly #jobs = new Map<string, Job>();
  /** The work to do once these policies are compiled. */
  #awaited: { readonly keys: Set<string>; readonly work: () => void }[] = [];
  readonly #turn: Turn;

  constructor(turnMs: number = TURN_MS) {
    this.#turn = new Turn(turnMs);
  }

  has(key: string): boolean {
    return this.#jobs.has(key);
  }

  /** The newest copy of the policy, if its spec is not compiled yet. */
  newest(key: string): PolicyObject | undefined {
    const job = this.#jobs.get(key);
    return job?.next ?? job?.object;
  }

  /** Runs the work once every compilation that is under way now has ended. */
  afterAll(work: () => void): void {
    const keys = new Set(this.#jobs.keys());
    if (keys.size === 0) return work();
    this.#awaited.push({ keys, work });
  }

  /** The compiled spec decides now, or the policy is gone. */
  ended(key: string): void {
    for (const { keys } of this.#awaited) keys.delete(key);
    const over = this.#awaited.filter(({ keys }) => keys.size === 0);
    this.#awaited = this.#awaited.filter(({ keys }) => keys.size > 0);
    for (const { work } of over) work();
  }

  begin(key: string, object: PolicyObject, steps: Steps<CompiledPolicy>): void {
    this.#jobs.set(key, { object, steps });
  }

  drop(key: string): void {
    this.#jobs.delete(key);
  }

  /** Whether an older copy of the same policy is being compiled; this copy is then compiled next. */
  isNewer(key: string, object: PolicyObject): boolean {
    const job = this.#jobs.get(key);
    if (job === undefined || job.object.metadata.uid !== object.metadata.uid) return false;
    // The compilation under way ends first, or a policy that is edited all the time would never be compiled.
    if (job.next === undefined && isSameSpec(job.object, object)) job.object = object;
    else job.next = object;
    return true;
  }

  /** `undefined`: the compilation has not finished in this turn. */
  continue(key: string): Finished | undefined {
    const job = this.#jobs.get(key);
    if (job === undefined) return undefined;
    this.#turn.begin();
    let step = job.steps.next();
    while (step.done !== true && !this.#turn.isOver()) step = job.steps.next();
    if (step.done !== true) return undefined;
    this.#jobs.delete(key);
    const { object, next } = job;
    return { object, compiled: step.value, ...(next !== undefined && { next }) };
  }
}
