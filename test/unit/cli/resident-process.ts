/** The process of resident.ts: everything that a command finds in a process of its own, it finds here. */

import { PassThrough, Writable } from "node:stream";
import type { Call, Reply } from "./resident.ts";

const MAIN = new URL("../../../src/main.ts", import.meta.url);
const HERE = process.cwd();
let calls = 0;

class OutputCollector extends Writable {
  text = "";
  readonly columns: number | undefined;
  readonly isTTY: boolean;

  constructor(columns?: number) {
    super();
    this.columns = columns;
    this.isTTY = columns !== undefined;
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

function replace(name: "stdin" | "stdout" | "stderr", stream: PassThrough | Writable): void {
  Object.defineProperty(process, name, { value: stream, configurable: true });
}

async function run({ args, cwd = HERE, stdin = "", env = {}, columns }: Call): Promise<Reply> {
  const [stdout, stderr] = [new OutputCollector(columns), new OutputCollector()];
  replace("stdin", new PassThrough().end(stdin));
  replace("stdout", stdout);
  replace("stderr", stderr);
  const before = { ...process.env };
  Object.assign(process.env, env);
  process.chdir(cwd);
  process.argv = [process.execPath, MAIN.pathname, ...args];
  try {
    // With another URL it is evaluated again; the modules that it imports are not.
    await import(`${MAIN.href}?${(calls += 1)}`);
    const code = Number(process.exitCode);
    return { code, stdout: stdout.text, stderr: stderr.text };
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  } finally {
    process.exitCode = undefined;
    for (const name of Object.keys(env)) delete process.env[name];
    Object.assign(process.env, before);
  }
}

process.on("message", (call: Call) => {
  void run(call).then((reply) => process.send?.(reply));
});
process.on("disconnect", () => process.exit());
