import assert from "node:assert/strict";
import test from "node:test";
import { sharedTargets, type WantedTargets } from "../../../src/rollouts/target-shares.ts";

const wanted = (...all: readonly (readonly [version: string, ...namespaces: string[]])[]): WantedTargets =>
  new Map(all.map(([version, ...namespaces]) => [version, new Set(namespaces)]));
const INVENTED = Array.from({ length: 16 }, (_, index) => [`v1.99.${index}`, "team-a"] as const);
const OTHERS = [
  ["v1.36.0", "team-c"],
  ["v1.35.0", "team-b", "team-c"],
] as const;

test("as many as there are places are all followed, and what is no version is not", () => {
  assert.equal(sharedTargets(wanted(...INVENTED, ["latest", "team-b"]), 16).length, 16);
});

test("a namespace that wants all places itself keeps one, and the others get theirs", () => {
  const all = wanted(...INVENTED, ...OTHERS);
  assert.deepEqual(sharedTargets(all, 3), ["v1.99.15", "v1.36.0", "v1.35.0"]);
  assert.deepEqual(sharedTargets(all, 4).at(-1), "v1.99.14");
});

test("every replica chooses the same, in whatever order it knows them", () => {
  const all = [...INVENTED, ...OTHERS];
  assert.deepEqual(sharedTargets(wanted(...all.toReversed()), 5), sharedTargets(wanted(...all), 5));
});
