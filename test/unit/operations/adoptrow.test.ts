/** What is adopted from the row of a status, which others have written, about an operation that is known already. */

import assert from "node:assert/strict";
import test from "node:test";
import type { DecisionRow } from "../../../src/api/hookpolicy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import { adoptRow } from "../../../src/operations/adoptrow.ts";
import { newOperation, type PendingOperation } from "../../../src/operations/operation.ts";
import { ALL_HOOKS, at, cluster, compiled, DELETE, hookPolicy, letGo, NOW } from "../builders.ts";

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

function adopted(now: Cluster): PendingOperation | undefined {
  const known = newOperation(DELETE, deleted, NOW, undefined);
  const policy = compiled(hookPolicy());
  return adoptRow(row, { cluster: now, policy, status: undefined, known, now: NOW, served: ALL_HOOKS });
}

test("a row is adopted until the Cluster shows that its operation has ended, even where it is still known", () => {
  assert.equal(adopted(deleted)?.call.hook, "BeforeClusterDelete");
  assert.equal(adopted(letGo(deleted)), undefined);
});
