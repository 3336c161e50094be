/** Requests at admission in suites: they are answered as the API server would be, and change nothing. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { coverageLines } from "../../../../src/cli/suite/coverage.ts";
import { PLAIN } from "../../../../src/cli/terminal/colour.ts";
import { checked, folder } from "../program.ts";
import { hookpolicy } from "../resident.ts";
import { APPROVED, CLUSTER, DELETE, policy, problemOf, run, runSteps, suite } from "./suites.ts";

const REQUEST = { admission: "Delete", cluster: "team-a/prod-1" };
const UPGRADE = { admission: "Upgrade", cluster: "team-a/prod-1", toKubernetesVersion: "v1.36.0" };
const APPROVE = { kind: "Cluster", metadata: { name: "prod-1", annotations: { "example.com/ok": "uid-1" } } };
const denying = policy([APPROVED], { admission: "Deny" });
const warning = policy([APPROVED], { admission: "Warn" });
const audit = { ...denying, spec: { ...(denying as { spec: object }).spec, mode: "Audit" } };

async function verdictsOf(spec: object): Promise<string[]> {
  return (await runSteps(spec)).map(({ status, admission }) => `${status} ${admission?.verdict}`);
}

describe("a request", () => {
  test("is denied while the gates are not met, and passes once they are", async () => {
    const steps = [
      { call: REQUEST, expect: { verdict: "Denied", rule: "confirmed", gate: "approved" } },
      { patch: [APPROVE], call: REQUEST, expect: { verdict: "Passed", rule: "confirmed" } },
    ];
    assert.deepEqual(await verdictsOf({ policies: [denying], steps }), ["passed Denied", "passed Passed"]);
  });

  test("is answered in the words of the API server's refusal", async () => {
    const [step] = await runSteps({
      policies: [denying],
      steps: [
        {
          call: REQUEST,
          expect: {
            message:
              "^Cluster team-a/prod-1 cannot be deleted yet: HookPolicy team-a/protect, rule confirmed: .*kubectl annotate",
          },
        },
      ],
    });
    assert.equal(step?.status, "passed");
  });

  test("is warned of by a rule that warns, and by every rule of a policy in mode Audit", async () => {
    const steps = [
      { call: REQUEST, expect: { verdict: "Warned", message: "^HookPolicy team-a/protect, rule confirmed" } },
    ];
    for (const policies of [[warning], [audit]])
      assert.deepEqual(await verdictsOf({ policies, steps }), ["passed Warned"]);
  });

  test("passes where no rule says anything at admission", async () => {
    assert.deepEqual(
      await verdictsOf({ steps: [{ call: REQUEST, expect: { verdict: "Passed", message: "^$" } }] }),
      ["passed Passed"],
    );
  });

  test("is about a Cluster without topology, too", async () => {
    const clusters = [{ ...CLUSTER, spec: {} }];
    assert.deepEqual(
      await verdictsOf({
        policies: [denying],
        clusters,
        steps: [{ call: REQUEST, expect: { verdict: "Denied" } }],
      }),
      ["passed Denied"],
    );
  });

  test("for another version leaves the version, and begins no operation", async () => {
    const steps = [
      {
        call: UPGRADE,
        expect: { verdict: "Denied", message: "cannot be upgraded to v1\\.36\\.0 yet" },
        events: [],
      },
      { call: UPGRADE, expect: { verdict: "Denied" } },
    ];
    assert.deepEqual(await verdictsOf({ policies: [denying], steps }), ["passed Denied", "passed Denied"]);
  });

  test("to create a Cluster finds no uid that could have confirmed it", async () => {
    const until = [{ name: "owned", label: { key: "example.com/owner" } }];
    const creation = { hooks: ["BeforeClusterCreate"], admission: "Deny" };
    const call = { admission: "Create", cluster: "team-a/prod-1" };
    const steps = [
      { call, expect: { verdict: "Denied" } },
      {
        patch: [{ kind: "Cluster", metadata: { name: "prod-1", labels: { "example.com/owner": "x" } } }],
        call,
        expect: { verdict: "Passed" },
      },
    ];
    assert.deepEqual(await verdictsOf({ policies: [policy(until, creation)], steps }), [
      "passed Denied",
      "passed Passed",
    ]);
    const clusters = [
      { ...CLUSTER, metadata: { ...CLUSTER.metadata, annotations: { "example.com/ok": "uid-1" } } },
    ];
    const uid = {
      policies: [policy([APPROVED], creation)],
      clusters,
      steps: [{ call, expect: { verdict: "Denied" } }],
    };
    assert.deepEqual(await verdictsOf(uid), ["passed Denied"]);
  });

  test("that comes from a version which nothing shows is not evaluable where a rule reads it, unless the suite says it", async () => {
    const matchConditions = [
      { name: "old", expression: "request.fromKubernetesVersion.startsWith('v1.34.')" },
    ];
    const policies = [
      policy([APPROVED], { hooks: ["BeforeClusterUpgrade"], admission: "Deny", matchConditions }),
    ];
    const steps = [
      { call: UPGRADE, expect: { verdict: "Denied", reason: "MatchConditionError" } },
      { call: { ...UPGRADE, fromKubernetesVersion: "v1.35.0" }, expect: { verdict: "Passed" } },
    ];
    const results = await runSteps({ policies, steps });
    assert.deepEqual(
      results.map(({ admission }) => admission?.verdict),
      ["Denied", "Passed"],
    );
  });
});

test("what only the other kind of call can answer fails", async () => {
  for (const [call, expect] of [
    [REQUEST, { verdict: "Blocked" }],
    [DELETE, { verdict: "Denied" }],
    [REQUEST, { retryAfterSeconds: 0 }],
    [REQUEST, { rollout: "-" }],
  ] as const) {
    const { status } = await run(suite({ policies: [denying], steps: [{ call, expect }] }));
    assert.notEqual(status, "passed", JSON.stringify(expect));
  }
});

describe("a mistake is an error at its field:", () => {
  const cases: Record<string, { step: object; says: RegExp; spec?: object }> = {
    "both a hook and a request": {
      step: { call: { ...REQUEST, hook: "BeforeClusterDelete" }, expect: { verdict: "Denied" } },
      says: /^spec\.steps\[0\]\.call: found an object, expected hook or admission, one of them$/,
    },
    neither: {
      step: { call: { cluster: "team-a/prod-1" }, expect: { verdict: "Denied" } },
      says: /^spec\.steps\[0\]\.call: found an object, expected hook or admission, one of them$/,
    },
    "an unknown request": {
      step: { call: { ...REQUEST, admission: "Delet" }, expect: { verdict: "Denied" } },
      says: /^spec\.steps\[0\]\.call\.admission: found "Delet", expected one of Create, Upgrade, Delete/,
    },
    "an upgrade without a version": {
      step: { call: { ...REQUEST, admission: "Upgrade" }, expect: { verdict: "Denied" } },
      says: /^spec\.steps\[0\]\.call\.toKubernetesVersion: an upgrade at admission needs the version/,
    },
    "half a version": {
      step: { call: { ...UPGRADE, toKubernetesVersion: "v1.36" }, expect: { verdict: "Denied" } },
      says: /^spec\.steps\[0\]\.call\.toKubernetesVersion: found "v1\.36", expected a version in full/,
    },
    "a version of a deletion": {
      step: { call: { ...UPGRADE, admission: "Delete" }, expect: { verdict: "Denied" } },
      says: /^spec\.steps\[0\]\.call\.toKubernetesVersion: admission: Delete has no such field$/,
    },
    "the version that the Cluster has": {
      step: { call: { ...UPGRADE, toKubernetesVersion: "v1.35.0" }, expect: { verdict: "Denied" } },
      says: /^spec\.steps\[0\]\.call\.cluster: team-a\/prod-1 has the version v1\.35\.0 already$/,
    },
    "a deletion once more": {
      spec: {
        clusters: [
          { ...CLUSTER, metadata: { ...CLUSTER.metadata, deletionTimestamp: "2026-11-21T11:00:00Z" } },
        ],
      },
      step: { call: REQUEST, expect: { verdict: "Denied" } },
      says: /^spec\.steps\[0\]\.call\.cluster: team-a\/prod-1 is being deleted already/,
    },
    "an unknown Cluster": {
      step: { call: { ...REQUEST, cluster: "team-a/prod-2" }, expect: { verdict: "Denied" } },
      says: /^spec\.steps\[0\]\.call\.cluster: there is no Cluster team-a\/prod-2; did you mean "team-a\/prod-1"\?$/,
    },
  };
  for (const [name, { step, says, spec = {} }] of Object.entries(cases)) {
    test(name, async () => assert.match(await problemOf(suite({ ...spec, steps: [step] })), says));
  }
});

test("coverage says what requests a rule has answered, apart from the verdicts of its hook", async () => {
  const steps = [{ call: REQUEST, expect: { rule: "confirmed" } }];
  const seen = async (policies: readonly object[]): Promise<string[]> => {
    const { coverage } = await run(suite({ policies, steps }));
    return coverageLines(coverage ?? [], PLAIN);
  };
  assert.deepEqual(await seen([denying]), [
    "HookPolicy team-a/protect",
    "  rule confirmed: never Allowed, Blocked",
    "    admission: Denied; never Passed",
    "    gate approved: waits; never met",
    "",
    "2 of 6 verdicts, gates and phases of tasks seen: 33 %",
  ]);
  assert.equal((await seen([audit]))[2], "    admission: Warned; never Passed");
});

test("mutants weaken what a rule does at admission, which only a request notices", async (t) => {
  const asked = (call: object, verdict: string): object => ({ call, expect: { verdict } });
  const cwd = await folder(t, {
    "hook.json": suite({ policies: [denying], steps: [asked(DELETE, "Blocked")] }),
    "warn.json": suite({ policies: [warning], steps: [asked(DELETE, "Blocked")] }),
    "request.json": suite({ policies: [denying], steps: [asked(REQUEST, "Denied")] }),
  });
  const admission = async (file: string): Promise<string[]> => {
    const { stdout } = await hookpolicy(["test", "--mutate", file], { cwd });
    return stdout.split("\n").filter((line) => line.includes("admission"));
  };
  assert.deepEqual(await admission("hook.json"), ['  spec.rules[0].admission: "Deny" → "Warn"']);
  assert.deepEqual(await admission("warn.json"), ['  spec.rules[0].admission: "Warn" → "None"']);
  assert.deepEqual(await admission("request.json"), []);
});

test("a failed request is shown with its answer, and in JSON by its schema", async (t) => {
  const cwd = await folder(t, {
    "suite.json": suite({ policies: [denying], steps: [{ call: REQUEST, expect: { verdict: "Passed" } }] }),
  });
  const { code, stdout } = await hookpolicy(["test", "suite.json"], { cwd });
  assert.equal(code, 1);
  assert.match(stdout, /suite\.json:1: admission: Delete team-a\/prod-1 at 2026-11-21T12:00:00Z$/m);
  assert.match(stdout, /! verdict +Passed +Denied$/m);
  assert.match(stdout, / message +Cluster team-a\/prod-1 cannot be deleted yet/);
  assert.doesNotMatch(stdout, /retryAfterSeconds/);
  const json = await hookpolicy(["test", "suite.json", "-o", "json"], { cwd });
  await checked("test", JSON.parse(json.stdout));
});
