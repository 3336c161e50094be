/** Limits the number of values in a body: parsed, a body that consists of brackets takes 50 times its size. */

import type { WholeBody } from "./whole-body.ts";

/**
 * Enough for a Cluster with a thousand MachineDeployments, each with some variables. Parsing that many takes some 15
 * ms.
 */
export const MAX_VALUES = 32 * 1024;

/** The values of larger bodies are counted while they arrive, so that the answer does not wait for that. */
export const COUNTED_BYTES = 512 * 1024;

const [LIST, OBJECT, COMMA, QUOTE, ESCAPE] = [0x5b, 0x7b, 0x2c, 0x22, 0x5c];

/**
 * Counts the marks that start or separate values, without a parser. Marks within strings do not count, because strings
 * can be long.
 */
export class ValueCounter {
  #values = 0;
  #isInText = false;
  #isEscaped = false;

  /** Whether there are too many, with those of this chunk, which follows the last one. */
  isOver(chunk: Buffer): boolean {
    let isInText = this.#isInText;
    let isEscaped = this.#isEscaped;
    let values = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (isEscaped) isEscaped = false;
      else if (byte === QUOTE) isInText = !isInText;
      else if (isInText) isEscaped = byte === ESCAPE;
      else if (byte === COMMA || byte === OBJECT || byte === LIST) values += 1;
    }
    this.#isInText = isInText;
    this.#isEscaped = isEscaped;
    this.#values += values;
    return this.#values > MAX_VALUES;
  }
}

/** Of a body whose values have not been counted while it arrived. */
export function hasTooManyValues(body: WholeBody): boolean {
  if (body.size <= MAX_VALUES) return false;
  const counter = new ValueCounter();
  return body.chunks.some((chunk) => counter.isOver(chunk));
}
