import assert from "node:assert/strict";
import { test } from "node:test";
import { assert as assertProperty, jsonValue, property, uint8Array } from "fast-check";
import { decodeReview, encodeVerdict, NOT_REVIEWED } from "../../../src/admission/review.ts";
import { withAdmission } from "../../../src/admission/route.ts";
import { ADMISSION_PATH } from "../../../src/admission/handler.ts";
import { runs } from "../../generated.ts";
import { ALL_HOOKS, hookPolicy, rule } from "../builders.ts";
import { MemoryLogger } from "../kube/fixtures.ts";
import { JANE, reviewOf, webhook } from "./reviews.ts";

const decode = (review: unknown): ReturnType<typeof decodeReview> =>
  decodeReview(Buffer.from(JSON.stringify(review)));

test("a create and an update are decoded with who sends them", () => {
  const [policy, old] = [hookPolicy({ mode: "Audit" }), hookPolicy()];
  assert.deepEqual(decode(reviewOf(policy)), {
    uid: "review-1",
    review: { uid: "review-1", user: JANE, object: policy },
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
    "strangers can send anything",
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
  assert.deepEqual(warningsOf(["a\nb", "c", "c"]), ["a b", "c"]);
  const long = warningsOf(Array.from({ length: 40 }, (_, index) => `${index} ${"ä".repeat(300)}`));
  assert.ok(long.every((warning) => Array.from(warning).length <= 256));
  assert.ok(long.join("").length < 4096);
  assert.match(long.at(-1) ?? "", /^and \d+ more warnings$/);
  assert.equal(long.length - 1 + Number(/\d+/.exec(long.at(-1) ?? "")?.[0]), 40);
});

test("the webhook is one more route, with an answer of its own for what cannot be read", async () => {
  const hooks = {
    routes: [{ path: "/hook", handle: () => "hook" }],
    undecodable: (path: string, reason: string) => `${path} ${reason}`,
  };
  const nobody = () => assert.fail("nobody is asked");
  const { routes, undecodable } = withAdmission(hooks, {
    served: ALL_HOOKS,
    maxOverrideMs: 1,
    world: { loaded: nobody, matchesCluster: nobody, cluster: nobody, policy: nobody, policiesOf: nobody },
    reviewer: { locate: nobody, may: nobody },
    log: new MemoryLogger(),
    now: () => new Date(),
  });
  assert.deepEqual(
    routes.map(({ path }) => path),
    ["/hook", ADMISSION_PATH],
  );
  assert.equal(await routes[1]?.handle(Buffer.from("?")), NOT_REVIEWED);
  assert.equal(undecodable(ADMISSION_PATH, "too-large"), NOT_REVIEWED);
  assert.equal(undecodable("/hook", "too-large"), "/hook too-large");
});
