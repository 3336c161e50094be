/** Opens an address in the user's browser, if there is one. */

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf } from "../../lib/thrown.ts";

type Command = readonly [string, ...string[]];

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, Command>>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};
const OTHERS: Command = ["xdg-open"];

const OPENING_MS = 10_000;

/**
 * Returns a function that removes the traces. The browser gets the address in a file that only this user can read: every
 * user of the machine can see the arguments of a process, and the address contains the token. Never throws, because the
 * address was printed: `onFailure` hears why there is no browser.
 */
export function openBrowser(url: string, onFailure: (why: string) => void): () => void {
  const [command, ...args] = OPENERS[process.platform] ?? OTHERS;
  let folder: string | undefined;
  try {
    folder = mkdtempSync(join(tmpdir(), "hookpolicy-ui-"));
    const file = join(folder, "open.html");
    writeFileSync(file, `<!doctype html><meta http-equiv="refresh" content="0; url=${url}">\n`, {
      mode: 0o600,
    });
    const child = spawn(command, [...args, pathToFileURL(file).href], { stdio: "ignore", detached: true });
    child.on("error", (error) => onFailure(messageOf(error)));
    // Some openers are the browser, and end with it much later.
    const failed = (code: number | null): void => {
      if (code !== 0 && code !== null) onFailure(`${command} ended with exit code ${code}`);
    };
    child.on("exit", failed);
    setTimeout(() => child.off("exit", failed), OPENING_MS).unref();
    child.unref();
  } catch (error) {
    onFailure(messageOf(error));
  }
  return () => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  };
}
