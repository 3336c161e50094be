import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { answering, FORBIDDEN, list, listing, SERVES_CLUSTERS } from "../api-server.ts";
import { MAIN } from "../program.ts";
import { hookpolicy } from "../resident.ts";
import { onTerminal } from "../terminal/pseudo-terminal.ts";
import { refuses } from "../usage.ts";

refuses("get", {
  "two places at once": [
    ["-A", "-n", "team-a"],
    /^error: option '-A, --all-namespaces' cannot be used with option '-n, --namespace /,
  ],
  "a watch of sums": [["-w", "--by", "policy"], /^error: -w and .* operations: leave --by out/],
  "sums as JSON": [["-o", "json", "--by", "cluster"], /-o json show operations: leave --by out/],
  "an unknown format": [["-o", "jsn"], /\(did you mean json\?\)/],
  "an unknown grouping": [["--by", "clusters"], /\(did you mean cluster\?\)/],
  "no kubeconfig": [["--kubeconfig", "/none"], /^error: kubeconfig \/none: no such file\n$/],
});

test("get tells the operator's last sign of life by the Lease of its leader, if it may be read", async (t) => {
  const policies = listing({ hookpolicies: [], clusterhookpolicies: [] });
  const lease = (name: string, renewTime: string): object => ({
    metadata: { namespace: "hookpolicy-system", name, resourceVersion: "1" },
    spec: { renewTime },
  });
  const leases = list(
    lease("hookpolicy", "2020-01-01T00:00:00.000000Z"),
    lease("hookpolicy", "2020-01-02T00:00:00.000000Z"),
    { metadata: { name: "hookpolicy", resourceVersion: "1" } },
  );
  const known = await answering(t, { ...policies, "GET /apis/coordination.k8s.io/v1/leases": leases });
  const args = ["get", "-A", "--kubeconfig"];
  const { code, stdout } = await hookpolicy([...args, known.kubeconfig]);
  assert.equal(code, 0);
  assert.match(stdout, /the operator's last sign of life is \S+ old/);
  const json = await hookpolicy([...args, known.kubeconfig, "-o", "json"]);
  const report = JSON.parse(json.stdout);
  assert.equal(report.operatorSeen, "2020-01-02T00:00:00Z");
  const { kubeconfig } = await answering(t, policies);
  assert.doesNotMatch((await hookpolicy([...args, kubeconfig])).stdout, /sign of life/);
});

describe("what the operator has written can be out of date:", () => {
  const metadata = { name: "hookpolicy", resourceVersion: "1" };
  const lease = { metadata, spec: { renewTime: "2026-11-21T11:50:00.000000Z" } };
  const claim = { renewedAt: "2026-11-21T11:59:30Z" };
  const rollout = (running: readonly object[]): object => ({
    metadata: { name: "r" },
    spec: {},
    status: { running },
  });
  const served = {
    ...SERVES_CLUSTERS,
    "GET /apis/cluster.x-k8s.io/v1beta2/clusters": list(),
    "GET /api/v1/namespaces": list(),
    ...listing({ hookrollouts: [rollout([])], hooktasks: [] }),
    "GET /apis/coordination.k8s.io/v1/leases": list(lease),
    "GET /apis/runtime.cluster.x-k8s.io": FORBIDDEN,
  };
  for (const args of [
    ["rollout", "status"],
    ["rollout", "plan", "r", "--duration", "40m"],
    ["task", "list", "-A"],
  ])
    test(args.join(" "), async (t) => {
      const run = async (answers: Readonly<Record<string, object>>): Promise<string> => {
        const { kubeconfig } = await answering(t, answers, new Date("2026-11-21T12:00:00Z"));
        return (await hookpolicy([...args, "--kubeconfig", kubeconfig])).stderr;
      };
      const old =
        /^warning: the operator's last sign of life is 10m old: it seems not to run, or cannot write, and this can be out of date; see 'hookpolicy doctor --kubeconfig \S+'$/m;
      assert.match(await run(served), old);
      const { "GET /apis/coordination.k8s.io/v1/leases": _, ...unread } = served;
      assert.doesNotMatch(await run(unread), /warning/);
    });

  test("rollout status -w, below what it shows, which is not drawn again before it changes", async (t) => {
    const path = "GET /apis/hookpolicy.dev/v1alpha1/hookrollouts";
    let lists = 0;
    // What it reads is forbidden in the end, so that it ends.
    const answers = {
      ...served,
      get [path]() {
        return (lists += 1) < 3 ? list(rollout([])) : FORBIDDEN;
      },
    };
    const { kubeconfig } = await answering(t, answers, new Date("2026-11-21T12:00:00Z"));
    const { stdout, stderr } = await hookpolicy(["rollout", "status", "-w", "--kubeconfig", kubeconfig]);
    assert.match(stderr, /^warning: the operator's last sign of life is 10m old/);
    assert.equal(stdout.match(/^HookRollout r/gm)?.length, 1);
  });

  test("a slot of the last minute shows that an operator without a Lease runs", async (t) => {
    const newer = { ...served, ...listing({ hookrollouts: [rollout([claim])] }) };
    const { kubeconfig } = await answering(t, newer, new Date("2026-11-21T12:00:00Z"));
    assert.doesNotMatch(
      (await hookpolicy(["rollout", "status", "--kubeconfig", kubeconfig])).stderr,
      /warning/,
    );
  });
});

test("get says so where the user may not read Leases, and calls the rows neither old nor new", async (t) => {
  const row = {
    namespace: "team-a",
    cluster: "c1",
    clusterUID: "u",
    hook: "BeforeClusterDelete",
    rule: "r",
    verdict: "Blocked",
    reason: "WaitingForAnnotation",
    message: "waits",
    firstAsked: "2020-01-01T00:00:00Z",
    since: "2020-01-01T00:00:00Z",
  };
  const policy = {
    metadata: { namespace: "team-a", name: "p", uid: "p", resourceVersion: "1" },
    spec: { rules: [] },
    status: { decisions: [row] },
  };
  const { kubeconfig } = await answering(t, {
    ...listing({ hookpolicies: [policy], clusterhookpolicies: [] }),
    "GET /apis/coordination.k8s.io/v1/leases": FORBIDDEN,
  });
  const { stdout } = await hookpolicy(["get", "-A", "--kubeconfig", kubeconfig]);
  assert.match(
    stdout,
    /you may not list leases\.coordination\.k8s\.io: whether the operator runs is unknown/,
  );
  assert.doesNotMatch(stdout, /out of date|sign of life/);
});

test("get says in which namespace nothing is held, and how to see the others if none was named", async (t) => {
  const teamA = { metadata: { name: "team-a", resourceVersion: "1" } };
  const { kubeconfig } = await answering(t, {
    "GET /api/v1/namespaces": list(teamA),
    "GET /api/v1/namespaces/default": FORBIDDEN,
    "GET /api/v1/namespaces/team-a": teamA,
    ...listing({ hookpolicies: [], clusterhookpolicies: [], hookrollouts: [] }),
    ...listing({
      "namespaces/team-b/hookpolicies": [],
      "namespaces/default/hookpolicies": [],
      "namespaces/team-a/hookpolicies": [],
    }),
  });
  const said = async (...args: readonly string[]): Promise<string> =>
    (await hookpolicy(["get", ...args, "--kubeconfig", kubeconfig])).stderr;
  assert.equal(await said(), "nothing is held in namespace default; -A looks in all of them\n");
  assert.equal(await said("-n", "team-a"), "nothing is held in namespace team-a\n");
  assert.equal(await said("-A"), "nothing is held\n");
  const missing = await hookpolicy(["get", "-n", "team-b", "--kubeconfig", kubeconfig]);
  assert.deepEqual([missing.code, missing.stdout], [2, ""]);
  assert.equal(missing.stderr, "error: there is no Namespace team-b (did you mean team-a?)\n");
});

const clock = new Date("2026-01-01T00:00:00Z");
const since = "2025-12-31T23:00:00Z";
const row = { namespace: "team-a", cluster: "c1", clusterUID: "u", hook: "BeforeClusterDelete", rule: "r" };
const held = { ...row, verdict: "Blocked", reason: "R", message: "waits", firstAsked: since, since };
const metadata = { namespace: "team-a", name: "p", uid: "p", resourceVersion: "1" };

test("get without a Lease says that it is unknown whether the operator runs, and takes the API server's clock", async (t) => {
  const policy = { metadata, spec: { rules: [] }, status: { decisions: [held] } };
  const policies = listing({ hookpolicies: [policy], clusterhookpolicies: [] });
  const shown = async (...leases: readonly object[]): Promise<string> => {
    const answers = { ...policies, "GET /apis/coordination.k8s.io/v1/leases": list(...leases) };
    const { kubeconfig } = await answering(t, answers, clock);
    return (await hookpolicy(["get", "-A", "--kubeconfig", kubeconfig])).stdout;
  };
  assert.match(
    await shown(),
    /^no operator has a Lease, as without --leader-elect: whether the operator runs is unknown, /m,
  );
  const renewed = { metadata: { ...metadata, name: "hookpolicy" }, spec: { renewTime: clock.toISOString() } };
  const alive = await shown(renewed);
  assert.match(alive, /^team-a\/c1 +BeforeClusterDelete +HookPolicy\/p +r +60m /m);
  assert.doesNotMatch(alive, /operator|Lease/);
});

describe("get -w", () => {
  const lease = { metadata: { ...metadata, name: "hookpolicy" }, spec: { renewTime: since } };
  /** What it follows is forbidden in the end, so that it ends. */
  const served = (): Readonly<Record<string, object>> => {
    let asked = 0;
    const policies = list({ metadata, spec: { rules: [] }, status: { decisions: [held] } });
    return {
      get ["GET /apis/hookpolicy.dev/v1alpha1/hookpolicies"]() {
        return (asked += 1) < 4 ? policies : FORBIDDEN;
      },
      ...listing({ clusterhookpolicies: [], hookrollouts: FORBIDDEN }),
      "GET /apis/coordination.k8s.io/v1/leases": list(lease),
    };
  };
  const unread = "warning: you may not list hookrollouts.hookpolicy.dev: what these hold is not shown";
  const silent =
    /the operator's last sign of life is 60m old: it seems not to run, .*; see 'hookpolicy doctor/;

  test("keeps its warnings on the terminal that it draws, and tells by the API server's clock of an operator that is gone", async (t) => {
    const { kubeconfig } = await answering(t, served(), clock);
    const args = [MAIN, "get", "-A", "-w", "--kubeconfig", kubeconfig];
    const { seen } = await onTerminal(args, () => "");
    const screen = seen.split("\u001B[3J").at(-1)?.replaceAll("\r\n", " ") ?? "";
    assert.ok(screen.startsWith(unread), seen);
    assert.match(screen, / 60m /);
    assert.match(screen.replaceAll(/ +/g, " "), silent);
  });

  test("warns once where rows begin to be out of date", async (t) => {
    const { kubeconfig } = await answering(t, served(), clock);
    const { stdout, stderr } = await hookpolicy(["get", "-A", "-w", "--kubeconfig", kubeconfig]);
    assert.match(stdout, /^Held +team-a\/c1 +BeforeClusterDelete +HookPolicy\/p +r +60m /m);
    const [first, second, ...others] = stderr.split("\n");
    assert.equal(first, unread);
    assert.match(second ?? "", silent);
    assert.doesNotMatch(others.join("\n"), /warning/);
  });

  test("follows no Namespace that does not exist", async (t) => {
    const { kubeconfig } = await answering(t, {
      "GET /api/v1/namespaces": list({ metadata: { name: "team-a", resourceVersion: "1" } }),
      ...listing({ "namespaces/team-b/hookpolicies": [], clusterhookpolicies: [] }),
    });
    const { code, stderr } = await hookpolicy(["get", "-n", "team-b", "-w", "--kubeconfig", kubeconfig]);
    assert.equal(code, 2);
    assert.equal(stderr, "error: there is no Namespace team-b (did you mean team-a?)\n");
  });
});
