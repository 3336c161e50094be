/** Arguments that a command refuses before it does anything. */

import assert from "node:assert/strict";
import test from "node:test";
import type { Start } from "./program.ts";
import { hookpolicy } from "./resident.ts";

/** By what is wrong: the arguments, and what is said of them. */
type Refused = Readonly<Record<string, readonly [args: readonly string[], says: RegExp]>>;

export function refuses(command: string, cases: Refused, start: Start = {}): void {
  for (const [name, [args, says]] of Object.entries(cases))
    test(`${command} refuses ${name}`, async () => {
      const { code, stdout, stderr } = await hookpolicy([...command.split(" "), ...args], start);
      assert.deepEqual([code, stdout], [2, ""], stderr);
      assert.match(stderr, says);
    });
}
