/**
 * A rolling restart as a Deployment with maxSurge 1 and maxUnavailable 0 makes it, under load: real processes behind
 * what a Service would be. Kubelet and kube-proxy are the test's.
 */

import assert from "node:assert/strict";
import { Agent, request as post } from "node:https";
import type { IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { after, before, test } from "node:test";
import type { HookResponse } from "../../src/api/runtime-hooks.ts";
import { hookPath } from "../../src/api/hook-catalog.ts";
import { type Balancer, startBalancer } from "../controlplane/balancer.ts";
import { installClusterDefinition } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { clusterRef, createCluster, NEXT_VERSION } from "../controlplane/lab.ts";
import { installHookPolicy, type Operator, startOperator } from "../controlplane/operator.ts";
import { applyPolicy, APPROVED, approvalRule, policyRef } from "../controlplane/policies.ts";

const HOOK = "BeforeClusterUpgrade";
const NAMESPACE = "team-a";
const CALLS_PER_SECOND = 200;
const CONNECTIONS = 20;
const MAX_UNDER_WAY = 2 * CONNECTIONS;
/** How long a Cluster is not approved, so that calls about it are held. */
const HELD_MS = 400;
const FLAGS = { "leader-elect": "true", "shutdown-delay-duration": "3s" };

/** A stretch of time in which the API server may have stored the approval; absent end: it still may. */
interface Approval {
  readonly from: number;
  to?: number;
}

interface Subject {
  readonly name: string;
  readonly approvals: Approval[];
  /** Any copy that Cluster API may have, not always the newest. */
  copy: object;
  /** How many calls have been told to go. */
  goes: number;
}

interface Call {
  readonly subject: Subject;
  readonly from: number;
  readonly to: number;
  readonly answer?: HookResponse;
  readonly failure?: unknown;
}

let cp: ControlPlane;
let service: Balancer;
/** Cluster API keeps its connections (kubernetes-sigs/cluster-api#13075); older ones open one per call. */
const kept = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
const perCall = new Agent({ keepAlive: false });
const now = (): number => performance.now();

before(async () => {
  cp = await startControlPlane({ seed: "cluster" });
  await installHookPolicy(cp);
  await installClusterDefinition(cp);
  service = await startBalancer();
});
after(async () => {
  kept.destroy();
  await cp?.stop();
  await service?.stop();
});

async function startReplica(name: string): Promise<Operator> {
  const operator = await startOperator(cp, { name, flags: FLAGS });
  service.add(operator.ports);
  await cp.waitFor("the Service to know it", () => service.ready(operator.ports));
  return operator;
}

async function createSubject(name: string): Promise<Subject> {
  const copy = await createCluster(cp, { namespace: NAMESPACE, name, version: NEXT_VERSION });
  return { name, approvals: [], copy: withoutStatus(copy), goes: 0 };
}

function withoutStatus(cluster: object): object {
  return { ...cluster, status: undefined };
}

/** Approves, takes it back once a call has been told to go, and so on; takes down when. */
async function changeMinds(subject: Subject, signal: AbortSignal): Promise<void> {
  const ref = clusterRef(NAMESPACE, subject.name);
  const annotate = async (value: string | null): Promise<void> => {
    subject.copy = withoutStatus(await cp.patch(ref, { metadata: { annotations: { [APPROVED]: value } } }));
  };
  while (!signal.aborted) {
    const approval: Approval = { from: now() };
    subject.approvals.push(approval);
    const { goes } = subject;
    await annotate("true");
    await cp.waitFor(`a go for ${subject.name}`, () => signal.aborted || subject.goes > goes);
    await annotate(null);
    approval.to = now();
    await sleep(HELD_MS);
  }
}

async function call(subject: Subject, agent: Agent): Promise<Call> {
  const from = now();
  const body = {
    cluster: subject.copy,
    fromKubernetesVersion: NEXT_VERSION,
    toKubernetesVersion: NEXT_VERSION,
  };
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const url = `https://127.0.0.1:${service.port}${hookPath(HOOK)}?timeout=10s`;
      post(url, { method: "POST", agent, ca: cp.authority.certificate }, resolve)
        .once("error", reject)
        .end(JSON.stringify(body));
    });
    assert.equal(response.statusCode, 200);
    const answer = (await json(response)) as HookResponse;
    if (isGo(answer)) subject.goes++;
    return { subject, from, answer, to: now() };
  } catch (failure) {
    return { subject, from, failure, to: now() };
  }
}

