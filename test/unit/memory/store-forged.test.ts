/** Calls that are not Cluster API's: whoever reaches the port may ask, but starts no clock. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { Cluster } from "../../../src/api/meta.ts";
import { PENDING_HOOKS_ANNOTATION } from "../../../src/api/meta.ts";
import type { HookCall } from "../../../src/api/runtime-hooks.ts";
import type { GateSpec } from "../../../src/api/hook-policy.ts";
import type { LiveWorld } from "../../../src/policy/world.ts";
import { APPROVED, at, cluster, DELETE, gated, UPGRADE, heldAt } from "../builders.ts";
import { passTo, rowsOf, storeWith } from "./fixtures.ts";

const APPROVAL: GateSpec = { name: "approved", annotation: { key: APPROVED } };
const WAIT: GateSpec = { name: "later", wait: { duration: "1h" } };
const EXPIRES = { deadline: { after: "1h", onExpiry: "Allow" as const } };

const steady = cluster({}, { topology: { className: "lab", version: "v1.34.0" } });
const upgrading = cluster({ resourceVersion: "300" }, { topology: { className: "lab", version: "v1.35.0" } });
const deleting = cluster({ deletionTimestamp: "2026-11-22T12:00:00Z", resourceVersion: "300" });
const marked = (mark: string): Cluster =>
  cluster({ annotations: { [PENDING_HOOKS_ANNOTATION]: mark }, resourceVersion: "300" });

/** What a stranger sends, the Cluster as it is meanwhile, and as it is when Cluster API calls in earnest. */
const FORGED: Record<string, { call: HookCall; sent: Cluster; meanwhile: Cluster; after: Cluster }> = {
  "a deletion": { call: DELETE, sent: steady, meanwhile: steady, after: deleting },
  "a deletion of a newer copy that nobody has": {
    call: DELETE,
    sent: cluster({ deletionTimestamp: "2026-11-22T12:00:00Z", resourceVersion: "99999999" }),
    meanwhile: steady,
    after: deleting,
  },
  "an upgrade": {
    call: UPGRADE,
    sent: { ...upgrading },
    meanwhile: steady,
    after: heldAt("BeforeClusterUpgrade", upgrading),
  },
  "a step of an upgrade": {
    call: {
      hook: "BeforeControlPlaneUpgrade",
      fromKubernetesVersion: "v1.34.0",
      toKubernetesVersion: "v1.35.0",
    },
    sent: steady,
    meanwhile: steady,
    after: heldAt("BeforeControlPlaneUpgrade", marked("AfterClusterUpgrade"), ["v1.35.0"]),
  },
  "the end of an upgrade": {
    call: { hook: "AfterClusterUpgrade", kubernetesVersion: "v1.34.0" },
    sent: marked("AfterClusterUpgrade"),
    meanwhile: steady,
    after: heldAt("AfterClusterUpgrade", marked("AfterClusterUpgrade")),
  },
};

describe("no clock is started by", () => {
  for (const [name, { call, sent, meanwhile, after }] of Object.entries(FORGED)) {
    for (const [what, policy] of [
      ["deadline", gated([APPROVAL], { hooks: [call.hook], ...EXPIRES })],
      ["wait", gated([WAIT], { hooks: [call.hook] })],
    ] as const) {
      test(`${name} that is only asked for: a ${what} counts from when the Cluster shows it`, () => {
        const fixture = storeWith({ policies: [policy], clusters: [meanwhile] });
        assert.ok(fixture.store.decider.ask({ call, cluster: sent }, fixture.clock.now).holds);
        assert.deepEqual(rowsOf(fixture, policy), []);
        passTo(fixture, at("+24h"));
        fixture.setCluster(after);
        const real = fixture.store.decider.ask({ call, cluster: after }, fixture.clock.now);
        assert.ok(real.holds, "the clock began a day ago");
        assert.ok(
          fixture.store.decider.decideLive({ call, cluster: after }, liveOf(after), fixture.clock.now).holds,
        );
        assert.equal(rowsOf(fixture, policy)[0]?.firstAsked, "2026-11-22T12:00:00Z");
        passTo(fixture, at("+26h"));
        assert.ok(
          !fixture.store.decider.ask({ call, cluster: after }, fixture.clock.now).holds,
          "it ends all the same",
        );
      });
    }
  }
});

function liveOf(live: Cluster): LiveWorld {
  const objects = { find: () => ({ ok: true, namespaced: true, objects: [] }) as const };
  return { cluster: live, namespace: undefined, objects, overrides: [] };
}
