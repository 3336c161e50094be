import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookRollout } from "../../../src/api/hook-policy.ts";
import { type CompiledRollout, compileRollout } from "../../../src/rollouts/rollout.ts";
import { confirm, marked, reasonOf, replicaOf, waitingCluster } from "./rollout-fixture.ts";

const NAMES = ["a", "b", "c", "d"];
const FLEET = NAMES.map((name) => waitingCluster(name));

describe("a round", () => {
  test("serves all who wait: one list and one write", async () => {
    const replica = replicaOf({ specs: { upgrades: { maxConcurrency: 3 } }, clusters: FLEET });
    const answers = await Promise.all(
      FLEET.map(async (cluster) => reasonOf(await confirm(replica, cluster))),
    );
    assert.deepEqual(answers, ["go", "go", "go", "NoFreeSlot"]);
    assert.deepEqual(replica.api.running("upgrades"), ["a", "b", "c"]);
    const count = (what: string): number => replica.api.requests.filter((each) => each === what).length;
    assert.ok(count("list members") <= 2, replica.api.requests.join(", "));
    assert.ok(count("write upgrades") <= 2, replica.api.requests.join(", "));
  });

  test("tries again at once, without another list, when another write came between", async () => {
    const replica = replicaOf({ specs: { upgrades: { maxConcurrency: 1 } }, clusters: FLEET });
    const { api } = replica;
    api.beforeWrite = () => {
      api.beforeWrite = () => undefined;
      api.put(api.stored.get("upgrades")!);
    };
    assert.equal(reasonOf(await confirm(replica, FLEET[0]!)), "go");
    assert.deepEqual(api.running("upgrades"), ["a"]);
    assert.deepEqual(
      api.requests.filter((each) => each.startsWith("list members")),
      ["list members"],
    );
  });

  test("renews a claim without a list, as the answer before it may have come too late", async () => {
    const replica = replicaOf({ clusters: FLEET });
    assert.equal(reasonOf(await confirm(replica, FLEET[0]!)), "go");
    replica.api.requests.length = 0;
    assert.equal(reasonOf(await confirm(replica, FLEET[0]!)), "go");
    assert.deepEqual(replica.api.requests, ["list rollouts", "get upgrades", "write upgrades"]);
  });

  test("gives no slot without a list where memory alone has the claim", async () => {
    const replica = replicaOf({ clusters: FLEET });
    await confirm(replica, FLEET[0]!);
    const object = replica.api.stored.get("upgrades")!;
    replica.api.put({ ...object, status: { ...object.status, running: [] } });
    assert.equal(reasonOf(await confirm(replica, FLEET[0]!)), "NotConfirmed");
    assert.deepEqual(replica.api.running("upgrades"), []);
  });

  test("judges by the spec that it has read, and compiles that only where memory has another", async () => {
    let compiled = 0;
    const compile = (object: HookRollout): CompiledRollout => {
      compiled += 1;
      return compileRollout(object);
    };
    const replica = replicaOf({ clusters: FLEET, compile });
    assert.equal(reasonOf(await confirm(replica, FLEET[0]!)), "go");
    assert.equal(compiled, 1);
    // As another version of the CRD may read the same generation.
    const { spec, ...object } = replica.api.stored.get("upgrades")!;
    replica.api.put({ ...object, spec: { ...spec, paused: true } });
    assert.equal(reasonOf(await confirm(replica, FLEET[1]!)), "Paused");
    assert.equal(compiled, 2);
  });

  test("counts what the other write has taken", async () => {
    const replica = replicaOf({ specs: { upgrades: { maxConcurrency: 1 } }, clusters: FLEET });
    const other = replicaOf({ specs: { upgrades: { maxConcurrency: 1 } }, clusters: FLEET });
    await confirm(other, FLEET[1]!);
    const { running = [] } = other.status();
    const { api } = replica;
    api.beforeWrite = () => {
      api.beforeWrite = () => undefined;
      const object = api.stored.get("upgrades")!;
      api.put({ ...object, status: { ...object.status, running } });
    };
    assert.equal(reasonOf(await confirm(replica, FLEET[0]!)), "NoFreeSlot");
    assert.deepEqual(api.running("upgrades"), ["b"]);
  });

  test("reads the rollout after the list, so that only a moment is open to conflicts", async () => {
    const replica = replicaOf({ clusters: FLEET });
    await confirm(replica, FLEET[0]!);
    assert.deepEqual(replica.api.requests, [
      "list rollouts",
      "list members",
      "get upgrades",
      "write upgrades",
    ]);
  });

  test("counts the labels of a Cluster that was claimed after the list", async () => {
    const [first, second] = ["a", "b"].map((name) => waitingCluster(name, {}, { region: "x" }));
    const spec = { maxConcurrency: 2, spread: [{ labelKey: "region", maxConcurrency: 1 }] };
    const replica = replicaOf({ specs: { upgrades: spec }, clusters: [first!, second!] });
    assert.equal(reasonOf(await confirm(replica, second!)), "go");
    replica.api.members = async () => await Promise.resolve([first!.metadata]);
    assert.equal(reasonOf(await confirm(replica, first!)), "NoFreeSlot");
  });

  test("holds all of them when other writes come between again and again", async () => {
    const replica = replicaOf({ clusters: FLEET });
    replica.api.beforeWrite = () => replica.api.put(replica.api.stored.get("upgrades")!);
    assert.equal(reasonOf(await confirm(replica, FLEET[0]!)), "NotConfirmed");
    assert.deepEqual(replica.api.running("upgrades"), []);
    assert.deepEqual(replica.errors, []);
  });

  test("holds when the answer to the write is lost, and the claim is found by the next call", async () => {
    const replica = replicaOf({ clusters: FLEET });
    replica.api.afterWrite = () => {
      replica.api.afterWrite = () => undefined;
      throw new Error("connection reset");
    };
    assert.equal(reasonOf(await confirm(replica, FLEET[0]!)), "NotConfirmed");
    assert.deepEqual(replica.api.running("upgrades"), ["a"]);
    assert.equal(replica.errors.length, 1);
    assert.equal(reasonOf(await confirm(replica, FLEET[1]!)), "NoFreeSlot");
    assert.equal(reasonOf(await confirm(replica, FLEET[0]!)), "go");
    assert.equal(replica.status().running?.[0]?.attempts, 2);
  });

  test("holds when the members cannot be listed", async () => {
    const replica = replicaOf({ clusters: FLEET });
    replica.api.members = async () => await Promise.reject(new Error("too busy"));
    assert.equal(reasonOf(await confirm(replica, FLEET[0]!)), "NotConfirmed");
    assert.equal(replica.api.running("upgrades").length, 0);
  });

  test("tells those who are refused to ask again in 5 s when it could not be confirmed", async () => {
    const replica = replicaOf({ specs: { upgrades: { retryAfterSeconds: 60 } }, clusters: FLEET });
    replica.api.members = async () => await Promise.reject(new Error("too busy"));
    const confirmation = await confirm(replica, FLEET[0]!);
    assert.ok(confirmation.ok);
    assert.equal(confirmation.decision.retryAfterSeconds, 5);
  });

  test("counts marks that the list shows and no informer has yet", async () => {
    const replica = replicaOf({ clusters: FLEET });
    replica.api.clusters.set("fleet/b", marked("b"));
    assert.equal(reasonOf(await confirm(replica, FLEET[0]!)), "NoFreeSlot");
  });

  test("does not count Clusters without a topology among the members", async () => {
    const bare = ["x", "y", "z"].map((name) => {
      const { topology: _, ...rest } = waitingCluster(name);
      return rest;
    });
    const replica = replicaOf({
      specs: { upgrades: { maxConcurrency: "25%" } },
      clusters: [...FLEET, ...bare],
    });
    assert.equal(reasonOf(await confirm(replica, FLEET[0]!)), "go");
    assert.equal(reasonOf(await confirm(replica, FLEET[1]!)), "NoFreeSlot");
  });

  test("holds once when the rollout was deleted before the write: it holds nothing any more", async () => {
    const replica = replicaOf({ clusters: FLEET });
    replica.api.beforeWrite = () => replica.api.stored.delete("upgrades");
    assert.equal(reasonOf(await confirm(replica, FLEET[0]!)), "NotConfirmed");
    assert.equal(reasonOf(await confirm(replica, FLEET[0]!)), "go");
  });
});
