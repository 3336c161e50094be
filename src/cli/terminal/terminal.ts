/** The stream that a command prints to, as far as its lines depend on it. */

import { type Colour, colourFor, type ColourWish } from "./colour.ts";

export interface Terminal {
  readonly colour: Colour;
  /** Its width; absent: lines are not wrapped. */
  readonly columns?: number;
}

export function terminalOf(stream: Stream, flags: ColourWish): Terminal {
  return { colour: colourFor(stream, flags), ...columnsOf(stream) };
}

type Stream = Pick<NodeJS.WriteStream, "isTTY"> & { readonly columns?: number };

/** Of a terminal that does not know its own: some have none or 0. */
const USUAL_COLUMNS = 80;

/** Width of a terminal; absent for any other stream, whose lines are not wrapped. */
export function columnsOf({ isTTY, columns }: Stream): Pick<Terminal, "columns"> {
  return isTTY ? { columns: columns || USUAL_COLUMNS } : {};
}
