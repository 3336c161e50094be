/** The program called again and again in one process beside the tests: starting it takes longer than what it does. */

import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type Files, folder, type Outcome, type Start } from "./program.ts";

/** A command, as the process gets it. */
export interface Call extends Start {
  readonly args: readonly string[];
  /** Standard output is a terminal of this width. */
  readonly columns?: number;
}

export type Reply = Outcome | { readonly error: string };

let resident: ChildProcess | undefined;
let last: Promise<unknown> = Promise.resolve();

/** As `hookpolicy()` of program.ts, where how the process starts and ends is not what is tested. */
export async function hookpolicy(args: readonly string[], start: Omit<Call, "args"> = {}): Promise<Outcome> {
  const mine = last.then(() => call({ args, ...start }));
  last = mine.catch(() => undefined);
  const reply = await mine;
  if ("error" in reply) throw new Error(reply.error);
  return reply;
}

/** In a folder with these files; a text is a.yaml. */
export async function onFiles(
  t: Pick<TestContext, "after">,
  files: Files | string,
  args: readonly string[],
  start: Omit<Call, "args" | "cwd"> = {},
): Promise<Outcome> {
  return await hookpolicy(args, {
    ...start,
    cwd: await folder(t, typeof files === "string" ? { "a.yaml": files } : files),
  });
}

async function call(message: Call): Promise<Reply> {
  resident ??= fork(join(import.meta.dirname, "resident-process.ts"), { execArgv: [] });
  const child = resident;
  child.ref();
  child.channel?.ref();
  const { promise, resolve } = Promise.withResolvers<Reply>();
  const ended = (): void => {
    resident = undefined;
    resolve({ error: `the process ended at: hookpolicy ${message.args.join(" ")}` });
  };
  child.once("message", (reply: Reply) => resolve(reply)).once("exit", ended);
  child.send(message);
  const reply = await promise;
  child.off("exit", ended);
  // It ends with the tests.
  child.unref();
  child.channel?.unref();
  return reply;
}
