/** Commands that are printed for users to run. */

import { shellQuote } from "../../lib/shell-quote.ts";
import type { Terminal } from "./terminal.ts";
import type { Detail } from "../../page/branch.ts";

/** The first and the last words of the commands that are shown. */
export interface CommandWords {
  readonly program: string;
  /** The flags that select the same cluster: " --context prod". */
  readonly connection: string;
}

/** How the user starts the program, and the same connection. */
export function typed(command: string, { program, connection }: CommandWords): string {
  return `${command.replace(/^hookpolicy /, () => `${program} `)}${connection}`;
}

/** Is copied as one line. */
export function commandDetail(
  label: string,
  command: string,
  { colour, ...words }: CommandWords & Pick<Terminal, "colour">,
): Detail {
  return { label, text: colour.cyan(typed(command, words)), whole: true };
}

/** About one HookTask. */
export function taskCommand(
  action: "show" | "retry",
  { namespace, name }: { readonly namespace: string; readonly name: string },
): string {
  return `hookpolicy task ${action} -n ${shellQuote(namespace)} ${shellQuote(name)}`;
}
