/** The properties of the output stream that the lines of a command depend on. */

import { type Colour, colourFor, type ColourWish } from "./colour.ts";

export interface Terminal {
  readonly colour: Colour;
  /** Absent: the stream is no terminal, and its lines are not wrapped. */
  readonly columns?: number;
}

/** The width of a terminal that reports none, or 0. */
const USUAL_COLUMNS = 80;

export function terminalOf(
  stream: Pick<NodeJS.WriteStream, "isTTY"> & { readonly columns?: number },
  flags: ColourWish,
): Terminal {
  const colour = colourFor(stream, flags);
  return stream.isTTY ? { colour, columns: stream.columns || USUAL_COLUMNS } : { colour };
}
