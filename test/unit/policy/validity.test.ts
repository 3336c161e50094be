/** How long an answer may be repeated without deciding again. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import type { GateSpec } from "../../../src/api/hook-policy.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { decide } from "../../../src/policy/decide.ts";
import { readsCall, validUntil } from "../../../src/policy/decision.ts";
import { remember } from "../../../src/operations/timers.ts";
import type { World } from "../../../src/policy/world.ts";
import { APPROVED, at, compiled, DELETE, gated, NOW, rule, world, period } from "../builders.ts";
import * as any from "./decide-arbitraries.ts";
import { runs } from "../../generated.ts";

/** At 12:00; the window opens at 13:00. */
const LATER: GateSpec = { name: "later", window: { timeZone: "UTC", allow: [period("+1h", "+2h")] } };
const APPROVAL: GateSpec = { name: "approved", annotation: { key: APPROVED } };
const CLOCK: GateSpec = {
  name: "clock",
  expression: "now < timestamp('2020-01-01T00:00:00Z')",
};
const OBJECT: GateSpec = {
  name: "object",
  object: { apiVersion: "v1", kind: "ConfigMap", name: "ready" },
};

function untilOf(...objects: readonly PolicyObject[]): Date | "Never" | undefined {
  const policies = objects.map(compiled);
  return validUntil(policies, decide(policies, world(), DELETE, NOW));
}

describe("a decision is valid", () => {
  test("forever, if only a user can change it", () => {
    assert.equal(untilOf(gated([APPROVAL])), "Never");
  });

  test("until its retry would have to shrink ahead of an edge", () => {
    const policy = gated([APPROVAL, LATER], { retryAfterSeconds: 60 });
    assert.deepEqual(untilOf(policy), new Date(at("+1h").getTime() - 60_000));
  });

  test("not at all, where an expression looks at the clock", () => {
    assert.equal(untilOf(gated([CLOCK])), undefined);
    assert.equal(untilOf(gated([{ name: "any", anyOf: [CLOCK, LATER] }])), undefined);
    const matchConditions = [{ name: "now", expression: "now > timestamp('2020-01-01T00:00:00Z')" }];
    assert.equal(untilOf(gated([APPROVAL], { matchConditions })), undefined);
  });

  test("not at all, where a gate looks at objects", () => {
    assert.equal(untilOf(gated([APPROVAL]), gated([OBJECT])), undefined);
  });

  test("whatever rules on other hooks, and policies that do not match, look at", () => {
    const elsewhere = gated([APPROVAL]);
    elsewhere.spec.rules.push(rule({ name: "other", hooks: ["BeforeClusterUpgrade"], until: [CLOCK] }));
    const unmatched = gated([CLOCK]);
    unmatched.spec.clusterSelector = { matchLabels: { no: "such" } };
    assert.equal(untilOf(elsewhere, unmatched), "Never");
  });
});

const READING = [
  "request.settings.region == 'eu'",
  ".request.settings.region == 'eu'",
  "request['settings']['region'] == 'eu'",
  "has(request.settings.region)",
  "'region' in request.settings",
  "cluster.metadata.name == 'prod-1' || request.settings.region == 'eu'",
  "cluster.metadata.labels.exists(key, [key].all(each, each in request.settings))",
  "[request].exists(call, call.settings.size() > 0)",
  "{'call': request}.call.settings.size() > 0",
  "dyn(request).settings.size() > 0",
  "request == request",
  "request.fromKubernetesVersion == 'v1.34.0'",
];
const NOT_READING = [
  "request.hook == 'BeforeClusterDelete'",
  "has(request.targetVersion)",
  "cluster.metadata.labels.exists(settings, settings == 'region')",
  "'request.settings' in cluster.metadata.annotations",
];
const object = { apiVersion: "v1", kind: "ConfigMap" };
const name = (text: string): string => `${text} ? 'a' : 'b'`;
const PLACES: Readonly<Record<string, (text: string) => PolicyObject>> = {
  "a gate": (expression) => gated([APPROVAL, { name: "e", expression }]),
  "a member of anyOf": (expression) =>
    gated([{ name: "any", anyOf: [APPROVAL, LATER, { name: "e", expression }] as never }]),
  "a match condition": (expression) =>
    gated([APPROVAL], {
      matchConditions: [
        { name: "c", expression },
        { name: "no", expression: "false" },
      ],
    }),
  "the name of an object": (text) =>
    gated([{ name: "o", object: { ...object, nameExpression: name(text) } }]),
  "a gate on objects": (expression) =>
    gated([{ name: "o", object: { ...object, selector: {}, expression } }]),
  "an Audit policy": (expression) => {
    const policy = gated([{ name: "e", expression }]);
    policy.spec.mode = "Audit";
    return policy;
  },
};

