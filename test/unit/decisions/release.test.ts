/**
 * Whatever changes between the list of policies and the write of a claim: the operator releases a Cluster only if policies and
 * rollouts allowed it at one moment.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { HookRollout, HookRolloutSpec, ObjectGateSpec } from "../../../src/api/hook-policy.ts";
import type { Cluster, ObjectMeta } from "../../../src/api/meta.ts";
import type { LiveReader } from "../../../src/decisions/live-reads.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { clusterHookPolicy } from "../builders.ts";
import { claimOf, NOW, readyStatus } from "../rollouts/fixtures.ts";
import { policyList, storeWith } from "../memory/fixtures.ts";
import {
  ask,
  type Replica,
  reasonOf,
  replicaOf,
  requestOf,
  waitingCluster,
} from "../rollouts/rollout-fixture.ts";
import { decisionsBy, readerOf, testConfirmer } from "./confirmer.ts";

const [A, B] = [waitingCluster("a"), waitingCluster("b")];
const FREEZE: ObjectMeta = { name: "freeze", uid: "freeze", resourceVersion: "50", generation: 1 };
const FROZEN = { key: "frozen", operator: "Exists" } as const;
/** Stages that let A begin until it has the label. */
const CLOSING: Readonly<Record<string, NonNullable<HookRolloutSpec["stages"]>>> = {
  "the gate of the stage closes": [
    {
      name: "all",
      until: [
        {
          name: "thawed",
          expression: "!has(cluster.metadata.labels) || !('frozen' in cluster.metadata.labels)",
        },
      ],
    },
  ],
  "the Cluster leaves the stages": [
    { name: "all", clusterSelector: { matchExpressions: [{ ...FROZEN, operator: "DoesNotExist" }] } },
  ],
};
const OTHERS_CLAIM = claimOf("b", { claimedAt: NOW.toISOString(), renewedAt: NOW.toISOString() });

interface Lab {
  readonly replica: Replica;
  /** The ClusterHookPolicies in the API server, of which memory has those that the lab was made with. */
  readonly policies: ObjectMeta[];
  /** What the reads of a confirmation show. */
  readonly seen: { cluster: Cluster; objects: LiveReader["objects"] };
  readonly confirm: () => Promise<string>;
  /** Of a deletion of A in the foreground. */
  readonly review: () => Promise<string>;
  /** The reason, "go" for a release. `meanwhile` happens after policies and rollouts were listed. */
  readonly release: (meanwhile?: () => void) => Promise<string>;
}

/** The only slot of the rollout is taken, by another replica, which this one's memory does not know yet. */
function lab(spec: Partial<HookRolloutSpec> = {}, known: readonly PolicyObject[] = []): Lab {
  const replica = replicaOf({ specs: { upgrades: spec }, clusters: [A, B] });
  const { api, rollouts } = replica;
  claimForB(replica);
  const policies: ObjectMeta[] = known.map(({ metadata }) => metadata);
  const { store } = storeWith({ policies: [...known], clusters: [A, B], namespaces: [replica.namespace] });
  const none = readerOf([]);
  const seen: Lab["seen"] = { cluster: A, objects: async (query) => await none.objects(query) };
  const reader = readerOf([], {
    policies: async (kind) => policyList(kind === "ClusterHookPolicy" ? [...policies] : [], api.version),
    rollouts: async () => await api.rollouts(),
    cluster: async () => seen.cluster,
    namespace: async () => replica.namespace,
    objects: async (query) => await seen.objects(query),
  });
  const confirmer = testConfirmer({ store, reader, rollouts, now: () => NOW });
  const tasks = { begin: async () => [], storeAll: async () => true };
  const releases = decisionsBy({ confirmer, rollouts, tasks });
  const confirm = async (): Promise<string> => reasonOf(await releases.confirm(requestOf(A)));
  const review = async (): Promise<string> =>
    reasonOf(
      await releases.confirmRequest({
        call: { hook: "BeforeClusterDelete" },
        cluster: { ...A, metadata: { ...A.metadata, deletionTimestamp: NOW.toISOString() } },
        admission: true,
        cascade: "Foreground",
      }),
    );
  const members = api.members.bind(api);
  const release = async (meanwhile = (): void => undefined): Promise<string> => {
    let once: (() => void) | undefined = meanwhile;
    api.members = async () => {
      once?.();
      once = undefined;
      return await members();
    };
    const fromMemory = ask(replica, A);
    if (fromMemory !== "go") return fromMemory;
    return await confirm();
  };
  return { replica, policies, seen, confirm, review, release };
}

