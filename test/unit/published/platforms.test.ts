/** What `make` needs on platforms other than ours. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly os?: unknown; readonly cpu?: unknown; readonly optional?: boolean }>
  >;
}

test("npm installs no package that is bound to a platform where it is another one", () => {
  const lock: Lock = JSON.parse(
    readFileSync(join(import.meta.dirname, "../../../package-lock.json"), "utf8"),
  );
  const bound = Object.entries(lock.packages).filter(
    ([, { os, cpu, optional }]) => (os ?? cpu) !== undefined && optional !== true,
  );
  assert.deepEqual(
    bound.map(([folder]) => folder),
    [],
  );
});
