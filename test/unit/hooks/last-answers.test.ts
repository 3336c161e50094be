/** Which requests are taken for a repetition of another one. */

import assert from "node:assert/strict";
import test from "node:test";

import { type LastAnswer, LastAnswers } from "../../../src/hooks/hook-answer.ts";
import type { Subject } from "../../../src/hooks/hook-request.ts";
import { NOW, validity } from "../builders.ts";

const subject = (clusterUID: string, settings = "{}"): Subject => ({
  clusterUID,
  operation: `team-a/prod-1/${clusterUID}`,
  settings,
});
const held = (clusterUID: string, isValid = true, forAnyCall = true): LastAnswer => ({
  subject: subject(clusterUID),
  verdict: "Blocked",
  text: `held ${clusterUID}`,
  isValid: validity(() => isValid, forAnyCall),
});
const { settings: _, ...unread } = subject("a");

const FOUND: Readonly<Record<string, { asked: Subject; forAnyCall: boolean; found: boolean }>> = {
  "the same settings": { asked: subject("a"), forAnyCall: false, found: true },
  "other settings": { asked: subject("a", '{"a":"b"}'), forAnyCall: false, found: false },
  "other settings, which no rule reads": { asked: subject("a", '{"a":"b"}'), forAnyCall: true, found: true },
  "settings that were not read": { asked: unread, forAnyCall: false, found: false },
  "settings that were not read, which no rule reads": { asked: unread, forAnyCall: true, found: true },
  "another operation": {
    asked: { ...subject("a"), operation: "team-b/prod-1/a" },
    forAnyCall: true,
    found: false,
  },
  "another Cluster": { asked: subject("b"), forAnyCall: true, found: false },
};
for (const [what, { asked, forAnyCall, found }] of Object.entries(FOUND)) {
  test(`a request with ${what} is ${found ? "a" : "no"} repetition`, () => {
    const answers = new LastAnswers();
    answers.keep(held("a", true, forAnyCall));
    assert.equal(answers.current(asked, NOW)?.text, found ? "held a" : undefined);
  });
}

test("an answer that is no longer valid is not repeated, and is forgotten", () => {
  const answers = new LastAnswers();
  let looks = 0;
  answers.keep({ ...held("a"), isValid: validity(() => ((looks += 1), false)) });
  for (let times = 0; times < 2; times++) assert.equal(answers.current(subject("a"), NOW), undefined);
  assert.equal(looks, 1);
});

test("the oldest answers give way, each once", () => {
  const answers = new LastAnswers();
  for (let n = 0; n < 20_001; n++) answers.keep(held(`${n}`));
  assert.deepEqual(
    ["0", "1", "20000"].map((uid) => answers.current(subject(uid), NOW)?.text),
    [undefined, "held 1", "held 20000"],
  );
});
