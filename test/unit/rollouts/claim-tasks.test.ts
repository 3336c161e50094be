/** Slots of Clusters whose tasks run before their operation. */

import assert from "node:assert/strict";
import test from "node:test";
import type { RolloutClaim } from "../../../src/api/hook-policy.ts";
import { claim, type ClaimResult, isRenewable } from "../../../src/rollouts/claim.ts";
import { memberOf } from "../../../src/rollouts/member.ts";
import { isOverdue, Slots } from "../../../src/rollouts/slots.ts";
import { candidate, claimOf, clusterMeta, NOW, readyStatus, rolloutOf, TARGET } from "./fixtures.ts";

const HOURS_AGO = "2026-11-23T02:00:00Z";
const OWN = claimOf("a", { claimedAt: HOURS_AGO, renewedAt: HOURS_AGO, tasks: true });

function claimed(forTasks: boolean, own?: RolloutClaim): ClaimResult {
  const rollout = rolloutOf();
  const of = clusterMeta("a");
  const status = readyStatus(own === undefined ? {} : { running: [own] });
  const members = [memberOf(rollout, { metadata: of }, undefined) ?? []].flat();
  const slots = new Slots(rollout, status, members, NOW);
  return claim({ rollout, status, slots, now: NOW }, { ...candidate(rollout, of, TARGET), forTasks });
}

function ownOf(result: ClaimResult): RolloutClaim | undefined {
  assert.ok(result.begins);
  return result.status?.running?.[0];
}

test("a slot that is taken for tasks says so", () => {
  assert.equal(ownOf(claimed(true))?.tasks, true);
  assert.equal(ownOf(claimed(false))?.tasks, undefined);
});

test("while tasks run, the claim is not written again", () => {
  assert.deepEqual(claimed(true, OWN), { begins: true });
});

test("the time of the operation counts from the end of its tasks", () => {
  const own = ownOf(claimed(false, OWN));
  assert.deepEqual([own?.tasks, own?.claimedAt, own?.attempts], [undefined, "2026-11-23T12:00:00Z", 2]);
});

test("a claim for tasks neither expires nor is overdue by time alone", () => {
  const { tasks: _, ...without } = OWN;
  const rollout = rolloutOf();
  assert.deepEqual([isRenewable(OWN, rollout, NOW), isOverdue(rollout, OWN, NOW)], [true, false]);
  assert.deepEqual([isRenewable(without, rollout, NOW), isOverdue(rollout, without, NOW)], [false, true]);
});
