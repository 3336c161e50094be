/** The operator's answers on the wire, byte for byte, to requests that Cluster API's own types have encoded. */

import assert from "node:assert/strict";
import test, { after, before, describe } from "node:test";

import { HOOK_NAMES } from "../../src/api/runtime-hooks.ts";
import { type Answer, type Extension, startExtension } from "./extension.ts";
import {
  CLUSTER_VERSIONS,
  discoveryPath,
  goldenDiscovery,
  goldenDiscoveryRequest,
  goldenRequest,
  goldenResponse,
  pathOf,
} from "./golden.ts";
import { bodyIn, type Replica, replicaIn, SITUATION_NAMES } from "./situations.ts";

function assertAnswers(answer: Answer, text: string): void {
  assert.deepEqual(answer, { status: 200, contentType: "application/json", text });
}

const SECOND = 1000;

for (const situation of SITUATION_NAMES) {
  describe(`${situation}: every hook is answered with the golden bytes`, () => {
    let replicas: readonly Replica[];
    let extensions: readonly Extension[];
    before(async () => {
      replicas = [replicaIn(situation), replicaIn(situation, { late: true })];
      extensions = await Promise.all(replicas.map((replica) => startExtension(replica)));
    });
    after(() => Promise.all(extensions.map((extension) => extension.close())));

    for (const hook of HOOK_NAMES) {
      for (const version of CLUSTER_VERSIONS) {
        test(`${hook} with a ${version} Cluster, by every replica, and again when asked early or late`, async () => {
          const body = bodyIn(situation, goldenRequest(version, hook));
          const golden = goldenResponse(situation, hook);
          for (const elapsed of [0, 1, 600]) {
            for (const { clock } of replicas) clock.now = new Date(clock.now.getTime() + elapsed * SECOND);
            const answers = await Promise.all(extensions.map((each) => each.call(pathOf(hook), body)));
            for (const answer of answers) assertAnswers(answer, golden);
          }
        });
      }
    }
  });
}

describe("BeforeWorkersUpgrade without a version that the workers have, because they are gone,", () => {
  for (const situation of ["blocked", "allowed", "observed"] as const) {
    test(`is answered as with one: ${situation}`, async (t) => {
      const extension = await startExtension(replicaIn(situation));
      t.after(() => extension.close());
      for (const version of CLUSTER_VERSIONS) {
        const request = goldenRequest(version, "BeforeWorkersUpgrade");
        const body = changed(request, { path: ["fromKubernetesVersion"], value: "" });
        assert.ok(body);
        const answer = await extension.call(pathOf("BeforeWorkersUpgrade"), body);
        assertAnswers(answer, goldenResponse(situation, "BeforeWorkersUpgrade"));
      }
    });
  }
});

const without = (...path: string[]): Change => ({ path, value: undefined });
const VERSIONS = ["fromKubernetesVersion", "toKubernetesVersion", "kubernetesVersion"];

interface Change {
  readonly path: readonly string[];
  readonly value: unknown;
}

function changed(body: Buffer, { path, value }: Change): Buffer | undefined {
  const document: Record<string, unknown> = JSON.parse(body.toString());
  let node = document;
  for (const key of path.slice(0, -1)) node = node[key] as Record<string, unknown>;
  const last = path.at(-1) ?? "";
  if (value === undefined && !(last in node)) return undefined;
  node[last] = value;
  return Buffer.from(JSON.stringify(document));
}

describe("a request of which nothing can be said is a Failure with a static text:", () => {
  const metadata = ["cluster", "metadata"];
  const changes: Record<string, readonly Change[]> = {
    "without the Cluster, its metadata, name, namespace or uid": [
      without("cluster"),
      without(...metadata),
      ...["name", "namespace", "uid"].map((field) => without(...metadata, field)),
      ...["name", "namespace", "uid"].map((field) => ({ path: [...metadata, field], value: "" })),
    ],
    "with labels, annotations or settings that are not strings": [
      { path: [...metadata, "labels"], value: { tier: 1 } },
      { path: [...metadata, "annotations"], value: ["approved"] },
      { path: ["settings"], value: { environment: null } },
    ],
    "without a version that the hook is about": VERSIONS.map((field) => without(field)),
  };
  let extension: Extension;
  before(async () => {
    extension = await startExtension(replicaIn("blocked"));
  });
  after(() => extension.close());

  for (const [what, list] of Object.entries(changes)) {
    test(what, async () => {
      let requests = 0;
      for (const hook of HOOK_NAMES) {
        for (const change of list) {
          const body = changed(goldenRequest("v1beta2", hook), change);
          if (body === undefined) continue;
          requests += 1;
          assertAnswers(await extension.call(pathOf(hook), body), goldenResponse("undecodable", hook));
        }
      }
      assert.ok(requests >= list.length, "the requests have these fields");
    });
  }
});

describe("discovery", () => {
  for (const minor of [14, 11]) {
    test(`for Cluster API 1.${minor} is the same from every replica, loaded or not, and whatever is asked`, async (t) => {
      for (const replica of [replicaIn("blocked", { late: true }), replicaIn("not-loaded")]) {
        const extension = await startExtension(replica, minor);
        t.after(() => extension.close());
        for (const body of [goldenDiscoveryRequest(), goldenDiscoveryRequest(), Buffer.alloc(0)]) {
          assertAnswers(await extension.call(discoveryPath(), body), goldenDiscovery(minor));
        }
      }
    });
  }
});

describe("for Cluster API 1.11", () => {
  const unknown = ["BeforeControlPlaneUpgrade", "BeforeWorkersUpgrade", "AfterWorkersUpgrade"];
  const same = HOOK_NAMES.filter((hook) => !unknown.includes(hook) && hook !== "AfterClusterUpgrade");
  let extension: Extension;
  before(async () => {
    extension = await startExtension(replicaIn("blocked"), 11);
  });
  after(() => extension.close());

  test("the hooks that it calls are answered as for 1.14", async () => {
    for (const hook of same) {
      const answer = await extension.call(pathOf(hook), goldenRequest("v1beta1", hook));
      assertAnswers(answer, goldenResponse("blocked", hook));
    }
  });

  test("AfterClusterUpgrade is released without retryAfterSeconds, which its response does not have there", async () => {
    const body = goldenRequest("v1beta1", "AfterClusterUpgrade");
    const text =
      '{"apiVersion":"hooks.runtime.cluster.x-k8s.io/v1alpha1","kind":"AfterClusterUpgradeResponse","status":"Success"}';
    assertAnswers(await extension.call(pathOf("AfterClusterUpgrade"), body), text);
  });

  test("the hooks that it does not know are not served", async () => {
    for (const hook of HOOK_NAMES.filter((each) => unknown.includes(each))) {
      assert.equal((await extension.call(pathOf(hook), goldenRequest("v1beta1", hook))).status, 404);
    }
  });
});
