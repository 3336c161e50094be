import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { setImmediate } from "node:timers/promises";
import { NOW } from "./fixtures.ts";
import {
  ask,
  confirm,
  confirmAfterList,
  reasonOf,
  released,
  type Replica,
  replicaOf,
  requestOf,
  waitingCluster,
} from "./rollout-fixture.ts";

const A = waitingCluster("a");
const B = waitingCluster("b");

describe("confirmation", () => {
  test("takes a slot before it releases", async () => {
    const replica = replicaOf({ clusters: [A, B] });
    assert.equal(reasonOf(await confirm(replica, A)), "go");
    assert.deepEqual(replica.api.running("upgrades"), ["a"]);
    assert.equal(reasonOf(await confirm(replica, B)), "NoFreeSlot");
    assert.deepEqual(replica.api.running("upgrades"), ["a"]);
  });

  test("needs no slot for other hooks, and reads nothing then", async () => {
    const replica = replicaOf({ specs: { upgrades: { paused: true } }, clusters: [A] });
    const request = requestOf(A, { hook: "AfterClusterUpgrade" } as never);
    const snapshot = replica.rollouts.snapshot(request.call.hook);
    assert.equal(snapshot, undefined);
    assert.equal(reasonOf(await replica.rollouts.takeSlots(request, released(A), snapshot, Infinity)), "go");
    assert.deepEqual(replica.api.requests, []);
  });

  test("needs none for what a policy holds", async () => {
    const replica = replicaOf({ clusters: [A] });
    const decision = { ...released(A), holds: true };
    assert.deepEqual(await confirmAfterList(replica, requestOf(A), decision), { ok: true, decision });
  });

  test("holds when the API server has a rollout that memory has not", async () => {
    const replica = replicaOf({ specs: {}, clusters: [A] });
    replica.api.put({ ...structuredClone(replicaOf({}).api.stored.get("upgrades")!) });
    assert.equal(reasonOf(await confirm(replica, A)), "RolloutNotInMemory");
    assert.equal(replica.seen.stale, 1);
  });

  test("holds when memory has another generation, or another object of the name", async () => {
    for (const change of [{ generation: 2 }, { uid: "other" }]) {
      const replica = replicaOf({ clusters: [A] });
      const stored = replica.api.stored.get("upgrades")!;
      replica.api.put({ ...stored, metadata: { ...stored.metadata, ...change } });
      assert.equal(reasonOf(await confirm(replica, A)), "RolloutNotInMemory");
    }
  });

  test("holds a decision whose inputs are not known", async () => {
    const replica = replicaOf({ clusters: [A] });
    const { basis: _, ...decision } = released(A);
    assert.equal(reasonOf(await confirmAfterList(replica, requestOf(A), decision)), "RolloutNotInMemory");
  });

  test("gives the slot of a claim that ended during the reads to the Cluster whose turn it is", async () => {
    const replica = replicaOf({ clusters: [A, B] });
    assert.equal(reasonOf(await confirm(replica, A)), "go");
    assert.equal(ask(replica, B), "NoFreeSlot");
    const list = replica.api.rollouts.bind(replica.api);
    replica.api.rollouts = async () => {
      const read = await list();
      replica.time.now = new Date(NOW.getTime() + 180_000);
      const { status, ...object } = replica.api.stored.get("upgrades")!;
      replica.rollouts.rolloutChanged(
        "upgrades",
        replica.api.put({ ...object, status: { ...status, running: [] } }),
      );
      return read;
    };
    assert.equal(reasonOf(await confirmAfterList(replica, requestOf(A), released(A))), "NoFreeSlot");
    replica.api.rollouts = list;
    assert.equal(reasonOf(await confirm(replica, B)), "go");
    assert.deepEqual(replica.api.running("upgrades"), ["b"]);
  });

  test("gives no slot to a Cluster that does not show that it waits", async () => {
    const early = waitingCluster("a", { progress: {} });
    const replica = replicaOf({ specs: { upgrades: { stages: [{ name: "only" }] } }, clusters: [early] });
    const confirmation = await confirm(replica, early);
    assert.equal(reasonOf(confirmation), "NotItsTurn");
    // The same text as from memory: Cluster API would write the Cluster at each change of it.
    const { message } = replica.rollouts.ask(requestOf(early), released(early));
    assert.equal(confirmation.ok && confirmation.decision.message, message);
    assert.deepEqual(replica.api.running("upgrades"), []);
  });

  test("looks at the gates of the stage again", async () => {
    const stages = [{ name: "only", until: [{ name: "ok", annotation: { key: "example.com/ok" } }] }];
    const replica = replicaOf({ specs: { upgrades: { stages } }, clusters: [A] });
    const confirmation = await confirm(replica, A);
    assert.equal(reasonOf(confirmation), "GateOpen");
    assert.ok(confirmation.ok);
    assert.match(confirmation.decision.message, /stage only: gate ok waits for annotation example\.com\/ok/);
  });

  test("holds once for a rollout that is gone, or has another spec, since the policies were listed", async () => {
    for (const change of [
      (replica: Replica) => replica.api.stored.delete("upgrades"),
      (replica: Replica) => replica.load("upgrades", { clusterSelector: { matchLabels: { x: "y" } } }, 2),
    ]) {
      const replica = replicaOf({ clusters: [A] });
      const members = replica.api.members.bind(replica.api);
      replica.api.members = async () => {
        change(replica);
        return await members();
      };
      assert.equal(reasonOf(await confirm(replica, A)), "NotConfirmed");
      replica.api.members = members;
      assert.equal(reasonOf(await confirm(replica, A)), "go");
      assert.deepEqual(replica.api.running("upgrades"), []);
    }
  });
});

