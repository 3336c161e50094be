/** `explain` where the operator does not answer, is not asked, or cannot confirm: its first line says so. */

import assert from "node:assert/strict";
import test from "node:test";
import { TEXT } from "../../../../src/hooks/hook-answer.ts";
import { answering, list, servingCluster } from "../api-server.ts";
import { rawCluster } from "../raw.ts";
import { hookpolicy } from "../resident.ts";

interface Given {
  readonly status?: object;
  readonly meta?: object;
  readonly policies?: readonly object[];
  readonly leases?: readonly object[];
  readonly clock?: Date | undefined;
}

async function explained(
  t: test.TestContext,
  { status = {}, meta = {}, policies = [], leases = [], clock }: Given,
): Promise<string> {
  const cluster = { ...rawCluster({ uid: "uid-1", resourceVersion: "1", ...meta }), status };
  const answers = {
    ...servingCluster(cluster, { "namespaces/team-a/hookpolicies": policies }),
    "GET /apis/coordination.k8s.io/v1/leases": list(...leases),
  };
  const { kubeconfig } = await answering(t, answers, clock);
  const args = ["explain", "team-a/prod-1", "--hook", "BeforeClusterDelete", "--kubeconfig", kubeconfig];
  const { stdout, stderr } = await hookpolicy(args);
  assert.equal(stderr, "");
  return stdout;
}

async function firstLine(
  t: test.TestContext,
  status: object,
  leases: readonly object[],
  clock?: Date,
): Promise<string> {
  const [line = ""] = (await explained(t, { status, leases, clock })).split("\n");
  return line.replace(/ --kubeconfig \S+'$/, " --kubeconfig FILE'");
}

const renewed = (renewTime: string): object => ({
  metadata: { namespace: "hookpolicy-system", name: "hookpolicy", resourceVersion: "1" },
  spec: { renewTime },
});
const CALL = `failed to call extension handler "before-cluster-delete.hookpolicy": http call failed: context deadline exceeded`;
const failed = {
  conditions: [{ type: "TopologyReconciled", status: "False", message: `error: ${CALL}\nmore` }],
};

test("explain says first that calls fail, or that no operator runs", async (t) => {
  const now = new Date().toISOString();
  const doctor = "see 'hookpolicy doctor --kubeconfig FILE'";
  assert.equal(
    await firstLine(t, failed, [renewed(now)]),
    `note: Cluster API's last call failed, and the Cluster stays as it is until one succeeds: ${CALL}; ${doctor}`,
  );
  const cause = "dial tcp 10.96.0.7:443: connect: connection refused";
  const message = `${CALL}: Post "https://hookpolicy.svc/${"hooks/".repeat(60)}": ${cause}`;
  const long = { conditions: [{ type: "TopologyReconciled", status: "False", message }] };
  assert.ok((await firstLine(t, long, [renewed(now)])).endsWith(`: ${cause}; ${doctor}`));
  const silent =
    /^note: the operator's last sign of life is \S+ old: it seems not to run, or cannot write; while none runs, Cluster API's calls fail/;
  assert.match(await firstLine(t, {}, [renewed("2020-01-01T00:00:00Z")]), silent);
  assert.match(await firstLine(t, {}, []), /^Allowed: /, "one without --leader-elect has no Lease");
  assert.match(
    await firstLine(t, {}, [renewed(now)]),
    /^Allowed: BeforeClusterDelete of Cluster team-a\/prod-1/,
  );
});

test("an operator that runs does not seem silent to a machine whose clock is ahead", async (t) => {
  const clock = new Date("2026-01-01T00:00:00Z");
  assert.match(await firstLine(t, {}, [renewed(clock.toISOString())], clock), /^Allowed: /);
});

test("explain says first that the operator could not confirm a release", async (t) => {
  const message = `Following hooks are blocking delete: BeforeClusterDelete: ${TEXT.NotConfirmed}`;
  const status = { v1beta2: { conditions: [{ type: "TopologyReconciled", status: "False", message }] } };
  assert.match(
    await firstLine(t, status, [renewed(new Date().toISOString())]),
    /^note: the operator's last answer was that it could not confirm the release .*'could not be confirmed'/,
  );
});

test("after calls that have failed, explain names no time of the next one", async (t) => {
  const meta = { deletionTimestamp: "2026-11-21T10:00:00Z" };
  const given = { meta, status: failed };
  const released = await explained(t, given);
  assert.match(
    released,
    /^ {2}proceeds {2}when Cluster API asks again; after failures it waits longer each time$/m,
  );
  const held = await explained(t, { ...given, policies: [gated()] });
  assert.match(held, /^ {2}released .*; Cluster API asks again; after failures it waits longer each time$/m);
});

/** Holds every deletion. */
function gated(condition?: object): object {
  const until = [{ name: "ok", annotation: { key: "example.com/ok" } }];
  const conditions = condition === undefined ? [] : [{ type: "NotCalled", status: "True", ...condition }];
  return {
    metadata: { namespace: "team-a", name: "p", uid: "uid-p", generation: 1, resourceVersion: "1" },
    spec: { rules: [{ name: "r", hooks: ["BeforeClusterDelete"], until }] },
    status: { observedGeneration: 1, conditions },
  };
}

test("explain says first that nothing is held where Cluster API does not call the hook", async (t) => {
  const first = async (...given: Parameters<typeof gated>): Promise<string> =>
    (await explained(t, { policies: [gated(...given)] })).split("\n")[0] ?? "";
  assert.equal(
    await first({ reason: "NotRegistered", message: "No ExtensionConfig registers the operator" }),
    "note: nothing is held in fact, because Cluster API does not ask: No ExtensionConfig registers the operator (NotCalled of HookPolicy team-a/p)",
  );
  const unlisted = (hook: string): object => ({
    reason: "HookNotRegistered",
    message: `ExtensionConfig hookpolicy lists no handler for ${hook}: annotate it`,
  });
  assert.match(await first(unlisted("BeforeClusterDelete")), /^note: nothing is held in fact/);
  assert.match(await first(unlisted("BeforeClusterUpgrade")), /^Blocked: /, "another hook");
  assert.match(await first(), /^Blocked: /);
});
