/** What a Cluster shows when Cluster API calls, from 1.10 to 1.14, and what it shows of an operation that is not wanted. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { servedHooks } from "../../../src/api/hook-catalog.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import type { HookCall, HookName } from "../../../src/api/runtime-hooks.ts";
import { isWanted } from "../../../src/operations/hook-lives.ts";
import { blocking, FAILED, type ClusterState, shown, versions } from "../../redteam/shown-clusters.ts";
import { cluster, DELETE, NOW } from "../builders.ts";

const [OLD, NEXT, LAST] = ["v1.33.0", "v1.34.0", "v1.35.0"] as const;
const CREATE: HookCall = { hook: "BeforeClusterCreate" };
const begun = { deletionTimestamp: NOW.toISOString() };
const OK = { "runtime.cluster.x-k8s.io/ok-to-delete": "" };
const upgrade = (to: string, from: string = OLD): HookCall => ({
  hook: "BeforeClusterUpgrade",
  fromKubernetesVersion: from,
  toKubernetesVersion: to,
});
const step = (hook: HookName, version: string): HookCall =>
  hook === "BeforeControlPlaneUpgrade" || hook === "BeforeWorkersUpgrade"
    ? { hook, fromKubernetesVersion: OLD, toKubernetesVersion: version }
    : { hook, kubernetesVersion: version };

/** Cluster API has written nothing since the topology changed: its condition is of the generation before. */
function unseen(is: ClusterState): Cluster {
  const { progress: _, ...rest } = shown(is);
  return rest;
}

/** An upgrade to LAST runs, and Cluster API has begun this step of it. */
const runs = (marks: string, atStep?: string): Cluster =>
  shown({ version: LAST, marks, message: "", ...(atStep !== undefined && { step: atStep }) });

type Row = readonly [what: string, call: HookCall, on: Cluster];

function rows(wanted: boolean, minors: readonly number[], table: readonly Row[]): void {
  for (const minor of minors)
    for (const [what, call, on] of table)
      test(`1.${minor}, ${call.hook}: ${what}`, () => {
        assert.equal(isWanted(call, on, servedHooks(minor)), wanted);
      });
}

const EVERY = [10, 11, 12, 13, 14];
const STEPS = [12, 13, 14];
const WORKERS = "AfterControlPlaneUpgrade,BeforeWorkersUpgrade,AfterWorkersUpgrade,AfterClusterUpgrade";
const LAST_MARK = "AfterClusterUpgrade";

describe("a call is about what the Cluster wants", () => {
  rows(true, EVERY, [
    ["a new Cluster without a status", CREATE, cluster({}, { created: false })],
    ["a deletion", DELETE, cluster(begun)],
    ["of a Cluster that was never created", DELETE, cluster(begun, { created: false })],
    ["another version, before Cluster API has written", upgrade(LAST), unseen({ version: LAST })],
    [
      "that an earlier answer has held",
      upgrade(LAST),
      shown({ version: LAST, message: blocking("BeforeClusterUpgrade", LAST, LAST) }),
    ],
    ["after a reconcile that failed", upgrade(LAST), shown({ version: LAST, ...FAILED })],
  ]);
  rows(
    true,
    [10, 11],
    [
      [
        "again, because a step after the marks has failed",
        upgrade(LAST),
        shown({ version: LAST, marks: "AfterControlPlaneUpgrade,AfterClusterUpgrade", ...FAILED }),
      ],
      [
        "the control plane has the version",
        step("AfterControlPlaneUpgrade", LAST),
        shown({
          version: LAST,
          marks: "AfterControlPlaneUpgrade,AfterClusterUpgrade",
          message: "ControlPlane is upgrading",
        }),
      ],
    ],
  );
  rows(true, STEPS, [
    [
      "in the same reconcile as BeforeClusterUpgrade, without a plan",
      step("BeforeControlPlaneUpgrade", NEXT),
      unseen({ version: LAST, marks: LAST_MARK }),
    ],
    [
      "with an old plan",
      step("BeforeControlPlaneUpgrade", LAST),
      shown({
        version: LAST,
        marks: LAST_MARK,
        step: NEXT,
        message: blocking("AfterControlPlaneUpgrade", LAST, NEXT, LAST),
      }),
    ],
    [
      "with the empty annotation of 1.13",
      step("BeforeControlPlaneUpgrade", LAST),
      shown({ version: LAST, marks: LAST_MARK, step: "", ...FAILED }),
    ],
    [
      "with the plan of 1.14",
      step("BeforeControlPlaneUpgrade", NEXT),
      shown({
        version: LAST,
        marks: LAST_MARK,
        message: "",
        controlPlane: { upgradePlan: versions(NEXT, LAST) },
      }),
    ],
    ["a step is done", step("AfterControlPlaneUpgrade", NEXT), runs(WORKERS, NEXT)],
    ["the last step is done", step("AfterControlPlaneUpgrade", LAST), runs(WORKERS, LAST)],
    ["the annotation is not written yet", step("AfterControlPlaneUpgrade", NEXT), runs(WORKERS)],
    [
      "1.12: the mark, but the patch of the control plane has failed",
      step("AfterControlPlaneUpgrade", OLD),
      shown({ version: LAST, marks: WORKERS, ...FAILED }),
    ],
    [
      "workers are next",
      step("BeforeWorkersUpgrade", LAST),
      runs("BeforeWorkersUpgrade,AfterWorkersUpgrade,AfterClusterUpgrade", LAST),
    ],
    [
      "workers are done",
      step("AfterWorkersUpgrade", LAST),
      runs("AfterWorkersUpgrade,AfterClusterUpgrade", LAST),
    ],
    ["everything is done", step("AfterClusterUpgrade", LAST), runs(LAST_MARK, LAST)],
    [
      "a build that does not compare",
      step("BeforeControlPlaneUpgrade", "v1.34.1+k3s2"),
      unseen({ version: "v1.34.1+k3s1", marks: LAST_MARK }),
    ],
  ]);
});

