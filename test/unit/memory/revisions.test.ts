/** What changes the revision of a Cluster. */

import assert from "node:assert/strict";
import test from "node:test";
import { Revisions } from "../../../src/memory/memory.ts";

const CHANGES: Readonly<Record<string, { change: (revisions: Revisions) => void; other: boolean }>> = {
  "the Cluster changes": { change: (all) => all.changed("team-a/prod"), other: false },
  "its Namespace changes": { change: (all) => all.changed("team-a"), other: false },
  "all namespaces change": { change: (all) => all.changed(undefined), other: true },
  "more has changed than is kept": { change: changeMany, other: true },
};

function changeMany(all: Revisions): void {
  for (let n = 0; n < 25_000; n += 1) all.changed(`team-a/gone-${n}`);
}

for (const [what, { change, other }] of Object.entries(CHANGES)) {
  for (const first of Object.values(CHANGES)) {
    test(`it is another one when ${what}, and ${other ? "so is" : "not"} that of a Cluster elsewhere`, () => {
      const all = new Revisions();
      first.change(all);
      const before = [all.of("team-a", "team-a/prod"), all.of("team-b", "team-b/prod")];
      change(all);
      assert.notEqual(all.of("team-a", "team-a/prod"), before[0]);
      assert.equal(all.of("team-b", "team-b/prod") !== before[1], other);
    });
  }
}
