/** The program as a person starts it, in a folder with files. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { TestContext } from "node:test";
import { Ajv, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";
import { bundle, COMPILE_CACHE } from "../../bundle.ts";

const CACHE = { NODE_COMPILE_CACHE: COMPILE_CACHE };

export const MAIN = bundle();

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** By path. */
export type Files = Readonly<Record<string, string | Uint8Array>>;

/** A new folder with these files, gone after the test. */
export async function folder(t: Pick<TestContext, "after">, files: Files): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "hookpolicy-cmd-"));
  t.after(() => rm(dir, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(dir, name)), { recursive: true });
    await writeFile(join(dir, name), content);
  }
  return dir;
}

/** The objects as one text, which is YAML. */
export const yaml = (...objects: readonly unknown[]): string =>
  objects.map((object) => JSON.stringify(object)).join("\n---\n");

export interface Start {
  readonly cwd?: string;
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** `args` as typed; the exit code, and everything that was printed. */
export async function hookpolicy(
  args: readonly string[],
  { cwd, stdin = "", env }: Start = {},
): Promise<Outcome> {
  return await new Promise((done, fail) => {
    const options = { cwd, env: { ...process.env, ...CACHE, ...env }, maxBuffer: 100 * 1024 * 1024 };
    const child = execFile(process.execPath, [MAIN, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === "number") done({ code, stdout, stderr });
      else fail(error ?? new Error("no exit code"));
    });
    child.stdin?.on("error", () => undefined); // the program need not read it
    child.stdin?.end(stdin);
  });
}

/** What `-o json` of a command keeps to. A time is near the present: none stands for another word, such as "at once". */
export async function outputSchema(command: string): Promise<object> {
  const text = await readFile(
    resolve(import.meta.dirname, `../../../schemas/output/${command}.json`),
    "utf8",
  );
  return JSON.parse(text, (_, value: unknown) =>
    isTime(value) ? { ...value, pattern: String.raw`^2[01]\d\d-\d\d-\d\dT` } : value,
  );
}

/** The report, which keeps to the schema of what `-o json` of the command prints. */
export async function checked<T>(command: string, report: T): Promise<T> {
  const fits = (VALIDATORS[command] ??= await validator(command));
  assert.ok(fits(report), JSON.stringify(fits.errors));
  return report;
}

const VALIDATORS: Partial<Record<string, ValidateFunction>> = {};

async function validator(command: string): Promise<ValidateFunction> {
  const ajv = new Ajv({ allowUnionTypes: true });
  addFormats.default(ajv);
  return ajv.compile(await outputSchema(command));
}

function isTime(value: unknown): value is object {
  return typeof value === "object" && value !== null && "format" in value && value.format === "date-time";
}
