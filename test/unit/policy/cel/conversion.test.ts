/** Values of the wrong type: what is told when they are found, and what is told beforehand. */

import assert from "node:assert/strict";
import test from "node:test";
import { compileExpression } from "../../../../src/policy/cel/expression.ts";
import { cluster, NOW } from "../../builders.ts";

const T = "object.status.t";

interface Case {
  readonly value: unknown;
  /** Told beforehand, without any object. */
  readonly warning?: string;
  /** Told for an object with this value. */
  readonly problem: string;
}

const is = (type: string, name: string, wanted: string, write = ""): string =>
  `${T} is ${type}, and ${name} takes ${wanted} there${write === "" ? "" : `: write ${write}`}`;
const never = (type: string, name: string, write: string): string =>
  `${T} is never ${type}, because objects are JSON, so ${name} cannot be evaluated: write ${write}`;

const CASES: Readonly<Record<string, Case>> = {
  [`now - ${T} > duration('1h')`]: {
    value: "2026-11-21T12:00:00Z",
    warning: never("a timestamp", "-", `timestamp(${T})`),
    problem: is("a string", "-", "a timestamp", `timestamp(${T})`),
  },
  [`${T} < now`]: {
    value: "2026-11-21T12:00:00Z",
    warning: never("a timestamp", "<", `timestamp(${T})`),
    problem: is("a string", "<", "a timestamp", `timestamp(${T})`),
  },
  [`${T}.getHours() < 6`]: {
    value: "2026-11-21T12:00:00Z",
    warning: never("a timestamp", "getHours()", `timestamp(${T})`),
    problem: is("a string", "getHours()", "a timestamp", `timestamp(${T})`),
  },
  [`semver('1.2.3').isLessThan(${T})`]: {
    value: "1.2.4",
    warning: never("a semver", "isLessThan()", `semver(${T})`),
    problem: is("a string", "isLessThan()", "a semver", `semver(${T})`),
  },
  [`${T} > 3`]: { value: "4", problem: is("a string", ">", "an int", `int(${T})`) },
  [`${T} > 3.5`]: { value: "4", problem: is("a string", ">", "a double", `double(${T})`) },
  [`${T} * 2 > 3`]: {
    value: 1.5,
    problem: "the right side of * is an int, and * takes a double there: convert it with double(…)",
  },
  [`${T}.startsWith('1')`]: { value: 12, problem: is("an int", "startsWith()", "a string", `string(${T})`) },
  [`!${T}`]: { value: "true", problem: is("a string", "!", "a bool", `bool(${T})`) },
  [`size(${T}) > 1`]: { value: 12, problem: is("an int", "size()", "a string") },
  [`'a' in ${T}`]: { value: 12, problem: is("an int", "in", "a list") },
  [`${T} > 4`]: {
    value: null,
    problem: `${T} is null, and > does not take it: ask first, as in ${T} != null && …`,
  },
  [`${T} ? true : false`]: {
    value: "true",
    problem: "the condition of ?: must be a bool, found string: compare it",
  },
  [`${T} && object.status.t != null`]: {
    value: "true",
    problem: 'one side of && is a string, expected a bool: compare it, as in … == "true"',
  },
  [`${T}.exists(x, x == 'a')`]: {
    value: 12,
    problem: `${T} is an int, expected a list or a map to go through`,
  },
};

for (const [source, { value, warning, problem }] of Object.entries(CASES)) {
  test(`${source} with ${JSON.stringify(value)} names the type that was found and what to write`, () => {
    const { expression, warnings } = compileExpression(`has(object.status) && (${source})`, "object");
    assert.deepEqual(
      warnings.map(({ message, id }) => [id, message]),
      warning === undefined ? [] : [["json-type", warning]],
    );
    const result = expression?.evaluate({ cluster: cluster(), object: { status: { t: value } }, now: NOW });
    assert.deepEqual(result, { ok: false, problem });
  });
}

const QUIET: readonly string[] = [
  `now - timestamp(${T}) > duration('1h')`,
  "now - object.metadata.creationTimestamp > duration('1h')",
  `duration(${T}) > duration('1h')`,
  `${T} == 'a' || ${T} == 3 || ${T} == null`,
  `${T}.exists(x, x.y > 3)`,
  `timestamp(${T}.a[0]) < now`,
];
for (const source of QUIET) {
  test(`no warning of types: ${source}`, () => {
    const { problems, warnings } = compileExpression(`has(object.status) && (${source})`, "object");
    assert.deepEqual([problems, warnings], [[], []]);
  });
}

test("a text from an object is never equal to a timestamp", () => {
  const { warnings } = compileExpression("has(object.status) && object.status.t == now", "object");
  assert.deepEqual(
    warnings.map(({ message }) => message),
    [
      `${T} is never a timestamp, because objects are JSON, so the two are never equal: write timestamp(${T})`,
    ],
  );
});

const HOOKS: Readonly<Record<string, string | undefined>> = {
  "request.hook == 'BeforeDelete'":
    'request.hook is never "BeforeDelete", which is no hook; did you mean "BeforeClusterDelete"?',
  "request.hook in ['BeforeClusterDelete', 'AfterClusterUpgarde']":
    'request.hook is never "AfterClusterUpgarde", which is no hook; did you mean "AfterClusterUpgrade"?',
  "'x' != request.hook": 'request.hook is never "x", which is no hook',
  "request.hook == 'BeforeClusterDelete'": undefined,
  "cluster.metadata.name == 'x'": undefined,
};
for (const [source, message] of Object.entries(HOOKS)) {
  test(`${source}: ${message ?? "no warning"}`, () => {
    const { warnings } = compileExpression(source, "matchCondition");
    assert.deepEqual(
      warnings.map((warning) => warning.message),
      message === undefined ? [] : [message],
    );
  });
}
