#!/usr/bin/env node
/** The edge of the process: arguments, signals, exit code. 0: success, 1: failure, 2: wrong usage. */

import { basename } from "node:path";
import { Command, CommanderError, type CommandUnknownOpts, Help, Option } from "commander";

import {
  actionWord,
  addExamples,
  CommandError,
  FAILED,
  nearestText,
  ownersOf,
  USAGE,
} from "./cli/command.ts";
import { flagsBehind } from "./cli/flag-order.ts";
import { addApprove } from "./cli/approve/command.ts";
import { addCompletion, answerCompletion } from "./cli/completion/command.ts";
import { addExplain } from "./cli/explain/command.ts";
import { addGet } from "./cli/get/command.ts";
import { addDoctor } from "./cli/doctor/command.ts";
import { addInit } from "./cli/init/command.ts";
import { stderr, stdout } from "./cli/terminal/output.ts";
import { addOverride } from "./cli/override/command.ts";
import { addPrepareUninstall } from "./cli/prepare-uninstall/command.ts";
import { addRollout } from "./cli/rollout/command.ts";
import { addSimulate } from "./cli/simulate/command.ts";
import { addTask } from "./cli/task/command.ts";
import { addTest } from "./cli/suite/command.ts";
import { addUi } from "./cli/ui/command.ts";
import { addValidate } from "./cli/validate/command.ts";
import { addWindows } from "./cli/windows/command.ts";
import { createLogger, survivePipeErrors, type ClosableLogger } from "./report/process-log.ts";
import { errorText, UsageError } from "./lib/thrown.ts";
import { FLAGS, parseOptions, type Flag, type FlagValues, type Options } from "./operator/options.ts";
import { VERSION } from "./version.ts";

/** kubectl runs a program of this name for `kubectl hookpolicy`. */
const PLUGIN = /^kubectl-hookpolicy(?:\.[a-z]+)?$/;
/** The program's name when kubectl asks it to complete the last typed word. */
const COMPLETER = /^kubectl_complete-hookpolicy(?:\.[a-z]+)?$/;
/** Cobra's name for the same command, which the completion scripts of shells call. */
const COMPLETE = "__complete";

const RUN_EXAMPLES = `\
  # In a Pod, called by Cluster API 1.12
  hookpolicy run --capi-version=1.12 --log-format=json

  # On a workstation, against the current kubectl context
  hookpolicy run --kubeconfig="$HOME/.kube/config" --webhook-cert-dir=./certs`;

const EXAMPLES = `\
  hookpolicy explain team-a/prod-1
  hookpolicy init policies
  hookpolicy validate policies/
  hookpolicy help explain`;

function createProgram(name: string): CommandUnknownOpts {
  const program = new Command(name)
    .description("Answers Cluster API's lifecycle hooks from HookPolicy objects.")
    .version(VERSION, "--version", "print the version")
    .option("--no-color", "plain text, also on a terminal (or set NO_COLOR)")
    .helpOption("-h, --help", "print this help")
    .configureHelp({ minWidthToWrap: 12, visibleOptions }) // on narrow terminals, too
    .helpCommand(false) // Commander's own takes any word for a command
    .configureOutput({
      writeOut: (text) => stdout.document(text),
      writeErr: (text) => stderr.document(text),
      outputError: () => undefined, // main prints the error in one line
    })
    .exitOverride();
  addExamples(program, EXAMPLES);
  for (const [title, commands] of Object.entries(COMMANDS)) {
    program.commandsGroup(title);
    for (const add of commands) add(program);
  }
  return program;
}

/** Without those of other actions than `rollout plan --help` names: their descriptions begin with the actions. */
function visibleOptions(command: CommandUnknownOpts): Option[] {
  const action = actionWord(command);
  const options = new Help().visibleOptions(command);
  return options.filter((option) => action === undefined || ownersOf(option)?.includes(action) !== false);
}

/** By title, in the order of the help. What an operator on call needs comes first, then what a newcomer needs. */
const COMMANDS = {
  "Clusters that wait:": [addExplain, addGet, addApprove, addOverride, addTask, addRollout, addUi],
  "Policies in files:": [addInit, addValidate, addTest, addSimulate, addWindows],
  "The operator:": [addRun, addDoctor, addPrepareUninstall],
  "Help:": [addHelp, addCompletion],
} as const;

