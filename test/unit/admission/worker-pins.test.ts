/** Reviews of requests that pin workers to another version: a policy that refuses the upgrade refuses them, too. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { RuleSpec } from "../../../src/api/hook-policy.ts";
import { decide } from "../../../src/policy/decide.ts";
import { NOW, UPGRADE, world } from "../builders.ts";
import { deny, lab, review } from "./cluster-lab.ts";

type Pins = Readonly<Record<string, string | undefined>>;

interface Asked {
  readonly version?: string;
  readonly pins: Pins;
  readonly approved?: string;
}

/** At rest, in v1beta2. */
function pinned({ version = "v1.35.0", pins, approved }: Asked): object {
  const machineDeployments = Object.entries(pins).map(([name, pin]) => ({
    class: "worker",
    name,
    version: pin,
  }));
  return {
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "Cluster",
    metadata: {
      name: "prod-1",
      namespace: "team-a",
      uid: "uid-prod-1",
      resourceVersion: "100",
      generation: 3,
      annotations: approved === undefined ? {} : { ok: approved },
    },
    spec: { topology: { classRef: { name: "lab" }, version, workers: { machineDeployments } } },
    status: { conditions: [{ type: "TopologyReconciled", status: "True", observedGeneration: 3 }] },
  };
}

const asks = (before: Asked, after: Asked): object =>
  review("UPDATE", { oldObject: pinned(before), object: pinned(after) });

const upgrades = (over: Partial<RuleSpec> = {}): ReturnType<typeof deny> =>
  deny({
    hooks: ["BeforeClusterUpgrade"],
    until: [{ name: "approved", annotation: { key: "ok", valueFrom: "TargetVersion" } }],
    ...over,
  });

describe("a pin that is raised", () => {
  const raised = (approved?: string): object =>
    asks(
      { pins: { "md-0": "v1.33.0" } },
      { pins: { "md-0": "v1.34.0" }, ...(approved !== undefined && { approved }) },
    );

  test("is refused by a rule on upgrades, which is about the version of the workers", async () => {
    const { ask, outcomes } = lab({ policies: [upgrades()] });
    const { status } = await ask(raised());
    assert.equal(status?.code, 403);
    assert.match(
      status.message,
      /^workers md-0 of Cluster team-a\/prod-1 cannot be upgraded to v1\.34\.0 yet: .*gate approved waits for annotation ok=v1\.34\.0/,
    );
    assert.deepEqual(
      outcomes.map(({ verdict }) => verdict),
      ["Blocked"],
    );
  });

  test("passes once that is approved, after a read of the policies", async () => {
    const { ask, reads } = lab({ policies: [upgrades()] });
    assert.equal((await ask(raised("v1.34.0"))).allowed, true);
    assert.ok(reads.includes("policies"));
    assert.equal((await ask(raised("v1.35.0"))).allowed, false);
  });

  test("passes with a warning where the rule only warns", async () => {
    const { allowed, warnings = [] } = await lab({ policies: [upgrades({ admission: "Warn" })] }).ask(
      raised(),
    );
    assert.equal(allowed, true);
    assert.match(warnings.join("\n"), /gate approved waits for/);
  });

  test("is refused while it cannot be confirmed that no policy refuses it", async () => {
    const policies = async (): Promise<never> => await Promise.reject(new Error("connection refused"));
    const { status } = await lab({ policies: [upgrades()], reader: { policies } }).ask(raised("v1.34.0"));
    assert.equal(status?.code, 503);
    assert.match(status.message, /workers md-0 of .* now: HookPolicy could not confirm its decision/);
  });

  test("comes from the version of its workers, whatever the control plane has", async () => {
    const until = [{ name: "from", expression: "request.fromKubernetesVersion == 'v1.33.0'" }];
    assert.equal((await lab({ policies: [upgrades({ until })] }).ask(raised())).allowed, true);
  });
});

describe("a request that changes several versions", () => {
  const before = { version: "v1.34.0", pins: { a: "v1.33.0", b: "v1.33.1" } };

  test("passes only if each is released", async () => {
    const { ask, outcomes } = lab({ policies: [upgrades()] });
    const after = { version: "v1.35.0", pins: { a: "v1.34.0", b: "v1.34.0" } };
    const { status } = await ask(asks(before, { ...after, approved: "v1.35.0" }));
    assert.match(status?.message ?? "", /^workers a of .* cannot be upgraded to v1\.34\.0/);
    assert.equal(outcomes.length, 2);
    const onlyWorkers = await ask(asks(before, { ...after, approved: "v1.34.0" }));
    assert.match(
      onlyWorkers.status?.message ?? "",
      /^Cluster team-a\/prod-1 cannot be upgraded to v1\.35\.0/,
    );
    const none = lab({ policies: [] });
    assert.equal((await none.ask(asks(before, after))).allowed, true);
    assert.equal(none.outcomes.length, 3);
  });

  test("is refused with a reason where the API server would not wait for all of them", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    let clock = 0;
    t.mock.method(performance, "now", () => clock);
    const { ask, outcomes } = lab({
      policies: [],
      decisions: {
        confirmRequest: async () => {
          await new Promise((resolve) => setTimeout(resolve, 3000));
          return { ok: true, decision: decide([], world(), UPGRADE, NOW) };
        },
      },
    });
    const asked = ask(asks(before, { version: "v1.35.0", pins: { a: "v1.34.0", b: "v1.34.0" } }));
    for (const ms of [3000, 1500]) {
      await new Promise((resolve) => setImmediate(resolve));
      clock += ms;
      t.mock.timers.tick(ms);
    }
    const { allowed, status } = await asked;
    assert.equal(allowed, false);
    assert.match(status?.message ?? "", /could not confirm its decision .*\(Timeout\): try again$/);
    assert.deepEqual(
      outcomes.map(({ verdict }) => verdict),
      ["Allowed", "NotConfirmed"],
    );
  });

  test("in more ways than are reviewed is refused", async () => {
    const ways = (minor: number): Pins =>
      Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`md-${index}`, `v1.${minor}.${index}`]));
    const { status } = await lab({ policies: [] }).ask(asks({ pins: ways(33) }, { pins: ways(34) }));
    assert.equal(status?.code, 403);
    assert.match(status.message, /pin fewer of them in one request/);
  });
});

test("a pin to the version that the workers have passes without a read", async () => {
  const { ask, reads } = lab({ policies: [upgrades()] });
  const { allowed } = await ask(asks({ pins: { "md-0": undefined } }, { pins: { "md-0": "v1.35.0" } }));
  assert.equal(allowed, true);
  assert.deepEqual(reads, []);
});
