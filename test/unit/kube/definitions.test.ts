import assert from "node:assert/strict";
import { test } from "node:test";
import { definitionUid, isDefinitionChanging } from "../../../src/kube/definitions.ts";
import type { ObjectMeta } from "../../../src/api/meta.ts";
import type { KubeClient } from "../../../src/kube/kube-client.ts";
import { isNotFound } from "../../../src/kube/kube-error.ts";
import { ROLLOUTS } from "../../../src/kube/resources.ts";

type Definition = Pick<ObjectMeta, "uid" | "deletionTimestamp">;

/** What a read of the definition gives. */
function definedAs(definition: Definition | undefined): Pick<KubeClient, "list"> {
  const list = async (_: unknown, { name = "" }: { readonly name?: string }): Promise<unknown> => {
    const items = definition && [{ metadata: { name, resourceVersion: "1", ...definition } }];
    return await Promise.resolve({ items: items ?? [], resourceVersion: "1" });
  };
  return { list } as Pick<KubeClient, "list">;
}

const uidOf = async (definition?: Definition): Promise<string> =>
  await definitionUid(definedAs(definition), ROLLOUTS);

test("a definition is known by its uid", async () => {
  assert.equal(await uidOf({ uid: "1" }), "1");
});

test("a definition that is being deleted, or has no uid, proves nothing", async () => {
  await assert.rejects(uidOf({ uid: "1", deletionTimestamp: "2026-01-01T00:00:00Z" }), isDefinitionChanging);
  await assert.rejects(uidOf({ uid: "" }), isDefinitionChanging);
});

test("a kind without a definition is not found", async () => {
  await assert.rejects(uidOf(), isNotFound);
});
