/** A Cluster that something else holds would leave a slot unused, so it is not its turn. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookRolloutSpec } from "../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import { clusterMeta, NOW } from "./fixtures.ts";
import {
  ask,
  confirm,
  marked,
  reasonOf,
  released,
  type Replica,
  replicaOf,
  requestOf,
  waitingCluster,
} from "./rollout-fixture.ts";

const PROD = { zone: "prod" };
const ZONE: Partial<HookRolloutSpec> = { clusterSelector: { matchLabels: PROD } };
const GATED: Partial<HookRolloutSpec> = {
  stages: [{ name: "only", until: [{ name: "ok", annotation: { key: "example.com/ok" } }] }],
};

function approved(name: string): Cluster {
  return waitingCluster(name, { metadata: { ...clusterMeta(name), annotations: { "example.com/ok": "" } } });
}

/** As Cluster API does after `seconds`. Returns what it is answered. */
function askAfter(replica: Replica, seconds: number, clusters: readonly Cluster[]): string[] {
  replica.time.nowMs += seconds * 1000;
  replica.time.now = new Date(NOW.getTime() + replica.time.nowMs);
  return clusters.map((cluster) => ask(replica, cluster));
}

function nextOf(replica: Replica, rollout: string): string[] | undefined {
  return replica.rollouts
    .get(rollout)
    ?.queue.head()
    .map(({ name }) => name);
}

describe("a Cluster that nothing else holds begins at its second call, with a free slot, although before it", () => {
  type Specs = Readonly<Record<string, Partial<HookRolloutSpec>>>;
  const full = { ...ZONE, maxConcurrency: 0 };
  const cases: readonly (readonly [string, Specs, string])[] = [
    ["a gate holds 30", { upgrades: GATED }, "GateOpen"],
    ["another rollout is paused for 30", { upgrades: {}, zone: { ...ZONE, paused: true } }, "Paused"],
    [
      "one of an earlier name is paused for 30",
      { before: { ...ZONE, paused: true }, upgrades: {} },
      "Paused",
    ],
    ["another rollout has no slot for 30", { upgrades: {}, zone: full }, "NoFreeSlot"],
    ["one of an earlier name has no slot for 30", { before: full, upgrades: {} }, "NoFreeSlot"],
  ];
  for (const [title, specs, reason] of cases)
    for (const retryAfterSeconds of [10, 300])
      test(`${title}, each of which is asked about every ${retryAfterSeconds} s`, async () => {
        const waiting = Array.from({ length: 30 }, (_, index) => waitingCluster(`a${index + 10}`, {}, PROD));
        const free = approved("b");
        const timed = Object.entries(specs).map(([name, spec]) => [name, { ...spec, retryAfterSeconds }]);
        const replica = replicaOf({ specs: Object.fromEntries(timed), clusters: [...waiting, free] });
        for (let call = 0; call < 5; call += 1)
          assert.deepEqual(
            new Set(askAfter(replica, retryAfterSeconds, waiting)),
            new Set([reason]),
            "the reason is that of the one that holds them",
          );
        const [, second] = [1, 2].map(() => askAfter(replica, retryAfterSeconds, [free])[0]);
        assert.equal(second, "go");
        assert.deepEqual(nextOf(replica, "upgrades"), ["b"], "the status names those whose turn it can be");
        assert.equal(reasonOf(await confirm(replica, free)), "go");
      });
});

test("what a Cluster is told names the rollout that has no slot for it, and so do the statuses", async () => {
  const waiting = waitingCluster("wait", {}, PROD);
  const clusters = [marked("run", PROD), waiting];
  const replica = replicaOf({ specs: { all: { maxConcurrency: 2 }, zone: ZONE }, clusters });
  askAfter(replica, 0, [waiting]);
  const { rollout } = replica.rollouts.ask(requestOf(waiting), released(waiting));
  assert.equal(rollout?.rollout, "zone");
  const held = replica.rollouts.entries().map(async (entry) => (await entry.held()).length);
  assert.deepEqual(await Promise.all(held), [0, 1]);
});

