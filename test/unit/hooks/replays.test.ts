/** Which bodies are taken for a repetition of another one. */

import assert from "node:assert/strict";
import test from "node:test";

import type { Subject } from "../../../src/hooks/codec.ts";
import { type Replay, Replays } from "../../../src/hooks/replays.ts";
import { WholeBody } from "../../../src/server/wholebody.ts";
import { NOW, standing } from "../builders.ts";

const subject = (clusterUID: string, settings = "{}"): Subject => ({
  clusterUID,
  operation: `team-a/prod-1/${clusterUID}`,
  settings,
});
const held = (clusterUID: string, stands = true, forAnyCall = true): Replay => ({
  subject: subject(clusterUID),
  verdict: "Blocked",
  text: `held ${clusterUID}`,
  stands: standing(() => stands, forAnyCall),
});
const about = (uid: string, rest = ""): Buffer => Buffer.from(`{"uid":"${uid}","rest":"${rest}"}`);

/** All of them have the same print. */
class Colliding extends WholeBody {
  override print(): number {
    return 1;
  }
}

test("the same bytes are a repetition, in one piece or in many", () => {
  const replays = new Replays();
  const bytes = about("a", "x".repeat(100));
  replays.keep(new WholeBody([bytes]), held("a"));
  const pieces = [bytes.subarray(0, 20), bytes.subarray(20, 50), bytes.subarray(50)];
  assert.equal(replays.find(new WholeBody(pieces), NOW)?.subject.clusterUID, "a");
  assert.equal(replays.find(new WholeBody([about("a", "x".repeat(99))]), NOW), undefined);
});

test("bytes about another Cluster are none, even with the same print", () => {
  const replays = new Replays();
  replays.keep(new Colliding([about("a")]), held("a"));
  assert.equal(replays.find(new Colliding([about("b")]), NOW), undefined);
  assert.equal(replays.find(new Colliding([about("a")]), NOW)?.subject.clusterUID, "a");
});

test("a print that another Cluster has taken over stays with it", () => {
  const replays = new Replays();
  replays.keep(new Colliding([about("a")]), held("a"));
  replays.keep(new Colliding([about("b")]), held("b"));
  replays.forget("a");
  assert.equal(replays.find(new Colliding([about("b")]), NOW)?.subject.clusterUID, "b");
});

const UNPRINTED = {
  "that do not begin with the uid": [Buffer.concat([Buffer.alloc(4096, " "), about("a")])],
  "in which another uid comes first": [Buffer.from('{"settings":{"uid":"b"},"uid":"a"}')],
  "that have the uid elsewhere": [Buffer.from('{"name":"a"}')],
  "whose first piece ends before the uid": [about("a").subarray(0, 4), about("a").subarray(4)],
  "of more than 2 MiB": [about("a"), Buffer.alloc(2 * 1024 * 1024, " ")],
};
for (const [what, chunks] of Object.entries(UNPRINTED)) {
  test(`bytes ${what} are parsed each time, and still recognized by what they say`, () => {
    const replays = new Replays();
    replays.keep(new WholeBody(chunks), held("a"));
    assert.equal(replays.find(new WholeBody(chunks), NOW), undefined);
    assert.equal(replays.findSubject(subject("a"), new WholeBody(chunks), NOW)?.text, "held a");
  });
}

test("an answer that follows from more than the operation is found by what the call says, not by its bytes", () => {
  const replays = new Replays();
  const body = new WholeBody([about("a")]);
  replays.keep(body, held("a", true, false));
  assert.equal(replays.find(body, NOW), undefined);
  assert.equal(replays.findSubject(subject("a"), body, NOW)?.text, "held a");
});

test("an answer that follows from the operation alone is found whatever the settings, another one is not", () => {
  const body = new WholeBody([about("a")]);
  const find = (forAnyCall: boolean, asked: Subject): string | undefined => {
    const replays = new Replays();
    replays.keep(body, held("a", true, forAnyCall));
    return replays.findSubject(asked, body, NOW)?.text;
  };
  const other = subject("a", '{"a":"b"}');
  assert.equal(find(true, other), "held a");
  assert.equal(find(false, other), undefined);
  assert.equal(find(true, { ...other, operation: "team-b/prod-1/a" }), undefined);
});

test("only the last bytes about a Cluster are expected again, and none once the answer does not stand", () => {
  const replays = new Replays();
  const [first, second] = [new WholeBody([about("a", "1")]), new WholeBody([about("a", "2")])];
  replays.keep(first, held("a"));
  replays.findSubject(subject("a"), second, NOW);
  assert.equal(replays.find(first, NOW), undefined);
  assert.equal(replays.find(second, NOW)?.text, "held a");
  replays.keep(second, held("a", false));
  assert.equal(replays.find(second, NOW), undefined);
});
