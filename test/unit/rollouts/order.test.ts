import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { MAX_RUNNING } from "../../../src/api/hook-policy.ts";
import {
  inOrder,
  orderNumber,
  type OrderPlace,
  takeTurns,
  LastTurns,
  withTurn,
} from "../../../src/rollouts/order.ts";

const KEY = "example.com/order";
const of = (label: string): number => orderNumber({ [KEY]: label }, KEY);

test("a label with an integer of up to 15 digits gives the order; whatever else comes last", () => {
  const rows: readonly (readonly [label: string, order: number])[] = [
    ["0", 0],
    ["-7", -7],
    ["007", 7],
    ["999999999999999", 999_999_999_999_999],
    ["1000000000000000", Number.MAX_SAFE_INTEGER],
    ["1.5", Number.MAX_SAFE_INTEGER],
    ["1e3", Number.MAX_SAFE_INTEGER],
    ["", Number.MAX_SAFE_INTEGER],
    ["first", Number.MAX_SAFE_INTEGER],
  ];
  for (const [label, order] of rows) assert.equal(of(label), order, label);
  assert.equal(orderNumber(undefined, KEY), Number.MAX_SAFE_INTEGER);
  assert.equal(orderNumber({ other: "1" }, KEY), Number.MAX_SAFE_INTEGER);
});

test("without a label to look at all are equal", () => {
  assert.equal(orderNumber({ [KEY]: "5" }, undefined), orderNumber({ [KEY]: "first" }, undefined));
});

test("the comparison is the order of the integers, also beside labels that are none", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.maxSafeInteger().map(String), fc.string())), (labels) => {
      const orders = labels.map(of).toSorted((a, b) => a - b);
      for (const [index, order] of orders.entries())
        assert.ok(index === 0 || (orders[index - 1] ?? 0) <= order);
    }),
  );
});

/** Clusters of a namespace, in the order in which they wait. */
function waitingIn(namespace: string, count: number, order = 0): OrderPlace[] {
  return Array.from({ length: count }, (_, since) => {
    return { group: 0, order, namespace, since, name: `c${since}` };
  });
}

/** The namespaces whose Clusters begin, one after the other: each time so many slots are free. */
function begun(places: readonly OrderPlace[], free: () => number): string[] {
  const namespaces: string[] = [];
  let turns: string[] | undefined;
  for (let waiting = new Set(places); waiting.size > 0;) {
    let left = free();
    takeTurns(inOrder([...waiting]), new LastTurns(turns), (place) => {
      if (left === 0) return false;
      left -= 1;
      waiting.delete(place);
      turns = withTurn(turns, place.namespace);
      return namespaces.push(place.namespace) > 0;
    });
  }
  return namespaces;
}

describe("namespaces take turns", () => {
  test("so that none waits for more than one Cluster of each other between two of its own", () => {
    const counts = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 5 });
    const slots = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(counts, slots, (sizes, free) => {
        const names = sizes.map((_, index) => `n${index}`);
        const places = sizes.flatMap((size, index) => waitingIn(`n${index}`, size));
        let step = 0;
        const order = begun(places, () => free[step++ % free.length] ?? 1);
        assert.equal(order.length, places.length);
        for (const name of names) {
          const since = new Map<string, number>();
          for (const each of order.slice(0, order.lastIndexOf(name))) {
            if (each === name) since.clear();
            else since.set(each, (since.get(each) ?? 0) + 1);
            assert.ok(
              [...since.values()].every((count) => count <= 1),
              `${name} in ${order.join()}`,
            );
          }
        }
      }),
    );
  });

  test("also those of which a status does not name the last turn", () => {
    const names = Array.from({ length: 2 * MAX_RUNNING + 50 }, (_, index) => `n${1000 + index}`);
    const order = begun(
      names.flatMap((name) => waitingIn(name, 2)),
      () => 1,
    );
    assert.deepEqual(order, [...names, ...names]);
  });

  test("within one order value: Clusters of smaller values come first", () => {
    const places = [...waitingIn("a", 2, 1), ...waitingIn("b", 2, 2), ...waitingIn("c", 1, 2)];
    assert.deepEqual(
      begun(places, () => 1),
      ["a", "a", "b", "c", "b"],
    );
    assert.deepEqual(
      begun(places, () => 9),
      ["a", "a", "b", "c", "b"],
    );
  });

  test("and keep theirs if their first Cluster has no room", () => {
    const places = inOrder([...waitingIn("a", 3), ...waitingIn("b", 2)]);
    const tried: string[] = [];
    takeTurns(places, new LastTurns(["b"]), ({ namespace, name }) => {
      tried.push(`${namespace}/${name}`);
      return name !== "c0";
    });
    assert.deepEqual(tried, ["a/c0", "a/c1", "b/c0", "b/c1", "a/c2"]);
  });
});

test("the turns of a status are bounded, and name a namespace once", () => {
  const many = Array.from({ length: MAX_RUNNING }, (_, index) => `n${index}`);
  assert.deepEqual(withTurn(["a", "b", "c"], "a"), ["b", "c", "a"]);
  assert.deepEqual(withTurn(many, "last"), [...many.slice(1), "last"]);
});
