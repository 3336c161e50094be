/** Policies whose newest spec has still to be compiled. A turn of the event loop compiles one after another while it has time. */

import type { ServedHooks } from "../api/hook-catalog.ts";
import { compilePolicy } from "../policy/compile.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import { Slice } from "../turns/slice.ts";
import { parsePolicyKey, type PolicyObject } from "./policy-set.ts";

export class Compiling {
  readonly #served: ServedHooks;
  readonly #slice: Slice;
  /** The newest copy of each; an edit that another one replaces meanwhile is never compiled. */
  readonly #waiting = new Map<string, PolicyObject>();
  /** The work to do once these policies are compiled. */
  #awaited: { readonly keys: Set<string>; readonly work: () => void }[] = [];

  constructor(served: ServedHooks, sliceMs: number | undefined) {
    this.#served = served;
    this.#slice = new Slice(sliceMs);
  }

  /** Whether this turn of the event loop leaves no time to compile another policy. */
  get isLate(): boolean {
    return this.#slice.isOver();
  }

  /** `undefined`: the newest spec is compiled. */
  newest(key: string): PolicyObject | undefined {
    return this.#waiting.get(key);
  }

  wait(key: string, object: PolicyObject): void {
    this.#waiting.set(key, object);
  }

  /** The caller compiles it now, and says so by ended(). */
  take(key: string): PolicyObject | undefined {
    const object = this.#waiting.get(key);
    this.#waiting.delete(key);
    return object;
  }

  compile(key: string, object: PolicyObject): CompiledPolicy {
    return compilePolicy(parsePolicyKey(key).kind, object, this.#served);
  }

  /** Runs the work once all policies that wait now are compiled or gone. */
  afterAll(work: () => void): void {
    const keys = new Set(this.#waiting.keys());
    if (keys.size === 0) work();
    else this.#awaited.push({ keys, work });
  }

  /** The compiled spec decides now, or the policy is gone. */
  ended(key: string): void {
    this.#waiting.delete(key);
    for (const { keys } of this.#awaited) keys.delete(key);
    const over = this.#awaited.filter(({ keys }) => keys.size === 0);
    this.#awaited = this.#awaited.filter(({ keys }) => keys.size > 0);
    for (const { work } of over) work();
  }
}
