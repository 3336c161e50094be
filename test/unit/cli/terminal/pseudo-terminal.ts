/** A program on a real terminal, which `script` (util-linux) gives it, and somebody who answers its question. */

import { spawn } from "node:child_process";

export interface Terminal {
  /** Default: Node.js, whose first argument is the program. */
  readonly program?: string;
  readonly question?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** `type` gives the keys once a question is there; all that was printed, and the exit code. */
export async function onTerminal(
  args: readonly string[],
  type: (seen: string) => string | Promise<string>,
  { program = process.execPath, question = "[y/N] ", env }: Terminal = {},
): Promise<{ readonly code: number | null; readonly seen: string }> {
  const words = Object.fromEntries([program, ...args].map((word, index) => [`WORD${index}`, word]));
  const command = Object.keys(words).map((name) => `"$${name}"`);
  const child = spawn("script", ["-qec", command.join(" "), "/dev/null"], {
    env: { ...process.env, ...env, ...words },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise<number | null>((done) => child.once("close", done));
  let seen = "";
  for await (const chunk of child.stdout) {
    const asked = seen.includes(question);
    seen += String(chunk);
    if (!asked && seen.includes(question)) child.stdin.write(await type(seen));
  }
  return { code: await ended, seen };
}
