/** The memory of Clusters is bounded, even if a caller invents them. */

import assert from "node:assert/strict";
import test from "node:test";
import type { HookName } from "../../../src/api/runtime-hooks.ts";
import type { AnswerDigest } from "../../../src/report/audit-log.ts";
import { AnswerLog } from "../../../src/report/answer-log.ts";
import { cluster, NOW } from "../builders.ts";
import { silent } from "../memory/fixtures.ts";

const HOOK = "BeforeClusterDelete";
const OUTCOME = {
  verdict: "Blocked",
  answer: { status: "Success", retryAfterSeconds: 5, message: "" },
} as const;

/** `set` returns the digest that was remembered; the digest takes its place. */
function remembering(): {
  set: (uid: string, hook: HookName, digest: string) => string | undefined;
  forget: (uid: string) => void;
} {
  let digest = "";
  let before: AnswerDigest | undefined;
  const answers = new AnswerLog({
    log: silent,
    everyCall: false,
    audit: {
      answered: (_request, { verdict }, last) => {
        before = last;
        return last?.digest === digest ? last : { version: undefined, verdict, digest };
      },
    },
  });
  return {
    set: (uid, hook, said) => {
      digest = said;
      answers.record({ call: { hook }, cluster: cluster({ uid }) }, OUTCOME, NOW);
      return before?.digest;
    },
    forget: (uid) => answers.forget(uid),
  };
}

test("the last answers are kept by Cluster and hook until the Cluster is forgotten", () => {
  const { set, forget } = remembering();
  set("a", HOOK, "1");
  set("a", "BeforeClusterUpgrade", "2");
  set("b", HOOK, "3");
  assert.equal(set("a", HOOK, "4"), "1");
  assert.deepEqual([set("a", HOOK, "4"), set("b", "BeforeClusterUpgrade", "5")], ["4", undefined]);
  forget("a");
  assert.deepEqual(
    [set("a", HOOK, "6"), set("a", "BeforeClusterUpgrade", "6"), set("b", HOOK, "6")],
    [undefined, undefined, "3"],
  );
});

test("each hook of a Cluster counts as one of those that are kept", () => {
  const { set } = remembering();
  set("old", HOOK, "1");
  for (let n = 0; n < 10_000; n += 1)
    for (const hook of [HOOK, "BeforeClusterUpgrade"] as const) set(`uid-${n}`, hook, "2");
  assert.deepEqual([set("uid-0", HOOK, "2"), set("old", HOOK, "1")], ["2", undefined]);
});

test("the Clusters whose answer has not changed for longest are forgotten first", () => {
  const { set } = remembering();
  for (let n = 0; n < 20_000; n += 1) set(`uid-${n}`, HOOK, "1");
  set("uid-0", HOOK, "2");
  set("one more", HOOK, "1");
  assert.deepEqual([set("uid-0", HOOK, "2"), set("uid-2", HOOK, "1")], ["2", "1"]);
  assert.equal(set("uid-1", HOOK, "1"), undefined);
});
