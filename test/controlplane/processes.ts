/** Child processes that cannot outlive the process that started them, however that one ends. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { Socket } from "node:net";
import { basename, join } from "node:path";

/** Runs when the last writer of its input is gone; ends early only when there is nothing left to do. */
const GUARD = `
trap '' HUP INT TERM
groups=
while IFS= read -r line; do groups=$line; done
for group in $groups; do kill -KILL "-$group"; done
[ -n "$1" ] || exit 0
for try in 1 2 3; do rm -rf "$1" && exit; sleep 1; done # what is being killed may still be writing
`;

export interface ProcessSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment; default: the parent's without its proxy settings. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** What stop() and stopAll() send; default SIGTERM, SIGKILL for what leaves nothing worth saving. */
  readonly stopSignal?: NodeJS.Signals;
  /** How long they wait after it before they kill; default 10 s. */
  readonly graceMs?: number;
}

export interface Daemon {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  readonly running: () => boolean;
  /** Everything the process has written so far. */
  readonly log: () => string;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Resolves when the process has ended; kills it when it ignores the signal. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<void>;
  /** Resolves when the process has ended, by itself or by stop(). */
  readonly ended: Promise<void>;
}

export interface Processes {
  readonly start: (spec: ProcessSpec) => Daemon;
  /** Of the running processes with that name. */
  readonly pids: (name: string) => readonly number[];
  /** The first process that ended without being asked to by stop() or stopAll(), with its last log lines. */
  readonly failure: () => Error | undefined;
  /** Ends everything, the last started first. */
  readonly stopAll: () => Promise<void>;
}

/** `guarded`: the folder to remove with the processes when this process dies without stopAll(). */
export function createProcesses(logFolder: string, guarded?: string): Processes {
  const daemons: Daemon[] = [];
  let failed: Error | undefined;
  let stopped = false;
  const guard = startGuard(guarded);
  const report = (): void => {
    const groups = daemons.filter((d) => d.running()).map((d) => String(d.pid));
    guard.stdin?.write(`${groups.join(" ")}\n`);
  };
  return {
    start: (spec) => {
      if (stopped) throw new Error(`${spec.name} is not started: everything is being stopped`);
      const daemon = startDaemon(spec, join(logFolder, `${spec.name}.log`), (error) => {
        failed ??= error;
      });
      daemons.push(daemon);
      report();
      void daemon.ended.then(report);
      return daemon;
    },
    pids: (name) => daemons.filter((d) => d.name === name && d.running()).map((d) => d.pid),
    failure: () => failed,
    stopAll: async () => {
      stopped = true;
      for (const daemon of daemons.splice(0).toReversed()) await daemon.stop();
      guard.stdin?.end("\n");
    },
  };
}

/**
 * A shell that holds the other end of a pipe: the kernel closes ours when we die, also by SIGKILL. Unlike
 * prctl(PR_SET_PDEATHSIG) this needs no Linux, and it can remove the folder too. Its own session keeps a
 * terminal's Ctrl-C from reaching it.
 */
function startGuard(folder: string | undefined): ChildProcess {
  const guard = spawn("sh", ["-c", GUARD, "guard", folder ?? ""], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.unref();
  guard.stdin?.on("error", () => undefined); // the guard is gone only when its folder and processes are
  if (guard.stdin instanceof Socket) guard.stdin.unref(); // it is one, though typed as a Writable
  return guard;
}

function startDaemon(spec: ProcessSpec, logFile: string, onFailure: (error: Error) => void): Daemon {
  const log = openSync(logFile, "a");
  // In its own process group Ctrl-C in a terminal reaches only us, and we end things in order.
  const child = spawn(spec.command, spec.args, {
    detached: true,
    stdio: ["ignore", log, log],
    env: spec.env ?? environment(),
    ...(spec.cwd === undefined ? {} : { cwd: spec.cwd }),
  });
  closeSync(log);
  let running = child.pid !== undefined;
  let wanted = true;
  const ended = new Promise<void>((resolve) => {
    const settle = (how: string): void => {
      running = false;
      if (wanted) onFailure(new Error(`${spec.name} ${how}. The end of its log:\n${lastLines(logFile)}`));
      resolve();
    };
    child.once("error", (error) => settle(`could not be started: ${error.message}`));
    child.once("exit", (code, signal) => settle(`ended unexpectedly (${signal ?? `exit code ${code}`})`));
  });
  child.unref(); // a test file that forgets stop() must end, and the guard cleans up behind it
  const signal = (name: NodeJS.Signals): void => {
    if (running) child.kill(name);
  };
  return {
    name: spec.name,
    pid: child.pid ?? -1,
    logFile,
    running: () => running,
    log: () => readFileSync(logFile, "utf8"),
    signal,
    ended,
    stop: async (name = spec.stopSignal ?? "SIGTERM") => {
      wanted = false;
      child.ref(); // now we wait for it
      signal(name);
      signal("SIGCONT"); // a stopped process would not notice anything but SIGKILL
      const timer = setTimeout(() => signal("SIGKILL"), spec.graceMs ?? 10_000);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** A daemon of another process: its log can be read, and only who has started it stops it. */
export function attachDaemon({ name, pid, logFile }: Pick<Daemon, "name" | "pid" | "logFile">): Daemon {
  const refuse = (): never => {
    throw new Error(`${name} is shared: a test that stops it starts one of its own`);
  };
  return {
    name,
    pid,
    logFile,
    running: () => true,
    log: () => readFileSync(logFile, "utf8"),
    signal: refuse,
    stop: refuse,
    ended: new Promise(() => undefined),
  };
}

/** The parent's environment without proxies, so that a developer's proxy cannot get between local parts. */
export function environment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !/^(https?|all|no)_proxy$/i.test(entry[0]),
  );
  return { ...Object.fromEntries(kept), ...extra };
}

/**
 * Of a Go program that lives for a test at most: a fifth of its time would go to garbage for which there is room, unless
 * $GOGC says otherwise.
 */
export function goEnvironment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { GOGC = "400" } = process.env;
  return environment({ GOGC, ...extra });
}

function lastLines(file: string, count = 20): string {
  try {
    return readFileSync(file, "utf8").trimEnd().split("\n").slice(-count).join("\n");
  } catch {
    return `(no log at ${basename(file)})`;
  }
}

export function flags(values: Readonly<Record<string, string | number | boolean>>): string[] {
  return Object.entries(values).map(([name, value]) => `--${name}=${value}`);
}
