/** What a status counts without naming it: held in mode Enforce, and in no other. */

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { table, found, policy } from "../doctor/evidence-fixture.ts";
import { answering } from "../api-server.ts";
import { hookpolicy } from "../resident.ts";

const OWN = "GET /apis/hookpolicy.dev/v1alpha1";
const list = (...items: readonly object[]): object => ({ metadata: { resourceVersion: "1" }, items });
const since = "2026-01-01T00:00:00Z";

const rows = (verdict: string, namespace = "team-a"): object[] =>
  Array.from({ length: 50 }, (_, index) => ({
    namespace,
    cluster: `c${index}`,
    clusterUID: `u${index}`,
    hook: "BeforeClusterDelete",
    rule: "r",
    verdict,
    reason: "R",
    message: "waits",
    firstAsked: since,
    since,
  }));

const holder = (name: string, mode: string, status: object, namespace?: string): object => ({
  metadata: { name, uid: name, resourceVersion: "1", ...(namespace !== undefined && { namespace }) },
  spec: { mode, rules: [] },
  status,
});

const AUDIT = { decisions: rows("WouldBlock"), decisionsOmitted: 250, wouldBlock: 300 };

async function server(t: TestContext, answers: Readonly<Record<string, object>>): Promise<string> {
  const served = {
    [`${OWN}/hookpolicies`]: list(),
    [`${OWN}/clusterhookpolicies`]: list(),
    [`${OWN}/hookrollouts`]: list(),
    "GET /api/v1/namespaces": list(),
    "GET /api/v1/namespaces/team-a": { metadata: { name: "team-a", resourceVersion: "1" } },
    "GET /apis/runtime.cluster.x-k8s.io": { versions: [{ version: "v1beta2" }] },
    "GET /apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs/hookpolicy": {
      metadata: { name: "hookpolicy", uid: "1", resourceVersion: "1" },
    },
    "DELETE /apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs/hookpolicy": { kind: "Status" },
    "GET /apis/apps/v1/namespaces/hookpolicy-system/deployments/hookpolicy": {
      metadata: { namespace: "hookpolicy-system", name: "hookpolicy", uid: "4", resourceVersion: "1" },
      spec: { replicas: 0, selector: { matchLabels: {} } },
      status: { availableReplicas: 2 },
    },
    "GET /api/v1/namespaces/hookpolicy-system/pods": list(),
  };
  return (await answering(t, { ...served, ...answers })).kubeconfig;
}

test("rows that an Audit policy leaves out are not held: not in get, and not for prepare-uninstall", async (t) => {
  const kubeconfig = await server(t, {
    [`${OWN}/hookpolicies`]: list(holder("try", "Audit", AUDIT, "team-a")),
  });
  const get = await hookpolicy(["get", "-A", "--kubeconfig", kubeconfig]);
  assert.equal(get.stderr, "nothing is held\n");
  assert.match(get.stdout, /^at least 300 more would be held if their policies were not of mode Audit$/m);
  assert.doesNotMatch(get.stdout, /leaves out/);
  const json = await hookpolicy(["get", "-A", "-o", "json", "--kubeconfig", kubeconfig]);
  const { omitted, wouldBlock } = JSON.parse(json.stdout);
  assert.deepEqual([omitted, wouldBlock], [[], 300]);
  const gone = await hookpolicy(["prepare-uninstall", "--yes", "--kubeconfig", kubeconfig]);
  assert.match(gone.stderr, /^server: \S+, context \S+\n$/);
  assert.match(gone.stdout, /^delete ExtensionConfig hookpolicy \.\.\. done$/m);
  assert.equal(gone.code, 0);
});

test("an Audit policy of all namespaces that leaves rows out may hold Clusters of one that it does not show", async (t) => {
  const others = { ...AUDIT, decisions: rows("WouldBlock", "team-b") };
  const kubeconfig = await server(t, {
    [`${OWN}/clusterhookpolicies`]: list(holder("try", "Audit", others)),
    [`${OWN}/namespaces/team-a/hookpolicies`]: list(),
  });
  const { stdout } = await hookpolicy(["get", "-n", "team-a", "--kubeconfig", kubeconfig]);
  assert.match(stdout, /^an unknown number would be held if their policies were not of mode Audit$/m);
});

