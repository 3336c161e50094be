/** Which parts of an expression are false. */

import assert from "node:assert/strict";
import test from "node:test";
import { falseParts } from "../../../../src/policy/cel/conjuncts.ts";
import { cluster, namespace, NOW } from "../../builders.ts";

const CLUSTER = cluster({ labels: { tier: "production", note: "a && b" }, annotations: { b: "x)" } });
const TRUE = "'tier' in cluster.metadata.labels";
const FALSE = "'a' in cluster.metadata.annotations";
const FAILS = "cluster.metadata.annotations['a'] == 'x'";

const CASES: Readonly<Record<string, readonly string[]>> = {
  [`${TRUE} && ${FALSE}`]: [FALSE],
  [`${FALSE} && ${FAILS}`]: [FALSE],
  [`${FAILS} && ${FALSE} && ${TRUE}`]: [FALSE],
  [`(${TRUE} && (${FALSE})) && (1 == 2 && cluster.metadata.name == '')`]: [
    `(${FALSE})`,
    "1 == 2",
    "cluster.metadata.name == ''",
  ],
  [`${TRUE} && (${FALSE} || cluster.metadata.name == '')`]: [`(${FALSE} || cluster.metadata.name == '')`],
  [`${TRUE} && cluster.metadata.finalizers.exists(f, f == 'a' && f == 'b')`]: [
    "cluster.metadata.finalizers.exists(f, f == 'a' && f == 'b')",
  ],
  // What looks like && and is a text or a comment.
  [`cluster.metadata.labels['note'] == "a && c" && ${TRUE}`]: [`cluster.metadata.labels['note'] == "a && c"`],
  [`cluster.metadata.annotations['b'] == 'y)' && ${TRUE}`]: [`cluster.metadata.annotations['b'] == 'y)'`],
  [`${TRUE} // a && b (\n && ${FALSE}`]: [FALSE],
  // Not a conjunction: the whole.
  [FALSE]: [FALSE],
  [`${FALSE} || ${TRUE} && ${FALSE}`]: [`${FALSE} || ${TRUE} && ${FALSE}`],
  [`${TRUE} ? ${TRUE} && ${FALSE} : true`]: [`${TRUE} ? ${TRUE} && ${FALSE} : true`],
  [`!(${TRUE} && true)`]: [`!(${TRUE} && true)`],
  [`(${TRUE}) && (${TRUE})`]: [],
  [FAILS]: [],
  "cluster.(": [],
};
for (const [source, parts] of Object.entries(CASES)) {
  test(`${source}: ${parts.length === 0 ? "none" : parts.join("; ")}`, () => {
    const variables = { cluster: CLUSTER, namespace: namespace(), now: NOW };
    assert.deepEqual(falseParts(source, "gate", variables), parts);
  });
}
