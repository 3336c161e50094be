/** validatePolicy against its model, the real API server; and what kubectl shows of the CRDs. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import * as fc from "fast-check";
import { metadataErrors, statusErrors } from "../../src/cli/validate/beyond-schema.ts";
import { fieldsOf } from "../../src/lib/fields.ts";
import { changeErrors, validatePolicy } from "../../src/policy/validation/schema.ts";
import { ApiError, type KubeObject, objectOf, refusalOf } from "../controlplane/client.ts";
import { clusterPolicyRef } from "../controlplane/policies.ts";
import { sharedControlPlane } from "../controlplane/shared.ts";
import { mutatedObject, validObject } from "../corpus/arbitraries.ts";
import { invalidCorpus, kindOf, validCorpus } from "../corpus/corpus.ts";
import { LARGE_GATES, largestPolicy, largestRollout } from "../corpus/largest.ts";
import { runs } from "../generated.ts";

const API = "/apis/hookpolicy.dev/v1alpha1";
const COLLECTIONS = {
  HookPolicy: `${API}/namespaces/default/hookpolicies`,
  ClusterHookPolicy: `${API}/clusterhookpolicies`,
  HookOverride: `${API}/hookoverrides`,
  HookRollout: `${API}/hookrollouts`,
};
const SIZE = runs(400);
const RUNS = SIZE.numRuns;
const policyHead = { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookPolicy" };

const cp = await sharedControlPlane();
after(async () => await cp.stop());

/** What the API server has against the object; `undefined`: nothing. */
async function refusal(object: KubeObject): Promise<string | undefined> {
  const path = `${COLLECTIONS[kindOf(object)]}?dryRun=All&fieldValidation=Strict`;
  try {
    await cp.request("POST", path, JSON.stringify(object));
    return undefined;
  } catch (error) {
    if (error instanceof ApiError && (error.code === 422 || error.code === 400)) return error.message;
    throw error;
  }
}

/** The API server itself writes keys of maps in both ways. */
function mentions(answer: string, path: string): boolean {
  return answer.includes(path) || answer.includes(path.replace(/\[([^\]\d][^\]]*)\]$/, ".$1"));
}

test("metadata and status: the API server and `hookpolicy validate` refuse the same", async () => {
  const [valid] = validCorpus().filter(({ object }) => kindOf(object) === "HookPolicy");
  assert.ok(valid !== undefined);
  const { object } = valid;
  const both = async (over: object): Promise<boolean[]> => {
    const changed = { ...object, ...over };
    const own = [...metadataErrors(changed), ...statusErrors("HookPolicy", changed)];
    return [own.length > 0, (await refusal(changed)) !== undefined];
  };
  const metadata = (more: object): object => ({ metadata: { ...object.metadata, ...more } });
  const refused = [
    metadata({ lables: {} }),
    metadata({ labels: { a: true } }),
    metadata({ annotations: { a: 1 } }),
    { status: { blockd: 1 } },
    { status: { conditions: [{ typ: "Ready" }] } },
  ];
  for (const over of refused) assert.deepEqual(await both(over), [true, true], JSON.stringify(over));
  const accepted = [
    metadata({ labels: { a: null }, annotations: null, managedFields: [], generation: 2 }),
    { status: { blocked: "many" } },
  ];
  for (const over of accepted) assert.deepEqual(await both(over), [false, false], JSON.stringify(over));
});

