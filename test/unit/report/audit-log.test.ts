/** The audit log: one line for each changed answer, and nothing in it that was observed of an object. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test, { describe } from "node:test";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import type { AnswerVerdict } from "../../../src/hooks/hook-answer.ts";
import { AuditLog } from "../../../src/report/audit-log.ts";
import { AnswerLog } from "../../../src/report/answer-log.ts";
import type { RequestRefusal } from "../../../src/admission/cluster-handler.ts";
import type { AuditEntry, AuditRefusal } from "../../../src/report/audit-entry.ts";
import { createHandler, type DecisionSource } from "../../../src/hooks/hook-handler.ts";
import { WholeBody } from "../../../src/server/bodies.ts";
import { decide } from "../../../src/policy/decide.ts";
import type { Basis, Decision } from "../../../src/policy/decision.ts";
import type { CompiledPolicy } from "../../../src/policy/policy.ts";
import type { World } from "../../../src/policy/world.ts";
import {
  APPROVED,
  at,
  cluster,
  compiled,
  DELETE,
  gated,
  hookPolicy,
  metadata,
  NOW,
  objectsOf,
  override,
  rule,
  world,
} from "../builders.ts";
import { handlerDeps } from "../hooks/deps.ts";
import { silent } from "../memory/fixtures.ts";

const schema: object = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../../schemas/output/audit.json"), "utf8"),
);
const ajv = new Ajv({ allErrors: true });
addFormats.default(ajv);
const fits = ajv.compile(schema);

const request = (over = {}): Buffer =>
  Buffer.from(JSON.stringify({ cluster: { metadata: cluster(over).metadata } }));

function decided(
  policies: readonly CompiledPolicy[],
  over: Partial<World> = {},
  source: Basis["source"] = "Memory",
): Decision {
  const from = world(over);
  return { ...decide(policies, from, DELETE, NOW), basis: { source, world: from, policies } };
}

const policies = [compiled(hookPolicy())];
const blocked = decided(policies);
const allowed = decided(policies, { cluster: cluster({ annotations: { [APPROVED]: "" } }) }, "ApiServer");

function auditTo(write: (line: string) => void): AnswerLog {
  const audit = new AuditLog({ write, instance: "hookpolicy-0", log: silent });
  return new AnswerLog({ log: silent, everyCall: false, audit });
}

/** What is written when the source says one after the other. */
async function written(decisions: readonly (Decision | Partial<DecisionSource>)[], bytes = request()) {
  const lines: AuditEntry[] = [];
  const audit = auditTo((line) => {
    assert.match(line, /^[^\n]*\n$/);
    lines.push(JSON.parse(line));
  });
  for (const each of decisions) {
    const decision = "verdict" in each ? each : blocked;
    const source = {
      ask: () => decision,
      confirm: async () => ({ ok: true, decision }) as const,
      ...("verdict" in each ? {} : each),
    };
    const { handle } = createHandler("BeforeClusterDelete", true, handlerDeps(source, { answers: audit }));
    await handle(new WholeBody([bytes]));
  }
  for (const line of lines) assert.ok(fits(line), JSON.stringify([fits.errors, line]));
  return lines;
}

