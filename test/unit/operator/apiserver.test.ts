import assert from "node:assert/strict";
import { test } from "node:test";
import { isDefinitionChanging } from "../../../src/kube/definitions.ts";
import type { KubeClient } from "../../../src/kube/kubeclient.ts";
import { KubeError } from "../../../src/kube/kubeerror.ts";
import type { KubeObject, ObjectKey, Resource } from "../../../src/kube/resource.ts";
import { DEFINITIONS } from "../../../src/kube/resources.ts";
import { ApiServer, type ApiServerOptions } from "../../../src/operator/apiserver.ts";

/** The API server has no object, but these definitions. */
function apiServerWith(definition: Partial<KubeObject["metadata"]>): ApiServer {
  const list = async (): Promise<object> => await Promise.resolve({ resourceVersion: "5", items: [] });
  const get = async (resource: Resource, { name }: ObjectKey): Promise<KubeObject> => {
    if (resource !== DEFINITIONS) throw new KubeError("gone", { code: 404, reason: "NotFound" });
    return await Promise.resolve({ metadata: { name, uid: "1", resourceVersion: "1", ...definition } });
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else is called
  const options = { client: { get, list } as unknown as KubeClient } as ApiServerOptions;
  return new ApiServer(options);
}

test("a rollout that is not found is gone only while its definition is there", async () => {
  assert.equal(await apiServerWith({}).getRollout("upgrades"), undefined);
  const leaving = apiServerWith({ deletionTimestamp: "2026-01-01T00:00:00Z" });
  await assert.rejects(leaving.getRollout("upgrades"), isDefinitionChanging);
});

test("policies that are not listed are gone only while their definition is there", async () => {
  const none = { resourceVersion: "5", items: [] };
  assert.deepEqual(await apiServerWith({}).policies("HookPolicy", "prod"), none);
  const leaving = apiServerWith({ deletionTimestamp: "2026-01-01T00:00:00Z" });
  await assert.rejects(leaving.policies("HookPolicy", "prod"), isDefinitionChanging);
});

test("an earlier version of the policies is listed whatever their definition is now", async () => {
  const leaving = apiServerWith({ deletionTimestamp: "2026-01-01T00:00:00Z" });
  assert.equal((await leaving.policies("HookPolicy", "prod", "5")).resourceVersion, "5");
});
