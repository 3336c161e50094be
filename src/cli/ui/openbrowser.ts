/** Opens an address in the user's browser, if there is one. */

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
  linux: ["xdg-open"],
};

/**
 * Returns a function that removes the traces. The browser gets the address in a file that only this user can read: every
 * user of the machine can see the arguments of a process, and the address contains the token. A missing browser is no
 * error, because the address was printed.
 */
export function openBrowser(url: string): () => void {
  const [command, ...args] = OPENERS[process.platform] ?? [];
  if (command === undefined) return () => undefined;
  const folder = mkdtempSync(join(tmpdir(), "hookpolicy-ui-"));
  const file = join(folder, "open.html");
  writeFileSync(file, `<!doctype html><meta http-equiv="refresh" content="0; url=${url}">\n`, {
    mode: 0o600,
  });
  const child = spawn(command, [...args, pathToFileURL(file).href], { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
  return () => rmSync(folder, { recursive: true, force: true });
}
