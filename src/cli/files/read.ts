/** Reads bytes as text, up to a limit. */

import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { type LoadOptions, readProblem, type Source } from "./paths.ts";

/** A fleet of a thousand Clusters takes some MiB. */
export const MAX_BYTES = 32 * 1024 * 1024;

export type FileText =
  | { readonly ok: true; readonly text: string }
  /** `text`: its bytes as letters, if they were read. */
  | { readonly ok: false; readonly message: string; readonly text?: string };

export async function readText({ name }: Source, { cwd = ".", stdin }: LoadOptions): Promise<FileText> {
  try {
    const bytes = name === "-" ? await collect(stdin ?? process.stdin) : await readFile(resolve(cwd, name));
    return bytes === undefined ? TOO_LARGE : decode(bytes);
  } catch (error) {
    return { ok: false, message: readProblem(error) };
  }
}

const TOO_LARGE: FileText = { ok: false, message: `is larger than ${MAX_BYTES / 1024 / 1024} MiB` };

async function readFile(path: string): Promise<Uint8Array | undefined> {
  await using file = await open(path);
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
