/** What ends the life of an answer: every change that could have made it another. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import {
  APPROVED,
  at,
  cluster,
  clusterHookPolicy,
  DELETE,
  gated,
  hookOverride,
  hookPolicy,
  namespace,
  NOW,
  heldAt,
  rule,
  UPGRADE,
  period,
} from "../builders.ts";
import { hookRollout } from "../rollouts/fixtures.ts";
import { type Fixture, statusOf, storeWith } from "./fixtures.ts";

const deleting = cluster({ deletionTimestamp: "2026-11-21T11:00:00Z" });
const request = { call: DELETE, cluster: deleting };

function held(policy: PolicyObject = hookPolicy()): Fixture & { readonly isValid: (now?: Date) => boolean } {
  // What follows from a change is left to a later turn: the answer must not wait for it.
  const other = { ...deleting, metadata: { ...deleting.metadata, name: "prod-3", uid: "uid-3" } };
  const fixture = storeWith({ policies: [policy], clusters: [deleting, other], turnMs: -1 });
  const decision = fixture.store.decider.ask(request, NOW);
  assert.ok(decision.holds);
  const isValid = fixture.store.decider.validity(request, decision, NOW);
  assert.ok(isValid !== undefined);
  assert.ok(isValid(NOW));
  return { ...fixture, isValid: (now = NOW) => isValid(now) };
}

describe("an answer stays valid", () => {
  test("while nothing happens, and while statuses are written that tell of others", () => {
    const fixture = held();
    assert.ok(fixture.isValid(at("+24h")));
    const status = { ...statusOf(fixture, hookPolicy()), decisions: [] };
    fixture.setPolicy({ ...hookPolicy({}, { resourceVersion: "900" }), status });
    assert.ok(fixture.isValid(at("+24h")));
  });

  test("while other Clusters and Namespaces change", () => {
    const fixture = held();
    fixture.setCluster(cluster({ name: "prod-2", uid: "uid-2", labels: { a: "b" } }));
    fixture.setNamespace(namespace({ name: "team-b" }));
    assert.ok(fixture.isValid());
  });
});

describe("an answer is no longer valid", () => {
  const ends: Record<string, (fixture: Fixture) => void> = {
    "once the Cluster changes": (fixture) =>
      fixture.setCluster(
        cluster({
          deletionTimestamp: "2026-11-21T11:00:00Z",
          annotations: { [APPROVED]: "" },
          resourceVersion: "200",
        }),
      ),
    "once the Cluster is gone": (fixture) => fixture.setCluster(undefined, "team-a/prod-1"),
    "once its Namespace changes": (fixture) => fixture.setNamespace(namespace({ labels: { a: "b" } })),
    "once its policy is edited": (fixture) =>
      fixture.setPolicy(hookPolicy({ mode: "Audit" }, { generation: 2 })),
    "once the words of its policy are edited": (fixture) =>
      fixture.setPolicy(
        hookPolicy({ rules: [rule({ message: "Ask the platform team" })] }, { generation: 2 }),
      ),
    "once a rollout reads marks that its message may tell users to set": ({ store }) => {
      const clusterSelector = { matchLabels: { [APPROVED]: "" } };
      store.rolloutChanged("upgrades", hookRollout({ clusterSelector }));
    },
    "once its policy is gone": (fixture) => fixture.deletePolicy(hookPolicy()),
    "once another policy comes": (fixture) => fixture.setPolicy(clusterHookPolicy({}, { name: "other" })),
    "once an override of the Cluster comes": (fixture) => fixture.setOverride(hookOverride()),
  };
  for (const [name, change] of Object.entries(ends)) {
    test(name, () => {
      const fixture = held();
      change(fixture);
      assert.ok(!fixture.isValid());
    });
  }

  test("once a clock of another replica is adopted", () => {
    const policy = hookPolicy({ rules: [rule({ deadline: { after: "10h", onExpiry: "KeepBlocking" } })] });
    const fixture = held(policy);
    const status = statusOf(fixture, policy);
    fixture.clock.now = at("+1h");
    const decisions = status.decisions?.map(({ timers = [], ...row }) => ({
      ...row,
      timers: timers.map((timer) => ({ ...timer, blockedSince: at("+30m").toISOString() })),
    }));
    fixture.setPolicy({ ...policy, status: { ...status, ...(decisions && { decisions }) } });
    fixture.store.wake();
    assert.ok(!fixture.isValid());
  });

  test("ahead of the edge of a window, nor before it was given", () => {
    const allow = [period("+1h", "+2h")];
    const fixture = held(gated([{ name: "w", window: { allow } }]));
    assert.ok(fixture.isValid(at("+59m")));
    assert.ok(!fixture.isValid(at("+1h")));
    assert.ok(!fixture.isValid(new Date(NOW.getTime() - 1)), "the clock was set back");
  });

  test("for a version that the Cluster does not show", () => {
    const topology = { className: "lab", version: "v1.35.0" };
    const on = heldAt("BeforeClusterUpgrade", cluster({}, { topology }));
    const policy = gated([{ name: "a", annotation: { key: APPROVED } }], { hooks: ["BeforeClusterUpgrade"] });
    const { store } = storeWith({ policies: [policy], clusters: [on] });
    const other = { call: { ...UPGRADE, toKubernetesVersion: "v1.99.0" }, cluster: on };
    assert.equal(store.decider.validity(other, store.decider.ask(other, NOW), NOW), undefined);
    const own = { call: UPGRADE, cluster: on };
    assert.ok(store.decider.validity(own, store.decider.ask(own, NOW), NOW));
  });

  test("for what the Cluster does not show to be wanted", () => {
    const { store } = storeWith({ policies: [hookPolicy()], clusters: [cluster()] });
    const early = { call: DELETE, cluster: cluster() };
    assert.equal(store.decider.validity(early, store.decider.ask(early, NOW), NOW), undefined);
  });

  test("for Clusters that the informer does not know", () => {
    const { store } = storeWith({ policies: [hookPolicy()] });
    assert.equal(store.decider.validity(request, store.decider.ask(request, NOW), NOW), undefined);
  });
});
