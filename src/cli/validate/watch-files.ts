/** Runs a check again whenever a file below the given paths changes. */

import { type FSWatcher, statSync, watch } from "node:fs";
import { dirname, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isManifest, pathsBelow, sourcesOf } from "../files/paths.ts";

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
    const { folders, files } = await watchedBy(paths);
    const known = new Set([...folders, ...files]);
    const watchers = folders.flatMap((folder) => start(folder, known, wake));
    try {
      await check();
      await change.promise;
    } finally {
      for (const watcher of watchers) watcher.close();
    }
    await delay(SETTLE_MS);
  }
}

interface Watched {
  readonly folders: readonly string[];
  readonly files: readonly string[];
}

/** Folders, because an editor may replace a file; also those that have no file yet. A new folder is a change of its parent. */
async function watchedBy(paths: readonly string[]): Promise<Watched> {
  const { sources } = await sourcesOf(paths, {});
  const named = paths.flatMap((path) => [resolve(path), dirname(resolve(path))]);
  const below = await Promise.all(paths.map(async (path) => pathsBelow(resolve(path), ".").catch(() => [])));
  const folders = below.flat().filter((path) => path.endsWith("/"));
  const files = sources.map(({ name }) => resolve(name));
  return {
    folders: [...new Set([...named, ...folders.map((path) => resolve(path)), ...files.map(dirname)])],
    files,
  };
}

/** None if there is no such folder, or it cannot be watched. */
function start(folder: string, known: ReadonlySet<string>, wake: () => void): readonly FSWatcher[] {
  const onChange = (_: string, name: string | null): void => {
    if (name === null || matters(resolve(folder, name), known)) wake();
  };
  try {
    return [watch(folder, onChange).on("error", wake)];
  } catch {
    return [];
  }
}

/** What a build or a server writes beside manifests does not. A folder may bring manifests, or take them away. */
function matters(path: string, known: ReadonlySet<string>): boolean {
  if (isManifest(path) || known.has(path)) return true;
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