describe("a confirmation that takes too long", () => {
  const HASTE = { clusters: [A], budgetMs: 20 };

  test("holds while its slot is being stored, and the slot is there for the next call", async () => {
    const replica = replicaOf(HASTE);
    const { api } = replica;
    const write = api.replaceRolloutStatus.bind(api);
    const [late, stored] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    api.replaceRolloutStatus = async (...args) => {
      await late.promise;
      return await write(...args).finally(stored.resolve);
    };
    assert.equal(reasonOf(await confirm(replica, A)), "Timeout");
    assert.deepEqual(api.running("upgrades"), []);
    late.resolve();
    await stored.promise;
    assert.deepEqual(api.running("upgrades"), ["a"]);
    api.replaceRolloutStatus = write;
    assert.equal(reasonOf(await confirm(replica, A)), "go");
    assert.deepEqual(
      api.stored.get("upgrades")?.status?.running?.map(({ attempts }) => attempts),
      [2],
    );
  });

  for (const read of ["getRollout", "members"])
    test(`holds while ${read} is not answered, and the slot is there for the next call`, async () => {
      const replica = replicaOf(HASTE);
      assert.equal(ask(replica, A), "go");
      const late = Promise.withResolvers<void>();
      const original = Reflect.get(replica.api, read);
      Reflect.set(replica.api, read, async (name: string) => {
        await late.promise;
        return await original.call(replica.api, name);
      });
      assert.equal(reasonOf(await confirm(replica, A)), "Timeout");
      assert.deepEqual(replica.api.running("upgrades"), []);
      late.resolve();
      await setImmediate();
      assert.deepEqual(replica.api.running("upgrades"), ["a"]);
      assert.equal(reasonOf(await confirm(replica, A)), "go");
    });
});

describe("two rollouts over one Cluster", () => {
  test("give it a slot each", async () => {
    const replica = replicaOf({ specs: { zone: {}, fleet: {} }, clusters: [A] });
    assert.deepEqual(
      replica.rollouts.entries().map(({ rollout }) => rollout.name),
      ["fleet", "zone"],
    );
    assert.equal(reasonOf(await confirm(replica, A)), "go");
    assert.deepEqual([replica.api.running("fleet"), replica.api.running("zone")], [["a"], ["a"]]);
  });

  test("the earlier gives none when memory shows that it is not the turn of the Cluster in the later", async () => {
    const replica = replicaOf({ specs: { fleet: {}, zone: { maxConcurrency: 0 } }, clusters: [A] });
    const { rollouts, api } = replica;
    for (const { rollout, queue } of rollouts.entries()) queue.mayBegin = () => rollout.name === "fleet";
    const confirmation = await confirmAfterList(replica, requestOf(A), released(A));
    assert.equal(reasonOf(confirmation), "NoFreeSlot");
    assert.deepEqual([api.running("fleet"), api.running("zone")], [[], []]);
  });

  test("the earlier has given one when only the API server shows that the later has none", async () => {
    const replica = replicaOf({ specs: { fleet: {}, zone: { maxConcurrency: 0 } }, clusters: [A] });
    assert.equal(reasonOf(await confirm(replica, A)), "NoFreeSlot");
    assert.deepEqual([replica.api.running("fleet"), replica.api.running("zone")], [["a"], []]);
  });

  test("the earlier gives none when a gate of the later is not met", async () => {
    const stages = [{ name: "only", until: [{ name: "ok", annotation: { key: "example.com/ok" } }] }];
    const replica = replicaOf({ specs: { fleet: {}, zone: { stages } }, clusters: [A] });
    assert.equal(reasonOf(await confirm(replica, A)), "GateOpen");
    assert.deepEqual(replica.api.running("fleet"), []);
  });
});
