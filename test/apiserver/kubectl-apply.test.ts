/** A policy that is applied again, as GitOps does all day, is not a change. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { sharedControlPlane } from "../controlplane/shared.ts";

const policyHead = { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookPolicy" };

const cp = await sharedControlPlane();
after(async () => await cp.stop());

test("kubectl apply of an unchanged policy changes nothing, and says so", async () => {
  const gates = [
    { name: "annotated", annotation: { key: "example.com/ok", valueFrom: "ClusterUID" } },
    { name: "labelled", label: { key: "example.com/ok" } },
    { name: "ready", expression: "has(cluster.status.phase)" },
    { name: "thawed", window: { timeZone: "UTC", allow: [{ schedule: "0 22 * * FRI", duration: "8h" }] } },
    { name: "backup", object: { apiVersion: "v1", kind: "ConfigMap", name: "done" } },
    { name: "tested", version: { range: "<1.40" } },
  ];
  const rule = {
    name: "all",
    hooks: ["BeforeClusterUpgrade"],
    matchConditions: [{ name: "some", expression: "request.hook != ''" }],
    until: [...gates, { name: "any", anyOf: gates.slice(0, 3) }, { name: "soak", wait: { duration: "1h" } }],
    deadline: { after: "24h", onExpiry: "Allow" },
  };
  const again = {
    ...policyHead,
    metadata: { name: "again", namespace: "default" },
    spec: { rules: [rule] },
  };
  const spec = { namespaceSelector: {}, rules: [rule] };
  const everywhere = { ...policyHead, kind: "ClusterHookPolicy", metadata: { name: "again" }, spec };
  const items = [again, everywhere];
  const file = join(cp.folder, "again.json");
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
  const lines = async (): Promise<string[]> =>
    (await cp.kubectl("apply", "-f", file))
      .trim()
      .split("\n")
      .map((line) => line.replace(/^\S+ /, ""));
  assert.deepEqual(await lines(), ["created", "created"]);
  assert.deepEqual(await lines(), ["unchanged", "unchanged"]);
  await cp.kubectl("delete", "-f", file);
});
