/** validatePolicy against its model, the real API server; and what kubectl shows of the CRDs. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import * as fc from "fast-check";
import { validatePolicy } from "../../src/policy/schema.ts";
import { ApiError, type KubeObject } from "../controlplane/client.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/controlplane.ts";
import { mutatedPolicy, validPolicy } from "../corpus/arbitraries.ts";
import { invalidCorpus, kindOf, validCorpus } from "../corpus/corpus.ts";

const API = "/apis/hookpolicy.dev/v1alpha1";
const COLLECTIONS = {
  HookPolicy: `${API}/namespaces/default/hookpolicies`,
  ClusterHookPolicy: `${API}/clusterhookpolicies`,
};
const RUNS = 400;

let cp: ControlPlane;
before(async () => {
  cp = await startControlPlane();
  await cp.kubectl("apply", "-k", join(import.meta.dirname, "../../crds"));
  await cp.kubectl("wait", "--for=condition=Established", "crd", "--all");
});
after(async () => await cp?.stop());

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

/** As many of everything as there can be, each as long as it can be. */
function largestPolicy(): KubeObject {
  const many = <T>(count: number, make: (digits: string) => T): T[] =>
    Array.from({ length: count }, (_, i) => make(String(i).padStart(3, "0")));
  const key = (digits: string): string =>
    `${`${"a".repeat(62)}.`.repeat(4).slice(0, 250)}${digits}/${"k".repeat(63)}`;
  const value = (digits: string): string => `${"v".repeat(60)}${digits}`;
  const selector = {
    matchLabels: Object.fromEntries(many(16, (digits) => [key(digits), value(digits)])),
    matchExpressions: many(16, (digits) => ({
      key: key(digits),
      operator: "NotIn",
      values: many(32, value),
    })),
  };
  const hooks = ["BeforeClusterUpgrade", "BeforeControlPlaneUpgrade", "AfterControlPlaneUpgrade"];
  const until = many(16, (digits) => ({
    name: value(digits),
    label: { key: key(digits), valueFrom: "TargetVersion" },
  }));
  const rules = many(16, (digits) => ({ name: value(digits), hooks, until, message: "m".repeat(256) }));
  const spec = { namespaceSelector: selector, clusterSelector: selector, rules };
  const metadata = { name: "p".repeat(63) };
  return { apiVersion: "hookpolicy.dev/v1alpha1", kind: "ClusterHookPolicy", metadata, spec };
}

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

  test(`on ${RUNS} generated valid policies`, async () => {
    const property = fc.asyncProperty(validPolicy, async (object) => {
      assert.equal(await refusal(object), undefined);
      assert.deepEqual(validatePolicy(kindOf(object), object), []);
    });
    await fc.assert(property, { numRuns: RUNS });
  });

  test(`on ${RUNS} policies that something was done to`, async () => {
    const seen = { accepted: 0, refused: 0 };
    const property = fc.asyncProperty(mutatedPolicy, async (object) => {
      const answer = await refusal(object);
      const errors = validatePolicy(kindOf(object), object);
      assert.equal(
        errors.length > 0,
        answer !== undefined,
        `${answer ?? "accepted"} / ${JSON.stringify(errors)}`,
      );
      seen[answer === undefined ? "accepted" : "refused"]++;
    });
    await fc.assert(property, { numRuns: RUNS });
    assert.ok(seen.accepted > RUNS / 50 && seen.refused > RUNS / 2, JSON.stringify(seen));
  });

  test("on the largest policy, which stays within the API server's budget for CEL", async () => {
    const object = largestPolicy();
    assert.equal(await refusal(object), undefined);
    assert.deepEqual(validatePolicy(kindOf(object), object), []);
  });

  test("on the CEL rules' own words", async () => {
    const says =
      /exclude each other|is not a |has no condition|has both|cannot hold|needs an upgrade|one line|operator \w+ (needs|takes)/;
    const ruled = invalidCorpus().filter(({ says: part }) => says.test(part));
    assert.ok(ruled.length > 20);
    for (const { name, object } of ruled) {
      const [error] = validatePolicy(kindOf(object), object);
      const answer = await refusal(object);
      assert.ok(answer?.includes(error?.message ?? name), `${name}: ${answer}`);
    }
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
    const { apiVersion, kind, ...metadata } = ref;
    await cp.create({ apiVersion, kind, metadata, spec: { rules } });
    const spec = { namespaceSelector: {}, rules };
    await cp.create({ apiVersion, kind: "ClusterHookPolicy", metadata: { name: "fleet" }, spec });
  });

  test("shows a policy that no operator has seen as in progress, with its defaults", async () => {
    const { spec, status } = await cp.get(ref);
    assert.deepEqual(status, { observedGeneration: -1 });
    assert.equal(spec.mode, "Enforce");
    assert.equal(spec.failurePolicy, "Fail");
    assert.equal(spec.rules[0].retryAfterSeconds, 10);
    assert.equal(spec.rules[0].until[0].annotation.from, "Cluster");
  });

  test("shows what is held, with the reason when asked for more", async () => {
    const ready = { type: "Ready", status: "True", reason: "Loaded", message: "The policy is in force" };
    const hook = "BeforeClusterDelete";
    const cluster = { namespace: "default", cluster: "prod-1", clusterUID: "3f0c" };
    await cp.patchStatus(ref, {
      observedGeneration: 1,
      conditions: [{ ...ready, observedGeneration: 1, lastTransitionTime: since }],
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
        },
      ],
      recent: [
        {
          ...cluster,
          hook: "BeforeClusterUpgrade",
          targetVersion: "v1.35.0",
          verdict: "Observed",
          time: since,
        },
      ],
    });
    const [header = "", row = ""] = (await cp.kubectl("get", "hkp")).split("\n");
    assert.deepEqual(header.trim().split(/\s{2,}/), [
      "NAME",
      "READY",
      "MODE",
      "MATCHED",
      "BLOCKED",
      "NEXT",
      "AGE",
    ]);
    assert.match(row, /^protect +True +Enforce +212 +3 +2099-11-27T21:00:00Z +\d+s *$/);
    const [wideHeader = "", wide = ""] = (await cp.kubectl("get", "hookpolicy", "-o", "wide")).split("\n");
    assert.match(wideHeader, /AGE +HOOKS +REASON *$/);
    assert.match(wide, /\d+s +BeforeClusterUpgrade,BeforeClusterDelete +Loaded *$/);
    await cp.kubectl("wait", "--for=condition=Ready", "hkp/protect", "--timeout=5s");
  });

  test("lists both kinds under Cluster API's category", async () => {
    const listed = await cp.kubectl("get", "cluster-api", "-o", "name");
    assert.deepEqual(listed.trim().split("\n").toSorted(), [
      "clusterhookpolicy.hookpolicy.dev/fleet",
      "hookpolicy.hookpolicy.dev/protect",
    ]);
    assert.match(await cp.kubectl("get", "chkp"), /^NAME +READY +MODE/);
  });

  test("explains every field", async () => {
    assert.match(
      await cp.kubectl("explain", "hookpolicy.spec.rules.until"),
      /held until all of them are met/,
    );
    assert.match(await cp.kubectl("explain", "chkp.spec.namespaceSelector"), /Selects the namespaces/);
    assert.match(await cp.kubectl("explain", "hkp.status.decisions.earliestRelease"), /earliest instant/);
  });

  test("applies the same policy twice without a change", async () => {
    const { apiVersion, kind, ...metadata } = ref;
    const [first] = await cp.apply({ apiVersion, kind, metadata, spec: { rules } });
    const [second] = await cp.apply({ apiVersion, kind, metadata, spec: { rules } });
    assert.equal(second?.metadata.resourceVersion, first?.metadata.resourceVersion);
  });
});