function claimForB({ api }: Replica): void {
  api.put({ ...stored({ api }), status: readyStatus({ running: [OTHERS_CLAIM] }) });
}

function giveBack({ api }: Replica): void {
  api.put({ ...stored({ api }), status: readyStatus() });
}

/** Memory loses the rollout just after it was last compared with the API server. */
function losing({ rollouts }: Replica): void {
  const snapshot = rollouts.snapshot.bind(rollouts);
  rollouts.snapshot = (hook) => {
    const made = snapshot(hook);
    const hasAll = made?.hasAll.bind(made);
    let compared = 0;
    return (
      made &&
      Object.assign(made, {
        hasAll: (...args: Parameters<typeof made.hasAll>) => {
          compared += 1;
          if (compared === 2) queueMicrotask(() => rollouts.rolloutChanged("upgrades", undefined));
          return hasAll?.(...args);
        },
      })
    );
  };
}

function stored({ api }: Pick<Replica, "api">, name = "upgrades") {
  const object = api.stored.get(name);
  assert.ok(object !== undefined);
  return object;
}

test("a slot that another replica has taken is not free", async () => {
  assert.equal(await lab().release(), "NoFreeSlot");
});

describe("a hold that moves while a slot is taken is never missed:", () => {
  test("a policy is created, then the rollout is deleted", async () => {
    const { replica, policies, release } = lab();
    const reason = await release(() => {
      policies.push(FREEZE);
      replica.api.stored.delete("upgrades");
    });
    assert.equal(reason, "NotConfirmed");
    assert.equal(await release(), "PolicyNotInMemory");
  });

  test("another rollout is created, then the rollout is deleted", async () => {
    const { replica, release } = lab();
    const reason = await release(() => {
      const { metadata, spec, ...object } = stored(replica);
      replica.api.put({
        ...object,
        metadata: { ...metadata, name: "paused", uid: "paused" },
        spec: { ...spec, paused: true },
      });
      replica.api.stored.delete("upgrades");
    });
    assert.equal(reason, "NotConfirmed");
    assert.equal(await release(), "RolloutNotInMemory");
  });

  test("a policy is created, then the slot is given back", async () => {
    const { replica, policies, release } = lab();
    const reason = await release(() => {
      policies.push(FREEZE);
      giveBack(replica);
    });
    assert.equal(reason, "PolicyNotInMemory");
    assert.deepEqual(replica.api.running("upgrades"), ["a"]);
  });

  test("a policy is created, then the other claim is overdue, which no write shows", async () => {
    const { replica, policies, release } = lab();
    const reason = await release(() => {
      policies.push(FREEZE);
      replica.time.now = new Date(NOW.getTime() + 7 * 3_600_000);
    });
    assert.equal(reason, "PolicyNotInMemory");
    assert.deepEqual(replica.api.running("upgrades"), ["b", "a"]);
  });

  test("the status of the rollout is written once the slot is taken", async () => {
    const { replica, release } = lab();
    replica.api.afterWrite = () => {
      replica.api.afterWrite = () => undefined;
      const { status, ...object } = stored(replica);
      replica.api.put({ ...object, status: { ...status, failed: [] } });
    };
    assert.equal(await release(() => giveBack(replica)), "RolloutChanging");
  });

  for (const [what, stages] of Object.entries(CLOSING))
    test(`${what}, then the slot is given back`, async () => {
      const { replica, seen, release } = lab({ stages });
      const reason = await release(() => {
        seen.cluster = {
          ...A,
          metadata: { ...A.metadata, resourceVersion: "2", labels: { frozen: "true" } },
        };
        giveBack(replica);
      });
      assert.notEqual(reason, "go");
    });

  test("memory loses the rollout once policies have released the Cluster", async () => {
    const { replica, release } = lab();
    losing(replica);
    assert.equal(await release(), "RolloutNotInMemory");
  });

  test("the slot is given back, and the rollout is edited once it is taken", async () => {
    const { replica, release } = lab();
    replica.api.afterWrite = () => {
      const object = stored(replica);
      const edited = { ...object.metadata, generation: (object.metadata.generation ?? 0) + 1 };
      replica.rollouts.rolloutChanged("upgrades", replica.api.put({ ...object, metadata: edited }));
    };
    assert.equal(await release(() => giveBack(replica)), "RolloutChanging");
  });
});

