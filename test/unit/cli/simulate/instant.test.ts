/** That `hookpolicy simulate` says so where it has compared one instant only. */

import assert from "node:assert/strict";
import test from "node:test";
import { folder } from "../program.ts";
import { rawCluster, rawPolicy } from "../raw.ts";
import { hookpolicy } from "../resident.ts";

const CLUSTER = rawCluster({ uid: "5d2c" });

const policy = (name: string, gate: object): string =>
  JSON.stringify(
    rawPolicy(name, {
      rules: [{ name: "r", hooks: ["BeforeClusterUpgrade"], until: [{ name: "g", ...gate }] }],
    }),
  );
const NIGHT = { window: { timeZone: "UTC", allow: [{ schedule: "0 22 * * *", duration: "8h" }] } };

test("one instant is told to be one where windows can change the answer, and a span is none", async (t) => {
  const cwd = await folder(t, {
    "fleet/cluster.yaml": `${JSON.stringify(CLUSTER)}\n---\n${policy("nights", NIGHT)}`,
    "new/nights.yaml": policy("nights", NIGHT),
    "new/more.yaml": policy("more", NIGHT),
    "plain.yaml": policy("nights", { annotation: { key: "example.com/ok", value: "yes" } }),
    "none/cluster.yaml": JSON.stringify(CLUSTER),
  });
  const told = async (against: string, ...args: readonly string[]): Promise<string | undefined> =>
    /only this instant was compared, and (.*)$/m.exec(
      (await hookpolicy(["simulate", "--against", against, ...args], { cwd })).stdout,
    )?.[1];
  const at = ["--at", "2026-11-21T12:00:00Z"];
  const add = "add --from 2026-11-21T12:00:00Z --to 2026-11-28T12:00:00Z to compare a week";
  assert.equal(
    await told("fleet", "-f", "new", ...at),
    `windows can change the answer of HookPolicy team-a/nights, HookPolicy team-a/more: ${add}`,
  );
  assert.equal(
    await told("fleet", "-f", "new", ...at, "-o", "markdown"),
    `windows can change the answer of HookPolicy team-a/nights, HookPolicy team-a/more: ${add}`,
  );
  assert.equal(
    await told("fleet", "-f", "plain.yaml", ...at),
    `windows can change the answer of HookPolicy team-a/nights: ${add}`,
  );
  assert.equal(await told("none", "-f", "plain.yaml", ...at), undefined);
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  assert.equal(await told("fleet", "-f", "new", "--to", tomorrow), undefined);
});
