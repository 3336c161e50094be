/** `hookpolicy rollout status` asks whether Cluster API calls, because no condition of a rollout says that it does not. */

import assert from "node:assert/strict";
import test, { describe, type TestContext } from "node:test";
import { answering, FORBIDDEN, list, listing } from "../api-server.ts";
import { hookpolicy } from "../resident.ts";

describe("status warns of a rollout whose hook Cluster API does not call", () => {
  const rollout = { metadata: { name: "upgrades" }, spec: { operation: "Upgrade" } };
  const statusWith = async (t: TestContext, answers: Readonly<Record<string, object>>): Promise<string> => {
    const { kubeconfig } = await answering(t, {
      ...listing({ hookrollouts: [rollout] }),
      ...answers,
    });
    const { code, stderr } = await hookpolicy(["rollout", "status", "--kubeconfig", kubeconfig]);
    assert.equal(code, 0, stderr);
    return stderr.replaceAll(kubeconfig, "FILE");
  };
  const group = "GET /apis/runtime.cluster.x-k8s.io";
  const served = {
    [group]: { versions: [{ groupVersion: "runtime.cluster.x-k8s.io/v1beta2", version: "v1beta2" }] },
  };
  const configs = (...items: readonly object[]) => ({
    ...served,
    [`${group}/v1beta2/extensionconfigs`]: list(...items),
  });
  const words =
    "warning: Cluster API does not call BeforeClusterUpgrade, so HookRollout upgrades holds nothing; see 'hookpolicy doctor --kubeconfig FILE'\n";

  test("because there is no ExtensionConfig, or no Cluster API", async (t) => {
    assert.equal(await statusWith(t, configs()), words);
    assert.equal(await statusWith(t, {}), words);
  });

  test("but not where it does, or the user may not know", async (t) => {
    const registered = {
      metadata: { name: "hookpolicy", resourceVersion: "1" },
      status: {
        conditions: [{ type: "Discovered", status: "True" }],
        handlers: [{ name: "any.hookpolicy", requestHook: { hook: "BeforeClusterUpgrade" } }],
      },
    };
    assert.equal(await statusWith(t, configs(registered)), "");
    assert.equal(await statusWith(t, { ...served, [`${group}/v1beta2/extensionconfigs`]: FORBIDDEN }), "");
  });
});
