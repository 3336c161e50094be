/**
 * All output of commands passes through here (test/redteam/terminal.test.ts checks this), so that no name, key or value
 * of a file, a cluster or an argument can control the terminal.
 */

import { printable } from "../../lib/printable.ts";
import { shown } from "./colour.ts";

const CLEAR_SCREEN = "\u001B[H\u001B[2J\u001B[3J";
const CLEAR_LINE = "\r\u001B[K";

/** The caller defines the lines. A line break within one is escaped, so that no value can start a line of its own. */
class Output {
  readonly #name: "stdout" | "stderr";

  constructor(name: "stdout" | "stderr") {
    this.#name = name;
  }

  line(line: string): void {
    this.lines([line]);
  }

  lines(lines: readonly string[]): void {
    this.#write(joined(lines));
  }

  begin(text: string): void {
    this.#write(shown(text));
  }

  /** Prints a format that escapes values itself, such as JSON, with its line breaks and tabs. */
  document(text: string): void {
    this.#write(
      text
        .split(/([\n\t])/)
        .map((part, index) => (index % 2 === 0 ? printable(part) : part))
        .join(""),
    );
  }

  json(value: object): void {
    this.document(`${JSON.stringify(value, undefined, 2)}\n`);
  }

  /** On a terminal: replaces the whole screen. */
  screen(lines: readonly string[]): void {
    this.#write(`${CLEAR_SCREEN}${joined(lines)}`);
  }

  /** On a terminal: replaces the last line. */
  status(text: string): void {
    this.#write(`${CLEAR_LINE}${shown(text)}`);
  }

  #write(text: string): void {
    process[this.#name].write(text);
  }
}

function joined(lines: readonly string[]): string {
  return lines.map((line) => `${shown(line)}\n`).join("");
}

/** Aborted when nothing reads standard output any more. */
export function untilReaderIsGone(): AbortSignal {
  const gone = new AbortController();
  process.stdout.on("error", () => gone.abort());
  return gone.signal;
}

export const stdout = new Output("stdout");
export const stderr = new Output("stderr");
