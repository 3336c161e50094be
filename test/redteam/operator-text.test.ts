/** What a tenant writes into a policy steers the terminal on which its status, an Event, a log or a refusal is read. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as fc from "fast-check";
import { denialOf, joinWarnings } from "../../src/admission/denial.ts";
import { MAX_CONDITION_MESSAGE } from "../../src/api/hook-policy.ts";
import { type ConditionFinding, withTransitions } from "../../src/status/conditions.ts";
import type { EventText } from "../../src/api/event-text.ts";
import { overrideUsed } from "../../src/memory/policy-events.ts";
import { AuditLog } from "../../src/report/audit-log.ts";
import { EventRecorder } from "../../src/report/event-recorder.ts";
import { runs } from "../generated.ts";
import {
  APPROVED,
  cluster,
  DELETE,
  gated,
  heldAt,
  hookPolicy,
  metadata,
  NOW,
  override,
  rule,
} from "../unit/builders.ts";
import { silent } from "../unit/memory/fixtures.ts";
import { ALLOWED, harm, WORST } from "./hostile.ts";
import { Operators } from "./operators.ts";

/** Every key and every string in it. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => [key, ...textsIn(each)]);
}

function assertHarmless(value: unknown): void {
  assert.deepEqual(textsIn(value).map(harm).filter(Boolean), []);
}

const DELETING = heldAt("BeforeClusterDelete", cluster({ deletionTimestamp: NOW.toISOString() }));
const until = [{ name: "approved", annotation: { key: APPROVED, value: WORST } }];
/** As the CRD lets it be, and as it does not. */
const POLICIES = [
  gated(until, { message: ALLOWED }),
  hookPolicy({ rules: [rule({ name: WORST, message: WORST })] }, { name: "named", uid: "uid-named" }),
  hookPolicy({ rules: [rule({ ...({ [WORST]: WORST } as object) })] }, { name: "broken", uid: "uid-broken" }),
];

describe("what a policy holds that steers a terminal", () => {
  test("is harmless in its status, which is written once, and the same after a restart", () => {
    const operators = new Operators({ policies: POLICIES, clusters: [DELETING] });
    operators.settle();
    const statuses = POLICIES.map((policy) => operators.statusOf(policy));
    assertHarmless(statuses);
    const texts = textsIn(statuses).filter((text) => /\\u(?:001b|202e)/.test(text));
    assert.ok(texts.length >= POLICIES.length, "it is shown");
    const restarted = new Operators({ policies: [...operators.policies.values()], clusters: [DELETING] });
    restarted.settle();
    assert.deepEqual(
      POLICIES.map((policy) => restarted.statusOf(policy)),
      statuses,
    );
  });

  test("is harmless in the message that Cluster API writes into its condition", async () => {
    const operators = new Operators({ policies: POLICIES, clusters: [DELETING] });
    const { message } = await operators.ask(0, DELETE, DELETING);
    assertHarmless(message);
    assert.match(message ?? "", /\\u202e/);
  });
});

/** With two ways to read each "$''", of which no regular expression may try all. */
test("a message of quotes that no command ends keeps no operator from its work", async () => {
  const windows = Array.from({ length: 6 }, (_, index) => ({
    name: `window-${index}-${"x".repeat(40)}`,
    window: { timeZone: "UTC", allow: [{ schedule: "0 0 1 1 *", duration: "1h" }] },
  }));
  const hostile = gated(windows, { message: ` (kubectl ${"$''".repeat(80)}'` });
  const operators = new Operators({ policies: [hostile], clusters: [DELETING] });
  operators.settle();
  const [row] = operators.statusOf(hostile)?.decisions ?? [];
  assert.equal(row?.verdict, "Blocked");
  assert.ok((await operators.ask(0, DELETE, DELETING)).retryAfterSeconds);
});

describe("a condition", () => {
  const text = fc.string({
    unit: fc.constantFrom("\u001B", "\u202E", "\u{1F600}", "\n", "a", "\\"),
    maxLength: 2000,
  });

  function conditions(message: string, stored?: ReturnType<typeof withTransitions>) {
    const found: ConditionFinding = { type: "Ready", status: "False", reason: "InvalidSpec", message };
    return withTransitions([found], stored, 1, NOW);
  }

  test("is harmless, as long as the CRD lets it be, whole characters, and the same when it is carried on", () => {
    fc.assert(
      fc.property(text, (message) => {
        const once = conditions(message);
        const said = once[0]?.message ?? "";
        assertHarmless(said);
        assert.ok(Array.from(said).length <= MAX_CONDITION_MESSAGE);
        assert.ok(said.isWellFormed());
        assert.deepEqual(conditions(said, once), once);
      }),
      runs(2000),
    );
  });
});

describe("an Event", () => {
  async function noteOf(text: EventText): Promise<string> {
    const stop = new AbortController();
    let note = "";
    const recorder = new EventRecorder({
      log: silent,
      now: () => NOW,
      onResult: () => stop.abort(),
      client: {
        create: async (_, object) => {
          note = "note" in object ? String(object.note) : "";
          return { ...object, metadata: { ...object.metadata, uid: "", resourceVersion: "1" } };
        },
      },
    });
    recorder.record(text);
    await recorder.run(stop.signal);
    return note;
  }

  test("is harmless, of at most 1 KiB, and of whole characters", async () => {
    for (const name of [WORST, `${"x".repeat(900)}${WORST}`, "\u{1F600}".repeat(400), "\u001B".repeat(400)]) {
      const used = { cluster: cluster(), call: DELETE };
      const note = await noteOf(overrideUsed(override({}, { name: WORST }), used, [name]));
      assertHarmless(note);
      assert.match(note, /\\u001b/);
      assert.ok(Buffer.byteLength(note) <= 1024 && note.isWellFormed());
    }
  });
});

test("the audit log is harmless, and loses nothing", () => {
  const lines: string[] = [];
  const audit = new AuditLog({ write: (line) => void lines.push(line), instance: WORST, log: silent });
  const answer = { status: "Success", retryAfterSeconds: 5, message: WORST } as const;
  audit.answered(
    { call: DELETE, cluster: cluster({ name: WORST }) },
    { verdict: "Blocked", answer },
    undefined,
    NOW,
  );
  assert.deepEqual(lines.map(harm), [undefined]);
  const [entry] = lines.map((line) => JSON.parse(line));
  assert.deepEqual([entry.instance, entry.cluster.name, entry.answer.message], [WORST, WORST, WORST]);
});

test("a refusal by admission, and its warnings, are harmless for kubectl to print", () => {
  const policy = { kind: "HookPolicy", metadata: metadata({ name: WORST }) } as Parameters<
    typeof denialOf
  >[0];
  const { message, details } = denialOf(policy, "invalid", [{ path: `spec.${WORST}`, message: WORST }]);
  assertHarmless([message, details?.causes, joinWarnings([WORST, WORST.repeat(40)])]);
});
