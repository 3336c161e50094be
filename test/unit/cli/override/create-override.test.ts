import assert from "node:assert/strict";
import test from "node:test";
import type { KubeClient } from "../../../../src/kube/kube-client.ts";
import { KubeError } from "../../../../src/kube/kube-error.ts";
import { createOverride } from "../../../../src/cli/override/new-override.ts";
import { hookOverride } from "../../builders.ts";

const override = hookOverride({}, { name: "o" });
const refused = new KubeError("list: internal error", { code: 500, reason: "InternalError" });

test("an override that is created is not said to have failed, whatever cannot be read of it then", async () => {
  const created: string[] = [];
  const client = {
    create: async (_: unknown, { metadata }: { metadata: { name: string } }) => created.push(metadata.name),
    list: async () => await Promise.reject(refused),
  } as unknown as KubeClient;
  assert.equal(await createOverride(client, override), undefined);
  assert.deepEqual(created, ["o"]);
});

test("an override that is not created is an error", async () => {
  const client = { create: async () => await Promise.reject(refused) } as unknown as KubeClient;
  await assert.rejects(createOverride(client, override), refused);
});
