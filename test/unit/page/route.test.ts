import assert from "node:assert/strict";
import test from "node:test";
import { clusterHref, readRoute, withParams } from "../../../src/page/route.ts";

test("an address names a page, a Cluster and what is chosen there", () => {
  for (const [hash, expected] of [
    ["", { page: "held", name: "", params: {} }],
    ["#/held?policy=HookPolicy%20a%2Fb", { page: "held", name: "", params: { policy: "HookPolicy a/b" } }],
    ["#/windows?zone=Asia/Tokyo", { page: "windows", name: "", params: { zone: "Asia/Tokyo" } }],
    ["#/cluster/team-a/prod-1?hook=x", { page: "cluster", name: "team-a/prod-1", params: { hook: "x" } }],
    ["#/cluster/team-a", { page: "held", name: "", params: {} }],
    ["#/no-such-page", { page: "held", name: "", params: {} }],
    ["#/%zz", { page: "held", name: "", params: {} }],
  ] as const) {
    assert.deepEqual(readRoute(hash), expected, hash);
  }
});

test("the address of a Cluster leads to it, whatever its name", () => {
  for (const name of ["team-a/prod-1", "a/b?c", "a/b#c", "a/%41"])
    assert.equal(readRoute(clusterHref(name)).name, name);
});

test("a choice changes its parameter only, and an empty one removes it", () => {
  assert.equal(withParams("#/held?hook=a&q=b", { q: "c d" }), "#/held?hook=a&q=c+d");
  assert.equal(withParams("#/held?hook=a", { hook: "" }), "#/held");
});
