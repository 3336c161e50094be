/** Hostile expressions and hostile objects: each ends after a fixed number of steps, and leaves nothing behind. */

import assert from "node:assert/strict";
import test from "node:test";
import { compileExpression } from "../../../../src/policy/cel/expression.ts";
import { type ExpressionResult, STEPS_EXCEEDED } from "../../../../src/policy/cel/meter.ts";
import { cluster, NOW } from "../../builders.ts";

const ITEMS = Array.from({ length: 2700 }, (_, a) => ({ a, text: "x".repeat(20), list: [1, 2, 3] }));
/** About as much as an object of Kubernetes can hold. */
const OBJECT = {
  metadata: { name: "large" },
  status: {
    items: ITEMS,
    text: "a".repeat(400_000),
    map: Object.fromEntries(ITEMS.map(({ a }) => [`k${a}`, a])),
    deep: nested(5000),
    long: Array.from({ length: 60_000 }, () => 0),
    medium: "a".repeat(10_000),
    words: Array.from({ length: 600 }, () => "a".repeat(1000)),
  },
};

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < levels; i++) value = { a: value };
  return value;
}

function evaluate(source: string): ExpressionResult {
  const { expression, problems } = compileExpression(source, "object");
  assert.deepEqual(problems, [], source);
  assert.ok(expression);
  return expression.evaluate({ cluster: cluster(), object: OBJECT, now: NOW });
}

const TOO_MANY = { ok: false, problem: STEPS_EXCEEDED, exhausted: true } as const;

const loops = (depth: number): string =>
  depth === 0 ? "true" : `[1,2,3,4,5,6,7,8,9,0].all(v${depth}, ${loops(depth - 1)})`;
const nest = "[1].map(x, [x,x])" + ".map(x,[x,x])".repeat(30);

const HOSTILE: Readonly<Record<string, string>> = {
  "loops within loops": loops(5),
  "loops within loops that find nothing": loops(5).replaceAll("all", "exists").replace("true", "false"),
  "a loop over a loop over an object":
    "object.status.items.map(x, object.status.items.map(y, x.a)).size() > 0",
  "a loop that collects within a loop":
    "object.status.items.map(x, object.status.items.filter(y, true)).size() > 0",
  "a map that is walked too often": "object.status.map.all(k, object.status.map.exists(j, j == k))",
  "text that doubles": `['a'].map(x, x+x)${".map(x,x+x)".repeat(60)}[0] == 'a'`,
  "bytes that double": `[b'a'].map(x, x+x)${".map(x,x+x)".repeat(60)}[0] == b'a'`,
  "a list that doubles": `[[1]].map(x, x+x)${".map(x,x+x)".repeat(60)}[0].size() == 1`,
  "values that share their parts, compared": `${nest} == ${nest}`,
  "values that share their parts, written out": `'%s'.format([${nest}]) == ''`,
  "values that share their parts, searched": `${nest} in [${nest}]`,
  "replacing by something longer": `'aaaaaaaa'${".replace('a', 'aaaaaaaa')".repeat(20)} == ''`,
  "replacing nothing by something": `'a'${".replace('', 'aaaaaaaa')".repeat(20)} == ''`,
  "splitting and joining": `'aaaaaaaa'${".split('').join('aaaaaaaa')".repeat(20)} == ''`,
  "formatting what was formatted": `'a'${".split('').map(x, '%s%s%s%s%s%s%s%s'.format([x,x,x,x,x,x,x,x])).join()".repeat(8)} == ''`,
  "formatting numbers": `object.status.items.all(x, '${"%f".repeat(60)}'.format([${Array(60).fill("1.1").join(",")}]) != '')`,
  "a pattern with many repetitions": "object.status.text.matches('(a?b?c?x?){60}$')",
  "a short pattern over a long text": "object.status.text.matches('^(a+)+$')",
  "a pattern in a loop": "object.status.items.all(x, x.text.matches('^(x+x+)+$'))",
  "a search for nearly the whole text": "object.status.text.contains(object.status.text + 'b')",
  "upper and lower case of a long text": "object.status.text.upperAscii().lowerAscii().size() > 0",
  "windows in a loop": "object.status.items.all(x, now.inWindow('* * * * *', '1m', 'UTC') || true)",
  "zones in a loop": "object.status.items.all(x, now.getHours('Europe/Berlin') == 13)",
  "ranges in a loop": "object.status.items.all(x, '1.2.3'.satisfies('>=1.0.0'))",
  "a comparison of two deep objects": "object.status.deep == object.status.deep.a",
  "many conditions over many items": `object.status.items.all(x, ${"x.a>=0&&".repeat(100)}true)`,
  "a loop that ends at once over a long list":
    "object.status.words.all(x, object.status.items.exists(y, true))",
  "a list that is only counted": "object.status.long.size() > 0",
  "a search of a text in a text": "object.status.medium.contains(object.status.medium + 'b')",
  "a text that is split at a long one":
    "[object.status.medium.split(object.status.medium + 'b')].size() == 1",
  "a long text that is replaced":
    "[object.status.medium.replace(object.status.medium + 'b', '')].size() == 1",
  "times in a loop": "object.status.items.all(x, timestamp('2026-01-01T00:00:00Z') + duration('1h') < now)",
  "a long text that is joined": "[object.status.words.join('')].size() == 1",
  "a text that is joined by a long one":
    "[object.status.items.map(x, 'a').join(object.status.medium)].size() == 1",
  "a text that grows by replacement": "[object.status.medium.replace('a', object.status.medium)].size() == 1",
  // An error that the other side makes up for elsewhere.
  "steps that ran out where || would not look": `${loops(5)} || true`,
  "steps that ran out where && would not look": `!(${loops(5)} && false)`,
  "steps that ran out in a loop that ignores errors": `[1, 2].exists(x, x == 2 || ${loops(4)}) || [3].exists(x, ${loops(4)} || true)`,
};

