/** Opens an address in the user's browser, if there is one. */

import { spawn } from "node:child_process";

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
  linux: ["xdg-open"],
};

/** Without a browser the address that was printed is enough. */
export function openBrowser(url: string): void {
  const [command, ...args] = OPENERS[process.platform] ?? [];
  if (command === undefined) return;
  const child = spawn(command, [...args, url], { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}
