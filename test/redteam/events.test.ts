/** What happens in one namespace takes neither the places nor the turns of another one's Events. */

import assert from "node:assert/strict";
import test from "node:test";
import type { EventText } from "../../src/api/event-text.ts";
import { held as heldEvent } from "../../src/memory/policy-events.ts";
import { EventRecorder } from "../../src/report/event-recorder.ts";
import { NOW } from "../unit/builders.ts";
import { silent } from "../unit/memory/fixtures.ts";

function held(namespace: string, policy: string, cluster: string): EventText {
  const time = "2026-11-21T11:00:00Z";
  const holder = {
    ref: { kind: "HookPolicy", namespace, name: policy },
    uid: `${namespace} ${policy}`,
  } as const;
  return heldEvent(
    holder,
    {
      namespace,
      cluster,
      clusterUID: `${namespace} ${cluster}`,
      hook: "BeforeClusterDelete",
      verdict: "Blocked",
      rule: "r",
      reason: "WaitingForAnnotation",
      message: "gate approved waits",
      firstAsked: time,
      since: time,
      holds: true,
      basis: "",
    },
    false,
  );
}

interface EventWrites {
  readonly results: Record<string, number>;
  /** By namespace, in the order in which they were written. */
  readonly written: string[];
}

/** Ends after so many writes. */
async function tell(texts: Iterable<EventText>, writes: number): Promise<EventWrites> {
  const results: Record<string, number> = {};
  const written: string[] = [];
  const stop = new AbortController();
  const recorder = new EventRecorder({
    log: silent,
    now: () => NOW,
    onResult: (result) => (results[result] = (results[result] ?? 0) + 1),
    client: {
      create: async (_resource, object) => {
        written.push(object.metadata.namespace ?? "");
        if (written.length === writes) stop.abort();
        return { ...object, metadata: { ...object.metadata, uid: "", resourceVersion: "1" } };
      },
    },
  });
  for (const text of texts) recorder.record(text);
  await recorder.run(stop.signal);
  return { results, written };
}

/** Of so many policies, so many Clusters each. */
function* flood(policies: number, clusters: number, namespace = "flood"): Iterable<EventText> {
  for (let p = 0; p < policies; p += 1)
    for (let c = 0; c < clusters; c += 1) yield held(namespace, `p${p}`, `c${c}`);
}

test("a flood that fills all places gives up as many as others need", async () => {
  const others = ["a", "b"].flatMap((name) => [held("other", "p", name), held("third", "p", name)]);
  const { results, written } = await tell([...flood(60, 20), ...others], 7);
  assert.deepEqual(results, { dropped: 204, written: 7 });
  assert.deepEqual(written.slice(-6).toSorted(), ["flood", "flood", "other", "other", "third", "third"]);
});

test("namespaces share the places evenly, and none gives up what it has less of", async () => {
  const { results } = await tell([...flood(60, 20, "a"), ...flood(60, 20, "b")], 1);
  assert.deepEqual(results, { dropped: 1400, written: 1 });
  const late = await tell([...flood(60, 20, "a"), ...flood(1, 3, "b"), ...flood(60, 20, "a")], 7);
  assert.deepEqual(late.written.filter((namespace) => namespace === "b").length, 3);
});
