/** A confirmation that holds, or that a caller caused, changes nothing that is remembered. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec } from "../../src/api/hook-policy.ts";
import type { Cluster, ObjectMeta } from "../../src/api/meta.ts";
import type { HookCall } from "../../src/api/runtime-hooks.ts";
import {
  at,
  cluster,
  clusterHookPolicy,
  DELETE,
  gated,
  heldAt,
  hookPolicy,
  NOW,
  UPGRADE,
} from "../unit/builders.ts";
import { CONFIG_MAP, configMap, Operators } from "./operators.ts";

const soak: GateSpec = { name: "soak", wait: { duration: "1h" } };
const annotated = (key: string): GateSpec => ({ name: key, annotation: { key } });

function deleting(...keys: string[]): Cluster {
  const annotations = Object.fromEntries(keys.map((key) => [key, ""]));
  return cluster({ deletionTimestamp: NOW.toISOString(), annotations });
}

async function isHeld(operators: Operators, call: HookCall, on: Cluster, index = 0): Promise<boolean> {
  return (await operators.ask(index, call, on)).retryAfterSeconds !== 0;
}

describe("(1a) a read of objects that fails when the wait has passed", () => {
  const backup: GateSpec = {
    name: "backup",
    object: { ...CONFIG_MAP, namespace: "platform", name: "final" },
  };
  const policy = clusterHookPolicy({
    rules: [{ name: "rule", hooks: ["BeforeClusterDelete"], until: [backup, soak] }],
  });
  const start = (): Operators => {
    const operators = new Operators({
      policies: [policy],
      clusters: [deleting()],
      objects: [configMap("final")],
    });
    operators.passTo(at("+61m"));
    return operators;
  };

  test("holds once: the wait has passed all the same", async () => {
    const operators = start();
    operators.objectsFail = true;
    assert.ok(await isHeld(operators, DELETE, deleting()));
    operators.objectsFail = false;
    assert.ok(!(await isHeld(operators, DELETE, deleting())));
  });

  test("is answered with the same bytes as long as it fails", async () => {
    const operators = start();
    operators.objectsFail = true;
    const first = await operators.ask(0, DELETE, deleting());
    operators.passTo(at("+3h"));
    assert.deepEqual(await operators.ask(0, DELETE, deleting()), first);
  });
});

describe("(1b) a gate that is not met while the watch is behind", () => {
  const start = async (): Promise<Operators> => {
    const operators = new Operators({
      policies: [gated([annotated("a"), soak])],
      clusters: [deleting("a")],
    });
    operators.passTo(at("+61m"));
    operators.write(deleting());
    assert.ok(await isHeld(operators, DELETE, deleting("a")), "the API server has no annotation");
    operators.write(deleting("a"));
    return operators;
  };

  test("holds, and is not missed when a list shows none of it", async () => {
    const operators = await start();
    operators.catchUp("list");
    assert.ok(!(await isHeld(operators, DELETE, deleting("a"))));
  });

  test("lets the wait begin again when the watch shows it; until then nothing is released", async () => {
    const operators = await start();
    assert.ok(await isHeld(operators, DELETE, deleting("a")), "memory has not seen what happened");
    operators.catchUp("watch");
    assert.ok(await isHeld(operators, DELETE, deleting("a")));
    operators.passTo(at("+122m"));
    assert.ok(!(await isHeld(operators, DELETE, deleting("a"))));
  });
});

test("(1c) a copy that is older than memory's starts no clock", async () => {
  const fleet = clusterHookPolicy({
    rules: [{ name: "rule", hooks: ["BeforeClusterDelete"], until: [annotated("a"), soak] }],
  });
  const operators = new Operators({
    policies: [fleet, gated([annotated("b")])],
    clusters: [deleting("a", "b")],
    count: 1,
  });
  operators.passTo(at("+61m"));
  operators.write(deleting("a"));
  operators.afterRead = () => {
    operators.afterRead = () => undefined;
    operators.set(deleting());
  };
  assert.ok(await isHeld(operators, DELETE, deleting("a", "b")));
  operators.passTo(at("+5h"));
  operators.set(deleting("a", "b"));
  operators.passTo(at("+301m"));
  assert.ok(await isHeld(operators, DELETE, deleting("a", "b")), "the wait began before the gate was met");
  operators.passTo(at("+361m"));
  assert.ok(!(await isHeld(operators, DELETE, deleting("a", "b"))));
});

describe("(1d) objects that were read for the version of a caller", () => {
  const freeze: GateSpec = {
    name: "freeze",
    object: {
      ...CONFIG_MAP,
      namespace: "platform",
      nameExpression: "'freeze.' + request.targetVersion",
      absent: true,
    },
  };
  const hooks: ["BeforeClusterUpgrade"] = ["BeforeClusterUpgrade"];
  const upgrading = (meta: Partial<ObjectMeta> = {}): Cluster =>
    heldAt("BeforeClusterUpgrade", cluster(meta, { topology: { className: "lab", version: "v1.35.0" } }));
  const approved = upgrading({ annotations: { ok: "" } });

  test("say nothing about the version of the Cluster: no wait begins", async () => {
    const fleet = clusterHookPolicy({
      rules: [
        {
          name: "rule",
          hooks,
          matchConditions: [{ name: "minor", expression: "request.targetVersion.startsWith('v1.35')" }],
          until: [freeze, soak],
        },
      ],
    });
    const own = hookPolicy({ rules: [{ name: "mine", hooks, until: [annotated("ok")] }] });
    const objects = [configMap("freeze.v1.35.0")];
    const operators = new Operators({ policies: [fleet, own], clusters: [approved], objects, count: 1 });
    operators.passTo(at("+1m"));
    operators.onRead = () => {
      operators.onRead = () => undefined;
      operators.set(upgrading());
    };
    await operators.ask(0, { ...UPGRADE, toKubernetesVersion: "v1.34.9" }, approved);
    operators.passTo(at("+5h"));
    operators.objects = [];
    operators.catchUp("watch");
    operators.set(approved);
    operators.passTo(at("+301m"));
    assert.ok(await isHeld(operators, UPGRADE, approved), "the wait began during the freeze");
    operators.passTo(at("+361m"));
    assert.ok(!(await isHeld(operators, UPGRADE, approved)));
  });
});
