import assert from "node:assert/strict";
import { test } from "node:test";
import { definitionUid, isDefinitionChanging, whileDefined } from "../../../src/kube/definitions.ts";
import type { ObjectMeta } from "../../../src/api/meta.ts";
import type { KubeClient } from "../../../src/kube/kubeclient.ts";
import { isNotFound } from "../../../src/kube/kubeerror.ts";
import { ROLLOUTS } from "../../../src/kube/resources.ts";

type Definition = Pick<ObjectMeta, "uid" | "deletionTimestamp">;

const KEPT: Definition = { uid: "1" };
const LEAVING: Definition = { uid: "1", deletionTimestamp: "2026-01-01T00:00:00Z" };
const REPLACED: Definition = { uid: "2" };

/** What the reads of the definition give, one after the other. */
function definedAs(...reads: (Definition | undefined)[]): Pick<KubeClient, "list"> {
  const list = async (_: unknown, { name = "" }: { readonly name?: string }): Promise<unknown> => {
    const read = reads.shift();
    const items = read === undefined ? [] : [{ metadata: { name, resourceVersion: "1", ...read } }];
    return await Promise.resolve({ items, resourceVersion: "1" });
  };
  return { list } as Pick<KubeClient, "list">;
}

const read = async (client: Pick<KubeClient, "list">): Promise<string> =>
  await whileDefined(client, ROLLOUTS, async () => await Promise.resolve("read"));

test("a read counts whose definition was there before and after it", async () => {
  assert.equal(await read(definedAs(KEPT, KEPT)), "read");
});

test("a read of a definition that is being deleted does not count", async () => {
  await assert.rejects(read(definedAs(KEPT, LEAVING)), isDefinitionChanging);
  await assert.rejects(read(definedAs(LEAVING, LEAVING)), isDefinitionChanging);
});

test("a read does not count if the definition was replaced meanwhile", async () => {
  await assert.rejects(
    read(definedAs(KEPT, REPLACED)),
    /hookrollouts\.hookpolicy\.dev: its CustomResourceDefinition has just been replaced/,
  );
});

test("a kind without a definition has no objects that count", async () => {
  await assert.rejects(read(definedAs(KEPT, undefined)), isNotFound);
});

test("a definition without a uid proves nothing", async () => {
  await assert.rejects(definitionUid(definedAs({ uid: "" }), ROLLOUTS), isDefinitionChanging);
});
