/** Many calls at a time, about the Clusters of one namespace or about none that exist: who is decided for next. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import type { Cluster } from "../../src/api/meta.ts";
import { CallTurns } from "../../src/turns/turns.ts";
import { Confirmer } from "../../src/decisions/confirmation.ts";
import { createHandler } from "../../src/hooks/hook-handler.ts";
import { WholeBody } from "../../src/server/bodies.ts";
import { APPROVED, cluster, DELETE, hookPolicy, namespace, rule } from "../unit/builders.ts";
import { policyList, silent, storeWith } from "../unit/memory/fixtures.ts";

const NAMES = Array.from({ length: 50 }, (_, index) => `prod-${index}`);
const POLICIES = ["team-a", "team-b"].map((ns) => hookPolicy({}, { namespace: ns, uid: `uid-${ns}` }));
/** A call with other settings is decided anew. */
const READING = ["team-a", "team-b"].map((ns) => {
  const told = { name: "told", expression: "request.settings.version != ''" };
  const rules = [rule({ until: [{ name: "approved", annotation: { key: APPROVED } }, told] })];
  return hookPolicy({ rules }, { namespace: ns, uid: `uid-${ns}` });
});

function clusterOf(ns: string, name: string, approved = false): Cluster {
  const annotations = approved ? { [APPROVED]: "" } : {};
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  return cluster({ namespace: ns, name, uid: `${ns}-${name}`, annotations, deletionTimestamp });
}

interface Lab {
  readonly ask: (about: Cluster, version?: number) => Promise<string>;
  /** Answers that were given in the turn of the event loop in which the call came. */
  readonly atOnce: () => number;
  /** Of each Cluster that was decided for, in that order. */
  readonly decided: string[];
  readonly recorded: string[];
  readonly unconfirmed: string[];
}

/** `turnMs`: -Infinity gives each decision a turn of the event loop of its own. */
function lab(turnMs = -Infinity): Lab {
  const { store, clock } = storeWith({
    policies: READING,
    namespaces: ["team-a", "team-b"].map((name) => namespace({ name, uid: name })),
    clusters: [...NAMES.map((name) => clusterOf("team-a", name)), clusterOf("team-b", "prod-0")],
  });
  const turns = new CallTurns(turnMs);
  const [decided, recorded, unconfirmed]: [string[], string[], string[]] = [[], [], []];
  const { handle } = createHandler("BeforeClusterDelete", true, {
    source: {
      loaded: () => true,
      known: () => undefined,
      mayHaveTasks: () => true,
      storeTasks: async () => await Promise.resolve(false),
      inTurn: (request, decide, refuse) => turns.run(store.decider.shareOf(request), decide, refuse),
      ask: (request, at) => {
        decided.push(`${request.cluster.metadata.namespace}/${request.cluster.metadata.name}`);
        return store.decider.ask(request, at);
      },
      validity: (request, decision, at) => store.decider.validity(request, decision, at),
      confirm: async () => ({ ok: false, reason: "NotFound" }),
    },
    metrics: {
      answered: () => undefined,
      unconfirmed: (reason) => unconfirmed.push(reason),
      discovered: () => undefined,
    },
    answers: {
      record: (_, { verdict }) => recorded.push(verdict),
      repeat: () => undefined,
      forget: () => undefined,
    },
    log: silent,
    warnRateLimited: () => undefined,
    now: () => clock.now,
  });
  let atOnce = 0;
  const ask: Lab["ask"] = async ({ metadata: about }, version = 1) => {
    const { namespace: ns, name, uid } = about;
    const request = {
      settings: { version: String(version) },
      cluster: { metadata: { namespace: ns, name, uid } },
    };
    const answer = handle(new WholeBody([Buffer.from(JSON.stringify(request))]));
    if (typeof answer === "string") atOnce += 1;
    return await answer;
  };
  return { ask, atOnce: () => atOnce, decided, recorded, unconfirmed };
}

const FLOODS: Readonly<Record<string, (index: number) => Cluster>> = {
  "one Cluster of another namespace": () => clusterOf("team-a", "prod-0"),
  "all Clusters of another namespace": (index) => clusterOf("team-a", NAMES[index % NAMES.length] ?? ""),
  "Clusters that do not exist, of another namespace": (index) => clusterOf("team-a", `invented-${index}`),
  "Clusters that do not exist, of its own namespace": (index) => clusterOf("team-b", `invented-${index}`),
  "Clusters and namespaces that do not exist": (index) => clusterOf(`invented-${index}`, "prod-0"),
};

