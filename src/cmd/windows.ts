import type { Command } from "commander";

export function addWindows(program: Command): void {
  program.command("windows");
}
