/** Laws of decide(): whatever the policies, the world, the call and the instant. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as fc from "fast-check";
import type { RuleSpec } from "../../../src/api/hook-policy.ts";
import type { HookCall } from "../../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { decide } from "../../../src/policy/decide.ts";
import type { Decision } from "../../../src/policy/decision.ts";
import type { CompiledPolicy } from "../../../src/policy/policy.ts";
import { remember } from "../../../src/operations/timers.ts";
import type { OperationState, World } from "../../../src/policy/world.ts";
import { mutatedObject, validPolicy } from "../../corpus/arbitraries.ts";
import { stubNamespace } from "../../../src/views/too-large.ts";
import { compiled, hookPolicy, namespace, NOW } from "../builders.ts";
import * as any from "./decide-arbitraries.ts";
import { runs } from "../../generated.ts";

const RUNS = runs(150);
const later = (seconds: number): Date => new Date(NOW.getTime() + seconds * 1000);
const enforced = (object: PolicyObject): PolicyObject =>
  ({ ...object, spec: { ...object.spec, mode: "Enforce" } }) as PolicyObject;
const failsClosed = (object: PolicyObject): PolicyObject =>
  ({ ...object, spec: { ...object.spec, failurePolicy: "Fail" } }) as PolicyObject;

/** Compiled once: most of the time goes there. */
const cache = new WeakMap<PolicyObject, CompiledPolicy>();
function compileOnce(object: PolicyObject): CompiledPolicy {
  const known = cache.get(object) ?? compiled(object);
  cache.set(object, known);
  return known;
}

function judge(
  policies: readonly PolicyObject[],
  { at, call }: { readonly at: World; readonly call: HookCall },
  now = NOW,
): Decision {
  return decide(policies.map(compileOnce), at, call, now);
}

/** What is remembered after a decision. */
function after(policies: readonly PolicyObject[], at: World, decision: Decision, now: Date): World {
  const state: OperationState = at.state ?? { firstAsked: now, rules: new Map() };
  return { ...at, state: remember(state, policies.map(compileOnce), decision.trace) };
}

test("a decision is the same each time, and holds exactly when it has a retry and a message", () => {
  fc.assert(
    fc.property(any.policies(true), any.situation, (policies, { at, call }) => {
      const decision = judge(policies, { at, call });
      assert.deepEqual(judge(policies, { at, call }), decision);
      assert.equal(decision.retryAfterSeconds > 0, decision.holds);
      assert.equal(decision.message !== "", decision.holds);
      assert.ok(Number.isInteger(decision.retryAfterSeconds) && decision.retryAfterSeconds <= 300);
      assert.ok(Buffer.byteLength(decision.message) <= 1024 && decision.message.isWellFormed());
    }),
    RUNS,
  );
});

test("the order of the policies decides nothing", () => {
  const facts = ({ verdict, holds, retryAfterSeconds, trace }: Decision): unknown => ({
    verdict,
    holds,
    retryAfterSeconds,
    trace: trace.toSorted((a, b) => (a.policy.name < b.policy.name ? -1 : 1)),
  });
  fc.assert(
    fc.property(any.policies(true, 4), any.situation, fc.nat(), (policies, { at, call }, seed) => {
      const shift = seed % Math.max(1, policies.length);
      const turned = [...policies.slice(shift), ...policies.slice(0, shift)].toReversed();
      assert.deepEqual(facts(judge(turned, { at, call })), facts(judge(policies, { at, call })));
    }),
    RUNS,
  );
});

test("a policy that does not say so reads no status, whose changes memory then skips", () => {
  fc.assert(
    fc.property(any.rule(false, true), any.situation, ({ matchConditions: _, ...spec }, { at, call }) => {
      let reads = 0;
      const status = { get: (): undefined => void (reads += 1) };
      const cluster = Object.defineProperty({ ...at.cluster }, "status", status);
      const policy = compileOnce(hookPolicy({ rules: [spec] }));
      decide([policy], { ...at, cluster }, call, NOW);
      assert.ok(policy.readsStatus || reads === 0);
    }),
    runs(400),
  );
});

describe("nothing is released by", () => {
  test("another policy", () => {
    fc.assert(
      fc.property(any.policies(true), any.policy(true), any.situation, (policies, more, { at, call }) => {
        const before = judge(policies, { at, call });
        const now = judge([...policies, any.named(more, "p3")], { at, call });
        assert.ok(now.holds || !before.holds);
        assert.ok(!before.holds || now.retryAfterSeconds <= before.retryAfterSeconds);
      }),
      RUNS,
    );
  });

  test("another gate, with what is remembered the same", () => {
    const rule = any.rule(true, true);
    fc.assert(
      fc.property(rule, any.gate(true), any.situation, fc.boolean(), (spec, gate, { at, call }, fail) => {
        const failurePolicy = fail ? "Fail" : "Ignore";
        const held = (one: RuleSpec): boolean =>
          judge([any.named(hookPolicy({ failurePolicy, rules: [{ ...one, name: "r0" }] }), "p0")], {
            at,
            call,
          }).holds;
        const more = { ...spec, until: [...(spec.until ?? []), { ...gate, name: "more" }] };
        assert.ok(held(more) || !held(spec));
      }),
      runs(400),
    );
  });

  const losses: Record<string, (at: World) => World> = {
    "the Namespace being lost from memory": (at) => ({ ...at, namespace: undefined }),
    "objects that are not loaded": (at) => ({ ...at, objects: any.UNREADABLE }),
    "overrides that are lost": (at) => ({ ...at, overrides: [] }),
    "what was asked before being forgotten": ({ state: _, ...at }) => at,
    "all of it at once": ({ state: _, ...at }) => ({
      ...at,
      namespace: undefined,
      objects: any.UNREADABLE,
      overrides: [],
    }),
  };
  for (const [name, lose] of Object.entries(losses)) {
    test(`${name}, where policies fail closed`, () => {
      fc.assert(
        fc.property(any.policies(true), any.situation, (objects, { at, call }) => {
          const policies = objects.map(failsClosed);
          const before = judge(policies, { at, call });
          assert.ok(judge(policies, { at: lose(at), call }).holds || !before.holds);
        }),
        RUNS,
      );
    });
  }
});

