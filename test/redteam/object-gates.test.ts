/** Whoever reaches the port learns from no answer about which they could lie whether the object of a gate is there. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec } from "../../src/api/hook-policy.ts";
import type { Cluster } from "../../src/api/meta.ts";
import type { LiveReader } from "../../src/decisions/live-reads.ts";
import { AnswerLog } from "../../src/report/answer-log.ts";
import { createHandler } from "../../src/hooks/hook-handler.ts";
import { WholeBody } from "../../src/server/bodies.ts";
import type { ObjectReader } from "../../src/policy/watched-objects.ts";
import { APPROVED, cluster, gated, namespace, objectsOf } from "../unit/builders.ts";
import { policyList, silent, storeWith } from "../unit/memory/fixtures.ts";
import { testConfirmer } from "../unit/decisions/confirmer.ts";

const BACKUP: GateSpec = {
  name: "backup",
  object: { apiVersion: "velero.io/v1", kind: "Backup", name: "prod-1" },
};
const APPROVAL: GateSpec = { name: "approved", annotation: { key: APPROVED } };
const policy = gated([APPROVAL, BACKUP], { message: "ask the platform team" });
const metadata = { name: "prod-1", namespace: "team-a", uid: "uid-backup", resourceVersion: "1" };
const THERE = objectsOf({ "velero.io/v1 Backup": [{ metadata }] });
const MISSING = objectsOf({});

const approvedAs = (uid: string, resourceVersion = "100"): Cluster =>
  cluster({ uid, resourceVersion, annotations: { [APPROVED]: "" } });

interface CallResult {
  readonly answer: string;
  readonly reasons: readonly string[];
}

/** `known`: as it is; absent: there is none. */
async function call(sent: Cluster, objects: ObjectReader, known: Cluster | undefined): Promise<CallResult> {
  const { store, clock } = storeWith({ policies: [policy], clusters: known ? [known] : [], objects });
  const reader: LiveReader = {
    policies: async (kind) => policyList(kind === "HookPolicy" ? [policy.metadata] : []),
    cluster: async () => {
      if (known === undefined) throw new Error("not found");
      return known;
    },
    namespace: async () => namespace(),
    namespaces: async () => [],
    rollouts: async () => [],
    definition: async (kind) => kind,
    overrides: async () => [],
    objects: async ({ kind, namespace: ns }) => objects.find(kind, ns),
    tasks: async () => await Promise.reject(new Error("not read")),
    clockAheadMs: () => 0,
    reasonOf: () => "NotFound",
  };
  const now = (): Date => clock.now;
  const confirmer = testConfirmer({
    store,
    reader,
    now,
  });
  const reasons: string[] = [];
  const { handle } = createHandler("BeforeClusterDelete", true, {
    source: {
      loaded: () => true,
      known: () => undefined,
      mayHaveTasks: () => true,
      storeTasks: async () => await Promise.resolve(false),
      inTurn: (_, decide) => decide(),
      ask: (request, at) => store.decider.ask(request, at),
      validity: (request, decision, at) => store.decider.validity(request, decision, at),
      confirm: (request) => confirmer.confirm(request),
    },
    metrics: {
      answered: () => undefined,
      unconfirmed: (reason) => reasons.push(reason),
      discovered: () => undefined,
    },
    answers: new AnswerLog({ log: silent, everyCall: false }),
    log: silent,
    warnRateLimited: () => undefined,
    now,
  });
  const answer = await handle(
    new WholeBody([Buffer.from(JSON.stringify({ cluster: { metadata: sent.metadata } }))]),
  );
  return { answer, reasons };
}

describe("the answer is the same whether the object is there or not, to a call", () => {
  const cases: Record<string, { sent: Cluster; known?: Cluster }> = {
    "about a Cluster that does not exist, which claims to be approved": { sent: approvedAs("invented") },
    "about a Cluster of the same name and another uid": { sent: approvedAs("invented"), known: cluster() },
    "about a Cluster that is not approved": { sent: cluster(), known: cluster() },
    "about a Cluster that does not exist, and is not approved": { sent: cluster({ uid: "invented" }) },
  };
  for (const [name, { sent, known }] of Object.entries(cases)) {
    test(name, async () => {
      const there = await call(sent, THERE, known);
      const missing = await call(sent, MISSING, known);
      assert.equal(there.answer, missing.answer);
      assert.ok(JSON.parse(there.answer).retryAfterSeconds > 0, "it is held");
      assert.doesNotMatch(there.answer, /backup/i);
    });
  }
});

test("why nothing was confirmed is for the metric, and not for the caller", async () => {
  const { answer, reasons } = await call(approvedAs("invented"), MISSING, undefined);
  assert.deepEqual(reasons, ["NotFound"]);
  assert.doesNotMatch(answer, /NotFound|not found/);
});

test("the answer names the object that is missing once nothing else holds the Cluster, and how to go on before", async () => {
  const approved = approvedAs("uid-prod-1");
  assert.match((await call(approved, MISSING, approved)).answer, /gate backup waits for .*Backup/);
  const first = await call(cluster(), MISSING, cluster());
  assert.match(first.answer, /ask the platform team.*, HookPolicy .*gate approved waits for /);
});

test("a Cluster that memory does not have yet is judged by what the API server has of it", async () => {
  const known = approvedAs("uid-prod-1");
  const { store, clock } = storeWith({ policies: [policy], clusters: [], objects: THERE });
  const decision = store.decider.ask({ call: { hook: "BeforeClusterDelete" }, cluster: known }, clock.now);
  assert.equal(decision.basis?.fromRequest, true);
});
