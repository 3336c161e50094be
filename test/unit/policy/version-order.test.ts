import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { parse } from "semver";
import { orderOf } from "../../../src/policy/version-order.ts";

function order(a: string, b: string): number | undefined {
  const [own, other] = [parse(a), parse(b)];
  assert.ok(own !== null && other !== null);
  const found = orderOf(own, other);
  return found === undefined ? undefined : Math.sign(found);
}

/** As TestCompare of Cluster API has them (util/version/version_test.go). */
describe("versions are in Cluster API's order", () => {
  const cases: readonly (readonly [string, string, number | undefined])[] = [
    ["v1.34.0", "v1.34.0", 0],
    ["v1.34.0", "v1.34.1", -1],
    ["v1.34.0-rc.1", "v1.34.0", -1],
    ["v1.35.0+a.1", "v1.34.0+b.2", 1],
    ["v1.34.0+vmware.1", "v1.34.0+vmware.1", 0],
    ["v1.34.0+vmware.1", "v1.34.0+vmware.2", -1],
    ["v1.34.0+vmware.10", "v1.34.0+vmware.9", 1],
    ["v1.34.0", "v1.34.0+vmware.1", -1],
    ["v1.34.0+vmware.1", "v1.34.0+vmware.1.2", -1],
    ["v1.34.0+1", "v1.34.0+a", -1],
    ["v1.34.0+18446744073709551617", "v1.34.0+18446744073709551616", 1],
    ["v1.34.0+rke2r1", "v1.34.0+rke2r2", undefined],
    ["v1.34.0+rke2r1.1", "v1.34.0+k3s1.2", undefined],
  ];
  for (const [a, b, expected] of cases)
    test(`${a} and ${b}`, () => {
      assert.equal(order(a, b), expected);
      assert.equal(order(b, a), expected === undefined ? undefined : 0 - expected);
    });
});
