/** Two label selectors, compared with what they do on every set of labels. */

import assert from "node:assert/strict";
import test from "node:test";
import * as fc from "fast-check";
import type { LabelSelector } from "../../../../src/api/meta.ts";
import { compileSelector } from "../../../../src/api/selector.ts";
import { areDisjoint, includes } from "../../../../src/policy/validation/selector-overlap.ts";
import { runs } from "../../../generated.ts";

const KEYS = ["a", "b"];
const VALUES = ["x", "y", ""];
const key = fc.constantFrom(...KEYS);
const value = fc.constantFrom(...VALUES);
const selector: fc.Arbitrary<LabelSelector> = fc.record(
  {
    matchLabels: fc.dictionary(key, value),
    matchExpressions: fc.array(
      fc.oneof(
        fc.record({
          key,
          operator: fc.constantFrom("In", "NotIn"),
          values: fc.array(value, { minLength: 1 }),
        }),
        fc.record({ key, operator: fc.constantFrom("Exists", "DoesNotExist") }),
      ),
      { maxLength: 3 },
    ),
  },
  { requiredKeys: [] },
);

/** Every set of labels between which these selectors can tell. */
const LABELS = [...VALUES, "z", undefined].flatMap((a) =>
  [...VALUES, "z", undefined].map((b) => ({ ...(a !== undefined && { a }), ...(b !== undefined && { b }) })),
);

test("selectors are disjoint if no labels match both", () => {
  fc.assert(
    fc.property(selector, selector, (one, other) => {
      const [first, second] = [compileSelector(one), compileSelector(other)];
      const none = !LABELS.some((labels) => first(labels) && second(labels));
      assert.equal(areDisjoint(one, other), none);
    }),
    runs(2000),
  );
});

test("a selector includes others if it matches whatever all of them match", () => {
  fc.assert(
    fc.property(selector, selector, selector, (wide, one, other) => {
      const [matches, first, second] = [wide, one, other].map(compileSelector);
      const common = LABELS.filter((labels) => first?.(labels) && second?.(labels));
      const all = common.every((labels) => matches?.(labels));
      // Where the others have nothing in common on another key, it may say no.
      if (includes(wide, [one, other])) assert.ok(all);
      else assert.ok(!all || common.length === 0);
    }),
    runs(2000),
  );
});

test("an absent selector includes everything, and is disjoint from nothing", () => {
  assert.ok(includes(undefined, [undefined]));
  assert.ok(includes({}, [{ matchLabels: { a: "x" } }]));
  assert.ok(!includes({ matchLabels: { a: "x" } }, [undefined]));
  assert.ok(!areDisjoint(undefined, { matchLabels: { a: "x" } }));
});
