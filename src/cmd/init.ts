import type { Command } from "commander";

export function addInit(program: Command): void {
  program.command("init");
}
