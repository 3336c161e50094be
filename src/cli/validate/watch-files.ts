/** Runs a check again whenever a file below the given paths changes. */

import { type FSWatcher, watch } from "node:fs";
import { dirname, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathsBelow, sourcesOf } from "../files/paths.ts";

/** An editor writes a file in several steps. */
const SETTLE_MS = 100;

/** Runs `check` at once and after each change, until `signal` fires. */
export async function checkOnChange(
  paths: readonly string[],
  check: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let change = Promise.withResolvers<undefined>();
  const wake = (): void => change.resolve(undefined);
  signal.addEventListener("abort", wake, { once: true });
  while (!signal.aborted) {
    change = Promise.withResolvers();
    // Watches before the check, so that no change is missed; anew each time, because folders come and go.
    const watchers = (await foldersOf(paths)).flatMap((folder) => start(folder, wake));
    try {
      await check();
      await change.promise;
    } finally {
      for (const watcher of watchers) watcher.close();
    }
    await delay(SETTLE_MS);
  }
}

/** Folders, because an editor may replace a file; also those that have no file yet. A new folder is a change of its parent. */
async function foldersOf(paths: readonly string[]): Promise<readonly string[]> {
  const { sources } = await sourcesOf(paths, {});
  const named = paths.flatMap((path) => [resolve(path), dirname(resolve(path))]);
  const below = await Promise.all(paths.map(async (path) => pathsBelow(resolve(path), ".").catch(() => [])));
  const folders = below.flat().filter((path) => path.endsWith("/"));
  return [...new Set([...named, ...folders, ...sources.map(({ name }) => dirname(resolve(name)))])];
}

/** None if there is no such folder, or it cannot be watched. */
function start(folder: string, wake: () => void): readonly FSWatcher[] {
  try {
    return [watch(folder, wake).on("error", wake)];
  } catch {
    return [];
  }
}
