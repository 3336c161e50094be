/** What is kept of a refused request: more than a log line only if the API server has asked. */

import assert from "node:assert/strict";
import test from "node:test";
import type { AdmissionOutcome } from "../../../src/admission/review.ts";
import type { ClusterReview } from "../../../src/admission/cluster-review.ts";
import { createMetrics } from "../../../src/report/metrics.ts";
import { recordAdmission } from "../../../src/report/admission-recorder.ts";
import { decide } from "../../../src/policy/decide.ts";
import { cluster, compiled, DELETE, hookPolicy, NOW, world } from "../builders.ts";
import { silent } from "../memory/fixtures.ts";

const requested = { call: DELETE, cluster: cluster() };
const review: ClusterReview = {
  uid: "r",
  username: "jane",
  dryRun: false,
  change: { before: requested.cluster },
};
const refused: AdmissionOutcome = {
  verdict: "Blocked",
  denial: { code: 403, reason: "Forbidden", message: "not yet" },
  warnings: [],
  decision: decide([compiled(hookPolicy())], world(), DELETE, NOW),
};

test("reviews without a decision are counted from 0 on, so that the first one is an increase", async () => {
  const text = await createMetrics({ capiVersion: "1.14" }).text();
  for (const verdict of ["NotLoaded", "NotConfirmed", "InternalError"]) {
    const series = `hookpolicy_admission_reviews_total{hook="BeforeClusterDelete",verdict="${verdict}"} 0\n`;
    assert.ok(text.includes(series), verdict);
  }
});

interface Setup {
  readonly authenticated?: boolean;
  readonly dryRun?: boolean;
  readonly outcome?: AdmissionOutcome;
  readonly fails?: boolean;
}

/** What is kept, and the levels of the log. */
function kept({ authenticated = true, dryRun = false, outcome = refused, fails = false }: Setup = {}) {
  const what: string[] = [];
  const levels: string[] = [];
  const note =
    (level: string) =>
    (message: string): void =>
      void levels.push(`${level} ${message}`);
  recordAdmission({
    metrics: createMetrics({ capiVersion: "v1.14" }),
    log: { ...silent, debug: note("debug"), info: note("info"), error: note("error") },
    authenticated,
    policies: {
      requestRefused: () => {
        what.push("policies");
        if (fails) throw new Error("bug");
      },
    },
    audit: { refused: ({ review: { username } }) => void what.push(`audit ${username}`) },
    now: () => NOW,
  }).decided({ ...review, dryRun }, requested, outcome, 0.001);
  return { what, levels };
}

const LINE = "Refused a request about a Cluster";

test("a refusal is in the log, in the audit log and with the policies", () => {
  assert.deepEqual(kept(), { what: ["audit jane", "policies"], levels: [`info ${LINE}`] });
});

test("a dry run changes no policy", () => {
  assert.deepEqual(kept({ dryRun: true }).what, ["audit jane"]);
});

test("nothing is kept of a review that any client may have invented", () => {
  assert.deepEqual(kept({ authenticated: false }), { what: [], levels: [`debug ${LINE}`] });
});

test("a refusal without a decision concerns no policy", () => {
  const { decision: _, ...undecided } = refused;
  assert.deepEqual(kept({ outcome: { ...undecided, verdict: "NotConfirmed" } }).what, ["audit jane"]);
});

test("nothing is kept of a request that passes", () => {
  assert.deepEqual(kept({ outcome: { verdict: "Allowed", warnings: [] } }).what, []);
});

test("the answer does not depend on the record", () => {
  assert.deepEqual(kept({ fails: true }).levels, [`info ${LINE}`, "error Failed to record a refusal"]);
});
