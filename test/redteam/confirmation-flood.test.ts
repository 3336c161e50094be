/**
 * Whoever reaches the port can ask for as many releases as they like, each of which the operator has to confirm: that
 * must not take the reads away from Cluster API's own calls.
 */

import assert from "node:assert/strict";
import test, { afterEach, beforeEach, describe, mock } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import * as fc from "fast-check";
import type { Cluster } from "../../src/api/meta.ts";
import { type LiveReader, LiveReads } from "../../src/decisions/live-reads.ts";
import type { Confirmation } from "../../src/policy/decision.ts";
import { APPROVED, cluster, DELETE, hookPolicy, namespace, NOW } from "../unit/builders.ts";
import { policyList, silent, storeWith } from "../unit/memory/fixtures.ts";
import type { DecisionRequest } from "../../src/policy/world.ts";
import { testConfirmer } from "../unit/decisions/confirmer.ts";

/** An API server that answers one read at a time, in the order in which they came. */
class SlowServer implements LiveReader {
  readonly #waiting: { readonly what: string; answer(): void }[] = [];
  readonly #policies: readonly ReturnType<typeof hookPolicy>[];
  readonly #stuck: (what: string) => boolean;
  #version = 1_000_000;
  begun = 0;
  answered = 0;

  constructor(policies: readonly ReturnType<typeof hookPolicy>[], stuck = (_: string): boolean => false) {
    this.#policies = policies;
    this.#stuck = stuck;
  }

