/** What the commands say of a rollout that is stored. */

import assert from "node:assert/strict";
import test, { describe, type TestContext } from "node:test";
import { answering, FORBIDDEN } from "../api-server.ts";
import { folder } from "../program.ts";
import { hookpolicy } from "../resident.ts";
import { stageOf } from "../../rollouts/fixtures.ts";

const PATH = "GET /apis/hookpolicy.dev/v1alpha1/hookrollouts";
const METADATA = { name: "prod", uid: "r", generation: 1, resourceVersion: "1" };
const SPEC = { operation: "Upgrade", namespaceSelector: {}, progressDeadline: "6h", paused: true };
const READY = { type: "Ready", status: "True", reason: "Paused", message: "Paused: nothing more begins" };
const ROLLOUT = {
  metadata: {
    ...METADATA,
    labels: { team: "a" },
    annotations: { "hookpolicy.dev/pause-reason": "INC-42" },
  },
  spec: SPEC,
  status: { observedGeneration: 1, conditions: [READY], targets: [] },
};

/** The command's output, over an API server of this rollout. */
async function run(t: TestContext, rollout: object, ...args: readonly string[]) {
  const items = { metadata: { resourceVersion: "1" }, items: [rollout] };
  let lists = 0;
  const { kubeconfig } = await answering(t, {
    // A watch ends.
    get [PATH]() {
      return (lists += 1) < 4 ? items : FORBIDDEN;
    },
    [`${PATH}/prod`]: rollout,
  });
  return await hookpolicy(["rollout", ...args, "--kubeconfig", kubeconfig]);
}

async function said(...given: Parameters<typeof run>): Promise<string> {
  const { stdout, stderr } = await run(...given);
  return stdout + stderr;
}

describe("why a rollout is paused", () => {
  const because = /paused because: INC-42: nothing more begins before/;
  for (const args of [["status"], ["status", "prod"], ["status", "prod", "-w"]])
    test(args.join(" "), async (t) => assert.match(await said(t, ROLLOUT, ...args), because));

  test("beside a plan", async (t) => {
    const plan = { rollout: "prod", from: "2026-12-01T08:00:00Z", stages: [], clusters: [] };
    const dir = await folder(t, { "plan.json": JSON.stringify(plan) });
    assert.match(await said(t, ROLLOUT, "status", "--plan", `${dir}/plan.json`), because);
  });

  test("before a resumption, if it is halted as well", async (t) => {
    const halted = { type: "Halted", status: "True", reason: "TooManyFailures", message: "1 failed" };
    const status = { ...ROLLOUT.status, conditions: [READY, halted] };
    const text = await said(t, { ...ROLLOUT, status }, "resume", "prod");
    assert.match(text, /It is also paused because: INC-42: nothing more begins/);
  });

  test("as JSON, with its labels", async (t) => {
    const [{ metadata }] = JSON.parse((await run(t, ROLLOUT, "status", "-o", "json")).stdout);
    assert.deepEqual(metadata, ROLLOUT.metadata);
  });
});

for (const reason of ["TooLarge", "NamespaceUnknown"])
  test(`that no stage passes, although it is in force: ${reason}`, async (t) => {
    const message = "In force; the labels of team-a/c1 are not known: no stage passes without it";
    const conditions = [{ ...READY, reason, message }];
    const spec = { ...SPEC, paused: false };
    const rollout = { ...ROLLOUT, spec, status: { ...ROLLOUT.status, conditions } };
    assert.match(await said(t, rollout, "status"), /^HookRollout prod \(Upgrade\): In force; .*not known/m);
  });

for (const operation of ["Create", "Delete"])
  test(`a plan of a rollout of ${operation} is compared with nothing: its status does not say what is done`, async (t) => {
    const stages = [{ name: "all", succeeded: 0, passed: false, passes: "2026-11-01T08:00:00Z" }];
    const clusters = [{ stage: "all", ends: "2026-11-01T08:00:00Z" }];
    const plan = { rollout: "prod", from: "2026-11-01T07:00:00Z", stages, clusters };
    const dir = await folder(t, { "plan.json": JSON.stringify(plan) });
    const rollout = { ...ROLLOUT, spec: { ...SPEC, operation } };
    const { code, stdout, stderr } = await run(t, rollout, "status", "--plan", `${dir}/plan.json`);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(
      stderr,
      /^error: .*plan\.json: HookRollout prod has the operation (Create|Delete): its status does not say which Clusters/,
    );
  });

test("the soak of a stage is its own, also after a stage was put in front of it", async (t) => {
  const clusterSelector = { matchLabels: { wave: "new" } };
  const stages = [
    { name: "new", clusterSelector },
    { name: "canary", clusterSelector, minSuccessTime: "24h" },
    { name: "rest" },
  ];
  const canary = stageOf("canary", { succeeded: 1, soakingSince: "2026-11-21T12:00:00Z" });
  const targets = [{ version: "v1.35.0", stages: [canary, stageOf("rest")] }];
  const conditions = [{ ...READY, reason: "Loaded" }];
  const status = { observedGeneration: 1, conditions, targets };
  const rollout = {
    metadata: { ...METADATA, generation: 2 },
    spec: { ...SPEC, paused: false, stages },
    status,
  };
  assert.match(await said(t, rollout, "status"), /^ +canary .* soaks for 24h, until 2026-11-22T12:00:00Z$/m);
});