describe("the API server and validatePolicy agree", () => {
  test("on the corpus: valid", async () => {
    for (const { name, object } of validCorpus()) assert.equal(await refusal(object), undefined, name);
  });

  test("on the corpus: invalid, and in which field", async () => {
    for (const { name, object, path } of invalidCorpus()) {
      const answer = await refusal(object);
      assert.ok(answer !== undefined, `${name} is accepted`);
      assert.ok(mentions(answer, path), `${name}: ${answer}`);
    }
  });

  test(`on ${RUNS} generated valid objects`, async () => {
    const property = fc.asyncProperty(validObject, async (object) => {
      assert.equal(await refusal(object), undefined);
      assert.deepEqual(validatePolicy(kindOf(object), object), []);
    });
    await fc.assert(property, SIZE);
  });

  test(`on ${RUNS} objects that something was done to`, async () => {
    const seen = { accepted: 0, refused: 0 };
    const property = fc.asyncProperty(mutatedObject, async (object) => {
      const answer = await refusal(object);
      const errors = validatePolicy(kindOf(object), object);
      assert.equal(
        errors.length > 0,
        answer !== undefined,
        `${answer ?? "accepted"} / ${JSON.stringify(errors)}`,
      );
      seen[answer === undefined ? "accepted" : "refused"]++;
    });
    await fc.assert(property, SIZE);
    assert.ok(seen.accepted > RUNS / 50 && seen.refused > RUNS / 2, JSON.stringify(seen));
  });

  for (const [name, gate, gates] of LARGE_GATES) {
    for (const largest of [largestPolicy(gate, gates), largestRollout(gate, gates)]) {
      test(`on the largest ${largest.kind} of ${name}, which stays within the API server's budget for CEL`, async () => {
        assert.equal(await refusal(largest), undefined);
        assert.deepEqual(validatePolicy(kindOf(largest), largest), []);
      });
    }
  }

  test(`on ${RUNS} texts that look like durations and instants`, async () => {
    const length = fc.oneof(
      fc.stringMatching(/^[-0-9hmsd. ]{1,6}$/),
      fc.stringMatching(/^([0-9]{1,5}[hms]){1,3}$/),
      fc.integer({ min: 31_622_390, max: 31_622_410 }).map((n) => `${n}s`),
    );
    const to = fc.stringMatching(
      /^2[0-9]{3}-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-5][0-9]:[0-6][0-9](\.[0-9]{0,3})?(Z|[-+][0-2][0-9]:[0-6]0)$/,
    );
    const property = fc.asyncProperty(length, to, async (duration, instant) => {
      for (const gate of [
        { wait: { duration } },
        { window: { deny: [{ from: "2000-01-01T00:00:00Z", to: instant }] } },
      ]) {
        const until = [{ name: "a", ...gate }];
        const spec = { rules: [{ name: "a", hooks: ["BeforeClusterDelete"], until }] };
        const policy = { ...policyHead, metadata: { name: "a" }, spec };
        const answer = await refusal(policy);
        assert.equal(validatePolicy("HookPolicy", policy).length > 0, answer !== undefined, answer);
      }
    });
    await fc.assert(property, SIZE);
  });

  test("on the CEL rules' own words", async () => {
    const says =
      /exclude each other|is not an? |set (exactly one of|either|at least one)|cannot hold|needs an upgrade|deadline needs|one line|operator \w+ (needs|takes)|needs a time zone|not after from|has a comma|out of reach|at most one object|more than 253|lies in|only the last stage|for upgrades only/;
    const ruled = invalidCorpus().filter(({ says: part }) => says.test(part));
    assert.ok(ruled.length > 70);
    for (const { name, object } of ruled) {
      const [error] = validatePolicy(kindOf(object), object);
      const answer = await refusal(object);
      assert.ok(answer?.includes(error?.message ?? name), `${name}: ${answer}`);
    }
  });
});

