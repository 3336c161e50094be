/** Specs that are being compiled, turn by turn: the largest take longer than calls can wait. */

import type { Steps } from "../api/steps.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import type { PolicyObject } from "./policyset.ts";
import { isSameSpec } from "./samespec.ts";
import { Turn, TURN_MS } from "./turn.ts";

interface Job {
  object: PolicyObject;
  readonly steps: Steps<CompiledPolicy>;
  /** The newest edit that came meanwhile; those in between are never compiled. */
  next?: PolicyObject;
}

interface Finished extends Pick<Job, "object" | "next"> {
  readonly compiled: CompiledPolicy;
}

export class Compiling {
  readonly #jobs = new Map<string, Job>();
  readonly #turn: Turn;

  constructor(turnMs: number = TURN_MS) {
    this.#turn = new Turn(turnMs);
  }

  has(key: string): boolean {
    return this.#jobs.has(key);
  }

  keys(): Iterable<string> {
    return this.#jobs.keys();
  }

  begin(key: string, object: PolicyObject, steps: Steps<CompiledPolicy>): void {
    this.#jobs.set(key, { object, steps });
  }

  drop(key: string): void {
    this.#jobs.delete(key);
  }

  /** Whether an older copy of the same policy is under way; then this one comes after it. */
  isNewer(key: string, object: PolicyObject): boolean {
    const job = this.#jobs.get(key);
    if (job === undefined || job.object.metadata.uid !== object.metadata.uid) return false;
    // What is under way ends first, or a policy that is always edited would never be compiled.
    if (job.next === undefined && isSameSpec(job.object, object)) job.object = object;
    else job.next = object;
    return true;
  }

  /** `undefined`: it is not finished in this turn. */
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
