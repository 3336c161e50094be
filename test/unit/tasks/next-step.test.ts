import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { HookTask, HookTaskStatus } from "../../../src/api/hook-policy.ts";
import {
  nextStep,
  type NextStep,
  RETRY_ANNOTATION,
  type TaskSituation,
} from "../../../src/tasks/next-step.ts";
import { cancelled, markedAltered, retried } from "../../../src/tasks/task-progress.ts";
import { ago, attempt, hookTask, NOW } from "./hook-tasks.ts";

const HOUR = 3600;

function next(situation: Partial<TaskSituation>): NextStep {
  return nextStep({
    task: hookTask(),
    permit: { may: "Begin" },
    isUnmade: false,
    isOver: false,
    keepMs: 24 * HOUR * 1000,
    removed: undefined,
    isSurplus: false,
    hasSuccessor: false,
    altered: false,
    now: NOW,
    ...situation,
  });
}

const FAILED = attempt({ uid: "job-1", endedAt: ago(10), outcome: "Failed" });

const LATE = attempt({ uid: "job-1", endedAt: ago(10), outcome: "TimedOut" });

const DELETES = hookTask(
  { begun: 1, attempts: [attempt()] },
  {
    action: { delete: { apiVersion: "v1", kind: "Secret", selector: { matchLabels: { app: "db" } } } },
  },
);

type Expected = NextStep | ((situation: { readonly task: HookTask }) => NextStep);

function writes(statusOf: (situation: { readonly task: HookTask }) => HookTaskStatus): Expected {
  return (situation) => ({ do: "Write", status: statusOf(situation) });
}

