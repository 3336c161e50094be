/** A Chromium for tests of the page: an installed one, else Debian's package. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { withLock } from "./go-build.ts";
import { cacheRoot } from "./parts.ts";

const run = promisify(execFile);
const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

export type FoundBrowser = { readonly path: string } | { readonly missing: string };

/**
 * `CHROMIUM` names one; without any, root installs Debian's, which is shared by all who use the machine. One process at a
 * time: another that installs it would make this one fail, and its program is there before it can run.
 */
export async function findBrowser(): Promise<FoundBrowser> {
  const named = process.env["CHROMIUM"];
  if (named) return { path: named };
  return await withLock(join(cacheRoot(), "../chromium"), findOrInstall);
}

async function findOrInstall(): Promise<FoundBrowser> {
  const found = installed();
  if (found !== undefined) return { path: found };
  const why = await install();
  const path = installed();
  if (path !== undefined) return { path };
  return { missing: `no Chromium: install one, or name it in CHROMIUM (${why})` };
}

function installed(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((file) =>
    existsSync(file),
  );
}

/** Returns why there is still none. */
async function install(): Promise<string> {
  if (process.getuid?.() !== 0) return "only root can run apt-get";
  try {
    await run("apt-get", ["update"]);
    await run("apt-get", ["install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core"], {
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    });
    return "apt-get has installed none";
  } catch (error) {
    return error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
  }
}