describe("a line is written", () => {
  test("for rollouts that an override lifts, which it names", async () => {
    const lifted = { ...allowed, overriddenRollouts: [{ rollout: "prod", overriddenBy: "now" }] };
    const lines = await written([allowed, lifted, lifted]);
    assert.deepEqual(
      lines.map(({ decision }) => decision?.overriddenRollouts),
      [undefined, [{ name: "prod", overriddenBy: "now" }]],
    );
  });

  test("when the answer or its reason changes, and not for what only counts down", async () => {
    const soon = { ...blocked, retryAfterSeconds: 3 };
    const said = await written([blocked, soon, blocked, allowed, allowed, blocked]);
    assert.deepEqual(
      said.map(({ before, verdict }) => [before, verdict]),
      [
        [undefined, "Blocked"],
        ["Blocked", "Allowed"],
        ["Allowed", "Blocked"],
      ],
    );
  });

  test("for a go that another policy, or an override, is the reason of", async () => {
    const overridden = decided(policies, { overrides: [override()] });
    const again = decided(policies, { overrides: [override({}, { name: "again", uid: "uid-again" })] });
    const lines = await written([allowed, overridden, again]);
    assert.deepEqual(
      lines.map(({ decision }) => decision?.policies[0]?.overriddenBy),
      [undefined, "let-go", "again"],
    );
  });

  test("with the HookRollout that holds what every policy releases", async () => {
    const rollout = { rollout: "upgrades", reason: "NoFreeSlot", stage: "rest", retryAfterSeconds: 5 };
    const [first, second] = await written([{ ...allowed, verdict: "Blocked", rollout }, allowed]);
    assert.deepEqual(first?.decision?.rollout, { name: "upgrades", reason: "NoFreeSlot", stage: "rest" });
    assert.equal(second?.decision?.rollout, undefined);
  });

  test("for each Cluster, and each life of it", async () => {
    const both = [...(await written([blocked])), ...(await written([blocked], request({ uid: "another" })))];
    assert.deepEqual(
      both.map((line) => line.cluster.uid),
      ["uid-prod-1", "another"],
    );
  });

  test("for each target version of an upgrade, and again of a Cluster that was gone", () => {
    const lines: AuditEntry[] = [];
    const write = (line: string): number => lines.push(JSON.parse(line));
    const audit = auditTo(write);
    const answer = { status: "Success", retryAfterSeconds: 5, message: "" } as const;
    const record = (version: string, verdict: AnswerVerdict): void =>
      audit.record(
        {
          call: {
            hook: "BeforeClusterUpgrade",
            fromKubernetesVersion: "v1.33.0",
            toKubernetesVersion: version,
          },
          cluster: cluster(),
        },
        { verdict, answer },
        NOW,
      );
    record("v1.34.0", "NotLoaded");
    record("v1.35.0", "NotLoaded");
    record("v1.35.0", "NotConfirmed");
    audit.forget("uid-prod-1");
    record("v1.35.0", "NotConfirmed");
    assert.deepEqual(
      lines.map(({ before, verdict }) => [before, verdict]),
      [
        [undefined, "NotLoaded"],
        [undefined, "NotLoaded"],
        ["NotLoaded", "NotConfirmed"],
        [undefined, "NotConfirmed"],
      ],
    );
  });

  test("where nothing was decided, too", async () => {
    const lines = await written([
      { loaded: () => false },
      { ask: () => allowed, confirm: async () => ({ ok: false, reason: "Timeout" }) },
      {
        ask: () => {
          throw new Error("bug");
        },
      },
    ]);
    assert.deepEqual(
      lines.map(({ verdict, decision, answer }) => [verdict, decision, answer.retryAfterSeconds]),
      [
        ["NotLoaded", undefined, 5],
        ["NotConfirmed", undefined, 5],
        ["InternalError", undefined, 5],
      ],
    );
  });
});

describe("a line says", () => {
  test("what was answered, by which policies in which generation, and from which objects", async () => {
    const gate = {
      name: "backed-up",
      object: {
        apiVersion: "velero.io/v1",
        kind: "Backup",
        name: "final",
        expression: "object.secretive == 'x'",
      },
    };
    const backup = (name: string, secretive: string) => ({
      metadata: metadata({ name, uid: `uid-${name}`, resourceVersion: "7" }),
      raw: { secretive },
    });
    const objects = objectsOf({ "velero.io/v1 Backup": [backup("final", "s3cr3t"), backup("other", "")] });
    const [line] = await written([decided([compiled(gated([gate]))], { objects, overrides: [override()] })]);
    assert.ok(line?.decision);
    const { inputs, policies: said, source } = line.decision;
    assert.equal(source, "Memory");
    assert.equal(inputs.cluster.resourceVersion, cluster().metadata.resourceVersion);
    assert.deepEqual([said[0]?.uid, said[0]?.generation], ["uid-protect", 1]);
    assert.deepEqual(inputs.overrides, [{ name: "let-go", uid: "uid-let-go", generation: 1 }]);
    assert.deepEqual(inputs.objects, [
      {
        apiVersion: "velero.io/v1",
        kind: "Backup",
        namespace: "team-a",
        name: "final",
        uid: "uid-final",
        resourceVersion: "7",
      },
    ]);
    assert.doesNotMatch(JSON.stringify(line), /s3cr3t/);
  });

  test("what a go was confirmed from", async () => {
    const [line] = await written([allowed]);
    assert.deepEqual([line?.answer.retryAfterSeconds, line?.decision?.source], [0, "ApiServer"]);
  });

  test("nothing of policies that do not match", async () => {
    const elsewhere = compiled(
      hookPolicy(
        { clusterSelector: { matchLabels: { tier: "none" } } },
        { name: "elsewhere", uid: "uid-elsewhere" },
      ),
    );
    const [line] = await written([decided([elsewhere, ...policies])]);
    assert.deepEqual(
      line?.decision?.policies.map(({ name, uid }) => [name, uid]),
      [["protect", "uid-protect"]],
    );
  });

  test("no more than fits, what holds the Cluster first, and how much is left out", async () => {
    const rules = Array.from({ length: 16 }, (_, n) => rule({ name: `r${n}`, message: "x".repeat(300) }));
    const many = Array.from({ length: 100 }, (_, n) =>
      compiled(hookPolicy({ rules, mode: n < 50 ? "Audit" : "Enforce" }, { name: `p${n}`, uid: `p${n}` })),
    );
    const [line] = await written([decided(many)]);
    assert.ok(JSON.stringify(line).length < 70_000, `${JSON.stringify(line).length}`);
    const { policies: said = [], policiesOmitted } = line?.decision ?? {};
    assert.equal(said.length + (policiesOmitted ?? 0), 100);
    assert.ok(said.length > 0 && said.every(({ holds }) => holds));
  });
});