const cases: Readonly<Record<string, readonly [situation: Partial<TaskSituation>, step: Expected]>> = {
  "begins what has a permit": [{}, { do: "Begin" }],
  "waits while something passes by itself": [{ permit: { may: "Wait" } }, { do: "Rest", forMs: 10_000 }],
  "says what another run needs": [
    { permit: { may: "Wait", why: "an earlier one has not ended" } },
    { do: "Write", status: { message: "an earlier one has not ended" } },
  ],
  "says it once": [
    {
      permit: { may: "Wait", why: "an earlier one has not ended" },
      task: hookTask({ message: "an earlier one has not ended" }),
    },
    { do: "Rest", forMs: 10_000 },
  ],
  "says it no more once that has ended": [
    { permit: { may: "Wait" }, task: hookTask({ message: "an earlier one has not ended" }) },
    { do: "Write", status: {} },
  ],
  "leaves what it says of an attempt that has failed": [
    {
      permit: { may: "Wait" },
      task: hookTask(
        { message: "exit 1", begun: 1, allowed: 2, attempts: [{ ...FAILED, message: "exit 1" }] },
        { retries: 0 },
      ),
    },
    { do: "Rest", forMs: 10_000 },
  ],
  "says again how the attempt ended once what was in the way has passed": [
    {
      permit: { may: "Wait" },
      task: hookTask(
        {
          message: "its policy cannot be evaluated now",
          begun: 1,
          allowed: 2,
          attempts: [{ ...FAILED, message: "exit 1" }],
        },
        { retries: 0 },
      ),
    },
    writes(({ task }) => ({ ...task.status, message: "exit 1" })),
  ],
  "cancels nothing because memory does not want it any more": [
    { permit: { may: "Never", why: "the Cluster is paused" } },
    { do: "Reconsider", why: "the Cluster is paused" },
  ],
  "cancels what has no further attempt": [
    { task: hookTask({ phase: "Running", begun: 1, allowed: 1, attempts: [FAILED] }) },
    writes(({ task }) => cancelled(task.status ?? {}, "no further attempt is allowed", NOW)),
  ],
  "marks it as over when the operation has ended": [{ isOver: true }, { do: "MarkOver" }],
  "begins nothing for an operation that is over": [
    { task: hookTask({ over: ago(1) }), isOver: true },
    writes(({ task }) =>
      cancelled(task.status ?? {}, "the operation has ended, or is no longer wanted", NOW),
    ),
  ],
  "carries out an attempt that a restart has left": [
    { task: hookTask({ phase: "Running", begun: 1, attempts: [attempt()] }) },
    { do: "CarryOut", attempt: attempt() },
  ],
  "carries out no refused attempt that is not wanted any more": [
    {
      isUnmade: true,
      permit: { may: "Never", why: "the policy is gone" },
      task: hookTask({ begun: 1, attempts: [attempt()] }),
    },
    { do: "Reconsider", why: "the policy is gone" },
  ],
  "ends a refused attempt whose operation is over": [
    { isUnmade: true, isOver: true, task: hookTask({ begun: 1, over: ago(1), attempts: [attempt()] }) },
    writes(({ task }) =>
      cancelled(task.status ?? {}, "the operation has ended, or is no longer wanted", NOW),
    ),
  ],
  "repeats an attempt that may have created something, whether it is wanted or not": [
    {
      permit: { may: "Never", why: "the policy is gone" },
      task: hookTask({ begun: 1, over: ago(1), attempts: [attempt()] }),
    },
    { do: "CarryOut", attempt: attempt() },
  ],
  ...Object.fromEntries(
    [true, false].map((isUnmade) => [
      `carries out no deletion that is not wanted any more (${isUnmade ? "refused" : "after a restart"})`,
      [
        { isUnmade, permit: { may: "Never", why: "the policy is gone" }, task: DELETES },
        { do: "Reconsider", why: "the policy is gone" },
      ],
    ]),
  ),
  "carries out a deletion that a restart has left": [
    { task: DELETES },
    { do: "CarryOut", attempt: attempt() },
  ],
  "ends no refused attempt that was changed": [
    {
      isUnmade: true,
      altered: true,
      permit: { may: "Never", why: "the policy is gone" },
      task: hookTask({ altered: ago(1), begun: 1, attempts: [attempt()] }),
    },
    { do: "Rest" },
  ],
  "observes an attempt whose object exists": [
    { task: hookTask({ phase: "Running", begun: 1, attempts: [attempt({ uid: "job-1" })] }) },
    { do: "Observe", attempt: attempt({ uid: "job-1" }) },
  ],
  "observes what a delete has found": [
    { task: hookTask({ phase: "Running", begun: 1, attempts: [attempt({ targets: [] })] }) },
    { do: "Observe", attempt: attempt({ targets: [] }) },
  ],
  "observes what runs although the operation is over": [
    {
      task: hookTask({ phase: "Running", begun: 1, over: ago(1), attempts: [attempt({ uid: "job-1" })] }),
      isOver: true,
    },
    { do: "Observe", attempt: attempt({ uid: "job-1" }) },
  ],
  "marks what was changed before anything is done": [
    { altered: true, task: hookTask({ phase: "Running", begun: 1, attempts: [attempt()] }) },
    writes(({ task }) => markedAltered(task.status ?? {}, NOW)),
  ],
  "begins nothing that was changed": [{ altered: true, task: hookTask({ altered: ago(1) }) }, { do: "Rest" }],
  "observes what ran before it was changed": [
    {
      altered: true,
      task: hookTask({ altered: ago(1), phase: "Running", attempts: [attempt({ uid: "job-1" })] }),
    },
    { do: "Observe", attempt: attempt({ uid: "job-1" }) },
  ],
  "retries nothing that was changed": [
    {
      altered: true,
      task: hookTask(
        { altered: ago(1), phase: "Failed", endedAt: ago(10) },
        {},
        { [RETRY_ANNOTATION]: "now" },
      ),
    },
    { do: "Rest" },
  ],
  "cancels what was changed once its operation is over": [
    { altered: true, task: hookTask({ altered: ago(1), over: ago(1) }), isOver: true },
    writes(({ task }) =>
      cancelled(task.status ?? {}, "the operation has ended, or is no longer wanted", NOW),
    ),
  ],
  "waits 30 seconds before the second attempt": [
    { task: hookTask({ phase: "Running", begun: 1, allowed: 2, attempts: [FAILED] }, { retries: 1 }) },
    { do: "Rest", forMs: 20_000 },
  ],
  "waits a minute before the third": [
    {
      task: hookTask({ phase: "Running", begun: 2, allowed: 3, attempts: [FAILED, FAILED] }, { retries: 2 }),
    },
    { do: "Rest", forMs: 50_000 },
  ],
  "begins the second attempt then": [
    {
      task: hookTask(
        { phase: "Running", begun: 1, allowed: 2, attempts: [{ ...FAILED, endedAt: ago(31) }] },
        { retries: 1 },
      ),
    },
    { do: "Begin" },
  ],
  "begins at once what a person asked for": [
    { task: hookTask({ phase: "Running", begun: 1, allowed: 2, attempts: [FAILED] }) },
    { do: "Begin" },
  ],
  "removes what a timed-out attempt has created before the next": [
    {
      task: hookTask(
        {
          phase: "Running",
          begun: 1,
          allowed: 2,
          attempts: [attempt({ uid: "job-1", endedAt: ago(40), outcome: "TimedOut" })],
        },
        { retries: 1 },
      ),
    },
    { do: "Begin", after: attempt({ uid: "job-1", endedAt: ago(40), outcome: "TimedOut" }) },
  ],
  "removes what the last attempt has left at its time-out": [
    { task: hookTask({ phase: "Failed", begun: 1, endedAt: ago(10), attempts: [LATE] }) },
    { do: "Remove", attempt: LATE },
  ],
  "removes it although the operation is over, or the policy is not known": [
    {
      task: hookTask({ phase: "Cancelled", begun: 1, endedAt: ago(10), over: ago(20), attempts: [LATE] }),
      isOver: true,
      keepMs: Infinity,
    },
    { do: "Remove", attempt: LATE },
  ],
  "removes it while the next attempt has to wait": [
    { task: hookTask({ phase: "Running", begun: 1, allowed: 2, attempts: [LATE] }, { retries: 1 }) },
    { do: "Remove", attempt: LATE },
  ],
  "removes it while the retry that a person has asked for must not begin yet": [
    {
      task: hookTask({ phase: "Pending", begun: 1, allowed: 2, attempts: [LATE] }),
      permit: { may: "Wait", why: "the Cluster is paused" },
    },
    { do: "Remove", attempt: LATE },
  ],
  "removes it once": [
    {
      task: hookTask({ phase: "Running", begun: 1, allowed: 2, attempts: [LATE] }, { retries: 1 }),
      removed: LATE.name,
    },
    { do: "Rest", forMs: 20_000 },
  ],
  "leaves what has failed, for its logs": [
    { task: hookTask({ phase: "Failed", begun: 1, endedAt: ago(10), attempts: [FAILED] }) },
    { do: "Rest" },
  ],
  "leaves what it has applied in vain": [
    {
      task: hookTask(
        { phase: "Failed", begun: 1, endedAt: ago(10), attempts: [LATE] },
        { action: { apply: { apiVersion: "v1", kind: "ConfigMap" } } },
      ),
    },
    { do: "Rest" },
  ],
  "removes what an expression calls failed before the next": [
    {
      task: hookTask(
        { phase: "Running", begun: 1, allowed: 2, attempts: [FAILED] },
        { failed: "object.status.bad" },
      ),
    },
    { do: "Begin", after: FAILED },
  ],
  "retries what has failed when a person says so": [
    { task: hookTask({ phase: "Failed", endedAt: ago(10) }, {}, { [RETRY_ANNOTATION]: "now" }) },
    writes(({ task }) => retried(task, "now")),
  ],
  "retries also while it cannot remove what the last attempt has left": [
    {
      task: hookTask(
        { phase: "Failed", endedAt: ago(10), attempts: [LATE] },
        {},
        { [RETRY_ANNOTATION]: "now" },
      ),
    },
    writes(({ task }) => retried(task, "now")),
  ],
  "retries once for each time that a person says so": [
    {
      task: hookTask(
        { phase: "Failed", endedAt: ago(10), retriedFor: "now" },
        {},
        { [RETRY_ANNOTATION]: "now" },
      ),
    },
    { do: "Rest" },
  ],
  "retries nothing for an operation that is over": [
    {
      task: hookTask({ phase: "Failed", endedAt: ago(10), over: ago(5) }, {}, { [RETRY_ANNOTATION]: "now" }),
      isOver: true,
    },
    { do: "Rest", forMs: (7 * 24 * HOUR - 5) * 1000 },
  ],
  "keeps what has failed while it counts": [
    { task: hookTask({ phase: "Failed", endedAt: ago(1e6) }) },
    { do: "Rest" },
  ],
  "asks again whether its policy holds for a failure that no Cluster waits for": [
    { task: hookTask({ phase: "Failed", endedAt: ago(1e6) }, { hook: "AfterControlPlaneInitialized" }) },
    { do: "Rest", forMs: 10_000 },
  ],
  "removes a created object after keep": [
    { task: hookTask({ phase: "Succeeded", endedAt: ago(HOUR) }), keepMs: HOUR * 1000 },
    { do: "CleanUp", deleteHookTask: false },
  ],
  "leaves an applied object": [
    {
      task: hookTask(
        { phase: "Succeeded", endedAt: ago(HOUR) },
        { action: { apply: { apiVersion: "v1", kind: "ConfigMap" } } },
      ),
      keepMs: HOUR * 1000,
    },
    { do: "Rest" },
  ],
  "forgets a success a day after the operation": [
    { task: hookTask({ phase: "Succeeded", endedAt: ago(48 * HOUR), over: ago(24 * HOUR) }), isOver: true },
    { do: "CleanUp", deleteHookTask: true },
  ],
  "forgets no success for which another task waits, and removes its object in time": [
    {
      task: hookTask({ phase: "Succeeded", endedAt: ago(48 * HOUR), over: ago(24 * HOUR) }),
      isOver: true,
      isSurplus: true,
      hasSuccessor: true,
    },
    { do: "CleanUp", deleteHookTask: false },
  ],
  "forgets no success while it is not known how long its object is kept": [
    {
      task: hookTask({ phase: "Succeeded", endedAt: ago(48 * HOUR), over: ago(24 * HOUR) }),
      isOver: true,
      keepMs: Infinity,
    },
    { do: "Rest", forMs: Infinity },
  ],
  "forgets a success whose object is removed": [
    {
      task: hookTask({ phase: "Succeeded", endedAt: ago(48 * HOUR), over: ago(24 * HOUR) }),
      isOver: true,
      keepMs: undefined,
    },
    { do: "CleanUp", deleteHookTask: true },
  ],
  "forgets at once what is too much": [
    { task: hookTask({ phase: "Succeeded", endedAt: ago(60), over: ago(1) }), isOver: true, isSurplus: true },
    { do: "CleanUp", deleteHookTask: true },
  ],
};

describe("the leader", () => {
  for (const [name, [situation, step]] of Object.entries(cases))
    test(name, () => {
      const { task = hookTask() } = situation;
      assert.deepEqual(next(situation), typeof step === "function" ? step({ task }) : step);
    });
});
