/** Tasks at a hook that Cluster API does not wait for: only a Failure makes it call again. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createHandler, type DecisionSource, type HookHandler } from "../../../src/hooks/hook-handler.ts";
import { WholeBody } from "../../../src/server/bodies.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { stubPolicy } from "../../../src/memory/stored-views.ts";
import { decide } from "../../../src/policy/decide.ts";
import { stubCluster } from "../../../src/views/too-large.ts";
import { cluster, compiled, hookPolicy, NOW } from "../builders.ts";
import { handlerDeps } from "./deps.ts";
import { fleetWithTasks, task, taskWorld, withTasks } from "../policy/tasks/fixtures.ts";

const HOOK = "AfterControlPlaneInitialized";
const body = Buffer.from(JSON.stringify({ cluster: { metadata: cluster().metadata } }));
const policy = withTasks([task()], { hooks: [HOOK] });

interface Case {
  readonly source?: Partial<DecisionSource>;
  readonly object?: PolicyObject;
  /** The Cluster or its Namespace is too large for memory. */
  readonly lacks?: "Cluster" | "Namespace";
  /** Since when the control plane is initialized. */
  readonly minutes?: number;
  /** How long the process runs. */
  readonly runsFor?: number;
}

function handlerOf({ source, object = policy, lacks, minutes = 1, runsFor = 0 }: Case): HookHandler {
  const policies = [compiled(object)];
  const lastTransitionTime = new Date(NOW.getTime() - minutes * 60_000).toISOString();
  const condition = { type: "ControlPlaneInitialized", status: "True", reason: "", lastTransitionTime };
  const whole = cluster({}, { status: { conditions: [condition], initialization: {} } });
  const world = taskWorld({
    cluster: lacks === "Cluster" ? stubCluster(whole) : whole,
    ...(lacks === "Namespace" && { namespace: undefined }),
  });
  let now = new Date(NOW.getTime() - runsFor * 60_000);
  const deps = handlerDeps(
    {
      known: () => world.cluster,
      ask: ({ call }) => {
        const { rendersTasks: _, ...known } = world;
        const decision = decide(policies, known, call, NOW);
        return { ...decision, basis: { source: "Memory", world: known, policies } };
      },
      confirm: () => assert.fail("nothing is released"),
      ...source,
    },
    { now: () => now },
  );
  const handler = createHandler(HOOK, false, deps);
  now = NOW;
  return handler;
}

async function answer(given: Case): Promise<{ status: string; message?: string }> {
  return JSON.parse(await handlerOf(given).handle(new WholeBody([body])));
}

const CONSTANT = "HookPolicy could not store the tasks of this Cluster yet (see the operator's log)";

test("is a success once all of them are stored", async () => {
  let stored = 0;
  const storeTasks = async (): Promise<boolean> => await Promise.resolve((stored += 1) > 0);
  assert.deepEqual(await answer({ source: { storeTasks } }), {
    apiVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1",
    kind: `${HOOK}Response`,
    status: "Success",
  });
  assert.equal(stored, 1);
});

const bug = (): never => {
  throw new Error("bug");
};
const UNDECIDED: Record<string, Partial<DecisionSource>> = {
  "while they cannot be stored": {},
  "while too many calls about the Cluster wait": { inTurn: (_request, _decide, refuse) => refuse() },
  "at an internal error": { ask: bug },
  "at an internal error after the decision": { storeTasks: async () => bug() },
};
for (const [when, source] of Object.entries(UNDECIDED))
  test(`is a failure with a constant text ${when}, for ten minutes at most`, async () => {
    const { status, message } = await answer({ source, runsFor: 60 });
    assert.deepEqual([status, message], ["Failure", CONSTANT]);
    assert.equal((await answer({ source, minutes: 60 })).status, "Failure");
    assert.equal((await answer({ source, minutes: 11, runsFor: 11 })).status, "Success");
  });

test("is a failure while it is not known which tasks there are", async () => {
  assert.equal((await answer({ lacks: "Cluster" })).status, "Failure");
  assert.equal((await answer({ object: stubPolicy(policy) })).status, "Failure");
  const fleet = fleetWithTasks([task()], { hooks: [HOOK] });
  assert.equal((await answer({ object: fleet, lacks: "Namespace" })).status, "Failure");
  assert.equal((await answer({ object: hookPolicy(), lacks: "Cluster" })).status, "Success");
});

test("is a failure where an internal error hides even the Cluster of the call", () => {
  assert.equal(JSON.parse(handlerOf({}).failed()).status, "Failure");
  assert.equal(JSON.parse(handlerOf({ runsFor: 11 }).failed()).status, "Success");
});

test("is a failure while policies are loaded, for ten minutes at most", async () => {
  const source = { loaded: () => false };
  assert.equal((await answer({ source })).status, "Failure");
  assert.equal((await answer({ source, runsFor: 11 })).status, "Success");
});

test("is a success while policies are loaded if none of them has tasks", async () => {
  const source = { loaded: () => false, mayHaveTasks: () => false };
  assert.equal((await answer({ source })).status, "Success");
  assert.equal((await answer({ source: { ...source, mayHaveTasks: () => true } })).status, "Failure");
});
