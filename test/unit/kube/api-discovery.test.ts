import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  discoverResource,
  KIND_NOT_SERVED,
  KIND_NOT_WATCHABLE,
  KIND_TERMINATING,
  servesResource,
} from "../../../src/kube/api-discovery.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import type { Resource } from "../../../src/kube/resource.ts";

const ALL = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const WIDGETS = { name: "widgets", kind: "Widget", namespaced: true, verbs: ALL };

/** What is found in `resources`, and which paths were asked for. */
async function discover(
  resources: unknown,
  kind = "Widget",
  apiVersion = "example.com/v1",
): Promise<{ paths: string[]; found: Resource | KubeError }> {
  const paths: string[] = [];
  const client = {
    getPath: async (path: string): Promise<unknown> => {
      paths.push(path);
      return await Promise.resolve({ kind: "APIResourceList", resources });
    },
  };
  const found = await discoverResource(client, { apiVersion, kind }).catch((error: unknown) => {
    assert.ok(error instanceof KubeError);
    return error;
  });
  return { paths, found };
}

test("a kind is found by its group and version", async () => {
  assert.deepEqual(await discover([WIDGETS]), {
    paths: ["/apis/example.com/v1"],
    found: { group: "example.com", version: "v1", plural: "widgets", kind: "Widget", namespaced: true },
  });
});

test("a kind of the core group is found, and so is its scope", async () => {
  const nodes = { name: "nodes", kind: "Node", namespaced: false, verbs: ALL };
  assert.deepEqual(await discover([nodes], "Node", "v1"), {
    paths: ["/api/v1"],
    found: { group: "", version: "v1", plural: "nodes", kind: "Node", namespaced: false },
  });
});

const refused: Record<string, { resources: unknown; reason: string; code: number }> = {
  "a kind that is not there": { resources: [], reason: KIND_NOT_SERVED, code: 404 },
  "a kind that is written otherwise": {
    resources: [{ ...WIDGETS, kind: "widget" }],
    reason: KIND_NOT_SERVED,
    code: 404,
  },
  "a kind of a subresource only": {
    resources: [{ ...WIDGETS, name: "gadgets/widget" }],
    reason: KIND_NOT_SERVED,
    code: 404,
  },
  "a kind that is being removed": {
    resources: [{ ...WIDGETS, verbs: ["delete", "deletecollection", "get", "list", "watch"] }],
    reason: KIND_TERMINATING,
    code: 404,
  },
  "a kind that can only be created": {
    resources: [{ ...WIDGETS, verbs: ["create"] }],
    reason: KIND_NOT_WATCHABLE,
    code: 405,
  },
  "a kind that can be listed but not watched": {
    resources: [{ ...WIDGETS, verbs: ["get", "list"] }],
    reason: KIND_NOT_WATCHABLE,
    code: 405,
  },
  "a resource whose scope is not said": {
    resources: [{ ...WIDGETS, namespaced: undefined }],
    reason: KIND_NOT_SERVED,
    code: 404,
  },
  "an answer that is no APIResourceList": { resources: undefined, reason: "InvalidResponse", code: 0 },
};
for (const [name, { resources, reason, code }] of Object.entries(refused)) {
  test(`refused: ${name}`, async () => {
    const { found } = await discover(resources);
    assert.ok(found instanceof KubeError);
    assert.deepEqual([found.reason, found.code], [reason, code]);
  });
}

test("a kind that can be read but never written, and not deleted either, is watched", async () => {
  const { found } = await discover([{ ...WIDGETS, verbs: ["get", "list", "watch"] }]);
  assert.ok(!(found instanceof KubeError));
});

for (const apiVersion of [
  "",
  "/v1",
  "example.com/",
  "example.com/v1/widgets",
  "../api/v1",
  "example.com/..",
  "example.com/v1?watch=1",
  "example.com/v1#",
  "Example.com/v1",
  "example.com/v1\n",
  `${"a".repeat(400)}/v1`,
]) {
  test(`never becomes a request: ${JSON.stringify(apiVersion.slice(0, 30))}`, async () => {
    const { paths, found } = await discover([WIDGETS], "Widget", apiVersion);
    assert.deepEqual(paths, []);
    assert.equal(found instanceof KubeError && found.reason, KIND_NOT_SERVED);
  });
}

test("a request that fails is thrown on", async () => {
  const failure = new KubeError("get", { code: 503, reason: "ServiceUnavailable" });
  const client = { getPath: (): Promise<unknown> => Promise.reject(failure) };
  const found = discoverResource(client, { apiVersion: "example.com/v1", kind: "Widget" });
  await assert.rejects(found, (error) => error === failure);
});

describe("whether a resource is served at all", () => {
  const groups = (...names: readonly string[]): object => ({
    groups: names.map((name) => ({ name, versions: [{ version: "v1" }, { version: "v2" }] })),
  });
  const none = { resources: [{ name: "gadgets" }, { name: "widgets/status" }] };
  const GROUPS = "/apis";
  const [V1, V2] = ["/apis/example.com/v1", "/apis/example.com/v2"];
  const cases: Record<string, { answers: Record<string, unknown>; want: boolean | string }> = {
    "yes, in a version that is not the first one": {
      answers: { [GROUPS]: groups("ours", "example.com"), [V1]: none, [V2]: { resources: [WIDGETS] } },
      want: true,
    },
    "yes, while it is being removed": {
      answers: {
        [GROUPS]: groups("ours", "example.com"),
        [V1]: { resources: [{ ...WIDGETS, verbs: ["delete", "get", "list", "watch"] }] },
      },
      want: true,
    },
    "no, where the group is not there": { answers: { [GROUPS]: groups("ours") }, want: false },
    "no, where no version of the group has it": {
      answers: { [GROUPS]: groups("ours", "example.com"), [V1]: none, [V2]: none },
      want: false,
    },
    "unknown, if a group is missing that must exist": {
      answers: { [GROUPS]: groups("theirs") },
      want: "InvalidResponse",
    },
    "unknown, if there is no list of groups": { answers: { [GROUPS]: {} }, want: "InvalidResponse" },
    "unknown, if a version cannot be read": {
      answers: { [GROUPS]: groups("ours", "example.com"), [V1]: none },
      want: "NotFound",
    },
    "unknown, if a version lists nothing": {
      answers: { [GROUPS]: groups("ours", "example.com"), [V1]: { resources: null } },
      want: "InvalidResponse",
    },
    "unknown, if nothing is found at all": { answers: {}, want: "NotFound" },
  };
  for (const [name, { answers, want }] of Object.entries(cases)) {
    test(name, async () => {
      const client = {
        getPath: async (path: string): Promise<unknown> => {
          if (answers[path] === undefined) throw new KubeError(path, { code: 404, reason: "NotFound" });
          return await Promise.resolve(answers[path]);
        },
      };
      const served = await servesResource(client, { group: "example.com", plural: "widgets" }, "ours").catch(
        (error: unknown) => (error as KubeError).reason,
      );
      assert.equal(served, want);
    });
  }
});