/** Calls about one Cluster after the other, at a steady pace, but not more at a time than a busy machine can answer. */
async function load(subjects: readonly Subject[], signal: AbortSignal): Promise<Call[]> {
  const calls: Promise<Call>[] = [];
  const started = now();
  let underWay = 0;
  for (let n = 0; !signal.aborted; n++) {
    const subject = subjects[n % subjects.length];
    if (subject !== undefined && underWay < MAX_UNDER_WAY) {
      underWay += 1;
      calls.push(call(subject, n % 4 === 0 ? perCall : kept).finally(() => (underWay -= 1)));
    }
    await sleep(Math.max(1, started + ((n + 1) * 1000) / CALLS_PER_SECOND - now()));
  }
  return await Promise.all(calls);
}

/** Each has had its part of the load. */
async function haveAnswered(operators: readonly Operator[]): Promise<void> {
  for (const operator of operators) {
    await cp.waitFor(`${operator.daemon.name} to have answered calls`, async () => {
      return (await operator.metric("hookpolicy_hook_calls_total", HOOK)) > 100;
    });
  }
}

const isGo = (answer?: HookResponse): boolean =>
  answer?.status === "Success" && answer.retryAfterSeconds === 0;

/** There was no instant of the call at which the API server can have held the approval. */
function isWrongGo(each: Call): boolean {
  const overlaps = ({ from, to = Infinity }: Approval): boolean => from <= each.to && each.from <= to;
  return isGo(each.answer) && !each.subject.approvals.some(overlaps);
}

test("a rolling restart under load fails no call and lets nothing go that is not approved", async (t) => {
  const changing = await Promise.all(["c1", "c2", "c3", "c4"].map(createSubject));
  const held = await Promise.all(Array.from({ length: 16 }, (_, n) => createSubject(`held-${n}`)));
  const stop = new AbortController();
  const old = await Promise.all([startReplica("old-1"), startReplica("old-2")]);
  await applyPolicy(cp, policyRef(NAMESPACE, "protect"), { rules: [approvalRule(HOOK)] });

  const minds = changing.map(async (subject) => await changeMinds(subject, stop.signal));
  const loading = load([...changing, ...held], stop.signal);
  const fresh: Operator[] = [];
  try {
    await haveAnswered(old);
    for (const [index, operator] of old.entries()) {
      fresh.push(await startReplica(`new-${index + 1}`));
      await operator.daemon.stop();
    }
    await haveAnswered(fresh);
  } finally {
    stop.abort();
    await Promise.all(minds);
  }
  const calls = await loading;

  const failed = calls.filter(({ answer }) => answer?.status !== "Success");
  assert.deepEqual(
    failed.slice(0, 3).map(({ failure, answer }) => failure ?? answer),
    [],
  );
  assert.equal(failed.length, 0, `${failed.length} of ${calls.length}`);
  assert.equal(service.refused(), 0);
  assert.deepEqual(
    calls.filter(isWrongGo).map(({ subject, answer }) => [subject.name, answer]),
    [],
  );
  const goes = calls.filter(({ answer }) => isGo(answer)).length;
  t.diagnostic(
    `${calls.length} calls, ${goes} goes, ${[...service.routed().values()].join("/")} connections`,
  );
  assert.ok(goes > 20, `${goes} goes`);
  assert.ok(calls.length - goes > 200, `${calls.length - goes} calls that are held`);
  for (const { daemon } of old) assert.match(daemon.log(), /"msg":"Stopped"/);
});
