/** A release is for what the Cluster still wants, and by the time before its reads, too. */

import assert from "node:assert/strict";
import test from "node:test";
import type { Cluster } from "../../../src/api/meta.ts";
import type { DecisionRequest } from "../../../src/policy/world.ts";
import type { Confirmation } from "../../../src/policy/decision.ts";
import { APPROVED, at, cluster, DELETE, gated, NOW, period } from "../builders.ts";
import { storeWith } from "../memory/fixtures.ts";
import { readerOf, testConfirmer } from "./confirmer.ts";

const approved = cluster({ deletionTimestamp: NOW.toISOString(), annotations: { [APPROVED]: "" } });
const approval = { name: "approved", annotation: { key: APPROVED } } as const;
const allow = [period("+1m", "+1h")];

interface Setup {
  readonly live?: Cluster;
  readonly known?: Cluster;
  /** The machine's time before the reads, and after them. */
  readonly times?: readonly [Date, Date];
  readonly review?: Pick<DecisionRequest, "admission">;
}

async function confirm({
  live = approved,
  known = live,
  times = [NOW, NOW],
  review,
}: Setup): Promise<Confirmation> {
  const policy = gated([approval, ...(times[1] === NOW ? [] : [{ name: "open", window: { allow } }])]);
  const { store } = storeWith({ policies: [policy], clusters: [known] });
  let [now] = times;
  const reader = readerOf([policy], {
    cluster: async () => {
      now = times[1];
      return live;
    },
  });
  const confirmer = testConfirmer({ store, reader, now: () => now });
  return await confirmer.confirm({ call: DELETE, cluster: live, ...review });
}

const releases = (confirmation: Confirmation): boolean => confirmation.ok && !confirmation.decision.holds;
const NOT_WANTED = { ok: false, reason: "NotWanted" };

test("a Cluster that is paused, or that memory knows to be, is not released", async () => {
  assert.ok(releases(await confirm({})));
  const paused = { ...approved, paused: true };
  assert.deepEqual(await confirm({ live: paused }), NOT_WANTED);
  const later = { ...paused, metadata: { ...paused.metadata, resourceVersion: "101" } };
  assert.deepEqual(await confirm({ known: later }), NOT_WANTED);
});

test("a window that has opened during the reads releases nothing, one that was open does", async () => {
  assert.ok(!releases(await confirm({ times: [NOW, at("+1m")] })));
  assert.ok(releases(await confirm({ times: [at("+1m"), at("+2m")] })));
});

test("a clock that is set back during the reads confirms nothing", async () => {
  const skewed = { ok: false, reason: "ClockSkewed" };
  assert.deepEqual(await confirm({ times: [at("+2m"), at("+1m")] }), skewed);
});

test("the object of a review need not show what the review asks for", async () => {
  const { deletionTimestamp: _, ...alive } = approved.metadata;
  const live = { ...approved, metadata: alive };
  assert.deepEqual(await confirm({ live }), NOT_WANTED);
  assert.ok(releases(await confirm({ live, review: { admission: true } })));
});
