/** Colour for terminals; plain text for pipes, files and whoever does not want any (https://no-color.org). */

export interface Colour {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly yellow: Paint;
  readonly green: Paint;
  readonly cyan: Paint;
}

type Paint = (text: string) => string;

const same: Paint = (text) => text;
const paint =
  (code: number): Paint =>
  (text) =>
    text === "" ? "" : `\u001B[${code}m${text}\u001B[0m`;

export const PLAIN: Colour = { bold: same, dim: same, red: same, yellow: same, green: same, cyan: same };

const ANSI: Colour = {
  bold: paint(1),
  dim: paint(2),
  red: paint(31),
  yellow: paint(33),
  green: paint(32),
  cyan: paint(36),
};

interface Wish {
  /** What --no-color makes of it. */
  readonly color?: boolean;
}

type Env = Readonly<Record<string, string | undefined>>;

/** `stream` is the one that is written to. */
export function colourFor(stream: { readonly isTTY?: boolean }, { color }: Wish, env: Env): Colour {
  const wanted = color !== false && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
  return stream.isTTY === true && wanted ? ANSI : PLAIN;
}
