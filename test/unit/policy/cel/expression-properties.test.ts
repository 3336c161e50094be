/** Laws of expressions: whatever is written, and whatever the Cluster looks like. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as fc from "fast-check";
import { viewCluster } from "../../../../src/views/cluster.ts";
import { compileExpression, type ExpressionUse } from "../../../../src/policy/cel/expression.ts";
import type { ExpressionVariables } from "../../../../src/policy/cel/view.ts";
import { namespace } from "../../builders.ts";
import { runs } from "../../../generated.ts";

const word = fc.constantFrom("a", "name", "__proto__", "constructor", "tier", "x", "");
const USES: readonly ExpressionUse[] = ["matchCondition", "gate", "objectName", "object"];

interface Shapes {
  readonly bool: string;
  readonly text: string;
  readonly number: string;
  readonly list: string;
  readonly any: string;
}

/** Mostly of the right types, so that many compile; `any` sees to it that not all do. */
const { bool, text, any } = fc.letrec<Shapes>((tie: fc.LetrecTypedTie<Shapes>) => {
  const join = (...parts: fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
    fc.tuple(...parts).map((words) => words.join(""));
  const just = (...words: string[]): fc.Arbitrary<string> => fc.constantFrom(...words);
  const of = <K extends keyof Shapes>(name: K): fc.Arbitrary<Shapes[K]> => tie(name);
  const depth = { maxDepth: 4, withCrossShrink: true };
  return {
    bool: fc.oneof(
      depth,
      just(
        "true",
        "has(cluster.topology)",
        "'a' in cluster.metadata.labels",
        "has(object.spec)",
        "now > now",
      ),
      join(just("("), of("bool"), just(" && ", " || "), of("bool"), just(")")),
      join(just("!("), of("bool"), just(")")),
      join(of("text"), just(" == ", " != ", " < "), of("text")),
      join(of("number"), just(" == ", " <= ", " > "), of("number")),
      join(of("text"), just(".startsWith(", ".contains("), of("text"), just(")")),
      join(of("list"), just(".exists(x, ", ".all(x, ", ".exists_one(x, "), of("bool"), just(")")),
      join(of("any"), just(" in "), of("list")),
      join(just("("), of("bool"), just(" ? "), of("bool"), just(" : "), of("bool"), just(")")),
      of("any"),
    ),
    text: fc.oneof(
      depth,
      just(
        "'a'",
        "cluster.metadata.name",
        "cluster.topology.version",
        "request.targetVersion",
        "request.hook",
      ),
      join(just("cluster.metadata.labels['", "cluster.metadata.annotations['"), word, just("']")),
      join(just("cluster.topology.variables['"), word, just("']")),
      join(just("("), of("text"), just(" + "), of("text"), just(")")),
      join(of("text"), just(".trim()", ".lowerAscii()", ".split('a')[0]", ".replace('a', 'bb')")),
      join(just("string("), of("any"), just(")")),
      join(of("list"), just(".join('-')")),
    ),
    number: fc.oneof(
      depth,
      just("1", "2.5", "cluster.metadata.generation", "now.getHours('Europe/Berlin')", "object.spec"),
      join(just("size("), of("list"), just(")")),
      join(just("int(", "semver("), of("text"), just(")", ").minor()")),
      join(just("("), of("number"), just(" + ", " - ", " / ", " % "), of("number"), just(")")),
    ),
    list: fc.oneof(
      depth,
      just(
        "[1, 2]",
        "cluster.metadata.finalizers",
        "cluster.status.conditions",
        "object.metadata.labels",
        "object.spec",
      ),
      join(of("list"), just(".map(x, "), of("any"), just(")")),
      join(of("list"), just(".filter(x, "), of("bool"), just(")")),
      join(just("["), of("any"), just(", "), of("any"), just("]")),
    ),
    any: fc.oneof(
      depth,
      just(
        "x",
        "x.type",
        "null",
        "now",
        "duration('1h')",
        "cluster",
        "cluster.topology.variables",
        "namespaceObject",
      ),
      of("bool"),
      of("text"),
      of("number"),
      of("list"),
      join(of("any"), just("["), of("any"), just("]")),
      join(just("dyn(", "type("), of("any"), just(")")),
    ),
  };
});
const expr = fc.oneof(
  { arbitrary: bool, weight: 4 },
  { arbitrary: text, weight: 1 },
  { arbitrary: any, weight: 1 },
);

const json = fc.jsonValue({ maxDepth: 3 });
const strings = fc.dictionary(word, fc.string(), { maxKeys: 3, noNullPrototype: true });
const raw = fc.record({
  metadata: fc.record({
    name: fc.string(),
    labels: strings,
    annotations: strings,
    generation: fc.oneof(fc.integer(), fc.constant(1.5)),
    creationTimestamp: fc.constantFrom("2026-01-01T00:00:00Z", "never"),
  }),
  spec: fc.record({
    topology: fc.record({
      version: fc.string(),
      variables: fc.array(fc.record({ name: word, value: json })),
    }),
  }),
  status: fc.oneof(
    json,
    fc.record({ conditions: fc.array(fc.record({ type: fc.string(), status: fc.string() })) }),
  ),
});
const world: fc.Arbitrary<ExpressionVariables> = fc
  .record({
    raw,
    known: fc.boolean(),
    object: json,
    labels: strings,
    at: fc.integer({ min: 0, max: 4e12 }),
    version: fc.string(),
  })
  .map(({ raw: object, known, at, labels, version, ...rest }) => ({
    cluster: viewCluster(object),
    ...(known && { namespace: namespace({ labels }) }),
    call: { hook: "BeforeClusterUpgrade", toKubernetesVersion: version },
    now: new Date(at),
    ...rest,
  }));
const use = fc.constantFrom(...USES);

test("whatever is written is compiled or refused with a reason, and evaluated to what is wanted or to a problem", () => {
  const size = runs(3000);
  let compiled = 0;
  fc.assert(
    fc.property(expr, use, world, (source, wanted, at) => {
      const { expression, problems } = compileExpression(source, wanted);
      assert.equal(expression === undefined, problems.length > 0);
      for (const { message } of problems) assert.match(message, /^[^\n]{3,}$/);
      if (expression === undefined) return;
      compiled++;
      const result = expression.evaluate(at);
      if (result.ok) assert.equal(typeof result.value, wanted === "objectName" ? "string" : "boolean");
      else assert.match(result.problem, /^[^\n]{3,}$/);
      assert.deepEqual(expression.evaluate(at), result);
      assert.deepEqual(compileExpression(source, wanted).expression?.evaluate(structuredClone(at)), result);
    }),
    size,
  );
  assert.ok(compiled > size.numRuns / 30, `only ${compiled} compiled`);
});

test("any text at all is compiled or refused", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.string()), use, (source, wanted) => {
      const { expression, problems } = compileExpression(source, wanted);
      assert.equal(expression === undefined, problems.length > 0);
    }),
    runs(2000),
  );
});

