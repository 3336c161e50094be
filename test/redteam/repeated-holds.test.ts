/** Answers from memory to calls that say something else than the call that was decided, whatever a rule reads of a call. */

import assert from "node:assert/strict";
import test from "node:test";
import * as fc from "fast-check";
import type { GateSpec, RuleSpec } from "../../src/api/hook-policy.ts";
import type { Cluster } from "../../src/api/meta.ts";
import type { HookCall, HookResponse } from "../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../src/memory/policy-set.ts";
import { runs } from "../generated.ts";
import { APPROVED, at, cluster, clusterHookPolicy, heldAt, hookPolicy, NOW } from "../unit/builders.ts";
import { compileOnce } from "../unit/memory/compile-once.ts";
import { CONFIG_MAP, configMap, Operators } from "./operators.ts";

const GATES: readonly Omit<GateSpec, "name">[] = [
  { annotation: { key: APPROVED } },
  { annotation: { key: APPROVED, valueFrom: "TargetVersion" } },
  { window: { allow: [{ from: at("+30m").toISOString(), to: at("+2h").toISOString() }] } },
  { expression: "cluster.metadata.annotations.exists(key, key == 'settings')" },
  { expression: "request.settings.region == 'eu'" },
  { expression: "cluster.metadata.name == 'dev-1' || 'region' in request.settings" },
  { expression: "[request].exists(call, has(call.settings.region))" },
  { object: { ...CONFIG_MAP, nameExpression: "has(request.settings.region) ? 'eu' : 'us'" } },
  { object: { ...CONFIG_MAP, selector: {}, expression: "object.metadata.name in request.settings" } },
  {
    anyOf: [
      { name: "a", annotation: { key: APPROVED } },
      { name: "b", expression: "request.fromKubernetesVersion == 'v1.33.0'" },
    ],
  },
];
const CONDITIONS = ["true", "request.settings.region != 'us'", "!has(request.settings.region)"];

const hooks: RuleSpec["hooks"] = ["BeforeClusterDelete", "BeforeClusterUpgrade"];
const telling: fc.Arbitrary<RuleSpec> = fc
  .record({
    gates: fc.array(fc.constantFrom(...GATES), { minLength: 1, maxLength: 2 }),
    condition: fc.constantFrom("true", ...CONDITIONS),
  })
  .map(({ gates, condition: expression }) => ({
    name: "rule",
    hooks,
    until: gates.map((gate, n): GateSpec => ({ name: `g${n}`, ...gate })),
    matchConditions: [{ name: "c", expression }],
  }));
/** Its clock runs whatever calls say. */
const soaking: RuleSpec = {
  name: "rule",
  hooks,
  until: [
    { name: "approved", annotation: { key: APPROVED } },
    { name: "soak", wait: { duration: "20m" } },
  ],
};
const aRule = fc.oneof({ weight: 3, arbitrary: telling }, { weight: 1, arbitrary: fc.constant(soaking) });
const policies: fc.Arbitrary<PolicyObject[]> = fc
  .record({
    own: aRule,
    wide: aRule,
    mode: fc.constantFrom<"Enforce" | "Audit">("Enforce", "Enforce", "Audit"),
  })
  .map(({ own, wide, mode }) => [hookPolicy({ rules: [own] }), clusterHookPolicy({ mode, rules: [wide] })]);

const upgrading = (annotations: Record<string, string>): Cluster =>
  heldAt(
    "BeforeClusterUpgrade",
    cluster({ annotations }, { topology: { className: "lab", version: "v1.35.0" } }),
  );
const deleting = (annotations: Record<string, string>): Cluster =>
  cluster({ annotations, deletionTimestamp: NOW.toISOString() });
const annotations = fc.constantFrom<Record<string, string>>(
  {},
  {},
  { [APPROVED]: "v1.35.0" },
  { settings: "" },
);

interface CallParts {
  readonly settings: Record<string, string>;
  readonly from: string;
  readonly to: string;
  readonly resourceVersion: string;
}
const said: fc.Arbitrary<CallParts> = fc.record({
  settings: fc.constantFrom<Record<string, string>>(
    {},
    { region: "eu" },
    { region: "us" },
    { eu: "", a: "b" },
  ),
  from: fc.constantFrom("v1.34.0", "v1.34.0", "v1.33.0"),
  to: fc.constantFrom("v1.35.0", "v1.35.0", "v1.35.0", "v1.36.0"),
  resourceVersion: fc.constantFrom("1000", "1001"),
});

type Step =
  { readonly call: CallParts } | { readonly is: Record<string, string> } | { readonly minutes: number };
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.record({ call: said }) },
    { weight: 1, arbitrary: fc.record({ is: annotations }) },
    { weight: 1, arbitrary: fc.record({ minutes: fc.integer({ min: 1, max: 20 }) }) },
  ),
  { minLength: 4, maxLength: 20 },
);

async function answers(
  decidesAnew: boolean,
  { objects, story, like }: { objects: PolicyObject[]; story: readonly Step[]; like: typeof deleting },
): Promise<readonly HookResponse[]> {
  const operators = new Operators({
    policies: objects,
    clusters: [like({})],
    objects: [configMap("eu")],
    count: 1,
    decidesAnew,
  });
  const given: HookResponse[] = [];
  let is: Record<string, string> = {};
  for (const step of story) {
    if ("is" in step) operators.set(like((is = step.is)));
    else if ("minutes" in step) operators.passTo(new Date(operators.now.getTime() + step.minutes * 60_000));
    else given.push(await operators.ask(0, callOf(step.call, like), named(like(is), step.call)));
  }
  operators.stop();
  return given;
}

function callOf({ settings, from, to }: CallParts, like: typeof deleting): HookCall {
  if (like === deleting) return { hook: "BeforeClusterDelete", settings };
  return { hook: "BeforeClusterUpgrade", fromKubernetesVersion: from, toKubernetesVersion: to, settings };
}

function named(on: Cluster, { resourceVersion }: CallParts): Cluster {
  return { ...on, metadata: { ...on.metadata, resourceVersion } };
}

test("an answer from memory is the same as that of a new decision, whatever else the call says", async (t) => {
  t.after(compileOnce());
  const size = runs(2000);
  let [held, went] = [0, 0];
  await fc.assert(
    fc.asyncProperty(policies, steps, fc.constantFrom(deleting, upgrading), async (objects, story, like) => {
      const given = await answers(false, { objects, story, like });
      assert.deepEqual(given, await answers(true, { objects, story, like }));
      held += given.filter(({ retryAfterSeconds = 0 }) => retryAfterSeconds > 0).length;
      went += given.filter(({ retryAfterSeconds }) => retryAfterSeconds === 0).length;
    }),
    size,
  );
  assert.ok(held > size.numRuns && went > size.numRuns, `${held} held, ${went} released`);
});
