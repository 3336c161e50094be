import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as fc from "fast-check";
import type { HookRolloutSpec } from "../../../src/api/hook-policy.ts";
import { slotsOf } from "../../../src/rollouts/limit.ts";
import { type Plan, planRollout } from "../../../src/rollouts/plan.ts";
import { clusterMeta, member, NOW, rolloutOf } from "./fixtures.ts";

const MINUTE = 60_000;
const DURATION = 40 * MINUTE;

interface PlanInput {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Minutes after NOW; undefined: only after an action. */
  readonly released?: number | undefined;
}

function plan(spec: Partial<HookRolloutSpec>, clusters: readonly PlanInput[]): Plan {
  const rollout = rolloutOf(spec);
  const members = clusters.map(({ name, namespace = "fleet", labels, ...rest }) => ({
    member: member(rollout, { ...clusterMeta(name, labels), namespace }),
    releasedFrom: (at: Date) => {
      const { released } = { released: 0, ...rest };
      if (released === undefined) return undefined;
      const from = new Date(NOW.getTime() + released * MINUTE);
      return from > at ? from : at;
    },
  }));
  return planRollout(rollout, members, { from: NOW, durationMs: DURATION });
}

const minutes = (at: Date | undefined): number | undefined =>
  at === undefined ? undefined : (at.getTime() - NOW.getTime()) / MINUTE;
const begins = ({ clusters }: Plan): Record<string, number | undefined> =>
  Object.fromEntries(clusters.map(({ name, begins: at }) => [name, minutes(at)]));

const wave = (value: string): Pick<PlanInput, "labels"> => ({ labels: { wave: value } });
const CANARY = { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } };
const STAGES: HookRolloutSpec["stages"] = [CANARY, { name: "rest" }];

describe("a plan", () => {
  test("begins as many as there are slots, in the order of names", () => {
    const found = plan({ maxConcurrency: 2 }, [{ name: "c" }, { name: "b" }, { name: "a" }]);
    assert.deepEqual(begins(found), { a: 0, b: 0, c: 40 });
    assert.deepEqual(minutes(found.stages[0]?.ends), 80);
  });

  test("lets namespaces take turns", () => {
    const found = plan({ maxConcurrency: 1 }, [
      ...["a", "b", "c"].map((name) => ({ namespace: "large", name })),
      ...["x", "y"].map((name) => ({ namespace: "small", name })),
    ]);
    assert.deepEqual(
      found.clusters.map(({ name }) => name),
      ["a", "x", "b", "y", "c"],
    );
  });

  test("follows orderLabelKey", () => {
    const found = plan({ orderLabelKey: "order" }, [
      { name: "a" },
      { name: "b", labels: { order: "2" } },
      { name: "c", labels: { order: "1" } },
    ]);
    assert.deepEqual(begins(found), { c: 0, b: 40, a: 80 });
  });

  test("begins a stage when the one before it has passed, soak included", () => {
    const stages = [{ ...CANARY, minSuccessTime: "1h" }, { name: "rest" }];
    const found = plan({ maxConcurrency: 5, stages }, [{ name: "a" }, { name: "b", ...wave("canary") }]);
    assert.deepEqual(begins(found), { b: 0, a: 100 });
    assert.deepEqual(
      found.stages.map((each) => [each.name, minutes(each.begins), minutes(each.ends), minutes(each.passes)]),
      [
        ["canary", 0, 40, 100],
        ["rest", 100, 140, 140],
      ],
    );
  });

  test("does not wait for more than minSucceeded", () => {
    const stages = [{ ...CANARY, minSucceeded: 1 }, { name: "rest" }];
    const found = plan({ stages }, [
      { name: "a", ...wave("canary") },
      { name: "b", ...wave("canary") },
      { name: "c" },
    ]);
    assert.deepEqual(begins(found), { a: 0, b: 40, c: 80 });
    assert.equal(minutes(found.stages[0]?.passes), 40);
  });

  test("begins no later stage while one before it has no Clusters, unless it needs none", () => {
    const found = plan({ stages: STAGES }, [{ name: "a" }]);
    assert.deepEqual(found.never, ["fleet/a"]);
    const open = plan({ stages: [{ ...CANARY, minSucceeded: 0 }, { name: "rest" }] }, [{ name: "a" }]);
    assert.deepEqual(begins(open), { a: 0 });
  });

  test("soaks a stage that needs none, with Clusters and without", () => {
    const stages = [{ ...CANARY, minSucceeded: 0, minSuccessTime: "1h" }, { name: "rest" }];
    const without = plan({ maxConcurrency: 2, stages }, [{ name: "a" }]);
    assert.deepEqual(begins(without), { a: 60 });
    assert.equal(minutes(without.stages[0]?.passes), 60);
    const found = plan({ maxConcurrency: 2, stages }, [{ name: "a" }, { name: "b", ...wave("canary") }]);
    assert.deepEqual(begins(found), { b: 0, a: 60 });
  });

  test("waits for what policies release later", () => {
    const found = plan({ maxConcurrency: 2 }, [{ name: "a", released: 90 }, { name: "b" }]);
    assert.deepEqual(begins(found), { b: 0, a: 90 });
  });

  test("takes an action as done, and says that it is needed", () => {
    const found = plan({}, [{ name: "a", released: undefined }]);
    assert.deepEqual(begins(found), { a: 0 });
    assert.equal(found.clusters[0]?.needsAction, true);
  });

  test("names what never begins: no slot, or no stage", () => {
    assert.deepEqual(plan({ maxConcurrency: 0 }, [{ name: "a" }]).never, ["fleet/a"]);
    assert.deepEqual(plan({ stages: [CANARY] }, [{ name: "a" }]).never, ["fleet/a"]);
  });

  test("of no Clusters is empty", () => {
    assert.deepEqual(plan({}, []).clusters, []);
  });

  test("keeps the limits of stages and of a spread", () => {
    const spread = [{ labelKey: "region", maxConcurrency: 1 }];
    const found = plan({ maxConcurrency: 3, spread }, [
      { name: "a", labels: { region: "eu" } },
      { name: "b", labels: { region: "eu" } },
      { name: "c", labels: { region: "us" } },
    ]);
    assert.deepEqual(begins(found), { a: 0, c: 0, b: 40 });
  });
});

