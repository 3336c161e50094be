/**
 * Whatever changes between the list of policies and the write of a claim: the operator releases a Cluster only if policies and
 * rollouts allowed it at one moment.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { HookRolloutSpec } from "../../../src/api/hook-policy.ts";
import type { Cluster, ObjectMeta } from "../../../src/api/meta.ts";
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
  /** The ClusterHookPolicies in the API server, none of which memory has. */
  readonly policies: ObjectMeta[];
  /** What the reads of a confirmation show. */
  readonly seen: { cluster: Cluster };
  /** The reason, "go" for a release. `meanwhile` happens after policies and rollouts were listed. */
  readonly release: (meanwhile?: () => void) => Promise<string>;
}

/** The only slot of the rollout is taken, by another replica, which this one's memory does not know yet. */
function lab(spec: Partial<HookRolloutSpec> = {}): Lab {
  const replica = replicaOf({ specs: { upgrades: spec }, clusters: [A, B] });
  const seen = { cluster: A };
  const { api, rollouts } = replica;
  claimForB(replica);
  const policies: ObjectMeta[] = [];
  const { store } = storeWith({ policies: [], clusters: [A, B], namespaces: [replica.namespace] });
  const reader = readerOf([], {
    policies: async (kind) => policyList(kind === "ClusterHookPolicy" ? [...policies] : [], api.version),
    rollouts: async () => await api.rollouts(),
    cluster: async () => seen.cluster,
    namespace: async () => replica.namespace,
  });
  const confirmer = testConfirmer({ store, reader, now: () => NOW });
  const tasks = { begin: async () => [], storeAll: async () => true };
  const releases = decisionsBy({ confirmer, rollouts, tasks });
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
    return reasonOf(await releases.confirm(requestOf(A)));
  };
  return { replica, policies, seen, release };
}

function claimForB({ api }: Replica): void {
  api.put({ ...stored({ api }), status: readyStatus({ running: [OTHERS_CLAIM] }) });
}

function giveBack({ api }: Replica): void {
  api.put({ ...stored({ api }), status: readyStatus() });
}

function stored({ api }: Pick<Replica, "api">) {
  const object = api.stored.get("upgrades");
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
    const { rollouts } = replica;
    const snapshot = rollouts.snapshot.bind(rollouts);
    rollouts.snapshot = (hook) => {
      const made = snapshot(hook);
      const hasAll = made?.hasAll.bind(made);
      return (
        made &&
        Object.assign(made, {
          hasAll: (...args: Parameters<typeof made.hasAll>) => {
            queueMicrotask(() => rollouts.rolloutChanged("upgrades", undefined));
            return hasAll?.(...args);
          },
        })
      );
    };
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
