import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventText } from "../../../src/api/event-text.ts";
import { EventBursts } from "../../../src/report/event-bursts.ts";

const AT = new Date("2026-11-21T12:00:00Z");
const LATER = new Date("2026-11-21T12:01:00Z");

function eventIn(namespace: string): EventText {
  return {
    identity: namespace,
    type: "Warning",
    reason: "DeadlineApproaching",
    action: "Deciding",
    note: "soon",
    regarding: {
      apiVersion: "cluster.x-k8s.io/v1beta2",
      kind: "Cluster",
      namespace,
      name: "prod",
      uid: namespace,
    },
    related: {
      apiVersion: "hookpolicy.dev/v1alpha1",
      kind: "ClusterHookPolicy",
      name: "fleet",
      uid: "uid-fleet",
    },
  };
}

test("those of one cause are counted together, in whatever namespaces they are", () => {
  const bursts = new EventBursts();
  const admitted = Array.from({ length: 30 }, (_, n) => bursts.admit({ text: eventIn(`team-${n}`), at: AT }));
  assert.equal(admitted.filter(Boolean).length, 20);
  assert.deepEqual(
    bursts.ended(LATER).map(({ series }) => series?.count),
    [10],
  );
});
