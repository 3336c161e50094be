/** The commands about one HookTask, for all that offer them. */

import { shellQuote } from "../../policy/message.ts";

export function taskCommand(
  action: "show" | "retry",
  { namespace, name }: { readonly namespace: string; readonly name: string },
): string {
  return `hookpolicy task ${action} -n ${shellQuote(namespace)} ${shellQuote(name)}`;
}
