import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { againstPlan, readPlan } from "../../../../src/cli/rollout/against-plan.ts";
import { PLAIN } from "../../../../src/cli/terminal/colour.ts";
import { folder } from "../program.ts";
import { hookRollout, readyStatus, stageOf, TARGET } from "../../rollouts/fixtures.ts";

const PLAN = {
  rollout: "upgrades",
  target: TARGET,
  from: "2026-11-23T08:00:00.000Z",
  stages: [
    { name: "first", succeeded: 1, passed: true },
    { name: "canary", succeeded: 1, passes: "2026-11-23T09:40:00.000Z" },
    { name: "staging", succeeded: 0, passes: "2026-11-23T11:00:00.000Z" },
    { name: "rest", succeeded: 0, passes: "2026-11-23T14:00:00.000Z" },
    { name: "last", succeeded: 0 },
  ],
  clusters: [
    { stage: "rest", ends: "2026-11-23T11:30:00.000Z" },
    { stage: "rest", ends: "2026-11-23T11:30:00.000Z", staysBehind: true },
    { stage: "rest", ends: "2026-11-23T14:00:00.000Z" },
  ],
};

async function saved(t: test.TestContext, text: string): Promise<string> {
  const path = join(await folder(t, {}), "plan.json");
  await writeFile(path, text);
  return path;
}

test("each stage of an earlier plan is compared with the status", async (t) => {
  const plan = await readPlan(await saved(t, JSON.stringify(PLAN)));
  const stages = [
    ...["first", "canary"].map((name) => stageOf(name, { members: 2, succeeded: 1, passed: true })),
    ...["staging", "rest", "last"].map((name) => stageOf(name, { members: 2, closed: name === "last" })),
  ];
  const rollout = hookRollout({}, readyStatus({ targets: [{ version: TARGET, stages }] }));
  const view = {
    now: new Date("2026-11-23T12:00:00Z"),
    colour: PLAIN,
    program: "hookpolicy",
    connection: "",
  };
  const lines = againstPlan(rollout, plan, view);
  assert.deepEqual(
    lines.map((line) => line.trim().replaceAll(/ {2,}/g, " | ")),
    [
      `Plan of 2026-11-23T08:00:00.000Z, against what has happened to ${TARGET}:`,
      "STAGE | PLANNED BY NOW | SUCCEEDED | PLANNED TO PASS",
      "first | 1 | 1 | before | passed",
      "canary | 1 | 1 | 2026-11-23T09:40:00Z | passed",
      "staging | 0 | 0 | 2026-11-23T11:00:00Z | late: it has not passed",
      "rest | 1 | 0 | 2026-11-23T14:00:00Z | behind by 1",
      "last | 0 | 0 | unknown | closed again",
    ],
  );
  const narrow = againstPlan(rollout, plan, { ...view, columns: 48 });
  assert.deepEqual(
    narrow.filter((line) => line.length > 48),
    [],
  );
  assert.match(narrow.join("\n"), /^ +planned to pass +2026-11-23T11:00:00Z\n +late: it has not passed$/m);
});

test("a plan to a version that the status does not know is not compared with another one", async (t) => {
  const plan = await readPlan(await saved(t, JSON.stringify(PLAN)));
  const rollout = hookRollout({}, readyStatus({ targets: [{ version: "v1.36.0", stages: [] }] }));
  assert.deepEqual(
    againstPlan(rollout, plan, {
      now: new Date("2026-11-23T12:00:00Z"),
      colour: PLAIN,
      program: "hookpolicy",
      connection: "",
    }),
    [
      `The plan of ${PLAN.from} is to ${TARGET}, of which the status has nothing: no Cluster asks for it, or newer versions have taken its place.`,
    ],
  );
});

test("refuses what is not a plan", async (t) => {
  for (const text of ["-", "{}", "[]"])
    await assert.rejects(readPlan(await saved(t, text)), /is no plan: save one with/);
  await assert.rejects(readPlan("/nowhere/plan.json"), /nowhere/);
});
