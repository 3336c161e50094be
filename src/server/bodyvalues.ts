/** How much a body may hold besides being short enough: parsed, a body of nothing but brackets takes 50 times its size. */

import type { WholeBody } from "./wholebody.ts";

/** Those of a Cluster with a thousand MachineDeployments, each with some variables of its own. They take some 15 ms to parse. */
export const MAX_VALUES = 32 * 1024;

const [LIST, OBJECT, COMMA, QUOTE, ESCAPE] = [0x5b, 0x7b, 0x2c, 0x22, 0x5c];

/** Counts what a value begins with or follows on, without a parser. What is within texts does not count: they may be long. */
export function hasTooManyValues(body: WholeBody): boolean {
  if (body.size <= MAX_VALUES) return false;
  let values = 0;
  const bytes = body.bytes();
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfText(bytes, at);
    else if (byte === LIST || byte === OBJECT || byte === COMMA) values += 1;
    if (values > MAX_VALUES) return true;
  }
  return false;
}

/** Where the text ends that begins at `from`. */
function endOfText(bytes: Buffer, from: number): number {
  for (let end = bytes.indexOf(QUOTE, from + 1); end >= 0; end = bytes.indexOf(QUOTE, end + 1)) {
    let escapes = 0;
    while (bytes[end - 1 - escapes] === ESCAPE) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return bytes.length;
}
