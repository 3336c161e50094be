/**
 * Schedules the next evaluation of a Cluster or a policy: in a later turn of the event loop, or at an instant. Memory has
 * what is left to do about it, so an evaluation can end after any step, and two that are due become one.
 */

import type { WorkSteps } from "../lib/work-steps.ts";
import { Alarm } from "../turns/alarm.ts";
import { Slice } from "../turns/slice.ts";
import { isPolicyKey, parsePolicyKey } from "./policy-set.ts";
import type { StoreOptions } from "./memory.ts";

/** A policyKey(), or a clusterKey(). */
type Subject = string;

interface SchedulerOptions extends Pick<StoreOptions, "now" | "log" | "turnMs" | "allowance"> {
  /** What is left to do about the subject, and due. */
  readonly stepsOf: (subject: Subject) => WorkSteps;
  /** The clock was set back, so results computed before may lie in its future. */
  readonly onSetBack: () => void;
}

export class EvaluationScheduler {
  readonly alarm: Alarm;
  readonly #options: SchedulerOptions;
  readonly #slice: Slice;
  #cause: Date | undefined;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#slice = new Slice(options.turnMs);
    this.alarm = new Alarm({
      now: options.now,
      ownerOf,
      onDue: (subject, at) => this.because(at, () => this.#evaluateDue(subject)),
      onSetBack: options.onSetBack,
      turnMs: options.turnMs,
      allowance: options.allowance,
    });
  }

  /** When the change whose work is under way was seen, or was due. */
  get cause(): Date | undefined {
    return this.#cause;
  }

  isTurnOver(): boolean {
    return this.#slice.isOver();
  }

  /** Attributes the answers that change during `work` to something that was seen, or due, at that time. */
  because(at: Date, work: () => void): void {
    const outer = this.#cause;
    this.#cause ??= at;
    this.#slice.begin();
    try {
      work();
    } finally {
      this.#cause = outer;
    }
  }

  /** A bug must not end the process: it would do so again after each restart, and every Cluster would stay held. */
  #evaluateDue(subject: Subject): void {
    try {
      this.#evaluate(subject);
    } catch (error) {
      this.#options.log.error("Failed to evaluate what is due", { subject, error });
    }
  }

  /** Does one step, and more while this turn of the event loop has time; the rest in later turns. */
  #evaluate(subject: Subject): void {
    for (const _ of this.#options.stepsOf(subject)) if (this.isTurnOver()) return this.soon(subject);
  }

  /** The same at once, unless the namespace has used up its allowance. Timed evaluations use the same allowance. */
  unlessAtRest(subject: Subject): void {
    if (this.alarm.restMs(subject) > 0) return this.soon(subject);
    const began = performance.now();
    this.#evaluate(subject);
    this.alarm.spend(subject, performance.now() - began);
  }

  /** The same if this turn has any time left, because thousands of Clusters may change together. */
  inTime(subject: Subject): void {
    if (this.isTurnOver()) this.soon(subject);
    else this.unlessAtRest(subject);
  }

  soon(subject: Subject): void {
    this.at(subject, this.#cause ?? this.#options.now());
  }

  /** An earlier instant stays. */
  at(subject: Subject, at: Date): void {
    const known = this.alarm.get(subject);
    if (known === undefined || at < known) this.alarm.set(subject, at);
  }
}

/** The namespace of the subject, "" for a ClusterHookPolicy: namespaces take turns. */
function ownerOf(subject: Subject): string {
  if (isPolicyKey(subject)) return parsePolicyKey(subject).namespace ?? "";
  return subject.slice(0, subject.indexOf("/"));
}
