import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookRollout } from "../../../src/api/hook-policy.ts";
import { RolloutClaims, type ClaimOutcome } from "../../../src/rollouts/rollout-claims.ts";
import { RolloutSnapshot } from "../../../src/rollouts/rollout-snapshot.ts";
import type { RolloutApi } from "../../../src/rollouts/rollout-api.ts";
import { compileRollout } from "../../../src/rollouts/rollout.ts";
import { candidate, clusterMeta, hookRollout, NOW, readyStatus } from "./fixtures.ts";

const NONE = { get: () => undefined, byNamespace: () => [], list: () => [] };

/** Two replicas, and one rollout in their API server. */
function replicas() {
  let stored: HookRollout = hookRollout({}, readyStatus());
  const cluster = clusterMeta("c");
  const api: RolloutApi = {
    getRollout: async () => await Promise.resolve(stored),
    members: async () => await Promise.resolve([cluster]),
    findCluster: async () => await Promise.resolve(undefined),
    replaceRolloutStatus: async (object, status) => await Promise.resolve((stored = { ...object, status })),
    isConflict: () => false,
    clockAheadMs: () => 0,
  };
  const [a, b] = ["A", "B"].map(
    () =>
      new RolloutClaims({
        api,
        clusters: NONE,
        namespaces: NONE,
        compiledOf: compileRollout,
        now: () => NOW,
        onStored: () => undefined,
        onError: (error) => assert.fail(String(error)),
      }),
  );
  if (a === undefined || b === undefined) throw new Error("no replicas");
  const known = new Map([["upgrades", stored.metadata]]);
  const snapshot = new RolloutSnapshot(known, (name) => known.get(name), assert.fail);
  assert.ok(snapshot.hasAll([stored.metadata], "1000000"));
  const take = async (claims: RolloutClaims): Promise<ClaimOutcome> =>
    await claims.take("upgrades", { candidateOf: (rollout) => candidate(rollout, cluster), snapshot });
  const attempts = (): (number | undefined)[] => (stored.status?.running ?? []).map((each) => each.attempts);
  return { a, b, take, attempts };
}

describe("a claim is given back", () => {
  test("by the replica that stored it", async () => {
    const { a, take, attempts } = replicas();
    const taken = await take(a);
    assert.deepEqual(attempts(), [1]);
    assert.ok(taken.begins && taken.claim !== undefined);
    await a.giveBack("upgrades", taken.claim);
    assert.deepEqual(attempts(), []);
  });

  test("not after another replica has renewed it, and released the Cluster", async () => {
    const { a, b, take, attempts } = replicas();
    const taken = await take(a);
    await take(b);
    assert.ok(taken.begins && taken.claim !== undefined);
    await a.giveBack("upgrades", taken.claim);
    assert.deepEqual(attempts(), [2]);
  });
});
