/**
 * Every status that the operator computes can be stored, however long what others write is: the API server would refuse the whole
 * status for one text, and the operator would write it again and again.
 */

import assert from "node:assert/strict";
import test from "node:test";
import * as fc from "fast-check";
import type { HookTaskStatus } from "../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import { HOOK_TASKS, OVERRIDES, POLICY_RESOURCES, ROLLOUTS } from "../../../src/kube/resources.ts";
import { NOTHING_KNOWN } from "../../../src/memory/policy-entry.ts";
import { heldResult, policyRow, recentResult } from "../../../src/operations/rows.ts";
import type { PolicyTrace, RuleTrace } from "../../../src/policy/decision.ts";
import { computeOverrideStatus } from "../../../src/status/override-reconciler.ts";
import { computeStatus } from "../../../src/status/policy-status.ts";
import {
  attemptBegun,
  attemptEnded,
  attemptFound,
  attemptHindered,
  attemptWaits,
  givenUp,
  retried,
} from "../../../src/tasks/task-progress.ts";
import { runs } from "../../generated.ts";
import { cluster, compiled, hookOverride, hookPolicy, NOW, override, range, UPGRADE } from "../builders.ts";
import { scopeOf } from "../../../src/rollouts/rollout.ts";
import { clusterMeta, hookRollout, readyStatus } from "../rollouts/fixtures.ts";
import { ask, confirm, replicaOf, waitingCluster } from "../rollouts/rollout-fixture.ts";
import { hookTask } from "../tasks/hook-tasks.ts";
import { statusChecker } from "./status-schemas.ts";

/** The longest name of a Cluster, and of everything that the CRDs name. */
const [LONGEST, LONG] = [253, 63];
const named = (length: number, index = 0): string => `n${index}`.padEnd(length, "n");
const text = fc
  .tuple(fc.constantFrom("a", "é", "😀", "\u0007", "\u202e"), fc.constantFrom(1, 62, 63, 64, 256, 257, 1100))
  .map(([letter, length]) => letter.repeat(length));
/** Cluster API takes 256 characters, and before 1.10 any number. */
const version = fc
  .tuple(fc.constantFrom("v1.34.0", "v1.35.1"), fc.constantFrom(0, 40, 56, 57, 80, 248, 400))
  .map(([base, length]) => (length === 0 ? base : `${base}+${"a".repeat(length)}`));

test("of rollouts", async () => {
  const problems = statusChecker(ROLLOUTS);
  const spec = {
    maxConcurrency: 2,
    healthyWhen: [{ name: "ok", expression: "'ok' in cluster.metadata.labels" }],
    stages: [
      { name: named(LONG), clusterSelector: { matchLabels: { wave: "canary" } }, minSucceeded: 0 },
      { name: named(LONG, 1) },
    ],
  };
  const rolloutName = named(LONG);
  const shown = fc.record({
    version,
    marked: fc.boolean(),
    progress: fc.constantFrom({ heldAt: "BeforeClusterUpgrade" } as const, { reconciled: true }, {}),
    labels: fc.constantFrom({ wave: "canary", ok: "" }, { wave: "canary" }, { ok: "" }, {}),
    pin: fc.option(version, { nil: undefined }),
  });
  const step = fc.record({
    index: fc.integer({ min: 0, max: 1 }),
    shown: fc.option(shown, { nil: undefined }),
    calls: fc.boolean(),
    seconds: fc.constantFrom(1, 40, 200, 7200),
  });
  // One takes a slot, and begins.
  const waits = { version: "v1.34.0", marked: false, progress: { heldAt: "BeforeClusterUpgrade" } } as const;
  const first = { ...waits, labels: { wave: "canary", ok: "" } as const, pin: undefined };
  const begins = [first, { ...first, marked: true }].map((shows) => ({
    index: 0,
    shown: shows,
    calls: true,
    seconds: 1,
  }));
  const clusterOf = (index: number, each: Parameters<Parameters<typeof shown.map>[0]>[0]): Cluster => {
    const { marked, progress, labels, pin } = each;
    const metadata = { ...clusterMeta(named(LONGEST, index), labels, marked), uid: `uid-${index}` };
    const pinned = { kind: "MachineDeployment", name: named(LONG), version: pin ?? "" } as const;
    const pinnedWorkers = pin !== undefined && { pinnedWorkers: [pinned] };
    return waitingCluster("", {
      metadata,
      progress,
      topology: { className: "lab", version: each.version, ...pinnedWorkers },
    });
  };
  const failures = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
      const ready = readyStatus({ scope: scopeOf(hookRollout(spec).spec) });
      const replica = replicaOf({ specs: { [rolloutName]: spec }, status: ready });
      const { api, time, put, known, reconciler } = replica;
      const refused: string[] = [];
      const store = api.replaceRolloutStatus.bind(api);
      api.replaceRolloutStatus = async (object, status) => {
        refused.push(...problems(status));
        return await store(object, status);
      };
      for (const { index, shown: now, calls, seconds } of [...begins, ...steps]) {
        if (now !== undefined) put(clusterOf(index, now));
        time.now = new Date(time.now.getTime() + seconds * 1000);
        time.nowMs += seconds * 1000;
        const about = known.get(`fleet/${named(LONGEST, index)}`);
        if (calls && about !== undefined) {
          ask(replica, about);
          await confirm(replica, about);
        }
        await reconciler.reconcile(rolloutName);
      }
      for (const { reason } of api.stored.get(rolloutName)?.status?.failed ?? []) failures.add(reason);
      assert.deepEqual(refused, []);
    }),
    runs(2000),
  );
  assert.deepEqual(
    [...failures].toSorted(),
    ["ProgressDeadlineExceeded", "UnclaimedOperation", "Unhealthy", "VersionChanged"],
    "each was seen",
  );
});

