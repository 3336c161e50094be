/** Clusters of which others delete what they own, in `doctor`. */

import { describe } from "node:test";
import type { Evidence } from "../../../../src/cli/doctor/finding.ts";
import type { RawObject } from "../../../../src/cli/fleet/kinds.ts";
import { rawCluster } from "../raw.ts";
import { forbidden, found, policy, table } from "./evidence-fixture.ts";

const RUNNING = rawCluster({ name: "c1", uid: "u1" });
const FOREGROUND = { finalizers: ["cluster.cluster.x-k8s.io", "foregroundDeletion"] };
const held = { ...RUNNING, metadata: { ...RUNNING.metadata, deletionTimestamp: "2026-11-21T12:00:00Z" } };
const TORN = {
  clusterUID: "u1",
  tornDown: { reason: "OwnedObjectsDeleted", message: "LabCluster c1 is being deleted" },
};

const clusters = (list: readonly RawObject[], more: Partial<Evidence> = {}): Partial<Evidence> => ({
  clusters: found(list),
  ...more,
});

describe("what Clusters own is protected", () => {
  table("owned objects", {
    "against no deletion in the foreground": {
      given: clusters([{ ...held, metadata: { ...held.metadata, ...FOREGROUND } }]),
      error:
        /^1 Cluster torn down.*\nteam-a\/c1: the garbage collector deletes .* → kubectl patch .*paused.* && kubectl patch .*\/metadata\/finalizers\/1/s,
    },
    "against none that comes": {
      given: clusters([{ ...RUNNING, metadata: { ...RUNNING.metadata, ...FOREGROUND } }]),
      warning: /^1 Cluster that a deletion would tear down.*→ kubectl patch [^&]*$/s,
    },
    "against what a row alone shows": {
      given: clusters([held], { policies: found([policy({}, { decisions: [TORN] })]) }),
      error: /team-a\/c1: LabCluster c1 is being deleted → kubectl patch [^&]*paused/,
    },
    "where what Clusters own cannot be seen": {
      given: clusters([held], { ownedUnseen: true }),
      ok: /may not see them being deleted/,
    },
    "where all is well": { given: clusters([held, RUNNING]), ok: /^no held Cluster loses/ },
    "where Clusters cannot be read": { given: { clusters: forbidden }, unknown: /./ },
  });
});
