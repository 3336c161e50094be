/** What is adopted from the row of a status, which others have written, about an operation that is known already. */

import assert from "node:assert/strict";
import test from "node:test";
import type { DecisionRow } from "../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import { adoptRow, type RowContext } from "../../../src/operations/adopt-row.ts";
import { newOperation, type PendingOperation } from "../../../src/operations/operation.ts";
import {
  ALL_HOOKS,
  at,
  cluster,
  clusterHookPolicy,
  compiled,
  DELETE,
  hookPolicy,
  letGo,
  namespace,
  NOW,
} from "../builders.ts";

const deleted = cluster({ deletionTimestamp: at("-1h").toISOString() });
const row: DecisionRow = {
  namespace: "team-a",
  cluster: "prod-1",
  clusterUID: deleted.metadata.uid,
  hook: "BeforeClusterDelete",
  verdict: "Blocked",
  rule: "confirmed-delete",
  reason: "WaitingForAnnotation",
  message: "",
  firstAsked: at("-1h").toISOString(),
  since: at("-1h").toISOString(),
};

function adopted(now: Cluster, over: Partial<RowContext> = {}): PendingOperation | undefined {
  const known = newOperation(DELETE, deleted, NOW, undefined);
  const policy = compiled(hookPolicy());
  const context = { namespace: undefined, policy, status: undefined, known, now: NOW, served: ALL_HOOKS };
  return adoptRow(row, { cluster: now, ...context, ...over });
}

test("a row is adopted until the Cluster shows that its operation has ended, even where it is still known", () => {
  assert.equal(adopted(deleted)?.call.hook, "BeforeClusterDelete");
  assert.equal(adopted(letGo(deleted)), undefined);
});

test("a row is adopted only where its policy may match the Cluster, and the hook can hold", () => {
  const selecting = (tier: string): Partial<RowContext> => ({
    policy: compiled(hookPolicy({ clusterSelector: { matchLabels: { tier } } })),
  });
  const tiered: Cluster = { ...deleted, metadata: { ...deleted.metadata, labels: { tier: "production" } } };
  assert.ok(adopted(tiered, selecting("production")) !== undefined);
  assert.equal(adopted(tiered, selecting("development")), undefined);
  const policy = compiled(clusterHookPolicy({ namespaceSelector: { matchLabels: { team: "a" } } }));
  assert.ok(adopted(deleted, { policy }) !== undefined, "the Namespace is not known");
  assert.equal(adopted(deleted, { policy, namespace: namespace() }), undefined);
  assert.equal(adopted(deleted, { served: { ...ALL_HOOKS, blocking: new Set() } }), undefined);
});