describe("time", () => {
  test("decided again at the same instant, everything is the same", () => {
    fc.assert(
      fc.property(any.policies(true), any.situation, (policies, { at, call }) => {
        const decision = judge(policies, { at, call });
        const again = after(policies, at, decision, NOW);
        assert.deepEqual(judge(policies, { at: again, call }), decision);
        assert.deepEqual(after(policies, again, judge(policies, { at: again, call }), NOW), again);
      }),
      RUNS,
    );
  });

  test("watched every minute, at which all edges are, an operation proceeds no earlier because of calls in between", () => {
    const seconds = fc.array(fc.tuple(fc.nat(39), fc.integer({ min: 1, max: 59 })), { maxLength: 8 });
    fc.assert(
      fc.property(any.policies(false, 2), any.situation, seconds, (policies, { at: start, call }, extra) => {
        const watch = (between: readonly (readonly [number, number])[]): boolean[] => {
          let at = start;
          const look = (now: Date): boolean => {
            const decision = judge(policies, { at, call }, now);
            at = after(policies, at, decision, now);
            return decision.holds;
          };
          return Array.from({ length: 40 }, (_, minute) => {
            const holds = look(later(minute * 60));
            for (const [m, second] of between) if (m === minute) look(later(minute * 60 + second));
            return holds;
          });
        };
        assert.deepEqual(watch(extra), watch([]));
      }),
      runs(60),
    );
  });

  test("nothing changes before the instant at which something does", () => {
    fc.assert(
      fc.property(
        any.policies(false),
        any.situation,
        fc.integer({ min: 1, max: 100 }),
        (policies, { at: start, call }, part) => {
          const first = judge(policies, { at: start, call });
          const at = after(policies, start, first, NOW);
          for (const [index, { changesAt, verdict, holds, overriddenBy }] of first.trace.entries()) {
            assert.notEqual(changesAt, "Unknown");
            const end = changesAt instanceof Date ? changesAt.getTime() : NOW.getTime() + 86_400_000;
            const length = end - NOW.getTime();
            assert.ok(length > 0, "it lies ahead");
            for (const now of [NOW.getTime() + Math.floor((length * part) / 101), end - 1]) {
              const then = judge(policies, { at, call }, new Date(now)).trace[index];
              assert.deepEqual(
                [then?.verdict, then?.holds, then?.overriddenBy],
                [verdict, holds, overriddenBy],
              );
            }
          }
        },
      ),
      RUNS,
    );
  });

  test("a held operation is called for again no later than the first instant at which it can proceed", () => {
    fc.assert(
      fc.property(
        any.policies(false).map((all) => all.map(enforced)),
        any.situation,
        (policies, { at: start, call }) => {
          const first = judge(policies, { at: start, call });
          fc.pre(first.holds);
          const at = after(policies, start, first, NOW);
          const edges = first.trace.flatMap(({ changesAt }) =>
            changesAt instanceof Date ? [changesAt] : [],
          );
          const soon = edges.filter((edge) => !judge(policies, { at, call }, edge).holds);
          const release = Math.min(...soon.map((edge) => edge.getTime()));
          assert.ok(NOW.getTime() + (first.retryAfterSeconds - 1) * 1000 < release);
        },
      ),
      RUNS,
    );
  });
});

test("a Namespace that is too large for memory releases nothing, whatever its labels", () => {
  fc.assert(
    fc.property(any.policies(true), any.situation, fc.boolean(), (policies, { at, call }, isLabelled) => {
      if (at.namespace?.tooLarge !== undefined) return;
      const { knownLabels, ...stub } = stubNamespace(at.namespace ?? namespace());
      const known = { ...stub, ...(isLabelled && knownLabels && { knownLabels }) };
      const held = judge(policies, { at: { ...at, namespace: known }, call });
      assert.ok(!judge(policies, { at, call }).holds || held.holds || at.namespace === undefined);
    }),
    RUNS,
  );
});

test("whatever is stored under a policy's name, nothing throws and nothing of it releases what it may hold", () => {
  const stored = fc.oneof(
    fc.anything(),
    fc.oneof(validPolicy, mutatedObject).map((object) => object["spec"]),
  );
  fc.assert(
    fc.property(stored, any.situation, (spec, { at: world, call }) => {
      const policyOf = compiled(Object.assign(hookPolicy(), { spec }));
      const at = { ...world, overrides: [] };
      const decision = decide([policyOf], at, call, NOW);
      if (policyOf.errors.length > 0 && !Array.isArray((spec as { rules?: unknown } | null)?.rules)) {
        const open = policyOf.mode === "Audit" || policyOf.failurePolicy === "Ignore";
        assert.equal(decision.holds || open || decision.trace[0]?.matched === false, true);
      }
    }),
    runs(500),
  );
});
