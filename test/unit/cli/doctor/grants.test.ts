/** Which kinds `doctor` asks about: those that the operator has to read. */

import assert from "node:assert/strict";
import test from "node:test";
import { listing } from "../api-server.ts";
import { check, diagnosed, forbidden, found } from "./evidence-fixture.ts";

const gate = (kind: string): object => ({
  name: "backed-up",
  object: { apiVersion: "velero.io/v1", kind, name: "b" },
});
const POLICY = {
  metadata: { namespace: "team-a", name: "p", uid: "p", resourceVersion: "1" },
  spec: { rules: [{ name: "r", hooks: ["BeforeClusterDelete"], until: [gate("Backup")] }] },
};
const ROLLOUT = {
  metadata: { name: "upgrades", uid: "r", resourceVersion: "1" },
  spec: {
    operation: "Upgrade",
    namespaceSelector: {},
    progressDeadline: "6h",
    stages: [
      { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } },
      { name: "rest", until: [gate("Restore")] },
    ],
  },
};

test("doctor asks for the kinds that gates of policies and of rollouts' stages look at", async (t) => {
  const verbs = ["get", "list", "watch"];
  const { state, detail, remedy } = await diagnosed(t, "grants", {
    ...listing({ hookpolicies: [POLICY], clusterhookpolicies: [], hookrollouts: [ROLLOUT] }),
    "GET /apis/velero.io/v1": {
      resources: [
        { name: "backups", kind: "Backup", namespaced: true, verbs },
        { name: "restores", kind: "Restore", namespaced: true, verbs },
      ],
    },
    "POST /apis/authorization.k8s.io/v1/subjectaccessreviews": { status: { allowed: false } },
  });
  assert.equal(state, "error");
  assert.match(detail, /may not get, list, watch backups\.velero\.io, restores\.velero\.io: /);
  assert.match(
    remedy ?? "",
    / --resource=backups\.velero\.io,restores\.velero\.io && kubectl label clusterrole /,
  );
});

test("which kinds rollouts look at is unknown where they may not be read, but not what is missing already", () => {
  const grants = (missing: readonly string[]) => [{ resource: "backups.velero.io", missing: found(missing) }];
  assert.equal(check("grants", { rollouts: forbidden }).state, "unknown");
  assert.equal(check("grants", { rollouts: forbidden, grants: grants([]) }).state, "unknown");
  assert.equal(check("grants", { rollouts: forbidden, grants: grants(["watch"]) }).state, "error");
});
