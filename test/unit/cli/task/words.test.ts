import assert from "node:assert/strict";
import test from "node:test";
import { answering } from "../api-server.ts";
import { hookpolicy } from "../resident.ts";
import { hookTask } from "./hook-tasks.ts";

const TEAM_A = "/apis/hookpolicy.dev/v1alpha1/namespaces/team-a/hooktasks";

test("list says that those of operations that are over are all there are", async (t) => {
  const done = hookTask({ name: "t" }, { phase: "Succeeded", over: "2026-11-21T11:00:00Z" });
  const { kubeconfig } = await answering(t, {
    [`GET ${TEAM_A}`]: { metadata: { resourceVersion: "1" }, items: [done] },
  });
  const { stderr } = await hookpolicy(["task", "list", "-n", "team-a", "--kubeconfig", kubeconfig]);
  assert.equal(
    stderr,
    "there is no HookTask in namespace team-a whose operation is not over\nand 1 of operations that are over (--all)\n",
  );
});

test("show says what it creates or applies, with the article", async (t) => {
  const ingress = { apiVersion: "networking.k8s.io/v1", kind: "Ingress" };
  for (const [action, does] of [
    [{ create: ingress }, "creates an Ingress"],
    [{ apply: { ...ingress, kind: "ConfigMap" } }, "applies a ConfigMap"],
  ] as const) {
    const task = hookTask({ name: "t" }, {}, { action });
    const { kubeconfig } = await answering(t, { [`GET ${TEAM_A}/t`]: task });
    const { stdout } = await hookpolicy(["task", "show", "team-a/t", "--kubeconfig", kubeconfig]);
    assert.match(stdout, new RegExp(`^ +does +${does}$`, "m"));
  }
});
