/** Targets for lines: a file that another program may rotate, or a stream such as standard output. */

import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { promisify } from "node:util";
import { codeOf, isMissing, unless } from "../lib/thrown.ts";
import type { LineTarget } from "./audit-writer.ts";

/** Non-blocking: a named pipe without a reader must not occupy a thread of the pool forever. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
/** The group may read, because a log shipper seldom runs as the same user as the operator. */
const MODE = 0o640;
/** Configuration mistakes, which a retry does not fix; a full disk is not one. */
const MISTAKES = new Set([
  "ENOENT",
  "ENOTDIR",
  "EISDIR",
  "EACCES",
  "EPERM",
  "EROFS",
  "ELOOP",
  "ENAMETOOLONG",
]);

/**
 * Checks before each write whether the path still leads to the open file, so that rotation (rename, with or without a
 * new file, or truncation in place) needs no signal.
 */
export class FileTarget implements LineTarget {
  readonly #path: string;
  #file: FileHandle | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Throws a one-line Error when the path can never be written. */
  async open(): Promise<this> {
    try {
      await this.#current();
      return this;
    } catch (error) {
      if (!MISTAKES.has(codeOf(error))) return this;
      throw new Error(`cannot write the audit log ${this.#path} (--audit-log)`, { cause: error });
    }
  }

  async write(bytes: Buffer): Promise<number> {
    const file = await this.#current();
    return (await file.write(bytes)).bytesWritten;
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  async #current(): Promise<FileHandle> {
    const [there, mine] = await Promise.all([unless(isMissing, stat(this.#path)), this.#file?.stat()]);
    if (this.#file !== undefined && there?.ino === mine?.ino && there?.dev === mine?.dev) return this.#file;
    await this.close();
    this.#file = await open(this.#path, FLAGS, MODE);
    return this.#file;
  }
}

/** The stream belongs to the process and stays open. */
export function streamTarget(stream: NodeJS.WritableStream): LineTarget {
  return {
    write: async (bytes) => {
      await promisify<void>((done) => stream.write(bytes, done))();
      return bytes.length;
    },
    close: async () => undefined,
  };
}
