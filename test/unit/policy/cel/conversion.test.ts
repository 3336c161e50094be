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

const never = (type: string): string => `objects are JSON, which has no ${type}: convert it with ${type}(…)`;

const CASES: Readonly<Record<string, Case>> = {
  [`now - ${T} > duration('1h')`]: {
    value: "2026-11-21T12:00:00Z",
    warning: never("timestamp"),
    problem: `now, ${T}: - does not take (timestamp, string)`,
  },
  [`${T} < now`]: {
    value: "2026-11-21T12:00:00Z",
    warning: never("timestamp"),
    problem: `${T}, now: < does not take (string, timestamp)`,
  },
  [`${T}.getHours() < 6`]: {
    value: "2026-11-21T12:00:00Z",
    warning: never("timestamp"),
    problem: `${T}: getHours() does not take string.()`,
  },
  [`semver('1.2.3').isLessThan(${T})`]: {
    value: "1.2.4",
    warning: never("semver"),
    problem: `${T}: isLessThan() does not take semver.(string)`,
  },
  [`${T} > 3`]: { value: "4", problem: `${T}: > does not take (string, int)` },
  [`${T} * 2 > 3`]: { value: 1.5, problem: `${T}: * does not take (double, int)` },
  [`${T}.startsWith('1')`]: { value: 12, problem: `${T}: startsWith() does not take int.(string)` },
  [`!${T}`]: { value: "true", problem: `${T}: ! does not take (string)` },
  [`size(${T}) > 1`]: { value: 12, problem: `${T}: size() does not take (int)` },
  [`'a' in ${T}`]: { value: 12, problem: `${T}: in does not take (string, int)` },
  [`${T} > 4`]: { value: null, problem: `${T}: > does not take (null_type, int)` },
  [`${T} ? true : false`]: { value: "true", problem: `${T}: ?: does not take (string)` },
  [`${T} && object.status.t != null`]: {
    value: "true",
    problem: 'one side of && is string, expected bool: compare it, as in … == "true"',
  },
  [`${T}.exists(x, x == 'a')`]: {
    value: 12,
    problem: `${T} is int, expected a list or a map to go through`,
  },
};

for (const [source, { value, warning, problem }] of Object.entries(CASES)) {
  test(`${source} with ${JSON.stringify(value)} names the type that was found`, () => {
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
    [never("timestamp")],
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
