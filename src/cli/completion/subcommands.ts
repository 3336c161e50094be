/** The program's commands, and which values each of their flags and operands can have. */

import { type Argument, type Command, Option } from "commander";
import { HOOK_NAMES } from "../../api/runtime-hooks.ts";

/** Kinds of names that only the API server knows. */
export const LIVE = ["cluster", "policy", "policyref", "namespace", "rollout", "task"] as const;
export type Live = (typeof LIVE)[number];

/** The possible values at a position: one of some words, a file, "live" or a file, a name, free text; absent: none. */
export type Values = readonly string[] | "file" | "fleet" | "text" | Live | undefined;

export interface Subcommand {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly Option[];
  readonly operand: Values;
  /** The values of a second operand, if the first is a choice; absent: there is none. */
  readonly second?: Values;
}

export function subcommands(program: Command): readonly Subcommand[] {
  return program.commands.map((command) => describe(command, program));
}

export function isLive(values: Values): values is Live {
  return LIVE.some((live) => live === values);
}

function describe(command: Command, program: Command): Subcommand {
  const [first, second] = command.registeredArguments;
  return {
    name: command.name(),
    summary: command.summary() || command.description(),
    flags: [...command.options, ...program.options.filter(({ long }) => long !== "--version"), HELP],
    operand: operandOf(first, program),
    ...(first?.argChoices !== undefined && second !== undefined && { second: operandOf(second, program) }),
  };
}

const HELP = new Option("-h, --help", "print this help");

/** The values of a flag; `undefined`: it takes none. */
export function valuesOf({ long, argChoices, required, optional, flags }: Option): Values {
  if (!required && !optional) return undefined;
  if (argChoices !== undefined) return argChoices;
  if (long === "--hook") return HOOK_NAMES;
  if (long === "--namespace") return "namespace";
  if (long === "--policy") return "policyref"; // KIND/NAME, of those that can apply to the Cluster
  if (long === "--for-cluster") return "cluster";
  if (long === "--against") return "fleet";
  return /<(?:path|file|dir|folder)>/.test(flags) ? "file" : "text";
}

function operandOf(first: Argument | undefined, program: Command): Values {
  if (first === undefined) return undefined;
  if (first.name() === "command") return program.commands.map((each) => each.name());
  if (first.argChoices !== undefined) return first.argChoices;
  const name = first.name();
  return LIVE.find((live) => live === name) ?? (FILES.has(name) ? "file" : "text");
}

const FILES: ReadonlySet<string> = new Set(["path", "file", "dir", "folder"]);