test("a slot that is given back in time is taken, and the Cluster is released", async () => {
  const { replica, release } = lab();
  assert.equal(await release(() => giveBack(replica)), "go");
  assert.deepEqual(replica.api.running("upgrades"), ["a"]);
});

test("a rollout that is deleted holds one call more at most", async () => {
  const { replica, release } = lab();
  assert.equal(await release(() => replica.api.stored.delete("upgrades")), "NotConfirmed");
  assert.equal(await release(), "go");
});

test("a rollout of a restored etcd holds until memory has it, and not longer", async () => {
  const { replica, release } = lab();
  giveBack(replica);
  const { metadata, ...object } = stored(replica);
  const known = { ...object, metadata: { ...metadata, resourceVersion: "900" } };
  replica.rollouts.rolloutChanged("upgrades", known);
  replica.api.put({ ...object, metadata });
  replica.rollouts.rolloutChanged("upgrades", stored(replica));
  assert.equal(await release(), "RolloutNotInMemory");
  assert.equal(await release(), "go");
});

test("slots may take what is left of the time for the call, and no longer", async (t) => {
  const { replica, release } = lab();
  const { mock } = t.mock.method(replica.rollouts, "takeSlots");
  await release();
  const [budgetMs = Infinity] = mock.calls.map(({ arguments: given }) => given[3]);
  assert.ok(budgetMs > 0 && budgetMs <= 9000, `${budgetMs} ms`);
});

describe("what is absent for the gate of a stage was looked for in the reads of this confirmation:", () => {
  const spec = (object: Partial<ObjectGateSpec>): Pick<HookRolloutSpec, "stages"> => {
    const gate = { apiVersion: "v1", kind: "ConfigMap", absent: true, ...object } as const;
    return { stages: [{ name: "all", until: [{ name: "no-freeze", object: gate }] }] };
  };
  const running = [claimOf("a", { claimedAt: NOW.toISOString(), renewedAt: NOW.toISOString() })];

  /** A has its slot, and the ConfigMap is there all the time. */
  function claimed(given: Pick<HookRolloutSpec, "stages">, present: string) {
    const made = lab(given);
    const { replica, seen } = made;
    replica.load("upgrades", given, 1, readyStatus({ running }));
    const edit = (change: Partial<HookRolloutSpec> = spec({ name: present }), generation = 2): void => {
      const { metadata, ...object } = stored(replica);
      replica.api.put({
        ...object,
        metadata: { ...metadata, generation },
        spec: { ...object.spec, ...change },
        status: readyStatus({ observedGeneration: generation, running }),
      });
    };
    const learn = (): void => replica.rollouts.rolloutChanged("upgrades", stored(replica));
    const asked: (string | undefined)[] = [];
    const during = (meanwhile: () => void): void => {
      seen.objects = async ({ name }) => {
        asked.push(name);
        meanwhile();
        const metadata = { name: present, namespace: "fleet", uid: present, resourceVersion: "5" };
        return { ok: true, namespaced: true, objects: name === present ? [{ metadata }] : [] };
      };
    };
    return { ...made, edit, learn, asked, during };
  }

  test("the slot is renewed when nothing changes", async () => {
    const { confirm, asked, during } = claimed(spec({ name: "freeze-q3" }), "freeze-q4");
    during(() => undefined);
    assert.equal(await confirm(), "go");
    assert.deepEqual(asked, ["freeze-q3"]);
  });

  test("the gate was edited before the call, and memory learns it during the reads", async () => {
    const { confirm, asked, edit, learn, during } = claimed(spec({ name: "freeze-q3" }), "freeze-q4");
    edit();
    during(learn);
    assert.equal(await confirm(), "RolloutNotInMemory");
    assert.deepEqual(asked, []);
    learn();
    assert.equal(await confirm(), "GateOpen");
    assert.deepEqual(asked, ["freeze-q4"]);
  });

  test("the gate is edited during the reads, and memory learns it at once", async () => {
    const { confirm, asked, edit, learn, during } = claimed(spec({ name: "freeze-q3" }), "freeze-q4");
    during(() => {
      edit();
      learn();
    });
    assert.equal(await confirm(), "GateOpen");
    assert.deepEqual(asked, ["freeze-q3"]);
  });

  const holding = {
    "is paused": { paused: true, observedGeneration: 1, generation: 2 },
    "is not ready": { paused: false, observedGeneration: 0, generation: 1 },
  };
  for (const [how, { paused, observedGeneration, generation }] of Object.entries(holding))
    test(`it is created while the rollout ${how}, which ends during the reads`, async () => {
      const given = { ...spec({ name: "freeze" }), paused };
      const { replica, seen, confirm, edit, learn } = claimed(given, "freeze");
      replica.load("upgrades", given, 1, readyStatus({ observedGeneration, running }));
      const objects: { readonly metadata: ObjectMeta }[] = [];
      seen.objects = async () => {
        const found = { ok: true, namespaced: true, objects: [...objects] } as const;
        if (objects.length > 0) return found;
        objects.push({ metadata: { ...FREEZE, namespace: "fleet" } });
        edit({ paused: false }, generation);
        learn();
        return found;
      };
      assert.equal(await confirm(), "GateOpen");
    });

  test("the name depends on the Cluster's status, which changes during the reads", async () => {
    const nameExpression = "'freeze-' + cluster.status.phase.lowerAscii()";
    const { confirm, asked, seen, during } = claimed(spec({ nameExpression }), "freeze-failed");
    const inPhase = (phase: string): Cluster =>
      waitingCluster("a", { status: { conditions: [], initialization: {}, phase } });
    seen.cluster = inPhase("Provisioned");
    during(() => (seen.cluster = inPhase("Failed")));
    assert.equal(await confirm(), "GateOpen");
    assert.deepEqual(asked, ["freeze-provisioned"]);
  });
});

