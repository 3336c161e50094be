import assert from "node:assert/strict";
import { test } from "node:test";
import { isDefinitionChanging } from "../../../src/kube/definitions.ts";
import type { KubeClient, Scope } from "../../../src/kube/kube-client.ts";
import type { KubeObject, Resource } from "../../../src/kube/resource.ts";
import { DEFINITIONS } from "../../../src/kube/resources.ts";
import { ApiServerAdapter, type ApiServerOptions } from "../../../src/adapters/api-server.ts";

/** The API server has no object, but these definitions. */
function apiServerWith(definition: Partial<KubeObject["metadata"]>): ApiServerAdapter {
  const list = async (resource: Resource, { name = "" }: Scope): Promise<object> => {
    const items = resource === DEFINITIONS ? [{ metadata: { name, uid: "1", ...definition } }] : [];
    return await Promise.resolve({ resourceVersion: "5", items });
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else is called
  const options = { client: { list } as unknown as KubeClient } as ApiServerOptions;
  return new ApiServerAdapter(options);
}

const LEAVING = { deletionTimestamp: "2026-01-01T00:00:00Z" };

for (const kind of ["HookPolicy", "ClusterHookPolicy", "HookRollout"] as const)
  test(`the definition of ${kind} counts only while it is not being deleted`, async () => {
    assert.equal(await apiServerWith({}).definition(kind), "1");
    await assert.rejects(apiServerWith(LEAVING).definition(kind), isDefinitionChanging);
  });
