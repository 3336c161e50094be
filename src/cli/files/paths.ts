/** Resolves the paths on the command line to files, and reads them as text, up to a limit. */

import * as fs from "node:fs/promises";
import * as nodePath from "node:path";
import type { Stats } from "node:fs";
import { codeOf, isMissing } from "../../lib/thrown.ts";
import type { Progress } from "../terminal/progress-line.ts";
import type { FileProblem } from "./parsed.ts";

// Node.js 20 has no glob and no matchesGlob: a named import would end the program before it can print which version it needs.

export interface Source {
  /** The path as the user wrote it, or below the folder that the user named; "-" is standard input. */
  readonly name: string;
  /** Named by the user, and not found in a folder or by a pattern: its content should be for HookPolicy. */
  readonly named: boolean;
}

export interface LoadOptions {
  /** The folder of relative paths; by default that of the process. */
  readonly cwd?: string;
  readonly stdin?: AsyncIterable<Uint8Array>;
  readonly progress?: Progress;
  /** What a file in a folder contains if it is for the command; others are skipped if they cannot be read. Absent: none is. */
  readonly meant?: RegExp;
  readonly exclude?: readonly string[];
}

interface Sources {
  readonly sources: readonly Source[];
  readonly problems: readonly FileProblem[];
}

/** Kustomize takes a file of its own without an ending. */
export function isManifest(path: string): boolean {
  return /\.(?:ya?ml|json)$/i.test(path) || nodePath.basename(path) === "Kustomization";
}

export async function sourcesOf(
  paths: readonly string[],
  { cwd = ".", exclude = [] }: LoadOptions,
): Promise<Sources> {
  const problems: FileProblem[] = [];
  const sources = new Map<string, Source>();
  for (const path of paths) {
    const found = await expand(path, cwd);
    if ("message" in found) {
      problems.push(found);
      continue;
    }
    const kept = found.filter(({ name, named }) => named || !isExcluded(name, path, { exclude, cwd }));
    if (kept.length === 0)
      problems.push({ file: path, message: "--exclude leaves no file of it: check its patterns" });
    // A file stays named, whatever folder it is in.
    for (const source of kept.filter((each) => sources.get(identity(each, cwd))?.named !== true))
      sources.set(identity(source, cwd), source);
  }
  return { sources: [...sources.values()], problems };
}

/** Whether a pattern matches it or a folder above it: from here, from the named folder, or, without a slash, anywhere. */
function isExcluded(
  file: string,
  folder: string,
  { exclude, cwd }: { readonly exclude: readonly string[]; readonly cwd: string },
): boolean {
  const steps = nodePath.relative(folder, file).split(nodePath.sep);
  const above = steps.map((_, index) => steps.slice(0, index + 1).join(nodePath.sep));
  return exclude.some((given) => {
    const pattern = given.replace(/^\.\/|\/$/g, "");
    return above.some((path) => {
      const here = nodePath.relative(cwd, nodePath.resolve(cwd, folder, path));
      const names = pattern.includes("/") ? [path, here] : [path, here, nodePath.basename(path)];
      return names.some((name) => nodePath.matchesGlob(name, pattern));
    });
  });
}

function identity({ name }: Source, cwd: string): string {
  return name === "-" ? "-" : nodePath.resolve(cwd, name);
}

async function expand(path: string, cwd: string): Promise<readonly Source[] | FileProblem> {
  if (path === "") return { file: '""', message: "the path is empty" };
  if (path === "-") return [{ name: "-", named: true }];
  try {
    const found = await fs.stat(nodePath.resolve(cwd, path));
    if (found.isDirectory()) {
      const message = "the folder holds no .yaml, .yml or .json file";
      const files = (await pathsBelow(path, cwd)).filter((each) => !each.endsWith("/"));
      return sourcesIn(files, { file: path, message });
    }
    return isEndless(path, found) ? { file: path, message: PIPE } : [{ name: path, named: true }];
  } catch (error) {
    if (isMissing(error) && /[*?[{]/.test(path)) {
      const message = "matches no .yaml, .yml or .json file";
      return sourcesIn(await filesMatching(path, cwd), { file: path, message });
    }
    return { file: path, message: readProblem(error) };
  }
}

function sourcesIn(names: readonly string[], ifNone: FileProblem): readonly Source[] | FileProblem {
  return names.length === 0 ? ifNone : names.toSorted().map((name) => ({ name, named: false }));
}

const PIPE = "is a pipe, expected a file; use - for standard input";

/** A pipe may never get a writer, except <(...) of a shell, which is one in /dev/fd. */
function isEndless(path: string, found: Stats): boolean {
  return (found.isFIFO() || found.isSocket()) && !path.startsWith("/dev/");
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await fs.stat(path)).isFile();
  } catch {
    return true; // reading it gives the error
  }
}

