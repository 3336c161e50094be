import assert from "node:assert/strict";
import { test } from "node:test";
import { assert as assertProperty, jsonValue, property, string, uint8Array } from "fast-check";
import { decodeReview, encodeVerdict, readHead } from "../../../src/admission/review.ts";
import { refuseUnread } from "../../../src/admission/review-handler.ts";
import { runs } from "../../generated.ts";
import { clusterHookPolicy, hookPolicy, rule } from "../builders.ts";
import { JANE, reviewOf, webhook } from "./reviews.ts";

const decode = (review: unknown): ReturnType<typeof decodeReview> =>
  decodeReview(Buffer.from(JSON.stringify(review)));

test("a create and an update are decoded with who sends them", () => {
  const [policy, old] = [hookPolicy({ mode: "Audit" }), hookPolicy()];
  assert.deepEqual(decode(reviewOf(policy)), {
    review: { user: JANE, object: policy },
  });
  assert.deepEqual(decode(reviewOf(policy, { operation: "UPDATE", oldObject: old }))?.review?.old, old);
});

test("nothing is said of deletes, subresources and foreign kinds", async () => {
  const { send } = webhook();
  const policy = hookPolicy({ rules: [rule({ until: [{ name: "broken", expression: "clustr" }] })] });
  for (const over of [
    { operation: "DELETE", object: null, oldObject: policy },
    { subResource: "status" },
    { kind: { group: "example.com", version: "v1", kind: "HookPolicy" } },
    { kind: { group: "hookpolicy.dev", version: "v1", kind: "Waiver" } },
  ]) {
    assert.deepEqual(await send(JSON.stringify(reviewOf(policy, over))), { uid: "review-1", allowed: true });
  }
});

test("what is no review gets an answer without a uid, which the API server takes for a failed call", async () => {
  const { send, log } = webhook();
  const policy = hookPolicy();
  for (const body of [
    "",
    "{",
    "null",
    "[]",
    "{}",
    JSON.stringify(reviewOf(policy, { uid: "" })),
    JSON.stringify(reviewOf(policy, { uid: 7 })),
    JSON.stringify(reviewOf(policy, { userInfo: {} })),
    JSON.stringify(reviewOf(policy, { object: null })),
    JSON.stringify(reviewOf({ ...policy, spec: null })),
    JSON.stringify(reviewOf(policy, { operation: "UPDATE" })),
    JSON.stringify(reviewOf(policy, { kind: { group: "hookpolicy.dev", kind: "HookOverride" } })),
  ]) {
    const answer = await send(body);
    assert.deepEqual([answer.uid, answer.allowed], ["", false], body);
  }
  assert.deepEqual(
    log.lines.filter(({ level }) => level !== "debug"),
    [],
    "any client can send anything",
  );
});

test("decoding never throws, whatever the bytes and whatever is in the request", () => {
  assertProperty(
    property(uint8Array(), (bytes) => void decodeReview(Buffer.from(bytes))),
    runs(100),
  );
  assertProperty(
    property(jsonValue(), jsonValue(), (object, oldObject) => {
      decode(reviewOf({ kind: "HookPolicy" }, { object, oldObject, operation: "UPDATE" }));
    }),
    runs(100),
  );
});

test("warnings are bounded one by one and together, said once, and on one line each", () => {
  const warningsOf = (warnings: string[]): string[] =>
    (JSON.parse(encodeVerdict("u", { warnings })) as { response: { warnings: string[] } }).response.warnings;
  assert.deepEqual(warningsOf(["a\nb", "c", "c"]), ["a\\nb", "c"]);
  const long = warningsOf(Array.from({ length: 80 }, (_, index) => `${index % 40} ${"ä".repeat(300)}`));
  assert.ok(long.every((warning) => Array.from(warning).length <= 256));
  assert.ok(long.join("").length < 4096);
  assert.match(long.at(-1) ?? "", /^and \d+ more warnings$/);
  assert.equal(long.length - 1 + Number(/\d+/.exec(long.at(-1) ?? "")?.[0]), 40);
  const shown = long.length - 1;
  const one = warningsOf(Array.from({ length: shown + 1 }, (_, index) => `${index} ${"ä".repeat(300)}`));
  assert.equal(one.at(-1), "and 1 more warning");
});

test("a review that a bug left without an answer is refused, and says so whatever its object is", () => {
  const head = Buffer.from(JSON.stringify(reviewOf(hookPolicy())));
  const { response } = JSON.parse(refuseUnread("", "internal", head));
  assert.equal(response.allowed, false);
  assert.match(
    response.status.message,
    /^HookPolicy could not check the object because of an internal error/,
  );
});

test("who pays for a review is told by what stands before the objects", () => {
  const share = (object: object): string | undefined =>
    readHead(Buffer.from(JSON.stringify(reviewOf(object))))?.share;
  assert.deepEqual([hookPolicy(), clusterHookPolicy()].map(share), ["namespace team-a", "user jane"]);
  const request = { uid: "1", kind: { group: "", kind: "" }, namespace: "team-a", operation: "CREATE" };
  const inOrder = { ...request, userInfo: { username: '\\","object":{' }, object: { namespace: "team-b" } };
  const body = Buffer.from(JSON.stringify({ request: inOrder }));
  assert.deepEqual(readHead(body), { uid: "1", share: "namespace team-a" });
});

test("a head of the API server is read, whatever its users are called, and one that is too long is none", () => {
  assertProperty(
    property(string(), string(), (username, uid) => {
      const review = reviewOf(clusterHookPolicy(), { uid: `u${uid}`.slice(0, 128), userInfo: { username } });
      assert.equal(readHead(Buffer.from(JSON.stringify(review)))?.share, `user ${username.toWellFormed()}`);
    }),
  );
  const many = { username: "jane", groups: Array.from({ length: 20_000 }, (_, index) => `group-${index}`) };
  assert.equal(readHead(Buffer.from(JSON.stringify(reviewOf(hookPolicy(), { userInfo: many })))), undefined);
  assertProperty(property(uint8Array(), (bytes) => void readHead(Buffer.from(bytes))));
});