const gates = fc.array(
  fc.record(
    { gate: text, met: fc.constantFrom(false, undefined), reason: fc.constant("Waits"), wanted: text },
    { requiredKeys: ["gate", "met", "reason", "wanted"] },
  ),
  { maxLength: 3 },
);
const rule: fc.Arbitrary<RuleTrace> = fc
  .record({ rule: text, said: text, message: text, gates, verdict: fc.constantFrom("Allowed", "Blocked") })
  .chain(({ gates: found, verdict, ...each }) =>
    fc.integer({ min: 0, max: 4 }).map((tasks) => ({
      ...each,
      verdict: verdict === "Blocked" ? "Blocked" : "Allowed",
      holds: verdict === "Blocked",
      reason: verdict === "Blocked" ? "WaitingForAnnotation" : "DeadlineExpired",
      retryAfterSeconds: 10,
      gates: found.map((gate) => ({ ...gate, observed: "", remedy: `kubectl annotate ${gate.wanted}` })),
      tasks: range(tasks).map((index) => ({
        task: named(LONG, index),
        state: "Proceeded",
        reason: "",
        message: "",
        begins: "Last",
        run: 1,
      })),
      timers: { blockedSince: NOW, gatesMetSince: NOW },
    })),
  );

test("of policies", () => {
  const problems = statusChecker(POLICY_RESOURCES.HookPolicy);
  const policy = compiled(hookPolicy());
  const on = cluster({ name: named(LONGEST), namespace: named(LONG) });
  const { namespace = "", name, uid } = on.metadata;
  const operation = {
    clusterUID: uid,
    namespace,
    cluster: name,
    call: UPGRADE,
    step: "",
    marked: false,
    firstAsked: NOW,
    rules: new Map(),
  };
  const rules = fc.array(rule, { minLength: 1, maxLength: 4 });
  const unavailable = fc.option(fc.record({ reason: fc.constant("Unavailable"), message: text }), {
    nil: undefined,
  });
  fc.assert(
    fc.property(rules, text, unavailable, (all, message, why) => {
      const holds = all.some((each) => each.holds);
      const trace: PolicyTrace = {
        policy: policy.ref,
        mode: "Enforce",
        matched: true,
        verdict: holds ? "Blocked" : "Allowed",
        holds,
        rules: all,
      };
      const tornDown = { reason: "OwnedObjectsDeleted", message } as const;
      const row = policyRow(operation, { trace, policyUID: policy.uid, tornDown }, undefined, NOW);
      const about = { call: UPGRADE, cluster: on };
      const results = [recentResult(about, trace, NOW), heldResult("Refused", about, trace, NOW)];
      const status = computeStatus(
        {
          policy,
          stored: undefined,
          matchedClusters: 1,
          held: row === undefined ? [] : [row],
          before: NOTHING_KNOWN,
          recent: results.filter((each) => each !== undefined),
          objectsUnavailable: why,
          notCalled: why,
        },
        NOW,
      );
      assert.deepEqual(problems(status), []);
    }),
    runs(1000),
  );
});

test("of overrides", () => {
  const problems = statusChecker(OVERRIDES);
  fc.assert(
    fc.property(text, fc.boolean(), (message, isValid) => {
      const policies = new Set(range(10).map((index) => `ClusterHookPolicy ${named(LONG, index)}`));
      const valid = { ...override(), policies };
      const entry = {
        key: "HookOverride//let-go",
        object: hookOverride(),
        compiled: isValid ? valid : { ...valid, problem: { reason: "InvalidSpec" as const, message } },
        used: [],
      };
      assert.deepEqual(problems(computeOverrideStatus(entry, NOW)), []);
    }),
    runs(200),
  );
});

test("of tasks", () => {
  const problems = statusChecker(HOOK_TASKS);
  const change = fc.constantFrom("begun", "found", "waits", "hindered", "ended", "givenUp", "retried");
  fc.assert(
    fc.property(fc.array(fc.tuple(change, text), { maxLength: 40 }), (changes) => {
      const { spec } = hookTask();
      let status: HookTaskStatus = {};
      const name = named(LONGEST);
      for (const [what, message] of changes) {
        const end = { outcome: "Failed", message } as const;
        if (what === "begun") status = attemptBegun({ spec, status }, { name, namespace: named(LONG) }, NOW);
        else if (what === "found") status = attemptFound({ spec, status }, { uid: "uid" }, NOW);
        else if (what === "waits") status = attemptWaits(status, message);
        else if (what === "hindered") status = attemptHindered(status, message);
        else if (what === "ended") status = attemptEnded({ spec, status }, end, NOW);
        else if (what === "givenUp") status = givenUp(status, message, NOW);
        else status = retried({ spec, status }, "again");
        assert.deepEqual(problems(status), []);
      }
    }),
    runs(500),
  );
});
