/** What docs/gitops.md has a pipeline wait for, by the real kubectl. No operator runs here: statuses are written as it does. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { blocksOf } from "../capi/pages.ts";
import { controlPlaneBinaries } from "../controlplane/binaries.ts";
import type { Ref } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { environment } from "../controlplane/processes.ts";
import { approvalRule, policyRef, storePolicy, storeRollout } from "../controlplane/policies.ts";
import { sharedControlPlane } from "../controlplane/shared.ts";

const run = promisify(execFile);
const COMMANDS = blocksOf("docs/gitops.md")
  .filter(({ language }) => language === "sh")
  .flatMap(({ text }) => text.trimEnd().split("\n"))
  .filter((line) => line.startsWith("kubectl wait "));
/** The page's, where other files use the same API server. */
const [TEAM, ROLLOUT] = ["pipelines", "pipelines"];

describe("a pipeline", () => {
  let cp: ControlPlane;
  let path: string;
  before(async () => {
    cp = await sharedControlPlane();
    path = [dirname((await controlPlaneBinaries()).kubectl), process.env["PATH"]].join(":");
  });
  after(async () => await cp?.stop());

  /** Whether the command ends, or does not yet. */
  async function ends(command: string, within = "2s"): Promise<boolean> {
    const here = command.replace("team-a", TEAM).replace("hookrollout/upgrades", `hookrollout/${ROLLOUT}`);
    const soon = here.replace(/--timeout=\w+/, `--timeout=${within}`);
    assert.notEqual(soon, command);
    const env = environment({ KUBECONFIG: cp.adminKubeconfig, PATH: path });
    return await run("bash", ["-ec", soon], { env }).then(
      () => true,
      (error: unknown) => {
        assert.match(String(error), /timed out|deadline exceeded/);
        return false;
      },
    );
  }

  async function tells(ref: Ref, type: string, status: string, more: object = {}): Promise<void> {
    const { metadata } = await cp.get(ref);
    const condition = {
      type,
      status,
      reason: "Test",
      message: "",
      lastTransitionTime: "2026-11-21T12:00:00Z",
    };
    const observedGeneration = metadata.generation;
    const conditions = [{ ...condition, observedGeneration }];
    await cp.patchStatus(ref, { observedGeneration, conditions, ...more });
  }

  test("waits until all policies are Ready", async () => {
    const [ready = ""] = COMMANDS;
    for (const name of ["one", "two"]) {
      const ref = policyRef(TEAM, name);
      await storePolicy(cp, ref, { rules: [approvalRule("BeforeClusterDelete")] });
      if (name === "two") assert.equal(await ends(ready), false);
      await tells(ref, "Ready", "True");
    }
    assert.equal(await ends(ready, "60s"), true);
  });

  test("waits until the stage has passed for that version, and not for another one", async () => {
    const [, passed = "", halted = "", ...others] = COMMANDS;
    assert.deepEqual(others, []);
    const rollout = await storeRollout(cp, ROLLOUT, {
      stages: [{ name: "canary", clusterSelector: { matchLabels: { env: "canary" } } }, { name: "others" }],
    });
    assert.equal(await ends(passed), false);
    const counts = { members: 1, notAsked: 0, waiting: 0, running: 0, succeeded: 0, failed: 0 };
    const target = (version: string, canary: boolean): object => ({
      version,
      stages: [
        { name: "canary", ...counts, passed: canary },
        { name: "others", ...counts, passed: false },
      ],
    });
    const older = target("v1.34.0", true);
    await tells(rollout, "Halted", "False", { targets: [target("v1.35.0", false), older] });
    assert.deepEqual([await ends(passed), await ends(halted)], [false, false]);
    await tells(rollout, "Halted", "True", { targets: [target("v1.35.0", true), older] });
    assert.deepEqual([await ends(passed, "60s"), await ends(halted, "60s")], [true, true]);
  });
});
