/** Asks a question on the terminal before a change. */

import { createInterface } from "node:readline/promises";
import { printable } from "../../lib/printable.ts";
import { CommandError, FAILED } from "../command.ts";
import { UsageError } from "../../lib/thrown.ts";
import { stderr } from "./output.ts";

/** For a change that is not asked about. */
export function nameServer(server: string): void {
  stderr.line(`server: ${server}`);
}

interface Confirmation {
  readonly yes: boolean;
  /** Where the change happens, which is named before the question, and also where none is asked. */
  readonly server: string;
}

/** Returns when the answer is yes. Without a terminal, the confirmation must be a flag. */
export async function confirm(question: string, { yes, server }: Confirmation): Promise<void> {
  nameServer(server);
  if (yes) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new UsageError("standard input is no terminal to ask on: confirm with --yes");
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new Promise<undefined>((resolve) => {
    terminal.once("close", () => resolve(undefined));
  });
  const answer = await Promise.race([terminal.question(`${printable(question)} [y/N] `), closed]);
  terminal.close();
  if (answer === undefined) stderr.line(""); // Ctrl-C and Ctrl-D leave the cursor on the line of the question
  if (!/^y(?:es)?$/i.test((answer ?? "").trim()))
    throw new CommandError(FAILED, "not confirmed: nothing was changed");
}