describe("a call is about what the Cluster does not want", () => {
  const held = shown({ version: LAST, message: blocking("BeforeClusterUpgrade", LAST, LAST) });
  rows(false, EVERY, [
    [
      "it has no topology",
      CREATE,
      { ...cluster({}, { created: false }), topology: undefined } as unknown as Cluster,
    ],
    ["it is paused", CREATE, cluster({}, { created: false, paused: true })],
    ["it is created", CREATE, cluster()],
    ["it is being deleted", CREATE, cluster(begun, { created: false })],
    ["no deletion was requested", DELETE, cluster()],
    ["it is paused", DELETE, cluster(begun, { paused: true })],
    ["it has the mark", DELETE, cluster({ ...begun, annotations: OK })],
    ["it is taken back", upgrade(LAST), shown({ version: OLD })],
    ["it is taken back, and Cluster API has not seen that", upgrade(LAST), unseen({ version: OLD })],
    ["another version is wanted", upgrade(NEXT), held],
    ["it is paused", upgrade(LAST), { ...held, paused: true }],
    ["it is being deleted", upgrade(LAST), shown({ version: LAST, ...begun })],
    ["it has the version", upgrade(LAST), shown({ version: LAST })],
    ["the call has no version", { hook: "BeforeClusterUpgrade" }, held],
  ]);
  rows(false, STEPS, [
    ["the upgrade has begun", upgrade(LAST), runs(LAST_MARK)],
    ["no upgrade has begun", step("BeforeControlPlaneUpgrade", LAST), unseen({ version: LAST })],
    [
      "the target was lowered",
      step("BeforeControlPlaneUpgrade", LAST),
      unseen({ version: NEXT, marks: LAST_MARK }),
    ],
    [
      "an older build is the target",
      step("BeforeControlPlaneUpgrade", `${LAST}+vmware.2`),
      unseen({ version: `${LAST}+vmware.1`, marks: LAST_MARK }),
    ],
    ["the step has begun", step("BeforeControlPlaneUpgrade", NEXT), runs(LAST_MARK, NEXT)],
    ["the control plane is between steps", step("BeforeControlPlaneUpgrade", LAST), runs(WORKERS, NEXT)],
    ["a step before", step("AfterControlPlaneUpgrade", NEXT), runs(WORKERS, LAST)],
    ["its mark is gone", step("AfterControlPlaneUpgrade", LAST), runs(LAST_MARK, LAST)],
    ["its mark is gone", step("BeforeWorkersUpgrade", LAST), runs(LAST_MARK, LAST)],
    ["its mark is gone", step("AfterWorkersUpgrade", LAST), runs(LAST_MARK, LAST)],
    ["a step before", step("AfterWorkersUpgrade", NEXT), runs(WORKERS, LAST)],
    ["its mark is gone", step("AfterClusterUpgrade", LAST), shown({ version: LAST })],
    ["another version is wanted since", step("AfterClusterUpgrade", NEXT), runs(LAST_MARK, NEXT)],
    ["it is paused", step("AfterClusterUpgrade", LAST), { ...runs(LAST_MARK, LAST), paused: true }],
  ]);
});
