/** Overrides that are in force would stay so for ever once no operator writes their statuses. */

import assert from "node:assert/strict";
import test from "node:test";
import { reportGone } from "../../../../src/cli/prepare-uninstall/operator-gone.ts";
import { OVERRIDES } from "../../../../src/kube/resources.ts";
import type { KubeObject } from "../../../../src/kube/resource.ts";
import { answering } from "../api-server.ts";
import { hookpolicy } from "../resident.ts";

function override(name: string, over: object = {}): KubeObject & { readonly status: object } {
  const active = { type: "Active", status: "True", reason: "Active", message: "Until …", ...over };
  const conditions = [{ ...active, lastTransitionTime: "2026-11-21T12:00:00Z" }];
  return { metadata: { name, uid: name, resourceVersion: "1" }, status: { conditions, usedCount: 1 } };
}
const EXPIRED = override("old", { status: "False", reason: "Expired" });

test("they become Unknown, and those that have expired stay as they are", async (t) => {
  const own = "/apis/hookpolicy.dev/v1alpha1/hookoverrides";
  const items = [override("now"), EXPIRED];
  const { kubeconfig, asked } = await answering(t, {
    [`GET ${own}`]: { metadata: { resourceVersion: "1" }, items },
    [`PUT ${own}/now/status`]: override("now"),
  });
  const { code, stdout } = await hookpolicy(["prepare-uninstall", "--yes", "--kubeconfig", kubeconfig]);
  assert.deepEqual(
    [code, stdout],
    [0, "say in the status of 1 override that the operator is gone ... done\n"],
  );
  assert.deepEqual(
    asked.filter((question) => question.startsWith("PUT")),
    [`PUT ${own}/now/status`],
  );
});

test("they say why, and keep what they have released", async () => {
  const written: unknown[] = [];
  const client = {
    get: async () => await Promise.reject(new Error("not asked")),
    replaceStatus: async (_: unknown, { status }: KubeObject) => {
      written.push(status);
      return await Promise.resolve(EXPIRED);
    },
  } as unknown as Parameters<typeof reportGone>[0];
  for (const each of [override("now"), EXPIRED]) await reportGone(client, OVERRIDES, each);
  const [{ conditions, usedCount }, ...others] = JSON.parse(JSON.stringify(written));
  const { lastTransitionTime: _, ...condition } = conditions[0];
  assert.deepEqual([usedCount, others], [1, []]);
  assert.deepEqual(condition, {
    type: "Active",
    status: "Unknown",
    reason: "OperatorGone",
    message: "The operator was stopped by prepare-uninstall: it releases nothing until one runs again",
  });
});
