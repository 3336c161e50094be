/** Waits that end as soon as something is so, and that tell what was seen instead when it never is. */

import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";

/** A machine that does much else at the time is slow, which is no failure. */
const WAIT_TIMEOUT_MS = 120_000;

/**
 * For the end of a CustomResourceDefinition. Where the API server has just made its storage, on a busy machine, it cannot list
 * the instances ("storage is (re)initializing"), and tries again after pauses that double, or after its resync of five minutes
 * (apiextensions-apiserver, pkg/controller/finalizer/crd_finalizer.go).
 */
export const DEFINITION_GONE_MS = 7 * 60_000;

export interface WaitOptions {
  readonly timeoutMs?: number;
  readonly everyMs?: number;
  /** Ends the waiting at once, for example because a process it depends on has ended. */
  readonly failure?: () => Error | undefined;
}

/** What has waited for long is not the first to know, and asks less often: a look costs both processes. */
const OFTEN_MS = 100;
const SELDOM_MS = 1000;
const LOST = 1 / 8;

/** What the probe that runs now has seen. A wait within a wait adds to it. */
interface Observation {
  readonly notes: (() => string)[];
}

const seen = new AsyncLocalStorage<Observation>();
const MAX_NOTES = 4;
const MAX_NOTE_CHARS = 3000;

/** What a probe has just seen: a wait in vain ends with it. */
export function note(text: () => string): void {
  const { notes } = seen.getStore() ?? {};
  if (notes === undefined) return;
  if (notes.length === MAX_NOTES) notes.shift();
  notes.push(text);
}

/** Polls until `probe` gives something other than undefined or false; an error of it means "not yet". */
export async function waitFor<T>(
  description: string,
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  options: WaitOptions = {},
): Promise<T> {
  const timeoutMs = options.timeoutMs ?? WAIT_TIMEOUT_MS;
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const sight = seen.getStore() ?? { notes: [] };
    const begunMs = Date.now();
    const { value, error } = await seen.run(sight, async () => await look(probe));
    if (value !== undefined) return value;
    const failure = options.failure?.();
    if (failure !== undefined)
      throw new Error(`While waiting for ${description}: ${failure.message}`, { cause: failure });
    const now = Date.now();
    const leftMs = deadline - now;
    if (leftMs <= 0) throw timedOut(description, timeoutMs, { error, sight });
    await sleep(Math.min(leftMs, options.everyMs ?? Math.max(now - begunMs, nextLook(timeoutMs - leftMs))));
  }
}

/** So that a wait lasts an eighth longer than it had to, and a second at most, if looks are shorter. */
function nextLook(waitedMs: number): number {
  return Math.min(SELDOM_MS, Math.max(OFTEN_MS, waitedMs * LOST));
}

interface Look<T> {
  readonly value?: T;
  readonly error?: unknown;
}

async function look<T>(
  probe: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<Look<T>> {
  try {
    const value = await probe();
    return value === undefined || value === false ? {} : { value };
  } catch (error) {
    return { error };
  }
}

function timedOut(
  description: string,
  timeoutMs: number,
  { error, sight }: Pick<Look<unknown>, "error"> & { readonly sight: Observation },
): Error {
  const why = error instanceof Error ? ` Last error: ${error.message}` : "";
  const notes = sight.notes.map((text) => `\n  Last seen: ${text().slice(0, MAX_NOTE_CHARS)}`).join("");
  return new Error(`Waited ${timeoutMs / 1000} s in vain for ${description}.${why}${notes}`, {
    cause: error,
  });
}