describe("a flood of calls", () => {
  for (const [about, flood] of Object.entries(FLOODS)) {
    test(`about ${about} lets a call about a known Cluster be decided among the first`, async () => {
      const { ask, decided } = lab();
      for (let index = 0; index < 250; index++) void ask(flood(index), index);
      await ask(clusterOf("team-b", "prod-0"));
      assert.ok(decided.length <= 2, `${decided.length} decisions`);
    });
  }

  test("about one Cluster lets calls about others of its namespace be decided among the first", async () => {
    const { ask, decided } = lab();
    for (let index = 0; index < 250; index++) void ask(clusterOf("team-a", "prod-0"), index);
    await ask(clusterOf("team-a", "prod-1"));
    assert.ok(decided.length <= 2, `${decided.length} decisions`);
  });

  test("is decided one by one as the event loop turns, and every caller gets an answer", async () => {
    const { ask, decided } = lab();
    const answers = NAMES.map((name) => ask(clusterOf("team-a", name)));
    assert.equal(decided.length, 0);
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(decided.length <= 1, `${decided.length} decisions in one turn`);
    await Promise.all(answers);
    assert.equal(decided.length, NAMES.length);
  });

  test("of the same bytes is decided once", async () => {
    const { ask, decided } = lab();
    await Promise.all(Array.from({ length: 100 }, () => ask(clusterOf("team-a", "prod-0"))));
    assert.deepEqual(decided, ["team-a/prod-0"]);
  });

  test("beyond what can wait is held, and is not what the Cluster's last answer was", async () => {
    const { ask, atOnce, recorded, unconfirmed } = lab();
    const all = Array.from({ length: 300 }, (_, index) => ask(clusterOf("team-a", "prod-0"), index));
    assert.equal(atOnce(), 300 - 256);
    for (const answer of await Promise.all(all)) {
      assert.ok(JSON.parse(answer).retryAfterSeconds > 0);
      assert.equal(JSON.parse(answer).status, "Success");
    }
    assert.equal(recorded.length, 256);
    assert.deepEqual(new Set(unconfirmed), new Set(["TooManyCalls"]));
  });
});

test("where nothing waits, a call is answered in the turn of the event loop in which it came", () => {
  const { ask, atOnce } = lab(Infinity);
  for (const name of NAMES) void ask(clusterOf("team-a", name));
  assert.equal(atOnce(), NAMES.length);
});

test("confirmations that share a read decide one by one, those of another namespace among the first", async () => {
  const clusters = [
    ...NAMES.map((name) => clusterOf("team-a", name, true)),
    clusterOf("team-b", "prod-0", true),
  ];
  const { store, clock } = storeWith({
    policies: POLICIES,
    namespaces: ["team-a", "team-b"].map((name) => namespace({ name, uid: name })),
    clusters,
  });
  const decided: (string | undefined)[] = [];
  const decideLive = store.decider.decideLive.bind(store.decider);
  store.decider.decideLive = (request, live, at) => {
    decided.push(live.cluster.metadata.namespace);
    return decideLive(request, live, at);
  };
  const { promise: begin, resolve } = Promise.withResolvers<void>();
  const confirmer = new Confirmer({
    store,
    // Time must not decide: the machine may be slow.
    ownBudgetMs: Infinity,
    reader: {
      policies: async (_, ns) => {
        await begin;
        return policyList(POLICIES.map(({ metadata }) => metadata).filter((each) => each.namespace === ns));
      },
      cluster: async (ns, name) => clusterOf(ns, name, true),
      namespace: async (name) => namespace({ name, uid: name }),
      namespaces: async () => [],
      rollouts: async () => [],
      definition: async (kind) => kind,
      overrides: async () => [],
      objects: async () => ({ ok: true, namespaced: true, objects: [] }),
      reasonOf: String,
      tasks: async () => await Promise.reject(new Error("not read")),
      clockAheadMs: () => 0,
    },
    turns: new CallTurns(-Infinity),
    log: silent,
    now: () => clock.now,
    onStale: () => undefined,
  });
  const flood = Array.from({ length: 300 }, () =>
    confirmer.confirm({ call: DELETE, cluster: clusterOf("team-a", "prod-0") }),
  );
  const other = confirmer.confirm({ call: DELETE, cluster: clusterOf("team-b", "prod-0", true) });
  resolve();
  assert.ok((await other).ok);
  const before = decided.indexOf("team-b");
  assert.ok(before <= 20, `${before} decisions before`);
  assert.ok(
    (await Promise.all(flood)).every(({ ok }) => ok),
    "none is refused",
  );
});