for (const [name, source] of Object.entries(HOSTILE)) {
  test(`ends: ${name}`, () => {
    assert.deepEqual(evaluate(source), TOO_MANY);
    assert.deepEqual(evaluate("object.metadata.name == 'large'"), { ok: true, value: true });
    assert.deepEqual(evaluate(source), TOO_MANY);
  });
}

test("ends: variables of a Cluster that are larger than an object can be", () => {
  const topology = {
    className: "a",
    version: "v1.34.0",
    variables: JSON.stringify({ a: "a".repeat(600_000) }),
  };
  const { expression } = compileExpression("size(cluster.topology.variables) == 1", "gate");
  assert.deepEqual(expression?.evaluate({ cluster: cluster({}, { topology }), now: NOW }), TOO_MANY);
});

test("an object that is much larger than usual is within the bound", () => {
  const usual = [
    "object.status.items.exists(x, x.a == 2500)",
    "object.status.items.map(x, x.a).size() > 100",
    "object.status.map.exists(k, k == 'k2699')",
    "object.status.items.all(x, x.text.startsWith('x'))",
    "object.status.items.all(x, object.status.items.size() > 0)",
  ];
  for (const source of usual) assert.deepEqual(evaluate(source), { ok: true, value: true }, source);
});

test("the steps that are left do not depend on what was evaluated before", () => {
  const source = (length: number): string =>
    `object.status.items.all(x, x.a >= 0) && ${"1+".repeat(length)}1 > 0`;
  const first = evaluate(source(50));
  for (let i = 0; i < 20; i++) assert.deepEqual(evaluate(source(50)), first);
});

test("a variable of a loop and what it collects are gone with the evaluation", () => {
  const { expression } = compileExpression("object.status.items.map(x, x.a) == object.status.want", "object");
  const at = (want: number[]): ExpressionResult | undefined =>
    expression?.evaluate({
      cluster: cluster(),
      object: { status: { items: want.map((a) => ({ a })), want } },
      now: NOW,
    });
  assert.deepEqual(at([1, 2, 3]), { ok: true, value: true });
  assert.deepEqual(at([4]), { ok: true, value: true });
  assert.deepEqual(at([]), { ok: true, value: true });
});
