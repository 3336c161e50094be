/** A rollout's status on a real API server while the operator's clock is ahead: it frees no slot for good. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { applyRollout, rolloutStatus } from "../capi/rollout-fleet.ts";
import { clusterRef, createCluster } from "../controlplane/lab.ts";
import { shiftedClock } from "../controlplane/shifted-clock.ts";
import { beginUpgrade, startLab } from "./operator-lab.ts";

const lab = await startLab();
after(async () => await lab.stop());
const { cp } = lab;
await lab.start({ nodeFlags: shiftedClock(0, 2 * 3_600_000) });

describe("an operator whose clock is ahead", () => {
  async function begins(namespace: string, name: string): Promise<void> {
    await createCluster(cp, { namespace, name });
    await beginUpgrade(cp, namespace, name);
  }

  async function runs(namespace: string, ...wanted: readonly string[]): Promise<void> {
    await cp.waitFor(`${wanted.join()} to run`, async () => {
      const { running = [] } = await rolloutStatus(cp, namespace);
      return wanted.every((each) => running.some(({ name }) => name === each));
    });
  }

  test("fails no Cluster whose deadline seems to have passed, and frees no slot", async () => {
    const { daemon, lines } = lab.operator;
    const namespace = "ahead";
    await applyRollout(cp, namespace, namespace, { progressDeadline: "1h" });
    await begins(namespace, "a");
    await runs(namespace, "a");

    daemon.signal("SIGUSR2");
    await cp.patch(clusterRef(namespace, "a"), { metadata: { annotations: { touched: "" } } });
    await cp.waitFor("the status not to be written", async () => {
      const { failed = [] } = await rolloutStatus(cp, namespace);
      assert.deepEqual(failed, []);
      return lines().some(({ error }) => /HookRollout ahead, because .* ClockSkewed/.test(String(error)));
    });

    daemon.signal("SIGUSR2");
    await begins(namespace, "b");
    await runs(namespace, "a", "b");
    const { failed = [] } = await rolloutStatus(cp, namespace);
    assert.deepEqual(failed, []);
  });
});