test("results do not depend on the order of evaluations", () => {
  const pairs = fc.array(fc.tuple(expr, use, world), { minLength: 2, maxLength: 6 });
  fc.assert(
    fc.property(pairs, (list) => {
      const run = ([source, wanted, at]: readonly [string, ExpressionUse, ExpressionVariables]): unknown =>
        compileExpression(source, wanted).expression?.evaluate(at);
      const forwards = list.map(run);
      const backwards = list.toReversed().map(run).toReversed();
      assert.deepEqual(backwards, forwards);
    }),
    runs(300),
  );
});

test("a problem says nothing that was observed", () => {
  const secret = "s3cr3t";
  const told = viewCluster({
    metadata: {
      name: secret,
      uid: secret,
      labels: { a: secret, [secret]: secret },
      annotations: { a: secret },
    },
    spec: { topology: { version: secret, variables: [{ name: "a", value: { [secret]: secret } }] } },
    status: { phase: secret, conditions: [{ type: secret, status: secret, reason: secret }] },
  });
  fc.assert(
    fc.property(expr, use, (source, wanted) => {
      const object = { spec: { [secret]: secret }, metadata: { labels: { a: secret } } };
      const result = compileExpression(source, wanted).expression?.evaluate({
        cluster: told,
        object,
        now: new Date(0),
      });
      if (result?.ok === false) assert.ok(!result.problem.includes(secret), result.problem);
    }),
    runs(3000),
  );
});

describe("forms that say the same agree, whatever an object contains:", () => {
  const content = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.constantFrom(null, true, false, 0, 1, 2.5, -1, "", "a", "1", "\u{1F600}"),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom("a", "b", "__proto__", "constructor", "a/b"), tie("value"), {
        maxKeys: 4,
      }),
    ),
  })).value;
  const map = fc.dictionary(fc.constantFrom("a", "b", "size", "a/b"), content, { maxKeys: 4 });
  const list = fc.array(content, { maxLength: 5 });
  const LAWS: Readonly<Record<string, string>> = {
    "has() and in": "has(object.m.a) == ('a' in object.m)",
    "in and exists of a list": "(object.x in object.l) == object.l.exists(e, e == object.x)",
    "in and all of a list": "(object.x in object.l) == !object.l.all(e, e != object.x)",
    "exists and filter": "object.l.exists(e, e == object.x) == (size(object.l.filter(e, e == object.x)) > 0)",
    "== and !=": "(object.x == object.y) != (object.x != object.y)",
    "== on both sides": "(object.x == object.y) == (object.y == object.x)",
    "== and in": "(object.x == object.y) == (object.x in [object.y])",
    "a value and itself": "object.x == object.x && object.m == object.m && object.l == object.l",
    "size of a list and empty": "(size(object.l) == 0) == (object.l == [])",
    "size of a map and empty": "(size(object.m) == 0) == (object.m == {})",
    "size and .size()": "size(object.l) == object.l.size() && size(object.m) == object.m.size()",
    "size and map":
      "size(object.l) == size(object.l.map(e, 1)) && size(object.m) == size(object.m.map(k, k))",
    "size and exists of a map": "(size(object.m) > 0) == object.m.exists(k, true)",
    "in and exists of a map, unless the field is null":
      "object.m.exists(k, k == 'a' && object.m[k] != null) == ('a' in object.m)",
    "in and [] of a map": "!('a' in object.m) || object.m['a'] == object.m.a",
    "in of literals and of the object": "('a' in object.m) == ('a' in {'a': 1} && has(object.m.a))",
  };
  for (const [title, source] of Object.entries(LAWS))
    test(title, () => {
      const { expression, problems } = compileExpression(source, "object");
      assert.deepEqual(problems, []);
      fc.assert(
        fc.property(map, list, content, content, (m, l, x, y) => {
          const object = { m, l, x, y };
          const variables = { cluster: viewCluster({}), object, now: new Date(0) };
          assert.deepEqual(expression?.evaluate(variables), { ok: true, value: true });
        }),
        runs(1000),
      );
    });
});