/**
 * Manifests, and folders, which end with a slash. Skips .git, .github and the like. Links to folders are not followed, because
 * they can form cycles.
 */
export async function pathsBelow(folder: string, cwd: string): Promise<string[]> {
  const entries = await fs.readdir(nodePath.resolve(cwd, folder), { withFileTypes: true });
  const below = entries
    .filter(({ name }) => !name.startsWith(".") && name !== "node_modules")
    .map(async (entry) => {
      const path = nodePath.join(folder, entry.name);
      if (entry.isDirectory()) return [`${path}/`, ...(await pathsBelow(path, cwd))];
      return isManifest(entry.name) && (await isFile(nodePath.resolve(cwd, path))) ? [path] : [];
    });
  return (await Promise.all(below)).flat();
}

async function filesMatching(pattern: string, cwd: string): Promise<string[]> {
  const names: string[] = [];
  for await (const name of fs.glob(pattern, { cwd })) {
    if (isManifest(name) && (await isFile(nodePath.resolve(cwd, name)))) names.push(name);
  }
  return names;
}

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or folder",
  EACCES: "permission denied",
  EISDIR: "is a folder",
  ELOOP: "too many symbolic links",
  ENAMETOOLONG: "the name is too long",
  ENOTDIR: "a part of the path is no folder",
};

function readProblem(error: unknown): string {
  const code = codeOf(error) || "unknown error";
  return PROBLEMS[code] ?? `cannot be read (${code})`;
}

/** A fleet of a thousand Clusters takes some MiB. */
export const MAX_BYTES = 32 * 1024 * 1024;

export type FileText =
  | { readonly ok: true; readonly text: string }
  /** `text`: its bytes as letters, if they were read. */
  | { readonly ok: false; readonly message: string; readonly text?: string };

export async function readText({ name }: Source, { cwd = ".", stdin }: LoadOptions): Promise<FileText> {
  try {
    const bytes =
      name === "-" ? await collect(stdin ?? process.stdin) : await readFile(nodePath.resolve(cwd, name));
    return bytes === undefined ? TOO_LARGE : decode(bytes);
  } catch (error) {
    return { ok: false, message: readProblem(error) };
  }
}

const TOO_LARGE: FileText = { ok: false, message: `is larger than ${MAX_BYTES / 1024 / 1024} MiB` };

async function readFile(path: string): Promise<Uint8Array | undefined> {
  await using file = await fs.open(path);
  // Devices and pipes report a size of 0, so the bytes read are counted, too.
  if ((await file.stat()).size > MAX_BYTES) return undefined;
  return await collect(file.createReadStream({ autoClose: false }));
}

async function collect(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > MAX_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** As PowerShell writes files, with a byte order mark. */
const UTF16 = [
  { mark: [0xff, 0xfe], encoding: "utf-16le" },
  { mark: [0xfe, 0xff], encoding: "utf-16be" },
] as const;

function decode(bytes: Uint8Array): FileText {
  if (bytes.length === 0) return { ok: false, message: "is empty", text: "" };
  const encoding = UTF16.find(({ mark }) => mark.every((byte, index) => bytes[index] === byte))?.encoding;
  if (encoding !== undefined) return { ok: true, text: new TextDecoder(encoding).decode(bytes) };
  // Without what UTF-16 has between the letters.
  const text = Buffer.from(bytes).toString("latin1").replaceAll("\0", "");
  if (bytes.includes(0)) return { ok: false, message: "is a binary file, expected YAML or JSON", text };
  try {
    return { ok: true, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { ok: false, message: "is not UTF-8 text, expected YAML or JSON", text };
  }
}