  /** The two lists are never of the same version. */
  policies: LiveReader["policies"] = (kind, ns, at = String((this.#version += 1))) =>
    this.#read(`list ${kind} ${ns ?? ""}`, () =>
      policyList(
        this.#policies.map(({ metadata }) => metadata).filter((each) => each.namespace === ns),
        at,
      ),
    );
  cluster: LiveReader["cluster"] = (ns, name) =>
    this.#read(`get Cluster ${ns}/${name}`, () => approved(ns, name));
  namespace: LiveReader["namespace"] = (name) => this.#read(`get Namespace ${name}`, () => namespaceOf(name));
  rollouts: LiveReader["rollouts"] = (at) => this.#read(`list HookRollout at ${at}`, () => []);
  definition: LiveReader["definition"] = (kind) => this.#read(`get the definition of ${kind}`, () => kind);
  overrides: LiveReader["overrides"] = () => this.#read("list HookOverride", () => []);
  namespaces: LiveReader["namespaces"] = () => this.#read("list Namespace", () => []);
  objects: LiveReader["objects"] = () =>
    this.#read("list objects", () => ({ ok: true, namespaced: true, objects: [] }));
  tasks: LiveReader["tasks"] = () => Promise.reject(new Error("not read"));
  clockAheadMs: LiveReader["clockAheadMs"] = () => 0;
  reasonOf: LiveReader["reasonOf"] = () => "Unavailable";

  #read<T>(what: string, result: () => T): Promise<T> {
    this.begun += 1;
    return new Promise((resolve) => {
      this.#waiting.push({ what, answer: () => resolve(result()) });
    });
  }

  /** False: there is nothing to answer. */
  async serve(): Promise<boolean> {
    const index = this.#waiting.findIndex(({ what }) => !this.#stuck(what));
    const [next] = index < 0 ? [] : this.#waiting.splice(index, 1);
    next?.answer();
    if (next !== undefined) this.answered += 1;
    await turn();
    return next !== undefined;
  }
}

function approved(ns: string, name: string): Cluster {
  const deletionTimestamp = NOW.toISOString();
  const annotations = { [APPROVED]: "" };
  return cluster({ namespace: ns, name, uid: `${ns}-${name}`, annotations, deletionTimestamp });
}

function namespaceOf(name: string): ReturnType<typeof namespace> {
  return namespace({ name, uid: `uid-${name}` });
}

const NAMES = Array.from({ length: 100 }, (_, index) => `prod-${index}`);
const POLICIES = ["team-a", "team-b"].map((ns) => hookPolicy({}, { namespace: ns, uid: `uid-${ns}` }));

interface Lab {
  readonly server: SlowServer;
  readonly ask: (cluster: Cluster, review?: Partial<DecisionRequest>) => Promise<Confirmation>;
}

function lab(stuck?: (what: string) => boolean): Lab {
  const { store, clock } = storeWith({
    policies: POLICIES,
    namespaces: ["team-a", "team-b"].map(namespaceOf),
    clusters: [approved("team-b", "prod-0"), ...NAMES.map((name) => approved("team-a", name))],
  });
  const server = new SlowServer(POLICIES, stuck);
  const confirmer = testConfirmer({
    store,
    reader: server,
    now: () => clock.now,
  });
  return { server, ask: (about, review) => confirmer.confirm({ call: DELETE, cluster: about, ...review }) };
}

/** How many reads are answered until it is. */
async function readsUntil(server: SlowServer, confirmation: Promise<Confirmation>): Promise<number> {
  const before = server.answered;
  const asked = { over: false };
  const watched = confirmation.finally(() => (asked.over = true));
  while (!asked.over && (await server.serve()));
  assert.ok((await watched).ok, "it is confirmed");
  return server.answered - before;
}

/** Two lists of policies, their definitions, the Cluster and the Namespace. */
const READS_OF_ONE = 6;
/** The first confirmation reads the definitions before the lists, too. */
const READS_OF_THE_FIRST = READS_OF_ONE + 2;
/** Those that are under way when it is asked for, and its turns among others'. */
const A_FEW = 60;

const ofAll = (index: number): Cluster => approved("team-a", NAMES[index % NAMES.length] ?? "");

const FLOODS: Readonly<Record<string, (index: number) => Cluster>> = {
  "one Cluster of another namespace": () => approved("team-a", "prod-0"),
  "all Clusters of another namespace": ofAll,
  "Clusters that do not exist": (index) => approved("team-a", `invented-${index}`),
  "Clusters that do not exist, of namespaces that do not": (index) => approved(`invented-${index}`, "prod-0"),
  "Clusters that do not exist, of its own namespace": (index) => approved("team-b", `invented-${index}`),
};

describe("a flood of confirmations", () => {
  /** Time passes only where a test says so: in this file alone, others run in the same process. */
  beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
  afterEach(() => mock.timers.reset());

  describe("a confirmation waits for few reads", () => {
    test("where nothing else is asked for", async () => {
      const { server, ask } = lab();
      assert.equal(await readsUntil(server, ask(approved("team-b", "prod-0"))), READS_OF_THE_FIRST);
    });

    for (const [about, flood] of Object.entries(FLOODS)) {
      test(`in a flood about ${about}`, async () => {
        const { server, ask } = lab();
        for (let index = 0; index < 2000; index++) void ask(flood(index));
        await server.serve();
        const reads = await readsUntil(server, ask(approved("team-b", "prod-0")));
        assert.ok(reads <= A_FEW, `${reads} reads`);
      });
    }

    test("in a flood about another Cluster of its namespace", async () => {
      const { server, ask } = lab();
      for (let index = 0; index < 2000; index++) void ask(approved("team-a", "prod-0"));
      await server.serve();
      const reads = await readsUntil(server, ask(approved("team-a", "prod-1")));
      assert.ok(reads <= A_FEW, `${reads} reads`);
    });

    const creation = { call: { hook: "BeforeClusterCreate" }, admission: true } as const;
    const created = approved("team-b", "new");
    const reviews: Readonly<Record<string, Partial<DecisionRequest>>> = {
      "of the API server": { ...creation, fromApiServer: true },
      "of any client": creation,
    };
    for (const [by, review] of Object.entries(reviews)) {
      for (const [about, flood] of Object.entries(FLOODS)) {
        test(`for a review of a creation, ${by}, in a flood about ${about}`, async () => {
          const { server, ask } = lab();
          for (let index = 0; index < 2000; index++) void ask(flood(index));
          await server.serve();
          const reads = await readsUntil(server, ask(created, review));
          assert.ok(reads <= A_FEW, `${reads} reads`);
        });
      }
    }

    test("for a review of a creation while another namespace creates thousands", async () => {
      const { server, ask } = lab();
      const review = { ...creation, fromApiServer: true } as const;
      for (let index = 0; index < 2000; index++) void ask(approved("team-a", `new-${index}`), review);
      await server.serve();
      const reads = await readsUntil(server, ask(created, review));
      assert.ok(reads <= A_FEW, `${reads} reads`);
    });

    test("while those about another namespace are never answered", async () => {
      const { server, ask } = lab((what) => what.includes("Cluster team-a"));
      for (let index = 0; index < 2000; index++) void ask(ofAll(index));
      while (await server.serve());
      const reads = await readsUntil(server, ask(approved("team-b", "prod-0")));
      assert.equal(reads, READS_OF_ONE);
    });
  });

  test("confirmations that wait for the same read share it", async () => {
    const { server, ask } = lab();
    const all = Array.from({ length: 1000 }, () => ask(approved("team-a", "prod-0")));
    while (await server.serve());
    assert.ok((await Promise.all(all)).every(({ ok }) => ok));
    assert.ok(server.begun <= 100, `${server.begun} reads for 1000 confirmations`);
  });

  test("nothing is read for confirmations that are over", async () => {
    const { server, ask } = lab();
    const all = NAMES.map((name) => ask(approved("team-a", name)));
    const { begun } = server;
    mock.timers.tick(3000);
    assert.deepEqual(
      new Set((await Promise.all(all)).map((each) => !each.ok && each.reason)),
      new Set(["Timeout"]),
    );
    while (await server.serve());
    assert.equal(server.begun, begun);
  });

  test("a read that was abandoned while it waited is not given to the next confirmation", async () => {
    const { server, ask } = lab();
    for (const name of NAMES) void ask(approved("team-a", name));
    mock.timers.tick(3000);
    await turn();
    assert.ok((await readsUntil(server, ask(approved("team-a", "prod-99")))) <= A_FEW);
  });

  describe("a law of shared reads", () => {
    const ask = fc.record({
      cluster: fc.constantFrom("a/1", "a/2", "b/1", "unknown/1", "unknown/2"),
      type: fc.constant("ask" as const),
    });
    const answer = fc.record({
      which: fc.nat(20),
      fails: fc.boolean(),
      type: fc.constant("answer" as const),
    });
    const steps = fc.array(fc.oneof(ask, answer), { maxLength: 120 });

    test("no caller gets one that began before it asked, and every caller gets one", async () => {
      await fc.assert(
        fc.asyncProperty(steps, fc.integer({ min: 1, max: 6 }), async (story, places) => {
          let begun = 0;
          const underWay: { answer(fails: boolean): void }[] = [];
          const reader = {
            cluster: () => {
              const number = String((begun += 1));
              const { promise, resolve, reject } = Promise.withResolvers<Cluster>();
              underWay.push({
                answer: (fails) =>
                  fails ? reject(new Error(number)) : resolve(cluster({ resourceVersion: number })),
              });
              return promise;
            },
          } as unknown as LiveReader;
          const reads = new LiveReads(reader, silent, places);
          const checks: Promise<void>[] = [];
          for (const step of story) {
            if (step.type === "answer")
              underWay.splice(step.which % (underWay.length || 1), 1)[0]?.answer(step.fails);
            else {
              const [ns = "", name = ""] = step.cluster.split("/");
              const before = begun;
              const share =
                ns === "unknown" ? { namespace: "?", cluster: "" } : { namespace: ns, cluster: name };
              const got = reads.cluster({ share, over: false }, ns, name).then(
                ({ metadata: { resourceVersion } }) => Number(resourceVersion),
                (error: unknown) => Number((error as Error).message),
              );
              checks.push(
                got.then((number) => assert.ok(number > before, "it began before it was asked for")),
              );
            }
            await turn();
            assert.ok(underWay.length <= places, `${underWay.length} reads in ${places} places`);
          }
          for (let next = underWay.shift(); next !== undefined; next = underWay.shift()) {
            next.answer(false);
            await turn();
          }
          await Promise.all(checks);
        }),
        { numRuns: 200 },
      );
    });
  });
});
