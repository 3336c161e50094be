/** Colour for terminals; plain text for pipes, files and users who disable it (https://no-color.org). */

import { printable } from "../../lib/printable.ts";

export type Colour = Readonly<Record<"bold" | "dim" | "red" | "yellow" | "green" | "cyan", Paint>>;

type Paint = (text: string) => string;

/**
 * A placeholder for terminal codes until a line is printed. Each process has its own, so that no file or object can
 * contain it.
 */
const MARK = `<${crypto.randomUUID()}:`;
const MARKS = new RegExp(`${MARK}(\\d+)>`);

const same: Paint = (text) => text;
const paint =
  (code: number): Paint =>
  (text) =>
    text === "" ? "" : `${MARK}${code}>${text}${MARK}0>`;

export const PLAIN: Colour = { bold: same, dim: same, red: same, yellow: same, green: same, cyan: same };

const ANSI: Colour = {
  bold: paint(1),
  dim: paint(2),
  red: paint(31),
  yellow: paint(33),
  green: paint(32),
  cyan: paint(36),
};

export interface ColourWish {
  readonly color?: boolean;
}

/** `stream` is the output stream. The flag comes first, then NO_COLOR, then FORCE_COLOR (https://force-color.org). */
export function colourFor(
  stream: { readonly isTTY?: boolean },
  { color }: ColourWish,
  env: NodeJS.ProcessEnv = process.env,
): Colour {
  if (color === false || (env["NO_COLOR"] ?? "") !== "") return PLAIN;
  const forced = env["FORCE_COLOR"] ?? "";
  if (forced !== "") return ["0", "false"].includes(forced) ? PLAIN : ANSI;
  return stream.isTTY === true && env["TERM"] !== "dumb" ? ANSI : PLAIN;
}

/** A line for a terminal: with the program's own colours, and everything else printable. */
export function shown(line: string): string {
  return line
    .split(MARKS)
    .map((part, index) => (index % 2 === 0 ? printable(part) : `\u001B[${part}m`))
    .join("");
}

export function width(line: string): number {
  const parts = line.split(MARKS).filter((_, index) => index % 2 === 0);
  return Array.from(printable(parts.join(""))).length;
}
