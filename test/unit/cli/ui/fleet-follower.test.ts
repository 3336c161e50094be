import assert from "node:assert/strict";
import test from "node:test";
import { followFleet } from "../../../../src/cli/ui/fleet-follower.ts";
import { LiveFeed } from "../../../../src/cli/ui/live-feed.ts";
import type { KubeClient } from "../../../../src/kube/kube-client.ts";
import type { Resource } from "../../../../src/kube/resource.ts";
import type { LiveState } from "../../../../src/page/wire.ts";
import { rawRollout } from "../raw.ts";

test(
  "the page tells by the API server's clock of an operator that is gone, with the command for this cluster",
  { timeout: 10_000 },
  async () => {
    const end = new AbortController();
    const lease = { metadata: { name: "hookpolicy" }, spec: { renewTime: "2025-12-31T23:00:00Z" } };
    const client = {
      serverClock: { serverTime: () => new Date("2026-01-01T00:00:00Z") },
      list: async ({ kind }: Resource) => await Promise.resolve({ items: kind === "Lease" ? [lease] : [] }),
    } as unknown as KubeClient;
    const feed = new LiveFeed();
    let notes: readonly string[] = [];
    let rollouts: LiveState["rollouts"] = [];
    feed.listen((text) => {
      const state: LiveState = JSON.parse(text);
      ({ notes, rollouts } = state);
      if (notes.length > 0) end.abort();
    });
    const unseen = rawRollout({ name: "upgrades", generation: 1 });
    const holders = { objects: [unseen], resources: [], unread: [] };
    const words = { program: "hookpolicy", connection: " --context prod" };
    await followFleet(client, feed, { holders, words, signal: end.signal });
    assert.deepEqual(notes, [
      "the operator's last sign of life is 60m old: it seems not to run, or cannot write, and these rows can be out of date; see 'hookpolicy doctor --context prod'",
    ]);
    assert.deepEqual(
      rollouts.map(({ state }) => state),
      ["the operator has not seen it yet; if that stays, hookpolicy doctor --context prod"],
    );
  },
);

test("the page is told whether statuses leave out what is held", { timeout: 10_000 }, async () => {
  const client = {
    serverClock: { serverTime: () => new Date() },
    list: async () => await Promise.resolve({ items: [] }),
  } as unknown as KubeClient;
  const policy = {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookPolicy",
    metadata: { namespace: "team-a", name: "p" },
    spec: { rules: [] },
  };
  for (const [status, omits] of [
    [{ decisionsOmitted: 3 }, true],
    [{}, false],
  ] as const) {
    const end = new AbortController();
    const feed = new LiveFeed();
    let state: LiveState | undefined;
    feed.listen((text) => {
      state = JSON.parse(text);
      end.abort();
    });
    const holders = { objects: [{ ...policy, status }], resources: [], unread: [] };
    await followFleet(client, feed, {
      holders,
      words: { program: "hookpolicy", connection: "" },
      signal: end.signal,
    });
    assert.equal(state?.omits, omits);
  }
});
