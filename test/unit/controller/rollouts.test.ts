import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { HookRolloutSpec } from "../../../src/api/hookpolicy.ts";
import type { Override } from "../../../src/policy/override.ts";
import { compileOverride } from "../../../src/policy/override.ts";
import { clusterMeta, NOW, readyStatus } from "../rollouts/fixtures.ts";
import {
  ask,
  confirm,
  marked,
  reasonOf,
  released,
  replicaOf,
  requestOf,
  waitingCluster,
} from "./rolloutfixture.ts";

const A = waitingCluster("a");
const B = waitingCluster("b");

function override(policyRefs?: readonly { kind: "HookRollout" | "HookPolicy"; name: string }[]): Override {
  return compileOverride(
    {
      apiVersion: "hookpolicy.dev/v1alpha1",
      kind: "HookOverride",
      metadata: {
        name: "now",
        uid: "o",
        resourceVersion: "1",
        generation: 1,
        creationTimestamp: "2026-11-23T11:59:00Z",
      },
      spec: {
        clusterRef: { namespace: "fleet", name: "a" },
        hooks: ["BeforeClusterUpgrade"],
        expiresAt: "2026-11-23T12:30:00Z",
        reason: "why",
        ...(policyRefs !== undefined && { policyRefs: [...policyRefs] }),
      },
    },
    86_400_000,
  );
}