describe("a HookOverride", () => {
  const ref = { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookOverride", name: "let-prod-1-go" } as const;
  const spec = {
    clusterRef: { namespace: "team-a", name: "prod-1" },
    hooks: ["BeforeClusterDelete", "BeforeClusterUpgrade"],
    reason: "the backup is broken",
    expiresAt: "2099-11-27T21:00:00Z",
  };
  const policyRefs = [{ kind: "ClusterHookPolicy", name: "fleet" }];

  /** What the API server has against the change, and a suite as well; `undefined`: nothing. */
  async function refusalOfChange(change: object): Promise<string | undefined> {
    const stored = await cp.get(ref);
    const [own] = changeErrors(ref.kind, stored, {
      ...stored,
      spec: { ...fieldsOf(stored["spec"]), ...change },
    });
    const answer = await refusalOf(cp.patch(ref, { spec: change }));
    assert.ok(own === undefined ? answer === undefined : answer?.includes(own.message), answer);
    return answer;
  }

  before(async () => await cp.create(objectOf(ref, { spec })));

  test("cannot be changed", async () => {
    const changes = {
      clusterRef: { namespace: "team-a", name: "prod-2" },
      hooks: ["BeforeClusterDelete"],
      policyRefs,
      reason: "another",
    };
    for (const [field, value] of Object.entries(changes)) {
      const answer = (await refusalOfChange({ [field]: value })) ?? "accepted";
      assert.match(answer, new RegExp(`spec\\.${field}: .*cannot be changed. Create another HookOverride`));
    }
  });

  test("can end earlier, never later, in whatever time zone it is written", async () => {
    assert.equal(await refusalOfChange({ expiresAt: "2099-11-27T22:00:00+01:00" }), undefined);
    assert.equal(await refusalOfChange({ expiresAt: "2099-11-27T20:00:00Z" }), undefined);
    assert.match(
      (await refusalOfChange({ expiresAt: "2099-11-27T20:00:00.001Z" })) ?? "accepted",
      /spec\.expiresAt: .*can only become earlier than 2099-11-27T20:00:00Z. Create another HookOverride/,
    );
  });

  test("is shown with its Cluster, whether it is in force, until when, and how often it was used", async () => {
    const time = "2026-11-21T10:00:00Z";
    const condition = { status: "True", reason: "InForce", message: "In force", lastTransitionTime: time };
    assert.deepEqual((await cp.get(ref))["status"], { observedGeneration: -1 });
    await cp.patchStatus(ref, {
      observedGeneration: 1,
      conditions: [{ type: "Active", ...condition }],
      used: [
        {
          hook: "BeforeClusterUpgrade",
          clusterUID: "3f0c",
          targetVersion: "v1.35.0",
          time,
          policies: ["HookPolicy team-a/protect", "ClusterHookPolicy fleet"],
        },
      ],
      usedCount: 1,
    });
    const [header = "", row = ""] = (await cp.kubectl("get", "hko", "-o", "wide")).split("\n");
    assert.match(header, /^NAME +NAMESPACE +CLUSTER +ACTIVE +EXPIRES +USED +AGE +REASON *$/);
    assert.match(
      row,
      /^let-prod-1-go +team-a +prod-1 +True +2099-11-27T20:00:00Z +1 +\d+s +the backup is broken *$/,
    );
  });
});

describe("kubectl", () => {
  const since = "2026-11-21T10:00:00Z";
  const ref = {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookPolicy",
    name: "protect",
    namespace: "default",
  };
  const rules = [
    {
      name: "a",
      hooks: ["BeforeClusterDelete"],
      until: [{ name: "ok", annotation: { key: "example.com/ok" } }],
    },
    { name: "b", hooks: ["BeforeClusterUpgrade"] },
  ];

  before(async () => {
    await cp.create(objectOf(ref, { spec: { rules } }));
    await cp.create(objectOf(clusterPolicyRef("fleet"), { spec: { namespaceSelector: {}, rules } }));
  });

  test("shows a policy that no operator has seen as in progress, with its defaults", async () => {
    const { spec, status } = await cp.get(ref);
    assert.deepEqual(status, { observedGeneration: -1 });
    assert.equal(spec.mode, "Enforce");
    assert.equal(spec.failurePolicy, "Fail");
    assert.deepEqual(spec.rules, rules, "a default within a list is a difference to kubectl apply");
  });

  test("shows what is held, with the reason when asked for more", async () => {
    const ready = { type: "Ready", status: "True", reason: "Loaded", message: "The policy is in force" };
    const silent = { type: "NotCalled", status: "True", reason: "NotDiscovered", message: "m" };
    const hook = "BeforeClusterDelete";
    const cluster = { namespace: "default", cluster: "prod-1", clusterUID: "3f0c" };
    await cp.patchStatus(ref, {
      observedGeneration: 1,
      conditions: [ready, silent].map((each) => ({
        ...each,
        observedGeneration: 1,
        lastTransitionTime: since,
      })),
      mode: "Enforce",
      hooks: "BeforeClusterUpgrade,BeforeClusterDelete",
      matchedClusters: 212,
      blocked: 3,
      wouldBlock: 0,
      nextTransitionTime: "2099-11-27T21:00:00Z",
      decisions: [
        {
          ...cluster,
          hook,
          rule: "a",
          gate: "ok",
          verdict: "Blocked",
          reason: "WaitingForAnnotation",
          message: "m",
          firstAsked: since,
          since,
          timers: [{ rule: "a", blockedSince: since, gatesMetSince: since }, { rule: "b" }],
        },
      ],
      recent: [
        {
          ...cluster,
          hook: "BeforeClusterUpgrade",
          targetVersion: "v1.35.0",
          verdict: "Allowed",
          reason: "Overridden",
          override: "let-prod-1-go",
          time: since,
        },
      ],
    });
    const [header = "", row = ""] = (await cp.kubectl("get", "hkp", "protect")).split("\n");
    assert.deepEqual(header.trim().split(/\s{2,}/), [
      "NAME",
      "READY",
      "MODE",
      "MATCHED",
      "BLOCKED",
      "NOT CALLED",
      "ALARM",
      "NEXT",
      "AGE",
    ]);
    assert.match(row, /^protect +True +Enforce +212 +3 +NotDiscovered +2099-11-27T21:00:00Z +\d+s *$/);
    const [wideHeader = "", wide = ""] = (
      await cp.kubectl("get", "hookpolicy", "protect", "-o", "wide")
    ).split("\n");
    assert.match(wideHeader, /AGE +HOOKS +REASON *$/);
    assert.match(wide, /\d+s +BeforeClusterUpgrade,BeforeClusterDelete +Loaded *$/);
    await cp.kubectl("wait", "--for=condition=Ready", "hkp/protect", "--timeout=60s");
  });

  test("lists all kinds under Cluster API's category", async () => {
    // Other files use the same control plane: while their definitions come and go, kubectl finds a kind and no resource.
    const names = await cp.waitFor("kubectl to list a category", () =>
      cp.kubectl("get", "cluster-api", "-o", "name"),
    );
    const listed = names.split("\n");
    for (const name of [
      "clusterhookpolicy.hookpolicy.dev/fleet",
      "hookoverride.hookpolicy.dev/let-prod-1-go",
      "hookpolicy.hookpolicy.dev/protect",
    ])
      assert.ok(listed.includes(name), name);
    assert.match(await cp.kubectl("get", "chkp"), /^NAME +READY +MODE/);
  });

  test("explains every field", async () => {
    assert.match(
      await cp.kubectl("explain", "hookpolicy.spec.rules.until"),
      /held until all of them are met/,
    );
    assert.match(await cp.kubectl("explain", "chkp.spec.namespaceSelector"), /Selects the namespaces/);
    assert.match(await cp.kubectl("explain", "hkp.status.decisions.earliestRelease"), /earliest instant/);
    assert.match(await cp.kubectl("explain", "hkp.spec.rules.until.anyOf.window"), /outside of every deny/);
    assert.match(await cp.kubectl("explain", "hko.spec.policyRefs"), /Absent, none\s+of them holds it/);
  });

  test("applies the same policy twice without a change", async () => {
    const [first] = await cp.apply(objectOf(ref, { spec: { rules } }));
    const [second] = await cp.apply(objectOf(ref, { spec: { rules } }));
    assert.equal(second?.metadata.resourceVersion, first?.metadata.resourceVersion);
  });
});
