import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { judgeObject } from "../../../src/policy/tasks/task-outcome.ts";
import { NOW } from "./hook-tasks.ts";

const cluster = {
  metadata: { name: "prod-1", namespace: "team-a", uid: "u", resourceVersion: "1" },
  paused: false,
  created: true,
};
const JOB = { apiVersion: "batch/v1", kind: "Job" };
const POD = { apiVersion: "v1", kind: "Pod" };
const BACKUP = { apiVersion: "velero.io/v1", kind: "Backup" };
const HOOK = { hook: "BeforeClusterUpgrade", request: { toKubernetesVersion: "v1.35.0" } } as const;

function job(type?: string): object {
  const conditions =
    type === undefined ? [] : [{ type, status: "True", reason: "Because", message: "of this" }];
  return { ...JOB, metadata: { name: "j" }, status: { conditions } };
}

const started = (status: object): object => ({
  ...JOB,
  status: { startTime: "2026-11-21T12:00:00Z", ...status },
});

type JudgeInput = Parameters<typeof judgeObject>[0];
type Case = readonly [
  judged: Pick<JudgeInput, "kind" | "object"> & { spec?: object },
  outcome: string,
  message: string,
];

const cases: Readonly<Record<string, Case>> = {
  "a Job without a status is unfinished": [
    { kind: JOB, object: { ...JOB } },
    "Unfinished",
    "the Job has not finished",
  ],
  "a Job that runs is unfinished": [{ kind: JOB, object: job() }, "Unfinished", "the Job has not finished"],
  "a Job whose Pod the API server refuses says so": [
    { kind: JOB, object: started({}) },
    "Unfinished",
    "the Job has not finished: it has no active Pod",
  ],
  "a Job that is suspended says so": [
    { kind: JOB, object: { ...JOB, spec: { suspend: true } } },
    "Unfinished",
    "the Job has not finished: it is suspended (spec.suspend)",
  ],
  "a Job whose Pod cannot start says so": [
    { kind: JOB, object: started({ active: 1, ready: 0 }) },
    "Unfinished",
    "the Job has not finished: 0 of 1 active Pods ready",
  ],
  "a Job whose Pod works only has not finished": [
    { kind: JOB, object: started({ active: 1, ready: 1 }) },
    "Unfinished",
    "the Job has not finished",
  ],
  "a Job that is complete has succeeded": [{ kind: JOB, object: job("Complete") }, "Succeeded", ""],
  "a Job that has failed says why": [{ kind: JOB, object: job("Failed") }, "Failed", "Because: of this"],
  "a Pod has succeeded by its phase": [
    { kind: POD, object: { status: { phase: "Succeeded" } } },
    "Succeeded",
    "",
  ],
  "a Pod has failed by its phase": [
    { kind: POD, object: { status: { phase: "Failed", reason: "Evicted" } } },
    "Failed",
    "Evicted",
  ],
  "a failure comes before a success": [
    { kind: BACKUP, object: {}, spec: { succeeded: "true", failed: "true" } },
    "Failed",
    "it shows that true",
  ],
  "a missing field says: not yet": [
    { kind: BACKUP, object: {}, spec: { succeeded: 'object.status.phase == "Completed"' } },
    "Unfinished",
    'not yet: object.status.phase == "Completed" (object has no field "status")',
  ],
  "a failed expression that cannot be evaluated is no failure": [
    { kind: BACKUP, object: {}, spec: { succeeded: "true", failed: 'object.status.phase == "Failed"' } },
    "Succeeded",
    "",
  ],
  "the call and the Cluster can be read": [
    {
      kind: BACKUP,
      object: { spec: { of: "prod-1 v1.35.0" } },
      spec: { succeeded: "object.spec.of == cluster.metadata.name + ' ' + request.toKubernetesVersion" },
    },
    "Succeeded",
    "",
  ],
  "a kind without a default is never done": [
    { kind: BACKUP, object: {} },
    "Unfinished",
    "nothing says when a Backup is done",
  ],
};

describe("the object of a task", () => {
  for (const [name, [{ spec = {}, ...judged }, outcome, message]] of Object.entries(cases))
    test(name, () => {
      const found = judgeObject({ ...judged, spec: { ...HOOK, ...spec }, cluster, now: NOW });
      assert.deepEqual(found, { outcome, message });
    });
});