describe("a deletion in the foreground", () => {
  const deletions = { operation: "Delete" } as const;
  const slot = claimOf("a", { target: "", claimedAt: NOW.toISOString(), renewedAt: NOW.toISOString() });

  function withSlot(known: readonly PolicyObject[] = []): Lab {
    const made = lab(deletions, known);
    made.replica.load("upgrades", deletions, 1, readyStatus({ running: [slot] }));
    return made;
  }

  test("passes with its slot", async () => {
    assert.equal(await withSlot().review(), "go");
  });

  test("is refused by a slot that only memory has: another Cluster has it by now", async () => {
    const { replica, review } = withSlot();
    claimForB(replica);
    assert.equal(await review(), "RolloutNotInMemory");
    replica.rollouts.rolloutChanged("upgrades", stored(replica));
    assert.equal(await review(), "NotItsTurn");
  });

  test("is refused by a slot that it has had only since the reads", async () => {
    const { replica, review } = withSlot();
    giveBack(replica);
    afterList(replica, () => {
      const { status: _, ...object } = stored(replica);
      return { ...object, status: readyStatus({ running: [slot] }) };
    });
    assert.equal(await review(), "RolloutNotInMemory");
  });

  const others: Readonly<Record<string, Partial<HookRolloutSpec>>> = {
    "of upgrades": {},
    "of mode Audit": { ...deletions, mode: "Audit" },
    "of other Clusters": { ...deletions, clusterSelector: { matchLabels: { tier: "other" } } },
  };
  for (const [which, spec] of Object.entries(others))
    test(`passes while a rollout ${which} is written, which memory learns later or sooner`, async () => {
      const { replica, review } = withSlot();
      replica.load("other", spec, 1, readyStatus());
      const written = (): HookRollout => ({
        ...stored(replica, "other"),
        status: readyStatus({ failed: [] }),
      });
      replica.api.put(written());
      assert.equal(await review(), "go");
      afterList(replica, written);
      assert.equal(await review(), "go");
    });

  test("is refused by a policy, also while its rollout is written", async () => {
    const { replica, review } = withSlot([clusterHookPolicy()]);
    claimForB(replica);
    assert.equal(await review(), "held");
  });

  test("is refused if memory loses the rollout during the reads", async () => {
    const { replica, review } = withSlot();
    giveBack(replica);
    losing(replica);
    assert.equal(await review(), "RolloutNotInMemory");
  });
});

/** A write after the rollouts were listed, which memory learns at once. */
function afterList({ api, rollouts }: Replica, written: () => HookRollout): void {
  const list = api.rollouts.bind(api);
  api.rollouts = async () => {
    const read = await list();
    const object = api.put(written());
    rollouts.rolloutChanged(object.metadata.name, object);
    return read;
  };
}
