/** Common parts of all commands: examples, choices, and the exit code. */

import {
  type Command,
  type CommandUnknownOpts,
  InvalidArgumentError,
  Option,
  type OptionValues,
} from "commander";
import { HOOK_NAMES, type HookName } from "../api/runtime-hooks.ts";
import { nearest } from "../lib/did-you-mean.ts";
import { UsageError } from "../lib/thrown.ts";
import { parseMoment } from "../policy/window/moment.ts";
import type { ColourWish } from "./terminal/colour.ts";

export const FAILED = 1;
export const USAGE = 2;

/** Ends the command with an exit code; the message is empty if everything was already printed. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: number;

  constructor(exitCode: number, message = "") {
    super(message);
    this.exitCode = exitCode;
  }
}

/** How a command was called. */
export interface CommandCall<Flags> {
  readonly flags: Flags;
  readonly program: string;
}

type WithColor<Flags> = Readonly<Flags> & Required<ColourWish>;

/** The flags that a command is called with, as its options define them, and the program's --no-color. */
export type FlagsOf<C extends CommandUnknownOpts> = WithColor<ReturnType<C["opts"]>>;

/** Gives a command its examples and its work; the result adds it to the program. */
export function runs<Args extends unknown[], Flags extends OptionValues>(
  command: Command<Args, Flags>,
  examples: string,
  work: (call: CommandCall<WithColor<NoInfer<Flags>>>, ...args: Args) => void | Promise<void>,
): (program: CommandUnknownOpts) => void {
  addExamples(command, examples);
  return (program) => {
    program.addCommand(command.copyInheritedSettings(program));
    command.action(async () => {
      checkOwners(command);
      const flags = { ...command.opts(), color: program.opts()["color"] !== false };
      await work({ flags, program: programName(command) }, ...command.processedArgs);
    });
  };
}

/** Appends examples to the help, with the program's name as it was called: `kubectl hookpolicy` for the plugin. */
export function addExamples(command: CommandUnknownOpts, examples: string): void {
  command.addHelpText("after", () => {
    const name = programName(command);
    const action = actionWord(command);
    const shown = examples
      .split("\n\n")
      .filter((example) => action === undefined || example.includes(` ${command.name()} ${action}`));
    return `\nExamples:\n${shown.join("\n\n").replaceAll(/(^ *|\| )hookpolicy /gm, `$1${name} `)}`;
  });
}

/** "plan", for `rollout plan --help`. */
export function actionWord({
  args: [word = ""],
  registeredArguments: [first],
}: CommandUnknownOpts): string | undefined {
  return first?.argChoices?.includes(word) === true ? word : undefined;
}

function programName(command: CommandUnknownOpts): string {
  return command.parent === null ? command.name() : programName(command.parent);
}

/** An option that is always one of `values`, such as `-o json`; its default is the first of them. */
export function choice<Usage extends string, const Values extends readonly [string, ...string[]]>(
  flags: Usage,
  description: string,
  values: Values,
): Option<Usage, undefined, Values[0], Values[number]> {
  return new Option(flags, description).choices(values).default(values[0]).argParser(oneOf(values));
}

export function oneOf<T extends string>(values: readonly T[]): (text: string) => T {
  return (text) => {
    const value = values.find((each) => each === text);
    if (value !== undefined) return value;
    throw new InvalidArgumentError(`Allowed: ${values.join(", ")}${nearestText(text, values)}`);
  };
}

export function hookOption(description: string): Option<"--hook <name>", undefined, undefined, HookName> {
  return new Option("--hook <name>", description).choices(HOOK_NAMES).argParser(hookName);
}

export const hookName = oneOf(HOOK_NAMES);

/** Ends an error with what the user may have meant; "" if that is not known. */
export function meantText(meant: string | undefined): string {
  return meant === undefined ? "" : ` (did you mean ${meant}?)`;
}

/** " (did you mean rollout?)"; "": no word is near. */
export function nearestText(word: string, words: readonly string[]): string {
  return meantText(nearest(word, words));
}

/** "write 24h" for 1d, which Go's durations do not have; `undefined`: nothing is certain enough. */
export function meantDuration(value: unknown): string | undefined {
  const text = String(value);
  if (/^\d+$/.test(text)) return `write its unit: ${text}s, ${text}m or ${text}h`;
  const [, count, unit] = /^(\d+)\s*(d|w|days?|weeks?)$/i.exec(text) ?? [];
  return unit === undefined ? undefined : `write ${Number(count) * (/^w/i.test(unit) ? 168 : 24)}h`;
}

/** The actions that an option is for; `undefined`: all. Its description begins with them. */
export function ownersOf({ description }: Option): readonly string[] | undefined {
  return /^([a-z]+(?: and [a-z]+)*): /.exec(description)?.[1]?.split(" and ");
}

/** Refuses flags of another action than the one that was given. */
function checkOwners(command: CommandUnknownOpts): void {
  const action = actionWord(command);
  if (action === undefined) return;
  const given = command.opts();
  for (const option of command.options) {
    const owners = ownersOf(option);
    const isGiven = option.defaultValue === undefined && Object.hasOwn(given, option.attributeName());
    if (isGiven && owners?.includes(action) === false)
      throw new UsageError(`--${option.name()} is for ${owners.join(" and ")}`);
  }
}

/** Returns a parser of whole numbers from `min` to `max`. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidArgumentError(`Allowed: a whole number from ${min} to ${max}`);
  };
}

/** Collects the values of a flag that is repeated. */
export function collecting<T>(
  parse: (text: string) => T,
): (text: string, before?: readonly T[]) => readonly T[] {
  return (text, before = []) => [...before, parse(text)];
}

export const collect = collecting(String);

/** For the help of options that take an instant. */
export const INSTANTS =
  "a date or time of this machine's time zone, or a time with its offset, such as 2026-12-24T18:00Z";

/** As in the windows of policies, a date means its first instant; seconds may be left out with an offset, too. */
export function instant(text: string): Date {
  const { timeZone: given } = Intl.DateTimeFormat().resolvedOptions();
  const timeZone = given === "Etc/Unknown" ? undefined : given;
  const ms = parseMoment(text.replace(/(T\d\d:\d\d)(?=Z$|[+-]\d\d:\d\d$)/, "$1:00"), timeZone);
  if (ms !== undefined) return new Date(ms);
  const exact = "a time with its offset, such as 2026-11-21T12:00Z or 2026-11-21T12:00+01:00";
  throw new InvalidArgumentError(
    timeZone === undefined
      ? `Allowed: ${exact} (this machine's time zone is not known)`
      : `Allowed: a date or a time of this machine's zone, ${timeZone}, such as 2026-11-21 or 2026-11-21T12:00, or ${exact}`,
  );
}

const SEMVER = /^v?\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

/** Parses a full Kubernetes version, as in a Cluster's spec.topology.version. */
export function version(text: string): string {
  if (SEMVER.test(text)) return text.startsWith("v") ? text : `v${text}`;
  const [, short] = /^v?(\d+\.\d+)$/.exec(text) ?? [];
  const hint = meantText(short && `v${short}.0`);
  throw new InvalidArgumentError(`Allowed: a version in full, such as v1.35.0${hint}`);
}

/** Parses "team-a/prod-1". */
export function clusterName(text: string): { readonly namespace: string; readonly name: string } {
  const [namespace = "", name = "", ...rest] = text.split("/");
  if (namespace !== "" && name !== "" && rest.length === 0) return { namespace, name };
  throw new InvalidArgumentError("Allowed: NAMESPACE/NAME, such as team-a/prod-1");
}
