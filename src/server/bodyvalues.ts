/** How much a body may hold besides being short enough: parsed, a body of nothing but brackets takes 50 times its size. */

import type { WholeBody } from "./wholebody.ts";

/** 1.5 MiB, the largest Cluster that etcd takes, have less than half of it. So many take about 50 ms and 20 MiB to parse. */
const MAX_VALUES = 256 * 1024;

const [LIST, OBJECT, COMMA] = [0x5b, 0x7b, 0x2c];

/** Counts what a value begins with or follows on, in texts, too: never fewer than there are, and without a parser. */
export function hasTooManyValues(body: WholeBody): boolean {
  if (body.size <= MAX_VALUES) return false;
  let values = 0;
  const bytes = body.bytes();
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte !== LIST && byte !== OBJECT && byte !== COMMA) continue;
    values += 1;
    if (values > MAX_VALUES) return true;
  }
  return false;
}
