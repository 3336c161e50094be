/** `hookpolicy rollout` as a person runs it, without an API server. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { answering, FORBIDDEN, list, listing, SERVES_CLUSTERS } from "../api-server.ts";
import { checked, folder, yaml } from "../program.ts";
import { rawFleetPolicy, rawNamespace, rawPolicy, rawRollout } from "../raw.ts";
import { hookpolicy } from "../resident.ts";
import { refuses } from "../usage.ts";
import { clusterOf, FLEET, plan, rolloutOf } from "./planned-fleet.ts";
import { stageOf } from "../../rollouts/fixtures.ts";

refuses(
  "rollout",
  {
    "an unknown action": [["go"], /Allowed choices are status, plan, pause, resume/],
    "a pause without a name": [["pause", "--reason", "x"], /pause: name the rollout/],
    "a pause without a reason": [["pause", "upgrades"], /say why with --reason/],
    "a pause with an empty reason": [["pause", "upgrades", "--reason", " "], /say why with --reason/],
    "a resumption without a name": [["resume"], /resume: name the rollout/],
    "a reason for a status": [["status", "--reason", "x"], /--reason is for pause/],
    "watching a plan": [["plan", "upgrades", "--duration", "1h", "-w"], /--watch is for status/],
    "a version for a status": [["status", "--to-version", "v1.35.0"], /--to-version is for plan/],
    "yes to a pause": [["pause", "upgrades", "--reason", "x", "-y"], /--yes is for resume/],
    "a picture of a status": [["status", "-o", "svg"], /-o svg is for plan/],
    "a plan without a duration": [["plan", "upgrades"], /--duration, such as 40m/],
    "a plan of nothing": [["plan", "--duration", "1h"], /name the rollout, or give its file/],
  },
  { env: { KUBECONFIG: "none" } },
);

describe("a name that no rollout has is refused with what may be meant", () => {
  const named = (name: string): object => ({ metadata: { name }, spec: {} });
  const cases: readonly (readonly [string, readonly string[], string])[] = [
    ["upgrade", ["upgrades", "deletions"], "there is no HookRollout upgrade (did you mean upgrades?)"],
    ["prod", ["upgrades", "creations"], "there is no HookRollout prod (there are creations, upgrades)"],
    ["prod", [], "there is no HookRollout prod, and no other"],
  ];
  for (const action of [["status"], ["status", "-w"], ["pause", "--reason", "r"], ["resume"]])
    test(action.join(" "), async (t) => {
      for (const [name, existing, words] of cases) {
        const { kubeconfig } = await answering(t, listing({ hookrollouts: existing.map(named) }));
        const args = ["rollout", ...action, name, "--kubeconfig", kubeconfig];
        assert.deepEqual(await hookpolicy(args), { code: 2, stdout: "", stderr: `error: ${words}\n` });
      }
    });
});

describe("a plan from files", () => {
  test("says when each stage begins, ends and passes", async (t) => {
    const { code, stdout } = await plan(t, [...FLEET, rolloutOf("upgrades")]);
    assert.equal(code, 0);
    assert.equal(
      stdout,
      `The plan is about the next upgrade, to whatever version (--to-version plans one), because no status shows what these run: fleet/a, fleet/b.
There is no policy, so the plan has only the windows and other gates of the stages.
HookRollout upgrades from 2026-12-01T08:00Z on, if every operation takes 40m and none fails:
STAGE    CLUSTERS   SUCCEEDED   BEGINS              ENDS                PASSES
canary   1          0           2026-12-01T08:00Z   2026-12-01T08:40Z   2026-12-01T09:40Z
rest     1          0           2026-12-01T09:40Z   2026-12-01T10:20Z   2026-12-01T10:20Z
The last Cluster is done at 2026-12-01T10:20Z, after 2h20m.
`,
    );
  });

  test("as JSON, and as a picture", async (t) => {
    const objects = [...FLEET, rolloutOf("upgrades")];
    const json = await plan(t, objects, "-o", "json");
    const { clusters } = JSON.parse(json.stdout) as { clusters: { name: string }[] };
    assert.deepEqual(
      clusters.map(({ name }) => name),
      ["b", "a"],
    );
    const { stdout } = await plan(t, objects, "-o", "svg");
    assert.match(
      stdout,
      /^<svg [^]*<title>fleet\/b: 2026-12-01T08:00Z to 2026-12-01T08:40Z<\/title>[^]*<\/svg>\n$/,
    );
    for (const words of ["begins by itself", "begins after an action such as an approval"])
      assert.match(stdout, new RegExp(`<rect [^\\n]*fill="#\\w+"/>\\n<text [^\\n]*>${words}</text>`));
  });

  test("waits for the windows of policies, and names what never begins or needs an action", async (t) => {
    const policy = (name: string, gate: object, wave: string): object =>
      rawPolicy(`fleet/${name}`, {
        clusterSelector: { matchLabels: { wave } },
        rules: [{ name: "r", hooks: ["BeforeClusterUpgrade"], until: [{ name: "g", ...gate }] }],
      });
    const window = { window: { timeZone: "UTC", allow: [{ schedule: "0 22 * * *", duration: "4h" }] } };
    const { stdout } = await plan(t, [
      ...FLEET,
      rolloutOf("upgrades"),
      policy("night", window, "canary"),
      policy("approved", { annotation: { key: "example.com/ok" } }, "rest"),
    ]);
    assert.match(stdout, /^canary +1 +0 +2026-12-01T22:00Z/m);
    assert.match(stdout, /^1 Cluster must be released by an action first/m);
    assert.match(
      stdout,
      /^From 2026-12-01T08:00Z to 2026-12-01T22:00Z, whatever slots are free: waiting for HookPolicy fleet\/night, rule r, gate g \(1 Cluster\)$/m,
    );
    assert.doesNotMatch(stdout, /There is no policy/);
    const none = await plan(t, [...FLEET, rolloutOf("upgrades", { maxConcurrency: 0 })]);
    assert.match(
      none.stdout,
      /There is no policy, [^]*\nNo Cluster begins\.\nNever begun: fleet\/[ab], fleet\/[ab]\n$/,
    );
  });

  test("waits for the windows of a stage", async (t) => {
    const window = { timeZone: "UTC", allow: [{ schedule: "0 22 * * *", duration: "4h" }] };
    const { stdout } = await plan(t, [
      ...FLEET,
      rolloutOf("upgrades", { stages: [{ name: "all", until: [{ name: "night", window }] }] }),
    ]);
    assert.match(stdout, /^all +2 +0 +2026-12-01T22:00Z +2026-12-01T23:20Z/m);
  });

  test("names a stage without Clusters, behind which nothing begins, and one whose minSucceeded is 0 not", async (t) => {
    const stage = (name: string, over: object = {}): object => {
      return { name, clusterSelector: { matchLabels: { wave: name } }, ...over };
    };
    const stages = (over: object): object => ({
      stages: [stage("canary"), stage("staging", over), { name: "rest" }],
    });
    const empty = await plan(t, [...FLEET, rolloutOf("upgrades", stages({}))]);
    assert.match(
      empty.stdout,
      /^spec\.stages\[1\]\.clusterSelector: .*, so stage staging has no Cluster, and later stages wait [^]*\nNever begun: fleet\/a\n$/m,
    );
    assert.doesNotMatch(empty.stdout, /the next one never begins/);
    const taken = { stages: [stage("canary"), { ...stage("canary"), name: "two" }, { name: "rest" }] };
    const overlapping = await plan(t, [...FLEET, rolloutOf("upgrades", taken)]);
    assert.match(
      overlapping.stdout,
      /^Stage two has no Cluster, so the next one never begins: label Clusters for it, or set its minSucceeded to 0 and its minSuccessTime to 0s\.$/m,
    );
    const passed = await plan(t, [...FLEET, rolloutOf("upgrades", stages({ minSucceeded: 0 }))]);
    assert.doesNotMatch(passed.stdout, /Never begun/);
    assert.match(passed.stdout, /^staging +0 +0 +- +- +at once$/m);
    const json = await plan(t, [...FLEET, rolloutOf("upgrades", stages({ minSucceeded: 0 }))], "-o", "json");
    const { stages: planned } = JSON.parse(json.stdout) as { stages: { passes?: string }[] };
    assert.equal(planned[1]?.passes, "2026-12-01T08:00:00.000Z");
  });

  describe("begins with the present", () => {
    const OLD = "v1.34.0";
    const NEW = "v1.35.0";
    const condition = (type: string, status: string, message = ""): object => ({
      type,
      status,
      message,
      reason: message === "" ? "Fine" : "LifecycleHookBlocking",
      observedGeneration: 1,
    });
    const living = (name: string, wave: string, version: string, over: object = {}) => {
      const given = clusterOf(name, wave, version) as { metadata: object; spec: object };
      return {
        ...given,
        metadata: { ...given.metadata, generation: 1, ...over },
        spec: { ...given.spec, infrastructureRef: { name }, controlPlaneRef: { name } },
      };
    };
    const at = (name: string, wave: string, version: string, health = "True") => ({
      ...living(name, wave, version),
      status: { conditions: [condition("TopologyReconciled", "True"), condition("Available", health)] },
    });
    const held = (name: string, wave: string) => ({
      ...living(name, wave, NEW),
      status: {
        conditions: [
          condition(
            "TopologyReconciled",
            "False",
            "Following hooks are blocking upgrade: BeforeClusterUpgrade: held",
          ),
        ],
      },
    });
    const NAMESPACE = rawNamespace("fleet");
    const rest = (table: string): string => /^rest .*$/m.exec(table)?.[0] ?? "";

    test("a stage whose Clusters have the version has succeeded, with or without --to-version", async (t) => {
      const objects = [at("b", "canary", NEW), held("a", "rest"), NAMESPACE, rolloutOf("upgrades")];
      for (const args of [[], ["--to-version", NEW]]) {
        const { stdout } = await plan(t, objects, ...args);
        assert.match(stdout, /^HookRollout upgrades to v1\.35\.0 from /m);
        assert.match(stdout, /^canary +1 +1 +- +- +2026-12-01T09:00Z$/m);
        assert.match(rest(stdout), /^rest +1 +0 +2026-12-01T09:00Z/);
        assert.doesNotMatch(stdout, /never|Never/);
      }
    });

    test("a soak counts from when the status says, and a stage that has passed stays so", async (t) => {
      const soaking = stageOf("canary", { succeeded: 1, soakingSince: "2026-12-01T07:30:00Z" });
      const withStatus = (stage: object) => ({
        ...rolloutOf("upgrades"),
        status: { targets: [{ version: NEW, stages: [stage, stageOf("rest", { succeeded: 1 })] }] },
      });
      const fleet = [at("b", "canary", NEW), held("a", "rest"), NAMESPACE];
      const { stdout } = await plan(t, [...fleet, withStatus(soaking)]);
      assert.match(rest(stdout), /^rest +1 +0 +2026-12-01T08:30Z/);
      const passed = { ...soaking, passed: true, soakingSince: "2026-12-01T06:30:00Z" };
      const after = await plan(t, [...fleet, withStatus(passed)]);
      assert.match(after.stdout, /^canary +1 +1 +- +- +passed$/m);
      assert.match(rest(after.stdout), /^rest +1 +0 +2026-12-01T08:00Z/);
      const closed = { ...passed, members: 2, waiting: 1, passed: false, closed: true };
      const again = await plan(t, [...fleet, held("c", "canary"), withStatus(closed)]);
      assert.match(again.stdout, /^canary +2 +1 +2026-12-01T08:00Z +2026-12-01T08:40Z +2026-12-01T08:40Z$/m);
      const json = await plan(t, [...fleet, withStatus(passed)], "-o", "json");
      const { stages } = JSON.parse(json.stdout) as { stages: object[] };
      assert.deepEqual(stages[0], { name: "canary", clusters: 1, succeeded: 1, passed: true, waitsFor: [] });
    });

    test("slots that are in use are free when their operations end", async (t) => {
      const claim = { namespace: "fleet", name: "r", uid: "r", target: NEW, stage: "rest", claimed: true };
      const since = "2026-12-01T07:50:00Z";
      const running = [{ ...claim, claimedAt: since, renewedAt: since, markedAt: since, attempts: 1 }];
      const marks = { annotations: { "runtime.cluster.x-k8s.io/pending-hooks": "AfterClusterUpgrade" } };
      const runs = { ...held("r", "rest"), metadata: living("r", "rest", NEW, marks).metadata };
      const one = { ...rolloutOf("upgrades", { stages: [{ name: "rest" }] }), status: { running } };
      const { stdout } = await plan(t, [runs, held("a", "rest"), NAMESPACE, one], "-o", "json");
      const { clusters } = JSON.parse(stdout) as {
        clusters: { name: string; begins: string; runs: boolean }[];
      };
      assert.deepEqual(
        clusters.map(({ name, begins, runs: isRunning }) => [name, begins, isRunning]),
        [
          ["r", "2026-12-01T07:50:00.000Z", true],
          ["a", "2026-12-01T08:30:00.000Z", false],
        ],
      );
    });

    test("what waits for Clusters that no waiting brings there has no time, and these are named", async (t) => {
      const call = 'failed to call extension handler "h": refused';
      const conditions = [condition("TopologyReconciled", "False", call)];
      const status = { controlPlane: { versions: [{ version: OLD }] }, conditions };
      const canaries = [at("b", "canary", NEW), at("c", "canary", OLD), at("d", "canary", NEW, "False")];
      const failing = { ...living("e", "canary", NEW), status };
      const objects = [...canaries, failing, held("a", "rest"), NAMESPACE, rolloutOf("upgrades")];
      const { stdout } = await plan(t, objects);
      assert.match(stdout, /^canary +4 +1 +unknown +unknown +unknown$/m);
      assert.match(stdout, /^rest +1 +0 +unknown +unknown +unknown$/m);
      assert.match(
        stdout,
        /^Stage canary waits for fleet\/d \(failed\), fleet\/e \(no call about it has reached the operator\), fleet\/c \(not asked for this version\)\. The plan has no time/m,
      );
      assert.match(stdout, /^Waiting for that: fleet\/a$/m);
      assert.doesNotMatch(stdout, /never|Never/);
    });

    test("the same in the last stage, for which nothing waits", async (t) => {
      const objects = [at("b", "canary", NEW), at("c", "rest", NEW), at("d", "rest", OLD), NAMESPACE];
      const { stdout } = await plan(t, [...objects, rolloutOf("upgrades")]);
      assert.match(stdout, /^No Cluster begins at a time that is known\.$/m);
      assert.doesNotMatch(stdout, /never|Never/);
    });

    test("--to-version assumes that each Cluster is asked, and says of which are not", async (t) => {
      const objects = [
        at("b", "canary", NEW),
        at("c", "canary", OLD),
        held("a", "rest"),
        NAMESPACE,
        rolloutOf("upgrades"),
      ];
      const { stdout } = await plan(t, objects, "--to-version", NEW);
      assert.match(stdout, /^canary +2 +1 +2026-12-01T08:00Z +2026-12-01T08:40Z +2026-12-01T09:40Z$/m);
      assert.match(stdout, /^Not asked for this version yet; the plan assumes that they are: fleet\/c$/m);
    });
  });

  test("complains about several rollouts, none, and one that is not valid", async (t) => {
    const several = await plan(t, [...FLEET, rolloutOf("a"), rolloutOf("b")]);
    assert.match(several.stderr, /several HookRollouts: name one of them/);
    const none = await plan(t, FLEET);
    assert.match(none.stderr, /the files have no HookRollout/);
    const invalid = await plan(t, [...FLEET, rolloutOf("upgrades", { progressDeadline: "soon" })]);
    assert.match(invalid.stderr, /HookRollout upgrades is not valid: spec\.progressDeadline/);
    assert.deepEqual([several.code, none.code, invalid.code], [2, 2, 2]);
  });
});

test("the status as JSON has the objects as they are", async (t) => {
  const rollout = {
    metadata: { name: "upgrades", uid: "r", generation: 1 },
    spec: { operation: "Upgrade", namespaceSelector: {} },
    status: { observedGeneration: 1 },
  };
  const { kubeconfig } = await answering(t, {
    ...listing({ hookrollouts: [rollout] }),
    "GET /apis/runtime.cluster.x-k8s.io": FORBIDDEN,
  });
  const args = ["rollout", "status", "-o", "json", "--kubeconfig", kubeconfig];
  const { stdout, stderr } = await hookpolicy(args);
  assert.equal(stderr, "");
  assert.partialDeepStrictEqual(await checked("rolloutstatus", JSON.parse(stdout)), [rollout]);
});

test("a plan over the Clusters of the API server knows its Namespaces, which gates can select", async (t) => {
  const named = (name: string, env: string): object => ({ metadata: { name, uid: name, labels: { env } } });
  const cluster = (namespace: string, name: string): object => ({
    metadata: { namespace, name, uid: name },
    spec: { topology: { classRef: { name: "lab" }, version: "v1.34.0" } },
  });
  const gate = {
    name: "staged",
    object: {
      apiVersion: "cluster.x-k8s.io/v1beta2",
      kind: "Cluster",
      namespaceSelector: { matchLabels: { env: "staging" } },
      selector: {},
    },
  };
  const policy = {
    metadata: { name: "fleet", uid: "p", generation: 1 },
    spec: {
      namespaceSelector: {},
      rules: [{ name: "r", hooks: ["BeforeClusterUpgrade"], until: [gate] }],
    },
  };
  const rollout = {
    metadata: { name: "upgrades", uid: "r", generation: 1 },
    spec: { operation: "Upgrade", namespaceSelector: {}, maxConcurrency: 2, progressDeadline: "6h" },
  };
  const { kubeconfig } = await answering(t, {
    ...SERVES_CLUSTERS,
    "GET /apis/cluster.x-k8s.io/v1beta2/clusters": list(cluster("prod", "a"), cluster("stage", "b")),
    "GET /api/v1/namespaces": list(named("prod", "production"), named("stage", "staging")),
    ...listing({ clusterhookpolicies: [policy], hookrollouts: [rollout] }),
  });
  const args = ["rollout", "plan", "upgrades", "--duration", "40m", "--kubeconfig", kubeconfig];
  const { code, stdout, stderr } = await hookpolicy(args);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /\nThe last Cluster is done at \S+, after 40m\.\n$/);
});

test("files beside the rollout count over the Clusters of the API server", async (t) => {
  const cluster = {
    metadata: { namespace: "prod", name: "a", uid: "a" },
    spec: { topology: { classRef: { name: "lab" }, version: "v1.34.0" } },
  };
  const { kubeconfig } = await answering(t, {
    ...SERVES_CLUSTERS,
    "GET /apis/cluster.x-k8s.io/v1beta2/clusters": list(cluster),
    "GET /api/v1/namespaces": list({ metadata: { name: "prod", uid: "n" } }),
    ...listing({ clusterhookpolicies: [] }),
  });
  const window = { timeZone: "UTC", allow: [{ schedule: "0 22 * * *", duration: "4h" }] };
  const rules = [{ name: "r", hooks: ["BeforeClusterUpgrade"], until: [{ name: "night", window }] }];
  const files = [
    rawRollout("upgrades"),
    rawRollout("other"),
    rawFleetPolicy("night", { rules }),
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c", namespace: "prod" } },
  ];
  const cwd = await folder(t, { "policies/all.yaml": yaml(...files) });
  const wish = ["-f", "policies/", "--duration", "40m", "--from", "2026-12-01T08:00:00Z"];
  const { stdout, stderr } = await hookpolicy(
    ["rollout", "plan", "upgrades", ...wish, "--kubeconfig", kubeconfig],
    { cwd },
  );
  assert.match(stdout, /^all +1 +0 +2026-12-01T22:00Z/m);
  assert.equal(stderr, "");
});
