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

test("each object is named once, and none where all are about the cause itself", () => {
  const noteOf = (text: (n: number) => EventText): string | undefined => {
    const bursts = new EventBursts();
    for (let n = 0; n < 30; n += 1) bursts.admit({ text: text(n), at: AT });
    return bursts.ended(LATER)[0]?.note;
  };
  assert.equal(
    noteOf(() => eventIn("a")),
    "10 more at about the same time: a/prod",
  );
  assert.equal(
    noteOf((n) => eventIn(`t${n % 7}`)),
    "10 more at about the same time: t6/prod, t0/prod, t1/prod, t2/prod, t3/prod and 2 more",
  );
  const { related: _, ...own } = eventIn("a");
  assert.equal(
    noteOf(() => own),
    "10 more at about the same time",
  );
});
