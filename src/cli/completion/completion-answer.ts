/** Computes the completions of a command line, as kubectl's plugins and shell scripts request them. */

import type { Command, Option } from "commander";
import { isLive, type Live, type Subcommand, subcommands, type Values, valuesOf } from "./subcommands.ts";

/** Cobra's ShellCompDirective: complete files when nothing else matches, or never. */
export const FILES = 0;
export const NO_FILES = 4;

export interface Candidate {
  readonly value: string;
  readonly description?: string;
}

export interface CompletionAnswer {
  readonly candidates: readonly Candidate[];
  readonly directive: typeof FILES | typeof NO_FILES;
  /** Names that must be read from the API server, and the text before them ("--namespace="). */
  readonly live?: { readonly kind: Live; readonly prefix: string };
}

/** `words` follow the program's name; the last one is being typed. */
export function answerTo(words: readonly string[], program: Command): CompletionAnswer {
  const typed = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const all = subcommands(program);
  const command = all.find(({ name }) => name === before.find((word) => !word.startsWith("-")));
  if (command === undefined) {
    const names = all.map(({ name, summary }) => ({ value: name, description: summary }));
    return offer([...names, ...flagWords(program.options)], typed);
  }
  const [, name = "", prefix = ""] = /^((--[a-z-]+)=)/.exec(typed) ?? [];
  const inline = command.flags.find(({ long }) => long === prefix);
  if (inline !== undefined) return offerValues(valuesOf(inline), typed, name);
  const last = command.flags.find(({ long, short }) => [long, short].includes(before.at(-1) ?? ""));
  const values = last && valuesOf(last);
  if (values !== undefined) return offerValues(values, typed, "");
  if (typed.startsWith("-")) return offer(flagWords(command.flags), typed);
  return offerValues(isSecond(command, before) ? command.second : command.operand, typed, "");
}

/** Only a choice shows that the first operand has been typed. */
function isSecond({ operand, second }: Subcommand, before: readonly string[]): boolean {
  return second !== undefined && Array.isArray(operand) && before.some((word) => operand.includes(word));
}

function flagWords(flags: readonly Option[]): Candidate[] {
  return flags.map(({ long, description }) => ({ value: long ?? "", description }));
}

function offerValues(values: Values, typed: string, prefix: string): CompletionAnswer {
  if (values === "file") return { candidates: [], directive: FILES };
  if (values === "fleet") {
    return {
      ...offer([{ value: `${prefix}live`, description: "the API server's" }], typed),
      directive: FILES,
    };
  }
  if (isLive(values)) return { candidates: [], directive: NO_FILES, live: { kind: values, prefix } };
  if (values === undefined || values === "text") return { candidates: [], directive: NO_FILES };
  return offer(
    values.map((value) => ({ value: `${prefix}${value}` })),
    typed,
  );
}

export function offer(candidates: readonly Candidate[], typed: string): CompletionAnswer {
  const fitting = candidates.filter(
    ({ value }) => value.startsWith(typed) && (typed !== "" || !value.startsWith("-")),
  );
  return { candidates: fitting, directive: NO_FILES };
}

/** The output format of cobra's `__complete`. */
export function answerText({ candidates, directive }: CompletionAnswer): string {
  const lines = candidates.map(({ value, description }) =>
    description === undefined ? value : `${value}\t${description}`,
  );
  return [...lines, `:${directive}`].map((line) => `${line}\n`).join("");
}

/** The value of a flag among the words; undefined: the flag is absent. */
export function flagValue(words: readonly string[], ...names: readonly string[]): string | undefined {
  for (const [index, word] of words.entries()) {
    if (names.includes(word)) return words[index + 1];
    const inline = names.find((name) => name.startsWith("--") && word.startsWith(`${name}=`));
    if (inline !== undefined) return word.slice(inline.length + 1);
  }
  return undefined;
}
