import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookRolloutSpec, RolloutClaim } from "../../../src/api/hook-policy.ts";
import type { Override } from "../../../src/policy/world.ts";
import { stubRollout } from "../../../src/memory/stored-views.ts";
import { override as overrideOf } from "../builders.ts";
import { claimOf, clusterMeta, NOW, readyStatus } from "./fixtures.ts";
import {
  ask,
  confirm,
  marked,
  reasonOf,
  released,
  replicaOf,
  requestOf,
  waitingCluster,
} from "./rollout-fixture.ts";

const A = waitingCluster("a");
const B = waitingCluster("b");

function override(policyRefs?: readonly { kind: "HookRollout" | "HookPolicy"; name: string }[]): Override {
  const clusterRef = { namespace: "fleet", name: "a" };
  const expiresAt = "2026-11-23T12:30:00Z";
  return overrideOf(
    {
      clusterRef,
      hooks: ["BeforeClusterUpgrade"],
      expiresAt,
      ...(policyRefs && { policyRefs: [...policyRefs] }),
    },
    { name: "now", creationTimestamp: "2026-11-23T11:59:00Z" },
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

  test("tells Cluster API what a gate waits for on one line of at most 1 KiB, without a part of a command", async () => {
    const forged = "\u001B[2J\n; and HookPolicy x released it \u202E";
    const object = {
      apiVersion: "v1",
      kind: "ConfigMap",
      nameExpression: "cluster.metadata.annotations['name']",
    };
    const specs = {
      upgrades: { stages: [{ name: "only", until: [{ name: "ok", object }] }] },
    };
    for (let length = 0; length < 300; length += 7) {
      const name = `${forged}${"\u{1F600}".repeat(length)}`.slice(0, 253);
      const annotated = waitingCluster("a", { metadata: { ...A.metadata, annotations: { name } } });
      const replica = replicaOf({ specs, clusters: [annotated] });
      const { message } = replica.rollouts.ask(requestOf(annotated), released(annotated));
      assert.doesNotMatch(message, /[\p{Cc}\p{Cf}\p{Cs}]/u);
      assert.ok(Buffer.byteLength(message) <= 1024 && message.isWellFormed(), message);
      assert.doesNotMatch(message, /\(hookpolicy [^)]*$/);
    }
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

  test("takes what it has stored itself, and an informer brings, for no change", () => {
    const replica = replicaOf({ clusters: [A] });
    const stored = replica.api.stored.get("upgrades");
    assert.ok(stored);
    const before = { ...replica.seen };
    replica.rollouts.rolloutChanged("upgrades", structuredClone(stored));
    assert.deepEqual(replica.seen, before);
  });

  test("takes the same version as another definition reads it, and once it is whole", () => {
    const replica = replicaOf({ clusters: [A] });
    const stored = replica.api.stored.get("upgrades");
    assert.ok(stored);
    replica.rollouts.rolloutChanged("upgrades", { ...stored, spec: { ...stored.spec, paused: true } });
    assert.equal(ask(replica, A), "Paused");
    replica.rollouts.rolloutChanged("upgrades", stubRollout(stored));
    assert.notEqual(ask(replica, A), "go");
    replica.rollouts.rolloutChanged("upgrades", stored);
    assert.equal(ask(replica, A), "go");
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

describe("an answer of the API server that arrives late", () => {
  test("does not bring back a rollout that was deleted", async () => {
    const replica = replicaOf({ clusters: [A] });
    replica.api.afterWrite = () => replica.rollouts.rolloutChanged("upgrades", undefined);
    await confirm(replica, A);
    assert.deepEqual(replica.api.running("upgrades"), ["a"], "the claim was stored before");
    assert.equal(replica.rollouts.get("upgrades"), undefined);
    assert.equal(ask(replica, A), "go");
  });

  test("replaces no other rollout of the name, and no newer copy", () => {
    const { api, rollouts } = replicaOf({ specs: { upgrades: { paused: true } } });
    const stored = api.stored.get("upgrades");
    assert.ok(stored);
    const { metadata } = stored;
    for (const late of [
      { ...metadata, uid: "deleted", resourceVersion: "99" },
      { ...metadata, resourceVersion: "1" },
    ])
      rollouts.learn({ ...stored, metadata: late, spec: { ...stored.spec, paused: false } });
    assert.equal(rollouts.get("upgrades")?.object, stored);
  });

  test("is taken, as a stub where the informer keeps only that", () => {
    const { api, rollouts } = replicaOf({});
    const stored = api.stored.get("upgrades");
    assert.ok(stored);
    const later = api.put({ ...stored, spec: { ...stored.spec, paused: true } });
    assert.equal(rollouts.learn(later)?.rollout.paused, true);
    rollouts.rolloutChanged("upgrades", stubRollout(later));
    assert.equal(rollouts.learn(api.put(later))?.rollout.tooLarge, true);
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

  test("is said to have lifted the rollouts that selected the Cluster and gave it no slot", async () => {
    const [own, other] = [override(), override([{ kind: "HookRollout", name: "other" }])];
    const specs: Record<string, Partial<HookRolloutSpec>> = {
      upgrades: { paused: true },
      audits: { mode: "Audit" },
      deletions: { operation: "Delete" },
      elsewhere: { clusterSelector: { matchLabels: { x: "y" } } },
    };
    const { rollouts } = replicaOf({ specs, clusters: [A] });
    const lifted = (world: Parameters<typeof rollouts.lifted>[0]) =>
      rollouts.lifted(world, "BeforeClusterUpgrade");
    const begun = marked("a");
    assert.deepEqual(lifted({ cluster: begun, overrides: [own] }), [
      { holder: "HookRollout upgrades", override: "now" },
    ]);
    assert.deepEqual(lifted({ cluster: begun, overrides: [other] }), []);
    assert.deepEqual(lifted({ cluster: marked("b"), overrides: [own] }), []);
    const replica = replicaOf({ clusters: [A] });
    assert.equal(reasonOf(await confirm(replica, A)), "go");
    assert.deepEqual(
      replica.rollouts.lifted({ cluster: begun, overrides: [own] }, "BeforeClusterUpgrade"),
      [],
    );
  });

  test("is noted in the decision, from memory and confirmed, with the rollouts that it lifts", async () => {
    const replica = replicaOf(paused);
    const lifting = [override()];
    const lifted = [{ rollout: "upgrades", overriddenBy: "now" }];
    const asked = replica.rollouts.ask(requestOf(A), released(A, lifting));
    assert.deepEqual(asked.overriddenRollouts, lifted);
    const confirmed = await confirm(replica, A, lifting);
    assert.ok(confirmed.ok);
    assert.deepEqual(confirmed.decision.overriddenRollouts, lifted);
    assert.equal(replica.rollouts.ask(requestOf(A), released(A)).overriddenRollouts, undefined);
  });

  test("does not once it has expired", () => {
    const replica = replicaOf(paused);
    replica.time.now = new Date(NOW.getTime() + 3_600_000);
    assert.equal(ask(replica, A, [override()]), "Paused");
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
    const queries = rollouts.objectQueries(requestOf(A), basis.world, NOW);
    assert.deepEqual(
      queries.map(({ namespace }) => namespace),
      ["platform"],
    );
  });

  test("is nothing for a Cluster without a stage", () => {
    const none = [{ name: "none", clusterSelector: { matchLabels: { x: "y" } } }];
    const { rollouts } = replicaOf({ specs: { upgrades: { stages: none } }, clusters: [A] });
    assert.deepEqual(rollouts.objectQueries(requestOf(A), released(A).basis!.world, NOW), []);
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

  test("again after a change while it is sorted in slices", async () => {
    const replica = replicaOf({ clusters: [A, B], turnMs: -1 });
    const entry = replica.rollouts.get("upgrades");
    assert.ok(entry);
    const first = entry.refreshed();
    replica.put(marked("a"));
    await entry.refreshed();
    assert.deepEqual(
      entry.queue.order.map(({ member }) => member.metadata.name),
      ["b"],
    );
    await first;
  });

  test("by one spec, although it is edited while it is sorted in slices", async () => {
    const replica = replicaOf({ clusters: [A, B], turnMs: -1 });
    const entry = replica.rollouts.get("upgrades");
    assert.ok(entry);
    const sorted = entry.refreshed();
    replica.load("upgrades", { clusterSelector: { matchLabels: { wave: "none" } } });
    await sorted;
    assert.deepEqual(await entry.held(), []);
    assert.deepEqual(entry.queue.order, []);
  });

  test("after two seconds where nothing has changed", () => {
    const replica = replicaOf({ specs: { upgrades: { retryAfterSeconds: 5 } }, clusters: [A, B] });
    for (const cluster of [A, B]) ask(replica, cluster);
    for (let seconds = 1; seconds <= 23; seconds += 1) {
      replica.time.nowMs += 1000;
      ask(replica, B);
    }
    assert.equal(ask(replica, B), "go", "A has been silent for longer than 20 s");
  });
});

test("a change of a Cluster is looked at by every rollout", () => {
  const replica = replicaOf({ specs: { fleet: {}, zone: {} }, status: readyStatus() });
  replica.seen.dirty = 0;
  replica.put(A);
  replica.remove("a");
  assert.equal(replica.seen.dirty, 4);
});

describe("a deletion in the foreground", () => {
  const CALL = { hook: "BeforeClusterDelete" } as const;
  const now = NOW.toISOString();
  const claim = claimOf("a", { target: "", claimedAt: now, renewedAt: now });
  const cases: readonly (readonly [string, Partial<HookRolloutSpec>, RolloutClaim[], string | undefined])[] =
    [
      ["waits for a slot, also for one that is free", {}, [], "NotItsTurn"],
      ["passes with its slot", {}, [claim], undefined],
      ["is held by a rollout that is paused, also with its slot", { paused: true }, [claim], "Paused"],
      ["is not held by a rollout of mode Audit", { mode: "Audit" }, [], undefined],
      ["is not held by a rollout of upgrades", { operation: "Upgrade" }, [], undefined],
    ];
  for (const [title, spec, running, reason] of cases)
    test(title, async () => {
      const { api, rollouts } = replicaOf({
        specs: { deletions: { operation: "Delete", ...spec } },
        status: readyStatus({ running }),
        clusters: [A],
      });
      const confirmation = rollouts.withoutSlot(requestOf(A, CALL), released(A));
      assert.ok(confirmation.ok);
      const { holds, rollout } = confirmation.decision;
      assert.deepEqual([holds, rollout?.reason], [reason !== undefined, reason]);
      assert.deepEqual(api.requests, [], "nothing is read or written");
    });
});
