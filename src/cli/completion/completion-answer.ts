/** Computes the completions of a command line, as kubectl's plugins and shell scripts request them. */

import { type Argument, type CommandUnknownOpts, Option } from "commander";
import { HOOK_NAMES } from "../../api/runtime-hooks.ts";

/** Cobra's ShellCompDirective: complete files when nothing else matches, or never. */
const FILES = 0;
const NO_FILES = 4;

/** Kinds of names that only the API server knows. */
const LIVE = ["cluster", "policy", "policyref", "namespace", "rollout", "task"] as const;
export type Live = (typeof LIVE)[number];

/** The possible values at a position: one of some words, a file, "live" or a file, a name, free text; absent: none. */
type Values = readonly string[] | "file" | "fleet" | "text" | Live | undefined;

interface Candidate {
  readonly value: string;
  readonly description?: string;
}

interface CompletionAnswer {
  readonly candidates: readonly Candidate[];
  readonly directive: typeof FILES | typeof NO_FILES;
  /** Names that must be read from the API server, and the text before them ("--namespace="). */
  readonly live?: { readonly kind: Live; readonly prefix: string };
}

const HELP = new Option("-h, --help", "print this help");

/** `words` follow the program's name; the last one is being typed. */
export function answerTo(words: readonly string[], program: CommandUnknownOpts): CompletionAnswer {
  const typed = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const named = before.find((word) => !word.startsWith("-"));
  const command = program.commands.find((each) => each.name() === named);
  if (command === undefined) {
    const names = program.commands.map((each) => {
      return { value: each.name(), description: each.summary() || each.description() };
    });
    return offer([...names, ...flagWords(program.options)], typed);
  }
  const flags = [...command.options, ...program.options.filter(({ long }) => long !== "--version"), HELP];
  const [, name = "", prefix = ""] = /^((--[a-z-]+)=)/.exec(typed) ?? [];
  const inline = flags.find(({ long }) => long === prefix);
  if (inline !== undefined) return offerValues(valuesOf(inline), typed, name);
  const last = flags.find(({ long, short }) => [long, short].includes(before.at(-1) ?? ""));
  const values = last && valuesOf(last);
  if (values !== undefined) return offerValues(values, typed, "");
  if (typed.startsWith("-")) return offer(flagWords(flags), typed);
  // Only a choice shows that the first operand has been typed.
  const [first, second] = command.registeredArguments;
  const isSecond = second !== undefined && before.some((word) => first?.argChoices?.includes(word));
  return offerValues(operandValues(isSecond ? second : first, program), typed, "");
}

function flagWords(flags: readonly Option[]): Candidate[] {
  return flags.map(({ long, description }) => ({ value: long ?? "", description }));
}

const OF_FLAGS: Readonly<Record<string, Values>> = {
  "--hook": HOOK_NAMES,
  "--namespace": "namespace",
  "--policy": "policyref", // KIND/NAME, of those that can apply to the Cluster
  "--for-cluster": "cluster",
  "--against": "fleet",
};

/** The values of a flag; `undefined`: it takes none. */
function valuesOf({ long, argChoices, required, optional, flags }: Option): Values {
  if (!required && !optional) return undefined;
  if (argChoices !== undefined) return argChoices;
  return OF_FLAGS[long ?? ""] ?? (/<(?:path|file|dir|folder)>/.test(flags) ? "file" : "text");
}

function operandValues(operand: Argument | undefined, program: CommandUnknownOpts): Values {
  const name = operand?.name();
  if (name === "command") return program.commands.map((each) => each.name());
  return (
    operand?.argChoices ??
    LIVE.find((live) => live === name) ??
    (/^(?:path|file|dir|folder)$/.test(name ?? "") ? "file" : "text")
  );
}

function offerValues(values: Values, typed: string, prefix: string): CompletionAnswer {
  if (values === "file") return { candidates: [], directive: FILES };
  if (values === "fleet") {
    const live = { value: `${prefix}live`, description: "the API server's" };
    return { ...offer([live], typed), directive: FILES };
  }
  if (values === undefined || values === "text") return { candidates: [], directive: NO_FILES };
  if (typeof values === "string")
    return { candidates: [], directive: NO_FILES, live: { kind: values, prefix } };
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
export function completionText({ candidates, directive }: CompletionAnswer): string {
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
