/**
 * All that commands print goes through here (test/redteam/terminal.test.ts sees to it), so that no name, key or value of
 * a file, a cluster or an argument steers the terminal.
 */

import { printable } from "../../api/printable.ts";
import { shown } from "./colour.ts";

const CLEAR_SCREEN = "\u001B[H\u001B[2J\u001B[3J";
const CLEAR_LINE = "\r\u001B[K";

/** The caller says what a line is: a line break within one is escaped, so that no value begins a line of its own. */
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

  /** The beginning of a line. */
  begin(text: string): void {
    this.#write(shown(text));
  }

  /** In a format that escapes values itself, such as JSON: its line breaks and tabs are its own. */
  document(text: string): void {
    this.#write(
      text
        .split(/([\n\t])/)
        .map((part, index) => (index % 2 === 0 ? printable(part) : part))
        .join(""),
    );
  }

  /** On a terminal: instead of everything that it shows. */
  screen(lines: readonly string[]): void {
    this.#write(`${CLEAR_SCREEN}${joined(lines)}`);
  }

  /** On a terminal: instead of the line that was shown last. */
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

export const stdout = new Output("stdout");
export const stderr = new Output("stderr");