table("policies", {
  "a held Cluster beside rows that an Audit policy leaves out": {
    given: {
      policies: found([
        policy({}, { decisions: rows("Blocked").slice(0, 1) }),
        policy({ mode: "Audit" }, AUDIT, "try"),
      ]),
    },
    ok: /Ready; 1 Cluster held /,
  },
});

test("in a namespace, what an Audit policy of all namespaces leaves out can be of others", async (t) => {
  const kubeconfig = await server(t, {
    [`${OWN}/namespaces/team-a/hookpolicies`]: list(),
    [`${OWN}/clusterhookpolicies`]: list(holder("try", "Audit", AUDIT)),
  });
  const { stdout } = await hookpolicy(["get", "-n", "team-a", "--kubeconfig", kubeconfig]);
  assert.match(stdout, /^at least 50 more would be held/m);
});

test("operations that a rollout of mode Audit leaves out would be held, too", async (t) => {
  const row = { namespace: "team-a", name: "c1", uid: "u", reason: "NoFreeSlot", message: "waits", since };
  const status = { held: [row], heldOmitted: 7 };
  const rollout = { ...holder("zone", "Audit", status), spec: { mode: "Audit", operation: "Delete" } };
  const kubeconfig = await server(t, { [`${OWN}/hookrollouts`]: list(rollout) });
  const { stdout } = await hookpolicy(["get", "-A", "--kubeconfig", kubeconfig]);
  assert.match(stdout, /^at least 8 more would be held/m);
});

test("what prepare-uninstall has stopped holds nothing, whatever its rows say", async (t) => {
  const conditions = [{ type: "Ready", status: "Unknown", reason: "OperatorGone" }];
  const status = { decisions: rows("Blocked"), decisionsOmitted: 3, conditions, nextTransitionTime: since };
  const kubeconfig = await server(t, {
    [`${OWN}/hookpolicies`]: list(holder("p", "Enforce", status, "team-a")),
    [`${OWN}/hookrollouts`]: list({
      ...holder("r", "Enforce", { conditions, heldOmitted: 2 }),
      spec: { operation: "Delete" },
    }),
  });
  const { stdout, stderr } = await hookpolicy(["get", "-A", "--kubeconfig", kubeconfig]);
  assert.equal(stderr, "nothing is held\n");
  assert.equal(
    stdout,
    "prepare-uninstall has stopped the operator, so these hold nothing until one runs again: HookPolicy team-a/p, HookRollout r\n",
  );
  const json = JSON.parse((await hookpolicy(["get", "-A", "-o", "json", "--kubeconfig", kubeconfig])).stdout);
  assert.deepEqual(json.held, []);
  assert.deepEqual(
    json.operatorGone.map(({ name }: { name: string }) => name),
    ["p", "r"],
  );
});

test("counts are at least so many where a status leaves out rows, and of all namespaces where they can be of any", async (t) => {
  const status = { decisions: rows("Blocked"), decisionsOmitted: 250 };
  const kubeconfig = await server(t, {
    [`${OWN}/namespaces/team-a/hookpolicies`]: list(holder("own", "Enforce", status, "team-a")),
    [`${OWN}/hookpolicies`]: list(holder("own", "Enforce", status, "team-a")),
    [`${OWN}/clusterhookpolicies`]: list(holder("all", "Enforce", status)),
  });
  const get = async (...args: readonly string[]): Promise<string> =>
    (await hookpolicy(["get", ...args, "--kubeconfig", kubeconfig])).stdout;
  assert.match(await get("-A", "--by", "policy"), /^ClusterHookPolicy all +at least 50 /m);
  assert.match(
    await get("-A"),
    /^and 250 more that the status of HookPolicy team-a\/own leaves out\nand 250 more that the status of ClusterHookPolicy all leaves out\n/m,
  );
  assert.match(
    await get("-n", "team-a"),
    /^and 250 more that the status of HookPolicy team-a\/own leaves out\nand 250 more \(of all namespaces\) that the status of ClusterHookPolicy all leaves out\n/m,
  );
});
