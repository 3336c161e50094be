/**
 * What no client should send, against the operator as it is shipped: a valid answer or a clean refusal each time, no go
 * for a Cluster that is held, and nobody else notices. HOSTILE_SEED makes other mutants; FULL=1 and `make bench PART=hostile` more.
 */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { ATTACKS } from "../hostile/attacks.ts";
import { endure, startBystander } from "../hostile/siege.ts";
import { startTarget } from "../hostile/target.ts";
import { clusterPolicyRef, policyRef, statusOf } from "../controlplane/policies.ts";
import { runs } from "../generated.ts";

const SEED = Number(process.env["HOSTILE_SEED"] ?? 1);
const SCALE = { mutants: runs(10_000).numRuns, connections: 500, lastsMs: 0, seed: SEED };
/** Of the Deployment: beyond it the kernel ends the process. */
const MEMORY_LIMIT_MIB = 512;

const target = await startTarget();
const bystander = await startBystander(target);
after(async () => {
  await bystander.stop();
  await target.cp.stop();
});

describe("the operator survives, answers others, and lets no Cluster go, under", () => {
  for (const attack of ATTACKS) {
    test(attack.title, async (t) => {
      const { tally, calls, survived, peak } = await endure(target, { attack, scale: SCALE, bystander });
      t.diagnostic(`${tally.sent} sent, ${tally.answered} answered, ${tally.refused} refused, ${peak} MiB`);
      const { invalid, wrongAllows, problems } = tally;
      assert.deepEqual({ survived, invalid, wrongAllows, problems }, UNHARMED, target.operator.daemon.name);
      assert.deepEqual(calls.failures, [], "what the well-behaved client was told");
      assert.ok(tally.sent > 0 && peak < MEMORY_LIMIT_MIB, `${tally.sent} sent, ${peak} MiB`);
    });
  }

  test("all of that, and says of it neither an error nor anything in the status of a policy", async () => {
    const errors = target.operator.lines().filter(({ level }) => level === "error");
    assert.deepEqual(errors, []);
    const protect = statusOf(await target.cp.get(policyRef("team-a", "protect")));
    const announced = statusOf(await target.cp.get(clusterPolicyRef("announced")));
    const known = new Set(target.uids.values());
    const rows = [...(protect.decisions ?? []), ...(announced.decisions ?? [])];
    assert.deepEqual(
      rows.filter(({ clusterUID }) => !known.has(clusterUID)),
      [],
    );
  });
});

const UNHARMED = { survived: true, invalid: 0, wrongAllows: 0, problems: [] };
