/** What `validate` and `explain` say of HookOverrides in files that have no effect. */

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import { folder, yaml } from "../program.ts";
import { rawCluster, rawOverride, rawPolicy, rawRollout } from "../raw.ts";
import { hookpolicy } from "../resident.ts";

const UID = "11111111-1111-1111-1111-111111111111";
const SOON = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+/, "");

const cluster = (name: string, uid?: string): object =>
  rawCluster({ name, ...(uid !== undefined && { uid }) });
const POLICY = rawPolicy("keep", {
  rules: [
    {
      name: "r",
      hooks: ["BeforeClusterDelete"],
      until: [{ name: "ok", annotation: { key: "example.com/ok", value: "yes" } }],
      message: "ask",
    },
  ],
});
const FLEET = [cluster("prod-1", UID), cluster("prod-2")];
const ROLLOUT = rawRollout("upgrades");

const override = (spec: object, metadata: object = {}): object =>
  rawOverride(
    { name: "now", ...metadata },
    {
      clusterRef: { namespace: "team-a", name: "prod-1", uid: UID },
      reason: "INC-1",
      expiresAt: SOON,
      ...spec,
    },
  );

const refs = (...policyRefs: object[]): object => ({ policyRefs });

interface Case {
  readonly objects: readonly object[];
  readonly warns: readonly string[];
}

const CASES: Readonly<Record<string, Case>> = {
  "a Cluster that is not in the files": {
    objects: [...FLEET, override({ clusterRef: { namespace: "team-a", name: "prod-11" } })],
    warns: ["spec.clusterRef: there is no Cluster team-a/prod-11 in the files [names-nothing]"],
  },
  "a Cluster with another uid": {
    objects: [...FLEET, override({ clusterRef: { namespace: "team-a", name: "prod-1", uid: "other" } })],
    warns: [
      "spec.clusterRef.uid: Cluster team-a/prod-1 has another uid: the override has no effect on it [names-nothing]",
    ],
  },
  "a Cluster without a uid, as Git has it": {
    objects: [...FLEET, override({ clusterRef: { namespace: "team-a", name: "prod-2", uid: UID } })],
    warns: [],
  },
  "a policy that is not in the files": {
    objects: [POLICY, override(refs({ kind: "HookPolicy", namespace: "team-a", name: "kepp" }))],
    warns: ["spec.policyRefs[0]: there is no HookPolicy team-a/kepp in the files [names-nothing]"],
  },
  "a rollout that is not in the files": {
    objects: [POLICY, ROLLOUT, override(refs({ kind: "HookRollout", name: "upgrade" }))],
    warns: ["spec.policyRefs[0]: there is no HookRollout upgrade in the files [names-nothing]"],
  },
  "what is in the files": {
    objects: [
      ...FLEET,
      POLICY,
      ROLLOUT,
      override(
        refs(
          { kind: "HookPolicy", namespace: "team-a", name: "keep" },
          { kind: "HookRollout", name: "upgrades" },
        ),
      ),
    ],
    warns: [],
  },
  "objects of which the files have none": {
    objects: [override(refs({ kind: "HookPolicy", namespace: "team-a", name: "kepp" }))],
    warns: [],
  },
  "what is accepted": {
    objects: [
      ...FLEET,
      override(
        { clusterRef: { namespace: "team-a", name: "prod-11" } },
        { annotations: { "hookpolicy.dev/accept": "names-nothing" } },
      ),
    ],
    warns: [],
  },
  "what is gone, as the record of one that has expired": {
    objects: [
      ...FLEET,
      POLICY,
      override(
        {
          clusterRef: { namespace: "team-a", name: "prod-11" },
          ...refs({ kind: "HookPolicy", namespace: "team-a", name: "kepp" }),
          expiresAt: "2026-01-01T00:00:00Z",
        },
        { annotations: { "hookpolicy.dev/accept": "override-expired" } },
      ),
    ],
    warns: [],
  },
  "what is there, and accepts what does not exist": {
    objects: [...FLEET, override({}, { annotations: { "hookpolicy.dev/accept": "override-expird" } })],
    warns: [
      'metadata.annotations[hookpolicy.dev/accept]: "override-expird" accepts no warning of this override: remove it, or write WARNING, separated by commas [unused-accept]',
    ],
  },
};

async function files(t: TestContext, objects: readonly object[]): Promise<string> {
  return await folder(t, { "a.yaml": yaml(...objects) });
}

for (const [name, { objects, warns }] of Object.entries(CASES))
  test(`an override names ${name}`, async (t) => {
    const { stdout } = await hookpolicy(["validate", "a.yaml"], { cwd: await files(t, objects) });
    const lines = stdout.split("\n").filter((line) => / warning: /.test(line));
    assert.deepEqual(
      lines.map((line) => line.replace(/^.* warning: /, "")),
      warns,
    );
  });

const TOLD: Readonly<Record<string, readonly [object, string]>> = {
  "names a Cluster that is not there": [
    override({ clusterRef: { namespace: "team-a", name: "prod-11" } }),
    "warning: HookOverride now: spec.clusterRef: there is no Cluster team-a/prod-11 in the files\n",
  ],
  "names a policy that is not there": [
    override(refs({ kind: "HookPolicy", namespace: "team-a", name: "kepp" })),
    "warning: HookOverride now: spec.policyRefs[0]: there is no HookPolicy team-a/kepp in the files\n",
  ],
  "has expired": [
    override({ expiresAt: "2026-01-01T00:00:00Z" }),
    "warning: HookOverride now: spec.expiresAt: has passed: the override has no effect\n",
  ],
  "is invalid": [
    override({ hooks: [] }),
    "warning: HookOverride now: spec: spec.hooks: found too few items, expected at least 1\n",
  ],
  "is about another Cluster": [
    override({ clusterRef: { namespace: "team-a", name: "prod-2" }, expiresAt: "2026-01-01T00:00:00Z" }),
    "",
  ],
  "has an effect": [override({}), ""],
};
for (const [name, [object, says]] of Object.entries(TOLD))
  test(`explain of files, where an override ${name}`, async (t) => {
    const cwd = await files(t, [...FLEET, POLICY, object]);
    const args = ["explain", "team-a/prod-1", "--hook", "BeforeClusterDelete", "-f", "a.yaml"];
    const { code, stdout, stderr } = await hookpolicy(args, { cwd });
    assert.deepEqual([code, stderr], [0, says]);
    assert.match(stdout, name === "has an effect" ? /^Allowed: / : /^Blocked: /);
  });