test("an answer does not depend on its record", async () => {
  const audit = auditTo(() => {
    throw new Error("bug");
  });
  const answer = { status: "Success", retryAfterSeconds: 5, message: "" } as const;
  audit.record({ call: DELETE, cluster: cluster() }, { verdict: "NotLoaded", answer }, at("+1h"));
});

test("the example of docs/audit-log.md is a line", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/audit-log.md"), "utf8");
  const [, example = ""] = /```json\n(.*?)```/s.exec(page) ?? [];
  assert.ok(fits(JSON.parse(example)), JSON.stringify(fits.errors));
});

describe("a refused request", () => {
  const refusal = (username = "jane"): RequestRefusal => ({
    review: { uid: "r", username, dryRun: false, change: { before: cluster() } },
    requested: { call: DELETE, cluster: cluster() },
    outcome: {
      verdict: "Blocked",
      denial: { code: 403, reason: "Forbidden", message: "Cluster team-a/prod-1 cannot be deleted yet" },
      warnings: [],
      decision: blocked,
    },
  });

  function refusals(...requests: readonly RequestRefusal[]): AuditRefusal[] {
    const lines: AuditRefusal[] = [];
    const write = (line: string): void => void lines.push(JSON.parse(line));
    const audit = new AuditLog({ write, instance: "hookpolicy-0", log: silent });
    for (const each of requests) audit.refused(each, NOW);
    for (const line of lines) assert.ok(fits(line), JSON.stringify([fits.errors, line]));
    return lines;
  }

  test("has a line each time, with who sent it, what was said, and why", () => {
    const lines = refusals(refusal(), refusal(), refusal("joe"));
    assert.deepEqual(
      lines.map(({ kind, user, verdict, decision }) => [
        kind,
        user,
        verdict,
        decision?.policies[0]?.rules[0]?.reason,
      ]),
      ["jane", "jane", "joe"].map((user) => ["Refusal", user, "Blocked", "WaitingForAnnotation"]),
    );
    assert.equal(lines[0]?.message, "Cluster team-a/prod-1 cannot be deleted yet");
  });

  test("without a decision has a line, too; a long name is cut", () => {
    const { decision: _, ...outcome } = refusal().outcome;
    const [line] = refusals({
      ...refusal("x".repeat(10_000)),
      outcome: { ...outcome, verdict: "NotLoaded" },
    });
    assert.equal(line?.verdict, "NotLoaded");
    assert.equal(line.decision, undefined);
    assert.ok(line.user.length <= 256);
  });

  test("is distinguished from an answer by the schema", () => {
    const [line] = refusals(refusal());
    assert.ok(!fits({ ...line, kind: "Answer" }));
    assert.ok(!fits({ ...line, answer: { status: "Success", retryAfterSeconds: 0, message: "" } }));
  });
});
