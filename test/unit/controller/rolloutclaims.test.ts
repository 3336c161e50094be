import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { confirm, marked, reasonOf, replicaOf, waitingCluster } from "./rolloutfixture.ts";

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

  test("holds all of them when another replica was first", async () => {
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
    assert.equal(replica.api.stored.get("upgrades")?.status?.running?.[0]?.attempts, 2);
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

  test("releases when the rollout was deleted before the write: it holds nothing any more", async () => {
    const replica = replicaOf({ clusters: FLEET });
    replica.api.beforeWrite = () => replica.api.stored.delete("upgrades");
    assert.equal(reasonOf(await confirm(replica, FLEET[0]!)), "go");
  });
});
