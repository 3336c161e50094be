/** Clusters in files that are not what is applied are errors in each command that decides about them. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { folder } from "../program.ts";
import { inHours, rawCluster, rawFleetPolicy, rawOverride, rawPolicy, rawRollout } from "../raw.ts";
import { hookpolicy, onFiles } from "../resident.ts";

const cluster = (
  metadata: object,
  topology: object = { classRef: { name: "s" }, version: "v1.34.0" },
): string => JSON.stringify({ ...rawCluster(metadata), spec: { topology } });

const POLICY = JSON.stringify(
  rawPolicy("p", {
    clusterSelector: { matchLabels: { tier: "production" } },
    rules: [
      {
        name: "d",
        hooks: ["BeforeClusterDelete"],
        until: [{ name: "a", annotation: { key: "example.com/ok", valueFrom: "ClusterUID" } }],
      },
    ],
  }),
);
const ROLLOUT = JSON.stringify(rawRollout("r", { progressDeadline: "1h", stages: [{ name: "all" }] }));

const BASE = cluster({ labels: { tier: "production" } });
const BUILD = /build it first, and use the output: kubectl kustomize fleet\/prod$/m;

const WRONG: Readonly<Record<string, { readonly files: Record<string, string>; readonly says: RegExp }>> = {
  "a base beside the patch of an overlay": {
    files: {
      "fleet/base/cluster.yaml": BASE,
      "fleet/base/kustomization.yaml": "resources: [cluster.yaml]",
      "fleet/prod/kustomization.yaml": "resources: [../base]\npatches: [{ path: version.yaml }]",
      "fleet/prod/version.yaml": cluster({}, { version: "v1.35.0" }),
    },
    says: /^error: fleet\/prod\/kustomization\.yaml:2:1: patches: can change 1 Cluster \(team-a\/prod-1\), .*build it first.*\n(?!error)/,
  },
  "a patch alone": {
    files: {
      "fleet/prod/kustomization.yaml": "resources: [../../base]\npatches: [{ path: version.yaml }]",
      "fleet/prod/version.yaml": cluster({}, { version: "v1.35.0" }),
    },
    says: BUILD,
  },
  "a patch without a kustomization": {
    files: { "fleet/version.yaml": cluster({}, { version: "v1.35.0" }) },
    says: /spec\.topology: names no ClusterClass, so this is a part of a Cluster, such as a patch\n/,
  },
  "a base in the namespace of an overlay": {
    files: {
      "fleet/base/cluster.yaml": BASE,
      "fleet/base/kustomization.yaml": "resources: [cluster.yaml]",
      "fleet/prod/kustomization.yaml": "resources: [../base/]\nnamespace: team-b",
    },
    says: BUILD,
  },
  "two of one name": {
    files: { "fleet/a.yaml": BASE, "fleet/b.yaml": cluster({ labels: { tier: "staging" } }) },
    says: /fleet\/b\.yaml:1:\d+: .*Cluster team-a\/prod-1 is also at fleet\/a\.yaml:1, and differs/,
  },
  "placeholders as names": {
    files: { "fleet/a.yaml": cluster({ name: "${CLUSTER_NAME}" }) },
    says: /metadata\.name: found "\$\{CLUSTER_NAME\}", which is a template/,
  },
  "placeholders as labels": {
    files: { "fleet/a.yaml": cluster({ labels: { tier: "${TIER}" } }) },
    says: /metadata\.labels\[tier\]: found "\$\{TIER\}", which is a template/,
  },
  "placeholders as versions": {
    files: { "fleet/a.yaml": cluster({}, { classRef: { name: "s" }, version: "${VERSION}" }) },
    says: /spec\.topology\.version: found "\$\{VERSION\}", which is a template/,
  },
  "a name that is none": {
    files: { "fleet/a.yaml": cluster({ name: "Prod_1" }) },
    says: /metadata\.name: found "Prod_1", expected the name of an object/,
  },
  "no name": {
    files: { "fleet/a.yaml": cluster({ name: undefined }) },
    says: /metadata\.name: /,
  },
};

const COMMANDS = [
  ["simulate", "-f", "policy.yaml", "--against", "fleet"],
  ["explain", "team-a/prod-1", "-f", "policy.yaml", "-f", "fleet"],
  ["windows", "-f", "policy.yaml", "-f", "fleet"],
  ["rollout", "plan", "-f", "rollout.yaml", "-f", "fleet", "--duration", "1h"],
];

describe("an error with its place is", () => {
  for (const [name, { files, says }] of Object.entries(WRONG)) {
    test(name, async (t) => {
      const cwd = await folder(t, { ...files, "policy.yaml": POLICY, "rollout.yaml": ROLLOUT });
      for (const args of COMMANDS) {
        const { code, stderr } = await hookpolicy(args, { cwd });
        assert.equal(code, 2, `${args[0]}: ${stderr}`);
        assert.match(stderr, says, args[0]);
      }
    });
  }
});

test("the same Cluster twice, and a kustomization that only lists files, are none", async (t) => {
  const cwd = await folder(t, {
    "fleet/a.yaml": BASE,
    "fleet/b.yaml": BASE,
    "fleet/kustomization.yaml": "resources: [a.yaml]\nimages: [{ name: x, newTag: y }]",
    "other/kustomization.yaml": "resources: [c.yaml]\nnamespace: team-c",
    "policy.yaml": POLICY,
  });
  const { code, stderr } = await hookpolicy(["simulate", "-f", "policy.yaml", "--against", "fleet"], { cwd });
  assert.equal(code, 0);
  assert.match(stderr, /^warning: --against fleet has no policy .*\n$/);
});

describe("an object that stands twice in files, with differences,", () => {
  const backup = (phase: string): string =>
    JSON.stringify({
      apiVersion: "velero.io/v1",
      kind: "Backup",
      metadata: { name: "prod-1", namespace: "velero" },
      status: { phase },
    });
  const GATE = JSON.stringify(
    rawFleetPolicy("backups", {
      rules: [
        {
          name: "backup",
          hooks: ["BeforeClusterDelete"],
          until: [
            {
              name: "done",
              object: {
                apiVersion: "velero.io/v1",
                kind: "Backup",
                namespace: "velero",
                nameExpression: "cluster.metadata.name",
                condition: "object.status.phase == 'Completed'",
              },
            },
          ],
        },
      ],
    }),
  );
  const files = {
    "fleet/a.yaml": BASE,
    "fleet/b.yaml": backup("Completed"),
    "fleet/c.yaml": backup("Failed"),
  };

  test("is an error with both places if a gate looks at its kind", async (t) => {
    for (const version of ["velero.io/v1", "velero.io/v2"]) {
      const gate = GATE.replace("velero.io/v1", version);
      const cwd = await folder(t, { ...files, "policy.yaml": gate, "rollout.yaml": ROLLOUT });
      for (const args of COMMANDS.slice(0, 3)) {
        const { code, stderr } = await hookpolicy(args, { cwd });
        assert.equal(code, 2, `${args[0]}: ${stderr}`);
        assert.match(
          stderr,
          /fleet\/c\.yaml:1:\d+: .*Backup velero\/prod-1 is also at fleet\/b\.yaml:1, and differs/,
          args[0],
        );
      }
    }
  });

  test("is none if no gate does", async (t) => {
    const cwd = await folder(t, { ...files, "policy.yaml": POLICY, "rollout.yaml": ROLLOUT });
    for (const args of COMMANDS) assert.notEqual((await hookpolicy(args, { cwd })).code, 2, args[0]);
  });
});

test("two overrides with different uids for a Cluster that has none are an error", async (t) => {
  const override = (name: string, uid: string, expiresAt = inHours(1)): string =>
    JSON.stringify(
      rawOverride(name, { clusterRef: { namespace: "team-a", name: "prod-1", uid }, expiresAt }),
    );
  const explain = ["explain", "team-a/prod-1", "-f", ".", "--hook", "BeforeClusterDelete"];
  const given = (uid: string, metadata: object = {}, expiresAt = inHours(1)) => ({
    "a.yaml": [POLICY, cluster(metadata), override("a", "u1", expiresAt)].join("\n---\n"),
    "b.yaml": override("b", uid),
  });
  const { code, stderr } = await onFiles(t, given("u2"), explain);
  assert.equal(code, 2);
  assert.match(
    stderr,
    /b\.yaml:1:\d+: spec\.clusterRef\.uid: another override names u1, .*write its metadata\.uid/,
  );
  assert.equal((await onFiles(t, given("u1"), explain)).code, 0);
  assert.equal((await onFiles(t, given("u2", { uid: "u2" }), explain)).code, 0);
  assert.equal((await onFiles(t, given("u2", {}, inHours(-1)), explain)).code, 0, "one is a record");
});
