/** The words of a rule's author stand first, and nothing that the operator adds takes their room. */

import assert from "node:assert/strict";
import test from "node:test";
import * as fc from "fast-check";
import { MAX_ROW_MESSAGE } from "../../../src/api/hook-policy.ts";
import { printable } from "../../../src/lib/printable.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { policyRow } from "../../../src/operations/rows.ts";
import { newOperation } from "../../../src/operations/operation.ts";
import { joinWarnings } from "../../../src/admission/denial.ts";
import { decide, holdWarnings } from "../../../src/policy/decide.ts";
import { type PolicyTrace, unmetGates } from "../../../src/policy/decision.ts";
import { policyName } from "../../../src/policy/policy-ref.ts";
import { runs } from "../../generated.ts";
import { cluster, compiled, DELETE, hookPolicy, NOW, rule, world } from "../builders.ts";

const MAX_BYTES = 1024;
/** As the CRD lets them be: one line. */
const words = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 240, size: "max" })
  .filter((text) => Array.from(text).length <= 256 && !/[\p{C}\p{Zl}\p{Zp}]/u.test(text));
/** How much the operator says beside them. */
const gates = fc.nat({ max: 7 });
const policies = fc.array(fc.tuple(words, gates), { minLength: 1, maxLength: 6 });

function policyOf([message, count]: readonly [string, number], index: number): PolicyObject {
  const until = Array.from({ length: count + 1 }, (_, each) => ({
    name: `gate-${each}`,
    annotation: { key: `hooks.example.com/${"approved-".repeat(6)}${each}` },
  }));
  return hookPolicy({ rules: [rule({ message, until })] }, { name: `p${index}`, uid: `uid-${index}` });
}

const quoted = (message: string): string => printable(JSON.stringify(message));

/** A part of a command can do something else. */
function assertWholeCommands(text: string, trace: readonly PolicyTrace[]): void {
  const rules = trace.flatMap((policy) => policy.rules);
  const commands = rules.flatMap(unmetGates).map(({ remedy }) => `(${remedy})`);
  for (const { index } of text.matchAll(/\(kubectl /g))
    assert.ok(
      commands.some((command) => text.startsWith(command, index)),
      text,
    );
}

test("in a row and in the Cluster's condition, the author's words come first and whole", () => {
  fc.assert(
    fc.property(policies, (given) => {
      const all = given.map(policyOf).map(compiled);
      const { message, trace } = decide(all, world(), DELETE, NOW);
      const said = given.map(([text]) => quoted(text));
      assert.ok(message.startsWith(said[0]?.slice(0, 200) ?? "?"), message);
      const brief = all.map(({ ref }, index) => `${said[index]}, ${policyName(ref)}, rule confirmed-delete`);
      if (Buffer.byteLength(brief.join("; ")) <= MAX_BYTES)
        for (const text of said) assert.ok(message.includes(text), `${text} is not in ${message}`);
      const operation = newOperation(DELETE, cluster(), NOW, undefined);
      for (const [index, policyTrace] of trace.entries()) {
        const row = policyRow(operation, { trace: policyTrace, policyUID: `uid-${index}` }, undefined, NOW);
        // The last character of a row that is full is "…".
        const room = Array.from(said[index] ?? "?").slice(0, MAX_ROW_MESSAGE - 1);
        assert.ok(row?.message.startsWith(room.join("")), row?.message);
        assertWholeCommands(row?.message ?? "", trace);
      }
      for (const text of [message, ...joinWarnings(holdWarnings(trace))]) assertWholeCommands(text, trace);
    }),
    runs(2000),
  );
});

test("a row and a warning of the README's example have its command whole", () => {
  const message = "ask #platform for approval";
  const annotation = { key: "hooks.example.com/delete-approved", valueFrom: "ClusterUID" } as const;
  const until = [{ name: "approved", annotation }];
  const policy = compiled(hookPolicy({ rules: [rule({ message, until })] }));
  const held = cluster({ uid: "0f8d3f0a-58a2-4f0e-9d5a-1f5a2b3c4d5e" });
  const { trace } = decide([policy], world({ cluster: held }), DELETE, NOW);
  const operation = newOperation(DELETE, held, NOW, undefined);
  const row = policyRow(operation, { trace: trace[0]!, policyUID: "uid-p" }, undefined, NOW);
  assert.equal(
    row?.message,
    `"${message}", gate approved waits (kubectl annotate clusters.cluster.x-k8s.io -n team-a prod-1 hooks.example.com/delete-approved=0f8d3f0a-58a2-4f0e-9d5a-1f5a2b3c4d5e)`,
  );
  assert.deepEqual(holdWarnings(trace), [
    `"${message}", HookPolicy team-a/protect, rule confirmed-delete: gate approved waits (kubectl annotate clusters.cluster.x-k8s.io -n team-a prod-1 hooks.example.com/delete-approved=0f8d3f0a-58a2-4f0e-9d5a-1f5a2b3c4d5e)`,
  ]);
});
