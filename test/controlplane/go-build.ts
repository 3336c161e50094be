/** One `go build` at a time, with progress that a person can read, and never a half-written binary. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export type Progress = (line: string) => void;

/** Somebody watches a terminal; a log is read afterwards. */
const PROGRESS_EVERY_MS = process.stderr.isTTY ? 5_000 : 60_000;

export interface GoBuild {
  /** For people: "kube-apiserver 1.36.3" */
  readonly title: string;
  /** Measured on two cores with nothing cached, so that a person knows whether to wait. */
  readonly seconds: number;
  /** Where go.mod is. */
  readonly folder: string;
  /** The package with func main. */
  readonly main: string;
  readonly ldflags: string;
  /** Build tags, separated by commas. */
  readonly tags?: string;
  /** Of the compiler, for every package. */
  readonly gcflags?: string;
  readonly target: string;
}

const toStderr: Progress = (line) => void process.stderr.write(`${line}\n`);

export async function build(request: GoBuild, progress: Progress = toStderr): Promise<void> {
  const { title, folder, main, ldflags, tags = "", gcflags = "", target } = request;
  const partial = `${target}.${process.pid}.new`;
  const headline = `Building ${title} (once, about ${about(request.seconds)})`;
  const started = Date.now();
  const elapsed = (): string => `${Math.round((Date.now() - started) / 1000)} s`;
  progress(headline);
  const timer = setInterval(() => progress(`${headline} … ${elapsed()}`), PROGRESS_EVERY_MS);
  try {
    // -s -w drops what debuggers need, so that it need not be compiled either.
    const output = [`-gcflags=all=-dwarf=false ${gcflags}`.trimEnd(), "-ldflags", ldflags, "-o", partial];
    await go(["build", "-mod=readonly", "-buildvcs=false", `-tags=${tags}`, ...output, main], folder, title);
    await rename(partial, target);
  } finally {
    clearInterval(timer);
    await rm(partial, { force: true });
  }
  progress(`Built ${title} in ${elapsed()}`);
}

function about(seconds: number): string {
  return seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} minutes`;
}

async function go(args: readonly string[], folder: string, title: string): Promise<void> {
  // The compiler would spend a sixth of its time on garbage for which there is room.
  const env = { ...process.env, GOGC: "off", GOMEMLIMIT: "2GiB" };
  const child = spawn("go", args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => output.push(text));
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", (error) => reject(cannotRun(error, folder, title)));
    child.once("close", resolve);
  });
  if (code === 0) return;
  const tail = output.join("").trimEnd().split("\n").slice(-15).join("\n");
  const command = `go ${args.map((a) => (a.includes(" ") ? `"${a}"` : a)).join(" ")}`;
  throw new Error(
    `Building ${title} failed (exit code ${code}).\n${hint(tail, folder)}In ${folder}:\n  ${command}\n${tail}`,
  );
}

function cannotRun(error: Error, folder: string, title: string): Error {
  const missing = codeOf(error) === "ENOENT";
  const what = missing
    ? `Go is not installed. Install Go ${goVersion(folder)} or newer (https://go.dev/dl) and have \`go\` in the PATH`
    : `Go could not be started (${error.message})`;
  return new Error(`${title} has to be built once from source, but: ${what}.`, { cause: error });
}

function hint(output: string, folder: string): string {
  if (/requires go >=|GOTOOLCHAIN=local/.test(output)) return `Install Go ${goVersion(folder)} or newer.\n`;
  if (/dial tcp|no such host|i\/o timeout|proxyconnect|TLS handshake|connection refused/.test(output)) {
    return "Go could not download its modules: is the network there, and does `go env GOPROXY` name a reachable proxy?\n";
  }
  return "";
}

function goVersion(folder: string): string {
  return /^go (\S+)$/m.exec(readFileSync(join(folder, "go.mod"), "utf8"))?.[1] ?? "(see go.mod)";
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

/**
 * Runs `work` in one process at a time; the lock of a process that died is taken over. Should two take it over at once,
 * both work: what they build must come into its place by a rename.
 */
export async function withLock<T>(
  folder: string,
  work: () => Promise<T>,
  progress: Progress = toStderr,
): Promise<T> {
  await mkdir(folder, { recursive: true });
  const lock = join(folder, "lock");
  for (let tries = 0; !(await acquired(lock)); tries++) {
    const owner = ownerOf(lock);
    if (tries === 8) progress(`Waiting for process ${owner ?? "?"}, which works in ${folder}`);
    if (owner !== undefined && !isAlive(owner)) await rm(lock, { force: true });
    await sleep(250);
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

async function acquired(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

function ownerOf(lock: string): number | undefined {
  try {
    const pid = Number(readFileSync(lock, "utf8"));
    return Number.isInteger(pid) && pid > 0 ? pid : undefined; // empty: being written just now
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}
