/** What `make` needs on platforms other than ours. */

import assert from "node:assert/strict";
import test from "node:test";
import lock from "../../../package-lock.json" with { type: "json" };

interface Locked {
  readonly os?: unknown;
  readonly cpu?: unknown;
  readonly optional?: boolean;
}

test("npm installs no package that is bound to a platform where it is another one", () => {
  const bound = Object.entries<Locked>(lock.packages).filter(
    ([, { os, cpu, optional }]) => (os ?? cpu) !== undefined && optional !== true,
  );
  assert.deepEqual(
    bound.map(([folder]) => folder),
    [],
  );
});
