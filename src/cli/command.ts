/** What every command has in common: examples, choices, and how it ends. */

import { type Command, InvalidArgumentError, Option } from "commander";
import { nearest } from "../policy/fieldmessage.ts";

export const FAILED = 1;
export const USAGE = 2;

/** Ends the command with an exit code; an empty message where it has said already what there is to say. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: number;

  constructor(exitCode: number, message = "") {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Below the help, in the words of the program as it was called: `kubectl hookpolicy` for the plugin. */
export function addExamples(command: Command, examples: string): Command {
  return command.addHelpText("after", () => {
    const name = rootOf(command).name();
    return `\nExamples:\n${examples.replaceAll(/(^ *|\| )hookpolicy /gm, `$1${name} `)}`;
  });
}

function rootOf(command: Command): Command {
  return command.parent === null ? command : rootOf(command.parent);
}

/** `-o json` and the like: one of `values`, the first one by default. */
export function choice(flags: string, description: string, values: readonly string[]): Option {
  const [standard] = values;
  return new Option(flags, description)
    .default(standard)
    .choices(values)
    .argParser((value: string) => {
      if (values.includes(value)) return value;
      const meant = nearest(value, values);
      const hint = meant === undefined ? "" : ` (did you mean ${meant}?)`;
      throw new InvalidArgumentError(`Allowed: ${values.join(", ")}${hint}`);
    });
}

/** A whole number from `min` to `max`. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidArgumentError(`Allowed: a whole number from ${min} to ${max}`);
  };
}

/** `-f a -f b c`: all of them. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