test("of two rollouts that have a slot for one of two Clusters each, both give it to the same one", () => {
  const [a, b] = [
    waitingCluster("a", {}, { first: "2", second: "1" }),
    waitingCluster("b", {}, { first: "1", second: "2" }),
  ];
  const specs = { one: { orderLabelKey: "first" }, two: { orderLabelKey: "second" } };
  const replica = replicaOf({ specs, clusters: [a, b] });
  askAfter(replica, 0, [a, b]);
  assert.deepEqual(askAfter(replica, 10, [a, b]), ["NoFreeSlot", "go"]);
});

describe("the order decides, not who calls first, once", () => {
  const clusters = [waitingCluster("a"), waitingCluster("b")];
  const reversed = clusters.toReversed();

  test("a gate opens by time", () => {
    const window = { allow: [{ from: "2026-11-23T12:01:00Z", to: "2026-11-23T13:00:00Z" }] };
    const specs = { upgrades: { stages: [{ name: "only", until: [{ name: "later", window }] }] } };
    const replica = replicaOf({ specs, clusters });
    for (const seconds of [0, 58, 1]) askAfter(replica, seconds, reversed);
    assert.deepEqual(askAfter(replica, 1, reversed), ["NoFreeSlot", "go"]);
  });

  test("another rollout resumes", () => {
    const replica = replicaOf({ specs: { upgrades: {}, zone: { paused: true } }, clusters });
    askAfter(replica, 0, reversed);
    replica.load("zone", {}, 1);
    assert.deepEqual(askAfter(replica, 1, reversed), ["NoFreeSlot", "go"]);
  });

  test("another rollout has a slot again", () => {
    const running = marked("c", PROD);
    const both = clusters.map(({ metadata: { name } }) => waitingCluster(name, {}, PROD));
    const replica = replicaOf({
      specs: { upgrades: { maxConcurrency: 2 }, zone: ZONE },
      clusters: [...both, running],
    });
    askAfter(replica, 0, both.toReversed());
    replica.remove("c");
    assert.deepEqual(askAfter(replica, 1, both.toReversed()), ["NoFreeSlot", "go"]);
  });
});

test("a bug that throws while the queue is sorted holds, is told, and ends no process", async () => {
  const cluster = waitingCluster("a");
  const replica = replicaOf({ clusters: [cluster] });
  replica.known.values = () => {
    throw new Error("a bug");
  };
  assert.equal(ask(replica, cluster), "NoFreeSlot");
  await new Promise(setImmediate);
  assert.match(String(replica.errors[0]), /a bug/);
});

describe("the work of many rollouts grows with their number, not with its square,", () => {
  const [COUNT, MEMBERS] = [20, 40];

  /** How often they look at a Cluster while each sorts its queue once, for each rollout and Cluster. */
  async function looks(specOf: (index: number) => Partial<HookRolloutSpec>): Promise<number> {
    const names = Array.from({ length: COUNT }, (_, index) => `r${String(index).padStart(2, "0")}`);
    const specs = Object.fromEntries(names.map((name, index) => [name, specOf(index)]));
    const clusters = Array.from({ length: MEMBERS }, (_, index) =>
      waitingCluster(`c${index}`, index < 2 ? {} : { progress: {} }, { team: `t${index % COUNT}` }),
    );
    const replica = replicaOf({ specs, clusters });
    let count = 0;
    const get = replica.namespaces.get.bind(replica.namespaces);
    replica.namespaces.get = (name) => get(((count += 1), name));
    for (const entry of replica.rollouts.entries()) await entry.refreshed();
    return count / COUNT / MEMBERS;
  }

  test("where each has Clusters of its own", async () => {
    const most = await looks((index) => ({ clusterSelector: { matchLabels: { team: `t${index}` } } }));
    assert.ok(most < 2, `${most}`);
  });

  test("where they share all Clusters, two of which wait", async () => {
    const most = await looks(() => ({}));
    assert.ok(most < 6, `${most}`);
  });
});
