/** The noise of the machine, on which others run, too: the same loop is timed before each round. */

import { row, type Row } from "../result.ts";
import { rounded } from "./statistics.ts";

const TURNS = 20_000_000;

export class Noise {
  readonly #ms: number[] = [];

  /** Blocks this thread for some 20 ms, so it belongs between rounds. */
  sample(): number {
    const begun = performance.now();
    let value = 1;
    for (let turn = 0; turn < TURNS; turn++) value = (Math.imul(value, 48_271) + turn) | 0;
    const ms = rounded(performance.now() - begun);
    this.#ms.push(ms);
    return ms;
  }

  row(part: string): Row {
    const work = "the noise of the machine: a loop of a fixed length, beside each round";
    return row(`${part}-noise`, work, this.#ms, { unit: "ms" });
  }
}