function addHelp(program: CommandUnknownOpts): void {
  program
    .command("help")
    .argument("[command]")
    .argument("[action]", "such as plan, after rollout")
    .description("print the help of a command")
    .action((name?: string, action?: string) => {
      const command = name === undefined ? program : program.commands.find((each) => each.name() === name);
      const names = program.commands.map((each) => each.name());
      if (command === undefined)
        throw new UsageError(`unknown command '${name ?? ""}'${nearestText(name ?? "", names)}`);
      const [{ argChoices: actions } = {}] = command.registeredArguments;
      if (action !== undefined && actions?.includes(action) === false)
        throw new UsageError(
          `unknown action '${action}' of ${command.name()}${nearestText(action, actions)}`,
        );
      command.args = action === undefined ? [] : [action];
      command.outputHelp();
    });
}

function addRun(program: CommandUnknownOpts): void {
  const command = program
    .command("run")
    .summary("run the operator")
    .description(
      "Runs the operator: serves the hooks, follows the policies and reports what is held.\n\nExit code: 0 stopped by a signal, 1 cannot run or stopped by a bug, 2 wrong usage.",
    );
  addExamples(command, RUN_EXAMPLES);
  const flags: Readonly<Record<string, Flag>> = FLAGS;
  const options = Object.entries(flags).map(([name, flag]) => {
    const isSwitch = flag.argument === "boolean";
    const argument = isSwitch ? `[${flag.argument}]` : `<${flag.argument}>`;
    const option = new Option(`--${name} ${argument}`, flag.description).helpGroup(flag.group);
    if (isSwitch) option.preset("true");
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
  const log = createLogger({
    format: options.logFormat,
    level: options.logLevel,
    ...(options.auditLog === "-" && { stream: process.stderr }),
  });
  const signal = stopSignal(log);
  exitOnBugs(log);
  try {
    const operator = await import("./operator/operator.ts"); // loaded for this command only
    await operator.runOperator(options, { log, signal });
    log.info("Stopped");
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

/** An uncaught error leaves an unknown state behind, so a new process is safer than answers from this one. */
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

/** Returns one line; Commander puts its suggestion on a second one. */
function usageLine(error: Error, program: CommandUnknownOpts, argv: readonly string[]): string {
  const text = error.message
    .replace(/^error: /, "")
    .replace(/\n\(Did you mean (.*)\?\)$/s, " (did you mean $1?)")
    .replace(/\.$/, "");
  const command = program.commands.find((each) => each.name() === argv[0] && each.name() !== "help");
  const help = [program.name(), command?.name(), "--help"].filter((word) => word !== undefined).join(" ");
  return `error: ${text}; see '${help}'`;
}

async function main(words: readonly string[], name: string): Promise<number> {
  survivePipeErrors(process.stdout);
  survivePipeErrors(process.stderr);
  const program = createProgram(name);
  const argv = flagsBehind(words, program);
  failOnLostOutput(process.stdout, argv);
  if (argv[0] === COMPLETE) {
    await answerCompletion(argv.slice(1), program);
    return 0;
  }
  try {
    if (argv.length === 0) program.help({ error: true }); // a script that lost its arguments must not appear to succeed
    await program.parseAsync(argv, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.code === "commander.help" && argv.length === 0) return USAGE;
    if (error instanceof CommanderError && (error.exitCode === 0 || error.code === "commander.help"))
      return 0;
    if (error instanceof CommanderError || error instanceof UsageError) {
      stderr.line(usageLine(error, program, argv));
      return USAGE;
    }
    return failed(error);
  }
}

/** Output lost to a full disk must fail the command; a reader that stops early (EPIPE) must not. */
function failOnLostOutput(stream: NodeJS.WriteStream, [command]: readonly string[]): void {
  if (command === "run") return; // a lost log must not end the operator
  let told = false;
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (told || error.code === "EPIPE") return;
    told = true;
    stderr.line(`error: the output cannot be written (${error.code ?? error.message})`);
    process.on("exit", (code) => {
      if (code === 0) process.exitCode = FAILED;
    });
  });
}

function failed(error: unknown): number {
  const said = error instanceof CommandError && error.message === "";
  if (!said) stderr.line(`error: ${errorText(error)}`);
  return error instanceof CommandError ? error.exitCode : FAILED;
}

const calledAs = basename(process.argv[1] ?? "");
const typed = process.argv.slice(2);
process.exitCode = await main(
  COMPLETER.test(calledAs) ? [COMPLETE, ...typed] : typed,
  PLUGIN.test(calledAs) ? "kubectl hookpolicy" : "hookpolicy",
);
