/** Commands that are printed for users to run. */

import { shellQuote } from "../../policy/message.ts";

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

/** About one HookTask. */
export function taskCommand(
  action: "show" | "retry",
  { namespace, name }: { readonly namespace: string; readonly name: string },
): string {
  return `hookpolicy task ${action} -n ${shellQuote(namespace)} ${shellQuote(name)}`;
}