describe("whatever the fleet and the limits", () => {
  const limit = fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constantFrom("1%", "20%", "50%", "100%"));
  const fleets = fc.array(
    fc.record({
      wave: fc.constantFrom("canary", "rest"),
      region: fc.constantFrom("eu", "us"),
      released: fc.integer({ min: 0, max: 200 }),
    }),
    { maxLength: 12 },
  );
  const laws = fc.record({
    fleet: fleets,
    total: limit,
    inStage: limit,
    inRegion: fc.integer({ min: 1, max: 3 }),
  });

  const planned = ({
    fleet,
    total,
    inStage,
    inRegion,
  }: typeof laws extends fc.Arbitrary<infer T> ? T : never) =>
    plan(
      {
        maxConcurrency: total,
        spread: [{ labelKey: "region", maxConcurrency: inRegion }],
        stages: [
          { ...CANARY, maxConcurrency: inStage, minSucceeded: "100%" },
          { name: "rest", maxConcurrency: inStage },
        ],
      },
      fleet.map(({ released, ...labels }, index) => ({ name: `c${index}`, labels, released })),
    );

  test("no limit is exceeded at any instant", () => {
    fc.assert(
      fc.property(laws, (given) => {
        const { clusters } = planned(given);
        const { fleet, total, inStage, inRegion } = given;
        const labelsOf = (name: string) => fleet[Number(name.slice(1))];
        for (const { begins: at } of clusters) {
          const running = clusters.filter((each) => each.begins <= at && each.ends > at);
          assert.ok(running.length <= slotsOf(total, fleet.length));
          for (const stage of ["canary", "rest"]) {
            const size = fleet.filter((each) => each.wave === stage).length;
            const inIt = running.filter(({ name }) => labelsOf(name)?.wave === stage);
            assert.ok(inIt.length <= slotsOf(inStage, size));
          }
          for (const region of ["eu", "us"])
            assert.ok(running.filter(({ name }) => labelsOf(name)?.region === region).length <= inRegion);
        }
      }),
    );
  });

  test("no Cluster begins before the stage before its own has passed, and before its policies release it", () => {
    fc.assert(
      fc.property(laws, (given) => {
        const { clusters, stages } = planned(given);
        const passes = stages[0]?.passes;
        for (const { name, stage, begins: at } of clusters) {
          if (stage === "rest") assert.ok(passes !== undefined && at >= passes);
          const { released = 0 } = given.fleet[Number(name.slice(1))] ?? {};
          assert.ok((minutes(at) ?? 0) >= released);
        }
      }),
    );
  });

  test("every Cluster begins once, or is named among those that never do", () => {
    fc.assert(
      fc.property(laws, (given) => {
        const { clusters, never } = planned(given);
        const names = [...clusters.map(({ namespace, name }) => `${namespace}/${name}`), ...never];
        assert.deepEqual(names.toSorted(), given.fleet.map((_, index) => `fleet/c${index}`).toSorted());
      }),
    );
  });
});