describe("memory", () => {
  const canary = { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } };
  const gated: Partial<HookRolloutSpec> = {
    stages: [{ name: "only", until: [{ name: "ok", annotation: { key: "example.com/ok" } }] }],
  };
  const cases: readonly (readonly [string, Partial<HookRolloutSpec>, string])[] = [
    ["releases who is first of the queue", {}, "go"],
    ["holds for a paused rollout", { paused: true }, "Paused"],
    ["holds for an invalid rollout", { progressDeadline: "soon" }, "InvalidSpec"],
    ["holds for an earlier stage", { stages: [canary, { name: "rest" }] }, "StageClosed"],
    ["holds a Cluster without a stage", { stages: [canary] }, "NoStage"],
    ["holds for a gate", gated, "GateOpen"],
    ["holds while there is no slot", { maxConcurrency: 0 }, "NoFreeSlot"],
    ["does not hold for a rollout of another operation", { operation: "Delete", paused: true }, "go"],
    ["does not hold for a rollout of mode Audit", { mode: "Audit", paused: true }, "go"],
    [
      "does not hold a Cluster that is not selected",
      { paused: true, clusterSelector: { matchLabels: { x: "y" } } },
      "go",
    ],
  ];
  for (const [title, spec, reason] of cases)
    test(title, () => {
      assert.equal(ask(replicaOf({ specs: { upgrades: spec }, clusters: [A] }), A), reason);
    });

  test("tells Cluster API why, and when to ask again", () => {
    const { rollouts } = replicaOf({
      specs: { upgrades: { paused: true, retryAfterSeconds: 30 } },
      clusters: [A],
    });
    const { verdict, retryAfterSeconds, message } = rollouts.ask(requestOf(A), released(A));
    assert.deepEqual(
      { verdict, retryAfterSeconds, message },
      {
        verdict: "Blocked",
        retryAfterSeconds: 30,
        message: "HookRollout upgrades: is paused (hookpolicy rollout status upgrades)",
      },
    );
  });

  test("costs no request", () => {
    const replica = replicaOf({ specs: { upgrades: { paused: true } }, clusters: [A] });
    ask(replica, A);
    assert.deepEqual(replica.api.requests, []);
  });

  test("leaves the decision of a policy that holds as it is", () => {
    const { rollouts } = replicaOf({ specs: { upgrades: { paused: true } }, clusters: [A] });
    const decision = { ...released(A), holds: true, message: "the policy's" };
    assert.equal(rollouts.ask(requestOf(A), decision), decision);
  });

  test("says nothing about a Cluster that it does not have, or has as another one", () => {
    assert.equal(ask(replicaOf({ specs: { upgrades: { paused: true } } }), A), "go");
    const replaced = waitingCluster("a", { metadata: { ...clusterMeta("a"), uid: "other" } });
    assert.equal(ask(replicaOf({ specs: { upgrades: { paused: true } }, clusters: [replaced] }), A), "go");
  });

  test("lets a Cluster ask again soon that does not show yet that it waits", () => {
    const early = waitingCluster("a", { progress: {} });
    const { rollouts } = replicaOf({ clusters: [early] });
    const { rollout, retryAfterSeconds } = rollouts.ask(requestOf(early), released(early));
    assert.equal(rollout?.reason, "NotItsTurn");
    assert.equal(retryAfterSeconds, 5);
  });

  test("does not hold a Cluster whose operation runs", () => {
    const running = marked("a");
    assert.equal(
      ask(replicaOf({ specs: { upgrades: { paused: true } }, clusters: [running] }), running),
      "go",
    );
  });

  test("is not replaced by an older copy that an informer delivers late", () => {
    const replica = replicaOf({ clusters: [A] });
    const stored = replica.api.stored.get("upgrades");
    assert.ok(stored);
    const older = {
      ...stored,
      metadata: { ...stored.metadata, resourceVersion: "1" },
      spec: { ...stored.spec, paused: true },
    };
    replica.rollouts.rolloutChanged("upgrades", older);
    assert.equal(ask(replica, A), "go");
    replica.rollouts.rolloutChanged("upgrades", undefined);
    assert.equal(replica.rollouts.get("upgrades"), undefined);
  });
});

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
    assert.equal(reasonOf(await replica.rollouts.confirm(request, released(A))), "go");
    assert.deepEqual(replica.api.requests, []);
  });

  test("needs none for what a policy holds", async () => {
    const replica = replicaOf({ clusters: [A] });
    const decision = { ...released(A), holds: true };
    assert.deepEqual(await replica.rollouts.confirm(requestOf(A), decision), { ok: true, decision });
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
    assert.equal(reasonOf(await replica.rollouts.confirm(requestOf(A), decision)), "RolloutNotInMemory");
  });

  test("holds when the rollouts cannot be read", async () => {
    const replica = replicaOf({ clusters: [A] });
    replica.api.rollouts = async () => await Promise.reject(new Error("Timeout"));
    assert.equal(reasonOf(await confirm(replica, A)), "Timeout");
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
    assert.equal(reasonOf(await replica.rollouts.confirm(requestOf(A), released(A))), "NoFreeSlot");
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

  test("releases for a rollout that is gone by then, or does not select the Cluster any more", async () => {
    const gone = replicaOf({ clusters: [A] });
    gone.api.getRollout = async () => await Promise.resolve(undefined);
    assert.equal(reasonOf(await confirm(gone, A)), "go");
    const other = replicaOf({ clusters: [A] });
    const stored = other.api.stored.get("upgrades")!;
    other.api.stored.set("upgrades", {
      ...stored,
      spec: { ...stored.spec, clusterSelector: { matchLabels: { x: "y" } } },
    });
    assert.equal(reasonOf(await confirm(other, A)), "go");
    assert.deepEqual(other.api.running("upgrades"), []);
  });

  test("holds for a rollout that is gone at the write, until a read tells that it is gone by itself", async () => {
    const leaving = replicaOf({ clusters: [A] });
    leaving.api.beforeWrite = () => leaving.api.stored.clear();
    const read = leaving.api.getRollout.bind(leaving.api);
    leaving.api.getRollout = async (name) =>
      (await read(name)) ?? (await Promise.reject(new Error("its definition is being deleted")));
    assert.equal(reasonOf(await confirm(leaving, A)), "NotConfirmed");
    const gone = replicaOf({ clusters: [A] });
    gone.api.beforeWrite = () => gone.api.stored.clear();
    assert.equal(reasonOf(await confirm(gone, A)), "go");
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

  for (const read of ["rollouts", "getRollout", "members"])
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

describe("a HookOverride", () => {
  const paused = { specs: { upgrades: { paused: true } }, clusters: [A] };

  for (const [title, refs, expected] of [
    ["without policies releases the Cluster without a slot", undefined, "go"],
    ["that names the rollout does so, too", [{ kind: "HookRollout", name: "upgrades" }], "go"],
    ["that names another rollout does not", [{ kind: "HookRollout", name: "other" }], "Paused"],
  ] as const)
    test(title, async () => {
      const replica = replicaOf(paused);
      assert.equal(ask(replica, A, [override(refs)]), expected);
      assert.equal(reasonOf(await confirm(replica, A, [override(refs)])), expected);
      assert.deepEqual(replica.api.running("upgrades"), []);
    });

  test("does not once it has expired", () => {
    const replica = replicaOf(paused);
    replica.time.now = new Date(NOW.getTime() + 3_600_000);
    assert.equal(ask(replica, A, [override()]), "Paused");
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

  test("the earlier claim is given back when the later rollout refuses", async () => {
    const replica = replicaOf({ specs: { fleet: {}, zone: { maxConcurrency: 0 } }, clusters: [A] });
    assert.equal(reasonOf(await confirm(replica, A)), "NoFreeSlot");
    assert.deepEqual([replica.api.running("fleet"), replica.api.running("zone")], [[], []]);
    assert.equal(replica.api.requests.filter((each) => each === "write fleet").length, 2);
  });

  test("the earlier claim is given back when a gate of the later rollout holds", async () => {
    const stages = [{ name: "only", until: [{ name: "ok", annotation: { key: "example.com/ok" } }] }];
    const replica = replicaOf({ specs: { fleet: {}, zone: { stages } }, clusters: [A] });
    assert.equal(reasonOf(await confirm(replica, A)), "GateOpen");
    assert.deepEqual(replica.api.running("fleet"), []);
  });

  test("a claim that cannot be given back is told, and ends by itself", async () => {
    const replica = replicaOf({ specs: { fleet: {}, zone: { maxConcurrency: 0 } }, clusters: [A] });
    replica.api.afterWrite = () => {
      replica.api.beforeWrite = () => {
        throw new Error("conflict");
      };
    };
    assert.equal(reasonOf(await confirm(replica, A)), "NoFreeSlot");
    assert.deepEqual(replica.api.running("fleet"), ["a"]);
    assert.equal(replica.errors.length, 1);
  });
});

describe("what gates of stages look at", () => {
  const object = {
    apiVersion: "example.com/v1",
    kind: "Approval",
    namespace: "platform",
    name: "prod",
    expression: "object.spec.approved",
  };
  const stages = [{ name: "only", until: [{ name: "promoted", object }] }];

  test("is watched, and read before a Cluster begins", () => {
    const { rollouts } = replicaOf({ specs: { upgrades: { stages }, zone: {} }, clusters: [A] });
    assert.deepEqual(
      rollouts.demands().map(({ kind }) => kind.kind),
      ["Approval"],
    );
    const { basis } = released(A);
    assert.ok(basis);
    const queries = rollouts.queries(requestOf(A), basis.world);
    assert.deepEqual(
      queries.map(({ namespace }) => namespace),
      ["platform"],
    );
  });

  test("is nothing for a Cluster without a stage", () => {
    const none = [{ name: "none", clusterSelector: { matchLabels: { x: "y" } } }];
    const { rollouts } = replicaOf({ specs: { upgrades: { stages: none } }, clusters: [A] });
    assert.deepEqual(rollouts.queries(requestOf(A), released(A).basis!.world), []);
  });
});

test("a change of a namespace is looked at by every rollout, and moves its Clusters at once", () => {
  const upgrades = { namespaceSelector: { matchLabels: { tier: "x" } } };
  const replica = replicaOf({ specs: { upgrades }, clusters: [A] });
  assert.equal(ask(replica, A), "go");
  replica.seen.dirty = 0;
  replica.namespaces.set("fleet", { metadata: { ...replica.namespace.metadata, labels: { tier: "x" } } });
  replica.rollouts.membersChanged();
  assert.equal(replica.seen.dirty, 1);
  replica.put(marked("z"));
  assert.equal(ask(replica, A), "NoFreeSlot");
});

describe("the queue is sorted again", () => {
  test("when a Cluster begins to be asked about", () => {
    const replica = replicaOf({ clusters: [A, B] });
    assert.equal(ask(replica, B), "go");
    replica.time.nowMs += 60;
    assert.equal(ask(replica, A), "go");
    assert.equal(ask(replica, B), "NoFreeSlot");
  });

  test("by the order, not by who is quicker, when a rollout has held all of them", () => {
    const replica = replicaOf({ specs: { upgrades: { paused: true } }, clusters: [A, B] });
    for (const cluster of [B, A]) assert.equal(ask(replica, cluster), "Paused");
    replica.load("upgrades", {});
    assert.equal(ask(replica, B), "NoFreeSlot");
    assert.equal(ask(replica, A), "go");
  });

  test("after two seconds where nothing has changed", () => {
    const replica = replicaOf({ specs: { upgrades: { retryAfterSeconds: 5 } }, clusters: [A, B] });
    for (const cluster of [A, B]) ask(replica, cluster);
    for (let seconds = 1; seconds <= 18; seconds += 1) {
      replica.time.nowMs += 1000;
      ask(replica, B);
    }
    assert.equal(ask(replica, B), "go", "A has been silent for longer than 15 s");
  });
});

test("a change of a Cluster is looked at by every rollout", () => {
  const replica = replicaOf({ specs: { fleet: {}, zone: {} }, status: readyStatus() });
  replica.seen.dirty = 0;
  replica.put(A);
  replica.remove("a");
  assert.equal(replica.seen.dirty, 4);
});
