import assert from "node:assert/strict";
import { test } from "node:test";
import { Definitions, isDefinitionChanging } from "../../../src/kube/definitions.ts";
import type { ObjectMeta } from "../../../src/api/meta.ts";
import type { KubeObject, ObjectKey } from "../../../src/kube/resource.ts";
import { ROLLOUTS } from "../../../src/kube/resources.ts";

type Definition = Pick<ObjectMeta, "uid" | "deletionTimestamp">;

const KEPT: Definition = { uid: "1" };
const LEAVING: Definition = { uid: "1", deletionTimestamp: "2026-01-01T00:00:00Z" };
const REPLACED: Definition = { uid: "2" };

/** What the reads of the definition give, one after the other; the last one again and again. */
function definedAs(...reads: Definition[]): {
  readonly list: () => Promise<number>;
  readonly names: readonly string[];
} {
  const names: string[] = [];
  const get = async (_: unknown, { name }: ObjectKey): Promise<KubeObject> => {
    names.push(name);
    const [first = KEPT] = reads.length > 1 ? reads.splice(0, 1) : reads;
    return await Promise.resolve({ metadata: { name, resourceVersion: "1", ...first } });
  };
  const definitions = new Definitions({ get });
  let lists = 0;
  const count = async (): Promise<number> => await Promise.resolve((lists += 1));
  return { names, list: async () => await definitions.whileDefined(ROLLOUTS, count) };
}

test("a list counts whose definition was there before and after it", async () => {
  const { list, names } = definedAs(KEPT);
  assert.equal(await list(), 1);
  assert.equal(await list(), 2);
  assert.deepEqual(
    names,
    Array<string>(3).fill("hookrollouts.hookpolicy.dev"),
    "the first list needs one more",
  );
});

test("a list of a definition that is being deleted does not count", async () => {
  const { list } = definedAs(KEPT, KEPT, LEAVING);
  await list();
  await assert.rejects(list, isDefinitionChanging);
});

test("the first list does not count if the definition is being deleted already", async () => {
  const { list } = definedAs(LEAVING);
  await assert.rejects(list, isDefinitionChanging);
});

test("a list does not count if the definition was replaced since the last one; the next one does", async () => {
  const { list } = definedAs(KEPT, KEPT, REPLACED);
  await list();
  await assert.rejects(
    list,
    /hookrollouts\.hookpolicy\.dev: its CustomResourceDefinition has just been replaced/,
  );
  assert.equal(await list(), 3);
});

test("a definition without a uid proves nothing", async () => {
  const { list } = definedAs({ uid: "" });
  await assert.rejects(list, isDefinitionChanging);
});