describe("a decision follows from the operation alone", () => {
  const reads = (...objects: readonly PolicyObject[]): boolean => {
    const policies = objects.map(compiled);
    return readsCall(policies, decide(policies, world(), { ...DELETE, settings: {} }, NOW));
  };

  for (const [place, policyWith] of Object.entries(PLACES)) {
    for (const text of READING) {
      test(`not where ${place} has ${text}`, () => {
        const policy = policyWith(text);
        assert.deepEqual(compiled(policy).errors, []);
        assert.equal(reads(gated([APPROVAL]), policy), true);
      });
    }
    test(`where ${place} reads other parts of the call at most`, () => {
      for (const text of NOT_READING) assert.equal(reads(policyWith(text)), false, text);
    });
  }

  test("where it waits for an annotation or a version that the operation has", () => {
    assert.equal(
      reads(gated([{ ...APPROVAL, annotation: { key: APPROVED, valueFrom: "TargetVersion" } }])),
      false,
    );
  });

  test("whatever rules on other hooks, and policies that do not match, read", () => {
    const until: GateSpec[] = [{ name: "e", expression: "has(request.settings.region)" }];
    const elsewhere = gated([APPROVAL]);
    elsewhere.spec.rules.push(rule({ name: "other", hooks: ["BeforeClusterUpgrade"], until }));
    const unmatched = gated(until);
    unmatched.spec.clusterSelector = { matchLabels: { no: "such" } };
    assert.equal(reads(elsewhere, unmatched), false);
  });
});

/** Some of them read settings. */
const texts = fc.infiniteStream(
  fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom(...READING) },
    { weight: 6, arbitrary: fc.constantFrom(...NOT_READING) },
  ),
);

test("a decision that follows from the operation alone is the same whatever else the call says", () => {
  const size = runs(3000);
  let [held, different] = [0, 0];
  const settings = fc.constantFrom({}, { region: "eu" }, { region: "us", a: "x" });
  fc.assert(
    fc.property(
      any.policies(true),
      texts,
      any.situation,
      settings,
      (objects, stream, { at: on, call }, other) => {
        const policies = withExpressions(objects, stream).map(compiled);
        const from = call.fromKubernetesVersion === undefined ? {} : { fromKubernetesVersion: "v1.33.0" };
        const decision = decide(policies, on, { ...call, settings: { region: "asia" } }, NOW);
        const again = decide(policies, on, { ...call, ...from, settings: other }, NOW);
        if (readsCall(policies, decision))
          return void (different += Number(!isDeepStrictEqual(again, decision)));
        assert.deepEqual(again, decision);
        held += Number(decision.holds);
      },
    ),
    size,
  );
  assert.ok(held > size.numRuns / 50, `${held} held`);
  assert.ok(different > size.numRuns / 100, `${different} differ`);
});

/** Each expression about the Cluster becomes the next of the texts. */
function withExpressions(objects: readonly PolicyObject[], stream: Iterator<string>): PolicyObject[] {
  return JSON.parse(JSON.stringify(objects), (key, value) =>
    key === "expression" && !value.includes("object.") ? stream.next().value : value,
  );
}

test("while a decision is valid, deciding again says the same to the byte", () => {
  const size = runs(300);
  let compared = 0;
  fc.assert(
    fc.property(
      any.policies(true),
      any.situation,
      fc.double({ min: 0, max: 1, noNaN: true }),
      (objects, situation, part) => {
        const policies = objects.map(compiled);
        const { call } = situation;
        const decision = decide(policies, situation.at, call, NOW);
        const until = validUntil(policies, decision);
        if (until === undefined) return;
        const end = until === "Never" ? at("+90d") : until;
        if (end <= NOW) return;
        const state = situation.at.state ?? { firstAsked: NOW, rules: new Map() };
        const remembered: World = { ...situation.at, state: remember(state, policies, decision.trace) };
        for (const now of [NOW.getTime() + (end.getTime() - 1 - NOW.getTime()) * part, end.getTime() - 1]) {
          const again = decide(policies, remembered, call, new Date(now));
          const { verdict, holds, message, retryAfterSeconds } = again;
          const { verdict: v, holds: h, message: m, retryAfterSeconds: r } = decision;
          assert.deepEqual(
            { verdict, holds, message, retryAfterSeconds },
            { verdict: v, holds: h, message: m, retryAfterSeconds: r },
          );
          compared += 1;
        }
      },
    ),
    size,
  );
  assert.ok(compared > size.numRuns / 3, String(compared));
});
