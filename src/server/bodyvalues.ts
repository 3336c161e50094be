/** How much a body may hold besides being short enough: parsed, a body of nothing but brackets takes 50 times its size. */

import type { WholeBody } from "./wholebody.ts";

/** Those of a Cluster with a thousand MachineDeployments, each with some variables of its own. They take some 15 ms to parse. */
export const MAX_VALUES = 32 * 1024;

const [LIST, OBJECT, COMMA, QUOTE, ESCAPE] = [0x5b, 0x7b, 0x2c, 0x22, 0x5c];

/** Beyond, which no API server takes, texts count, too: to tell them apart takes as long as to parse them. */
const TOLD_APART_BYTES = 8 * 1024 * 1024;

/** Counts what values begin with or follow on, without a parser. What is within texts does not count: they may be long. */
export function hasTooManyValues(body: WholeBody): boolean {
  if (body.size <= MAX_VALUES) return false;
  const bytes = body.bytes();
  return mayBeOver(bytes) && (body.size > TOLD_APART_BYTES || isOver(bytes));
}

/** Nearly every body has few enough, its texts included, which is quick to tell. */
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

/** Byte by byte: a body can be all quotes. */
function endOfText(bytes: Buffer, from: number): number {
  let at = from + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === ESCAPE ? 2 : 1;
  return at;
}
