/** Clocks that are wrong: what time decides is released only while the API server's clock shows the same. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec } from "../../src/api/hook-policy.ts";
import type { HookCall } from "../../src/api/runtime-hooks.ts";
import { timestamp } from "../../src/lib/instant.ts";
import { APPROVED, at, cluster, clusterHookPolicy, gated, heldAt, rule, UPGRADE } from "../unit/builders.ts";
import { Operators } from "./operators.ts";

const soak: GateSpec = { name: "soak", wait: { duration: "24h" } };
const approval: GateSpec = { name: "approved", annotation: { key: APPROVED } };
const wanted = cluster({}, { topology: { className: "lab", version: "v1.35.0" } });
const upgrading = heldAt("BeforeClusterUpgrade", wanted);
const policy = gated([soak], { hooks: ["BeforeClusterUpgrade"] });

async function isHeld(operators: Operators, call: HookCall = UPGRADE): Promise<boolean> {
  return (await operators.ask(0, call, upgrading)).retryAfterSeconds !== 0;
}

const approved = heldAt(
  "BeforeClusterUpgrade",
  cluster({ annotations: { [APPROVED]: "" } }, { topology: { className: "lab", version: "v1.35.0" } }),
);

describe("(6) a release is not confirmed", () => {
  test("while the clock is ahead of the API server's", async () => {
    const operators = new Operators({ policies: [policy], clusters: [upgrading] });
    operators.passTo(at("+1m"));
    operators.serverNow = () => at("+2m");
    operators.passTo(at("+48h"));
    assert.ok(await isHeld(operators), "a minute has passed");
    assert.equal(operators.unconfirmed.at(-1), "ClockSkewed");
    operators.serverNow = (now) => now;
    assert.ok(!(await isHeld(operators)));
  });

  for (const [what, serverNow] of [
    ["is a minute behind", (now: Date): Date => new Date(now.getTime() + 60_000)],
    ["is a minute ahead", (now: Date): Date => new Date(now.getTime() - 60_000)],
    ["cannot be compared", undefined],
  ] as const) {
    test(`while the clock ${what}, whatever the gates`, async () => {
      const operators = new Operators({
        policies: [gated([approval], { hooks: ["BeforeClusterUpgrade"] })],
        clusters: [approved],
      });
      operators.serverNow = serverNow;
      assert.ok(await isHeld(operators));
      assert.equal(operators.unconfirmed.at(-1), serverNow === undefined ? "ClockUnknown" : "ClockSkewed");
      operators.serverNow = (now) => new Date(now.getTime() + 9000);
      assert.ok(!(await isHeld(operators)), "a few seconds do not matter");
    });
  }
});

test("(6) what began while the clock was ahead counts from when it is right again", async () => {
  const operators = new Operators({ policies: [policy], clusters: [wanted] });
  operators.setClock(at("+365d"));
  operators.set(upgrading);
  operators.setClock(at("+1m"));
  assert.ok(await isHeld(operators));
  operators.passTo(at("+23h"));
  assert.ok(await isHeld(operators));
  operators.passTo(at("+25h"));
  assert.ok(!(await isHeld(operators)), "it waits for a year");
});

test("(6) a deadline that began while the clock was ahead counts from when it is right again", async () => {
  const held = gated([approval], {
    hooks: ["BeforeClusterUpgrade"],
    deadline: { after: "1h", onExpiry: "Allow" },
  });
  const operators = new Operators({ policies: [held], clusters: [wanted] });
  operators.setClock(at("+365d"));
  operators.set(upgrading);
  operators.settle();
  operators.setClock(at("+1m"));
  operators.settle();
  operators.passTo(at("+59m"));
  assert.ok(await isHeld(operators));
  operators.passTo(at("+62m"));
  assert.ok(!(await isHeld(operators)));
});

test("a deadline begins anew after its Cluster was too large, on every replica and after a restart", async () => {
  const hooks = ["BeforeClusterUpgrade" as const];
  const rules = [rule({ hooks, until: [approval], deadline: { after: "1h", onExpiry: "Allow" } })];
  const held = clusterHookPolicy({ clusterSelector: {}, rules });
  const operators = new Operators({ policies: [held], clusters: [upgrading] });
  operators.settle();
  operators.passTo(at("+59m"));
  operators.set({ ...upgrading, tooLarge: true });
  operators.settle();
  operators.passTo(at("+3h"));
  operators.set(upgrading);
  operators.settle();
  const [row] = operators.statusOf(held)?.decisions ?? [];
  assert.equal(row?.timers?.[0]?.blockedSince, timestamp(at("+3h")), "a restart adopts it");
  for (const [minutes, released] of [
    [239, false],
    [240, true],
  ] as const) {
    operators.passTo(at(`+${minutes}m`));
    for (const index of [0, 1]) {
      const { retryAfterSeconds } = await operators.ask(index, UPGRADE, upgrading);
      assert.equal(retryAfterSeconds === 0, released, `after ${minutes} minutes`);
    }
  }
});
