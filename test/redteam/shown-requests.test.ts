/** Fields of requests that rules read between the calls: what the Cluster and the ExtensionConfigs tell of them. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { DecisionRow, HookPolicySpec } from "../../src/api/hook-policy.ts";
import type { HookCall } from "../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../src/memory/policy-set.ts";
import { APPROVED, at, cluster, DELETE, hookPolicy, NOW, rule } from "../unit/builders.ts";
import { type Fixture, passTo, statusOf, storeWith } from "../unit/memory/fixtures.ts";
import { Operators } from "./operators.ts";
import { blocking, shown, type ClusterState, versions } from "./shown-clusters.ts";

type Hooks = HookPolicySpec["rules"][number]["hooks"];
const soak = { name: "soak", wait: { duration: "30m" } };

function reading(expression: string, ...hooks: Hooks): PolicyObject {
  const matchConditions = [{ name: "from", expression }];
  const until = [{ name: "approved", annotation: { key: APPROVED } }, soak];
  return hookPolicy({ rules: [rule({ hooks, matchConditions, until })] });
}

const UPGRADED: ClusterState = { version: "v1.33.0", annotations: { [APPROVED]: "" } };
const WORKERS: ClusterState = {
  ...UPGRADED,
  marks: "AfterClusterUpgrade,BeforeWorkersUpgrade,AfterWorkersUpgrade",
  step: "v1.33.0",
  message: blocking("BeforeWorkersUpgrade", "v1.33.0"),
};
const UPGRADE: ClusterState = {
  ...UPGRADED,
  message: blocking("BeforeClusterUpgrade", "v1.33.0", "v1.33.0"),
};
const FROM = "request.fromKubernetesVersion.startsWith('v1.32')";
const GUARDED = `has(request.fromKubernetesVersion) && ${FROM}`;

function callOf(hook: HookCall["hook"]): HookCall {
  return { hook, fromKubernetesVersion: "v1.32.0", toKubernetesVersion: "v1.33.0" };
}

describe("the version that an upgrade comes from", () => {
  const cases: Record<string, readonly [hook: HookCall["hook"], is: ClusterState]> = {
    "of a step of the control plane": [
      "BeforeControlPlaneUpgrade",
      {
        ...UPGRADED,
        marks: "AfterClusterUpgrade",
        step: "v1.32.0",
        message: blocking("BeforeControlPlaneUpgrade", "v1.33.0", "v1.33.0"),
      },
    ],
    "of workers, since 1.14": [
      "BeforeWorkersUpgrade",
      { ...WORKERS, workers: { versions: versions("v1.32.0") } },
    ],
    "of a Cluster, since 1.14": [
      "BeforeClusterUpgrade",
      { ...UPGRADE, controlPlane: { versions: versions("v1.32.0") } },
    ],
  };
  for (const [what, [hook, is]] of Object.entries(cases)) {
    test(`${what}, is shown, and so the rule begins to wait`, async () => {
      const operators = new Operators({ policies: [reading(FROM, hook)], clusters: [shown(is)] });
      operators.passTo(at("+31m"));
      assert.equal((await operators.ask(0, callOf(hook), shown(is))).retryAfterSeconds, 0);
    });
  }

  const unshown: Record<string, readonly [hook: HookCall["hook"], is: ClusterState]> = {
    "of workers": ["BeforeWorkersUpgrade", WORKERS],
    "of a Cluster": ["BeforeClusterUpgrade", UPGRADE],
    "of a control plane of several": [
      "BeforeClusterUpgrade",
      { ...UPGRADE, controlPlane: { versions: versions("v1.32.0", "v1.32.1") } },
    ],
  };
  for (const [what, [hook, is]] of Object.entries(unshown)) {
    for (const expression of [FROM, GUARDED, `[request].exists(r, has(r.fromKubernetesVersion))`]) {
      test(`${what}, is not shown: ${expression} is not evaluable, and the status says so`, async () => {
        const policy = reading(expression, hook);
        const operators = new Operators({ policies: [policy], clusters: [shown(is)] });
        operators.passTo(at("+31m"));
        operators.settle();
        assert.notEqual((await operators.ask(0, callOf(hook), shown(is))).retryAfterSeconds, 0);
        const status = operators.statusOf(policy);
        assert.equal(status?.blocked, 1);
        const [row] = status.decisions ?? [];
        assert.equal(row?.verdict, "NotEvaluable");
        assert.match(row.message, /the Cluster does not show request\.fromKubernetesVersion, only calls of/);
      });
    }
  }
});

describe("the settings of the ExtensionConfig", () => {
  const on = "request.settings.deletions == 'allowed'";
  const deleting = cluster({ deletionTimestamp: NOW.toISOString() });
  const until = [{ name: "on", expression: on }, soak];
  const policy = hookPolicy({ rules: [rule({ until })] });
  type Settings = HookCall["settings"];

  class Told {
    settings: Settings;
    readonly fixture: Fixture;

    constructor(settings: Settings, object: PolicyObject = policy) {
      this.settings = settings;
      this.fixture = storeWith({
        policies: [object],
        clusters: [deleting],
        settings: () => this.settings,
      });
    }

    change(settings: Settings): void {
      this.settings = settings;
      this.fixture.store.settingsChanged();
      this.fixture.store.wake();
    }

    holds(): boolean {
      const call = { ...DELETE, ...(this.settings !== undefined && { settings: this.settings }) };
      return this.fixture.store.decider.ask({ call, cluster: deleting }, this.fixture.clock.now).holds;
    }

    row(): DecisionRow | undefined {
      return statusOf(this.fixture, policy).decisions?.[0];
    }
  }

  test("that come after the Cluster let the rule begin to wait, and not before", () => {
    const told = new Told(undefined);
    assert.match(told.row()?.message ?? "", /request\.settings is not known/);
    passTo(told.fixture, at("+1h"));
    told.change({ deletions: "allowed" });
    passTo(told.fixture, at("+89m"));
    assert.ok(told.holds());
    passTo(told.fixture, at("+91m"));
    assert.equal(told.holds(), false);
  });

  test("that say no for a while stop the wait, and it begins again", () => {
    const told = new Told({ deletions: "allowed" });
    passTo(told.fixture, at("+10m"));
    told.change({ deletions: "frozen" });
    passTo(told.fixture, at("+20m"));
    told.change({ deletions: "allowed" });
    passTo(told.fixture, at("+49m"));
    assert.ok(told.holds());
    passTo(told.fixture, at("+51m"));
    assert.equal(told.holds(), false);
  });

  test("make two replicas agree that learn of them at different times", () => {
    const first = new Told(undefined);
    const status = statusOf(first.fixture, policy);
    const second = new Told({ deletions: "frozen" }, { ...policy, status });
    first.change({ deletions: "frozen" });
    const written = { ...policy, status: statusOf(second.fixture, policy) };
    for (const { fixture } of [first, second]) {
      fixture.setPolicy(written);
      assert.deepEqual(statusOf(fixture, policy), written.status);
    }
  });
});
