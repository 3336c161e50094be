/** Commands that are printed for users to run. */

import { type CommandLine, shellQuote } from "../../lib/shell-quote.ts";
import type { Terminal } from "./terminal.ts";
import type { Detail } from "../../page/branch.ts";

/** The first and the last words of the commands that are shown. */
export interface CommandWords {
  readonly program: string;
  /** The flags that select the same cluster: " --context prod". */
  readonly connection: string;
}

/** For JSON: who reads it has a connection of their own. */
const UNCONNECTED: CommandWords = { program: "hookpolicy", connection: "" };

/** They work on files, and have no flags of a connection. */
const UNCONNECTING = /^hookpolicy (?:init|validate)(?= |$)/;

/** How the user starts the program, and the same connection for each command that has one. */
export function typed(line: CommandLine, { program, connection } = UNCONNECTED): string {
  return [line]
    .flat()
    .map((command) => {
      const started = command.replace(/^hookpolicy /, () => `${program} `);
      return UNCONNECTING.test(command) ? started : `${started}${connection}`;
    })
    .join(" && ");
}

/** Words for people, and commands to run between them. */
export type Advice = string | readonly (string | { readonly run: CommandLine })[];

export function run(line: CommandLine): Advice {
  return [{ run: line }];
}

export function advice(texts: TemplateStringsArray, ...values: readonly Advice[]): Advice {
  return texts.flatMap((text, index) => [text, values[index] ?? ""].flat());
}

export const SEE_DOCTOR = advice`see '${run("hookpolicy doctor")}'`;

/** The words of the advice, of which a command line is one: no line is broken within it, so that it can be copied. */
export function adviceWords(given: Advice, words?: CommandWords): readonly string[] {
  const all = [""];
  for (const part of [given].flat()) {
    const [first = "", ...others] = typeof part === "string" ? part.split(" ") : [typed(part.run, words)];
    all.push(`${all.pop() ?? ""}${first}`, ...others);
  }
  return all;
}

export function adviceText(...args: Parameters<typeof adviceWords>): string {
  return adviceWords(...args).join(" ");
}

export function adviceDetail(label: string, given: Advice, view: CommandWords): Detail {
  return { label, text: adviceText(given, view), words: adviceWords(given, view) };
}

/** Is copied as one line. */
export function commandDetail(
  label: string,
  command: CommandLine,
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
