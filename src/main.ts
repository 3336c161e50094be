#!/usr/bin/env node
/** The edge of the process: arguments, signals, exit code. 0: done, 1: failed, 2: asked wrongly. */

import { Command, CommanderError, Option } from "commander";

import { createLogger, errorText, printable, survivePipeErrors, type ClosableLogger } from "./log.ts";
import {
  FLAGS,
  parseOptions,
  UsageError,
  type Flag,
  type FlagValues,
  type Options,
} from "./manager/options.ts";
import { VERSION } from "./version.ts";

const FAILED = 1;
const USAGE = 2;

const RUN_EXAMPLES = `
Examples:
  # In a Pod, called by Cluster API 1.12
  hookpolicy run --capi-version=1.12 --log-format=json

  # On a workstation, against the current kubectl context
  hookpolicy run --kubeconfig="$HOME/.kube/config" --webhook-cert-dir=./certs`;

const EXAMPLES = `
Examples:
  hookpolicy run --capi-version=1.12
  hookpolicy help run`;

function createProgram(): Command {
  const program = new Command("hookpolicy")
    .description("Answers Cluster API's lifecycle hooks from HookPolicy objects.")
    .version(VERSION, "--version", "print the version")
    .helpOption("--help", "print this help")
    .helpCommand(false) // Commander's own takes any word for a command
    .addHelpText("after", EXAMPLES)
    .configureOutput({ outputError: () => undefined }) // main prints the error, in one line
    .exitOverride();
  addRun(program);
  addHelp(program);
  return program;
}

function addHelp(program: Command): void {
  program
    .command("help")
    .argument("[command]")
    .description("print the help of a command")
    .action((name?: string) => {
      const command = name === undefined ? program : program.commands.find((each) => each.name() === name);
      if (command === undefined) throw new UsageError(`unknown command '${name}'`);
      command.outputHelp();
    });
}

function addRun(program: Command): void {
  const command = program
    .command("run")
    .summary("run the operator")
    .description("Runs the operator: serves the hooks, follows the policies and reports what is held.")
    .addHelpText("after", RUN_EXAMPLES);
  const flags: Readonly<Record<string, Flag>> = FLAGS;
  const options = Object.entries(flags).map(([name, flag]) => {
    const option = new Option(`--${name} <${flag.argument}>`, flag.description).helpGroup(flag.group);
    if (flag.default !== undefined) option.default(flag.default, flag.default);
    command.addOption(option);
    return { name, key: option.attributeName() };
  });
  command.action(async (given: Readonly<Record<string, string>>) => {
    const values: FlagValues = Object.fromEntries(options.map(({ name, key }) => [name, given[key]]));
    process.exit(await runOperator(parseOptions(values)));
  });
}

async function runOperator(options: Options): Promise<number> {
  const log = createLogger({ format: options.logFormat, level: options.logLevel });
  const signal = stopSignal(log);
  exitOnBugs(log);
  try {
    const { run } = await import("./cmd/run.ts"); // loaded for this command only
    await run(options, { log, signal });
    return 0;
  } catch (error) {
    log.error("Cannot run", { error });
    return FAILED;
  } finally {
    await log.close();
  }
}

/** Aborted by the first SIGTERM or SIGINT; the second one ends the process at once. */
function stopSignal(log: ClosableLogger): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(FAILED);
      log.info("Stopping", { signal: name });
      stop.abort();
    });
  }
  return stop.signal;
}

/** What nobody caught leaves an unknown state behind: better a new process than answers from this one. */
function exitOnBugs(log: ClosableLogger): void {
  for (const name of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(name, (error: unknown) => {
      log.error("Bug, exiting", {
        error,
        origin: name,
        stack: error instanceof Error ? error.stack : undefined,
      });
      void exitAfterFlush(log);
    });
  }
}

async function exitAfterFlush(log: ClosableLogger): Promise<void> {
  await log.close();
  process.exit(FAILED);
}

/** One line; Commander puts its suggestion on a second one. */
function usageLine(error: Error, argv: readonly string[]): string {
  const text = error.message
    .replace(/^error: /, "")
    .replace(/\n\(Did you mean (.*)\?\)$/s, " (did you mean $1?)")
    .replace(/\.$/, "");
  const help = argv[0] === "run" ? "hookpolicy run --help" : "hookpolicy --help";
  return `error: ${printable(text)}; see '${help}'\n`;
}

async function main(argv: readonly string[]): Promise<number> {
  survivePipeErrors(process.stdout);
  survivePipeErrors(process.stderr);
  const program = createProgram();
  try {
    if (argv.length === 0) program.help({ error: true }); // a script that lost its arguments must not pass for done
    await program.parseAsync(argv, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.code === "commander.help")
      return argv.length === 0 ? USAGE : 0;
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const wrongUse = error instanceof CommanderError || error instanceof UsageError;
    process.stderr.write(wrongUse ? usageLine(error, argv) : `error: ${printable(errorText(error))}\n`);
    return wrongUse ? USAGE : FAILED;
  }
}

process.exitCode = await main(process.argv.slice(2));
