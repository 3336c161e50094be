/** Whatever arrives at the port: an answer that Cluster API can read, and no release of a Cluster that waits. */

import assert from "node:assert/strict";
import test, { after, before, describe } from "node:test";

import * as fc from "fast-check";

import { HOOK_NAMES, HOOKS_GROUP_VERSION, type HookName } from "../../src/api/runtime-hooks.ts";
import { runs } from "../generated.ts";
import { type Answer, type Extension, startExtension } from "./extension.ts";
import { CLUSTER_VERSIONS, type ClusterVersion, goldenRequest, goldenResponse, pathOf } from "./golden.ts";
import { bytewise, type Mutation, structural } from "./mutations.ts";
import { canWait, replicaIn } from "./situations.ts";

const CASES = 1000; // of each kind of mutation
const MAX_MESSAGE_BYTES = 1024;

interface Response {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly status?: unknown;
  readonly message?: unknown;
  readonly retryAfterSeconds?: unknown;
}

/** What Cluster API's Go types take, and nothing of the request in a Failure. */
function readable({ status, text }: Answer, hook: HookName): Response {
  assert.equal(status, 200);
  const response: Response = JSON.parse(text);
  const { apiVersion, kind, message, retryAfterSeconds, status: said, ...rest } = response;
  assert.deepEqual(
    { apiVersion, kind, rest },
    { apiVersion: HOOKS_GROUP_VERSION, kind: `${hook}Response`, rest: {} },
  );
  assert.ok(said === "Success" || said === "Failure", `status ${String(said)}`);
  if (said === "Failure") assert.equal(message, `the request is not a valid ${hook}Request`);
  if (message !== undefined) {
    assert.ok(typeof message === "string" && message !== "");
    assert.ok(Buffer.byteLength(message) <= MAX_MESSAGE_BYTES, `${Buffer.byteLength(message)} bytes`);
    assert.doesNotMatch(message, /\p{Cc}/u);
  }
  if (canWait(hook)) {
    assert.ok(Number.isInteger(retryAfterSeconds) && Number(retryAfterSeconds) >= 0);
    assert.ok(Number(retryAfterSeconds) <= 300 && !/"retryAfterSeconds":\d*[^\d}]/.test(text.slice(-40)));
  } else assert.equal(retryAfterSeconds, undefined);
  return response;
}

describe("a request with something wrong in it", () => {
  let extension: Extension;
  before(async () => {
    extension = await startExtension(replicaIn("blocked"));
  });
  after(() => extension.close());

  async function check(hook: HookName, version: ClusterVersion, mutation: Mutation): Promise<void> {
    const body = mutation.mutate(goldenRequest(version, hook));
    const { status, retryAfterSeconds } = readable(await extension.call(pathOf(hook), body), hook);
    if (!canWait(hook)) return;
    assert.ok(status === "Failure" || Number(retryAfterSeconds) > 0, "the Cluster was let go");
  }

  for (const [what, mutations] of Object.entries({ JSON: structural, bytes: bytewise })) {
    test(`in its ${what}, is answered readably, and lets no Cluster go that is not approved`, async () => {
      const cases = fc.asyncProperty(
        fc.constantFrom(...HOOK_NAMES),
        fc.constantFrom(...CLUSTER_VERSIONS),
        mutations,
        check,
      );
      await fc.assert(cases, runs(CASES));
    });
  }

  test("changes no answer to a right one", async () => {
    for (const hook of HOOK_NAMES) {
      const { text } = await extension.call(pathOf(hook), goldenRequest("v1beta2", hook));
      assert.equal(text, goldenResponse("blocked", hook));
    }
  });
});
