/** Limits the number of values in a body: parsed, a body that consists of brackets takes 50 times its size. */

import type { WholeBody } from "./wholebody.ts";

/**
 * Enough for a Cluster with a thousand MachineDeployments, each with some variables. Parsing that many takes some 15
 * ms.
 */
export const MAX_VALUES = 32 * 1024;

const [LIST, OBJECT, COMMA, QUOTE, ESCAPE] = [0x5b, 0x7b, 0x2c, 0x22, 0x5c];

/**
 * Counts the marks that start or separate values, without a parser. Marks within strings do not count, because strings
 * can be long.
 */
export function hasTooManyValues(body: WholeBody): boolean {
  if (body.size <= MAX_VALUES) return false;
  const bytes = body.view();
  return mayBeOver(bytes) && isOver(bytes);
}

/** A quick check that includes strings; nearly every body passes it. */
function mayBeOver(bytes: Buffer): boolean {
  let values = 0;
  for (const mark of [LIST, OBJECT, COMMA]) {
    for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + 1)) {
      values += 1;
      if (values > MAX_VALUES) return true;
    }
  }
  return false;
}

function isOver(bytes: Buffer): boolean {
  let values = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfText(bytes, at);
    else if (byte === LIST || byte === OBJECT || byte === COMMA) values += 1;
    if (values > MAX_VALUES) return true;
  }
  return false;
}

/** Goes byte by byte: a body can consist of quotes. */
function endOfText(bytes: Buffer, from: number): number {
  let at = from + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === ESCAPE ? 2 : 1;
  return at;
}
