/** What changes the revision of a Cluster. */

import assert from "node:assert/strict";
import test from "node:test";
import { Revisions } from "../../../src/memory/memory.ts";

const CHANGES: Readonly<Record<string, { change: (revisions: Revisions) => void; other: boolean }>> = {
  "the Cluster changes": { change: (all) => all.clusterChanged("team-a/prod"), other: false },
  "the Cluster is gone": { change: (all) => all.clusterGone("team-a", "team-a/prod"), other: false },
  "its Namespace changes": { change: (all) => all.namespaceChanged("team-a"), other: false },
  "its Namespace is gone": { change: (all) => all.namespaceGone("team-a"), other: true },
  "all namespaces change": { change: (all) => all.namespaceChanged(undefined), other: true },
};

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
