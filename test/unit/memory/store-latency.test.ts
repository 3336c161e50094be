/** How long a change takes until the answer in memory is another. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { APPROVED, at, cluster, DELETE, gated, hookOverride, hookPolicy, period } from "../builders.ts";
import { passTo, storeWith } from "./fixtures.ts";

const deletionTimestamp = "2026-11-21T11:00:00Z";
const deleting = cluster({ deletionTimestamp });
const approved = cluster({ deletionTimestamp, annotations: { [APPROVED]: "" }, resourceVersion: "200" });

describe("the latency of a decision", () => {
  test("counts from when the change was seen, once for each answer that changes", () => {
    const fixture = storeWith({ policies: [hookPolicy()] });
    fixture.setCluster(deleting);
    assert.deepEqual(fixture.latencies, [0]);
    fixture.setCluster(cluster({ deletionTimestamp, labels: { other: "" }, resourceVersion: "150" }));
    assert.deepEqual(fixture.latencies, [0], "a change that changes no answer");
    fixture.setCluster(approved);
    fixture.setPolicy(hookPolicy({ mode: "Audit" }, { generation: 2 }));
    assert.deepEqual(fixture.latencies, [0, 0]);
  });

  test("of an answer that time changes counts from when it was due", () => {
    const allow = [period("+1h", "+2h")];
    const fixture = storeWith({
      policies: [gated([{ name: "w", window: { allow } }])],
      clusters: [deleting],
    });
    fixture.latencies.length = 0;
    passTo(fixture, new Date(at("+1h").getTime() + 700));
    assert.deepEqual(fixture.latencies, [700]);
  });

  test("of an answer that had to wait for others counts their time, too", () => {
    const fixture = storeWith({ policies: [hookPolicy()], turnMs: -1 });
    fixture.setCluster(deleting);
    assert.deepEqual(fixture.latencies, []);
    passTo(fixture, at("+3s"));
    assert.deepEqual(fixture.latencies, [3000]);
  });

  test("counts from the first cause, through all that had to wait", () => {
    const fixture = storeWith({ policies: [hookPolicy()], turnMs: -1 });
    fixture.setCluster(deleting);
    for (let turn = 0; turn < 10; turn += 1) passTo(fixture, at("+1s"));
    fixture.latencies.length = 0;
    const hooks = ["BeforeClusterDelete" as const];
    fixture.setOverride(hookOverride({ hooks }));
    passTo(fixture, at("+3s"));
    assert.deepEqual(fixture.latencies, [2000]);
  });

  test("is not that of a call, which changes what is known by itself", () => {
    const fixture = storeWith({ policies: [hookPolicy()], clusters: [cluster()] });
    fixture.store.decider.ask({ call: DELETE, cluster: deleting }, fixture.clock.now);
    assert.deepEqual(fixture.latencies, []);
  });
});
