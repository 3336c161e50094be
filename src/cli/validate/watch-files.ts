/** Runs a check again whenever a file below the given paths changes. */

import { type FSWatcher, watch } from "node:fs";
import { dirname, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { sourcesOf } from "../files/paths.ts";

/** An editor writes a file in several steps. */
const SETTLE_MS = 100;

/** Runs `check` at once and after each change, until `signal` fires. */
export async function checkOnChange(
  paths: readonly string[],
  check: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const watchers = new Map<string, FSWatcher>();
  let change = Promise.withResolvers<undefined>();
  const wake = (): void => change.resolve(undefined);
  signal.addEventListener("abort", wake, { once: true });
  try {
    while (!signal.aborted) {
      // Watches before the check, so that no change is missed.
      change = Promise.withResolvers();
      await follow(paths, watchers, wake);
      await check();
      await change.promise;
      await delay(SETTLE_MS);
    }
  } finally {
    for (const watcher of watchers.values()) watcher.close();
  }
}

/** Watches folders, because an editor may replace a file. A new folder is a change of its parent. */
async function follow(
  paths: readonly string[],
  watchers: Map<string, FSWatcher>,
  wake: () => void,
): Promise<void> {
  const { sources } = await sourcesOf(paths, {});
  const named = paths.flatMap((path) => [resolve(path), dirname(resolve(path))]);
  const folders = new Set([...named, ...sources.map(({ name }) => dirname(resolve(name)))]);
  for (const [folder, watcher] of watchers) {
    if (folders.has(folder)) continue;
    watcher.close();
    watchers.delete(folder);
  }
  for (const folder of folders.difference(watchers)) {
    const watcher = start(folder, wake);
    if (watcher !== undefined) watchers.set(folder, watcher);
  }
}

/** `undefined`: there is no such folder, or it cannot be watched. */
function start(folder: string, wake: () => void): FSWatcher | undefined {
  try {
    return watch(folder, wake).on("error", wake);
  } catch {
    return undefined;
  }
}
