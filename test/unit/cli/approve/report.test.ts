/** What `hookpolicy approve` prints of what holds a Cluster. */

import assert from "node:assert/strict";
import test from "node:test";
import { planApproval } from "../../../../src/cli/approve/approval.ts";
import { approvalLines } from "../../../../src/cli/approve/report.ts";
import { Fleet } from "../../../../src/cli/fleet/fleet.ts";
import { PLAIN } from "../../../../src/cli/terminal/colour.ts";
import { markReaders } from "../../../../src/policy/mark-readers.ts";
import { ALL_HOOKS, NOW } from "../../builders.ts";
import { rawCluster, rawNamespace, rawPolicy } from "../raw.ts";

const HOOK = "BeforeClusterUpgrade";
const LATER = {
  name: "later",
  window: { allow: [{ from: "2026-11-21T18:00:00Z", to: "2026-11-21T20:00:00Z" }] },
};

function lines(until: readonly object[]): readonly string[] {
  const fleet = new Fleet(
    [
      rawCluster({ uid: "u1", resourceVersion: "7" }),
      rawNamespace({ uid: "n1" }),
      rawPolicy({ name: "p", uid: "p" }, { rules: [{ name: "r", hooks: [HOOK], until }] }),
    ],
    { served: ALL_HOOKS, maxOverrideMs: 1, now: NOW },
  );
  const cluster = fleet.cluster("team-a", "prod-1");
  assert.ok(cluster);
  const readers = markReaders(fleet.platform, true);
  const approving = { hook: HOOK, readers, namespaceMarks: [], unattended: false } as const;
  return approvalLines(planApproval(fleet, cluster, approving, NOW), {
    now: NOW,
    colour: PLAIN,
    columns: 200,
  });
}

test("what a gate waits for is told, with its time, and nothing is said to begin at once", () => {
  assert.deepEqual(lines([LATER, { name: "never", expression: "false" }]), [
    "BeforeClusterUpgrade of Cluster team-a/prod-1, not asked for yet",
    "  then     Cluster API upgrades the Cluster to v1.35.0, once it wants to",
    "  held by  HookPolicy team-a/p r/later waits for its window, which opens at 2026-11-21T18:00:00Z",
    "  held by  HookPolicy team-a/p r/never waits for its expression to be true",
  ]);
});
