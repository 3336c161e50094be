/** The lines of a file that grows: a wait looks at them ten times in a second, and reads each only once. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

export class LogReader<T> {
  readonly #file: string;
  readonly #parse: (line: string) => readonly T[];
  readonly #items: T[] = [];
  #offset = 0;

  /** `parse` is told whole lines. */
  constructor(file: string, parse: (line: string) => readonly T[]) {
    this.#file = file;
    this.#parse = parse;
  }

  /** All so far, in their order: those that were there stay where they were. */
  items(): readonly T[] {
    const text = this.#unread();
    const end = text.lastIndexOf(NEWLINE) + 1; // the last line may be half written
    this.#offset += end;
    const lines = text.toString("utf8", 0, end).split("\n").slice(0, -1);
    for (const line of lines) this.#items.push(...this.#parse(line));
    return [...this.#items];
  }

  #unread(): Buffer {
    const file = openSync(this.#file, "r");
    try {
      const unread = Buffer.alloc(Math.max(0, fstatSync(file).size - this.#offset));
      return unread.subarray(0, readSync(file, unread, 0, unread.length, this.#offset));
    } finally {
      closeSync(file);
    }
  }
}

const NEWLINE = "\n".charCodeAt(0);
