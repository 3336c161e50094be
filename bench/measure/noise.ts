/** The noise of the machine, on which others run, too: the same work is timed before each round. */

import { hash } from "node:crypto";
import { row, type Row } from "../result.ts";
import { rounded } from "./statistics.ts";

/** Hashed by native code: a loop in JavaScript takes a fourth of the time once V8 has optimised it. */
const BYTES = new Uint8Array(16 * 2 ** 20).fill(1);

export class Noise {
  readonly #ms: number[] = [];

  /** Blocks this thread for some 10 to 50 ms, so it belongs between rounds. */
  sample(): number {
    const begun = performance.now();
    hash("sha256", BYTES);
    const ms = rounded(performance.now() - begun);
    this.#ms.push(ms);
    return ms;
  }

  row(part: string): Row {
    const work = "the noise of the machine: the SHA-256 of 16 MiB, beside each round";
    return row(`${part}-noise`, work, this.#ms, { unit: "ms" });
  }
}
