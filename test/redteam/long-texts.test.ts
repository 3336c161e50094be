/** Texts that tenants write are read in a time that grows as they do, whatever they say. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as fc from "fast-check";
import { fromStatus } from "../../src/kube/kube-error.ts";
import { memoryUseOfPolicy } from "../../src/operator/informers.ts";
import { patternWeight } from "../../src/policy/cel/cel-text.ts";
import { compileExpression } from "../../src/policy/cel/expression.ts";
import { parseText } from "../../src/policy/tasks/template-text.ts";
import { runs } from "../generated.ts";
import { hookPolicy, rule } from "../unit/builders.ts";

const [SHORT, TIMES, TRIES] = [8192, 8, 3];
/** Quadratic work grows by TIMES², linear work by TIMES, and the rest is for the compilers and collectors of V8. */
const [MOST_TIMES, REST_MS] = [3 * TIMES, 20];

/** By the time of this process's own work, so that a busy machine does not count. */
function assertLinear(read: (text: string) => unknown, textOf: (length: number) => string): void {
  const [short, long] = [SHORT, SHORT * TIMES].map(textOf);
  assert.ok(short !== undefined && long !== undefined);
  const few = Math.min(...Array.from({ length: TRIES }, () => cpuMs(() => read(short))));
  let many = Infinity;
  for (let tried = 0; tried < TRIES && many > MOST_TIMES * few + REST_MS; tried++)
    many = Math.min(
      many,
      cpuMs(() => read(long)),
    );
  assert.ok(many <= MOST_TIMES * few + REST_MS, `${few} ms, and ${many} ms for ${TIMES} times the text`);
}

function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const repeated = (piece: string, begin = "", end = ""): ((length: number) => string) => {
  return (length) => begin + piece.repeat(Math.ceil(length / piece.length)) + end;
};

/** Texts that repeat some of the pieces, between others. */
function assertLinearFor(pieces: readonly string[], read: (text: string) => unknown): void {
  const some = (minLength: number): fc.Arbitrary<string> =>
    fc.array(fc.constantFrom(...pieces), { minLength, maxLength: 4 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(some(1), some(0), some(0), (...parts) => assertLinear(read, repeated(...parts))),
    runs(500),
  );
}

describe("the weight of a pattern is found at once", () => {
  test("that repeats what begins and does not end", () => {
    for (const piece of ["[", "[:", "\\p{", "\\x{", "{1", "(", ")", "\\Q"])
      assertLinear(patternWeight, repeated(piece));
    assertLinear(patternWeight, repeated("[", "", "\\"));
  });

  test("whatever it says", () => {
    assertLinearFor([...Array.from("[]\\:a^{}(),1pxQE-"), "[:alpha:]"], patternWeight);
  });

  const CLASS = `[${"\\a".repeat(60)}`;

  test("in an expression that admission reviews", () => {
    const { problems } = compileExpression(`cluster.metadata.name.matches(r'${CLASS}')`, "gate");
    assert.match(problems[0]?.message ?? "", /expected a regular expression of RE2/);
  });

  test("in whatever is stored", () => {
    for (const more of [
      { message: `<< ${CLASS}` },
      { until: [{ name: "g", expression: `cluster.metadata.name != r'${CLASS}'` }] },
    ])
      assert.ok(memoryUseOfPolicy(hookPolicy({ rules: [rule(more)] })).bytes > 0);
  });
});

describe("the end of an expression in a template is found at once", () => {
  test("where a quote is not closed", () => {
    for (const piece of ['\\"', "\\'", `\\"""x"`, `\\'''x'`, 'r"""', "r'''"])
      assertLinear(parseText, repeated(piece, "<< ", " >>"));
    assertLinear(parseText, repeated('\\"', '<< "'));
  });

  test("whatever it says", () => {
    const pieces = ['"', "'", '"""', "'''", "\\", "r", "/", "//", "\n", "<<", ">>", "a"];
    assertLinearFor(pieces, (text) => parseText(`<< ${text}`));
  });
});

describe("what the API server says is cleaned at once", () => {
  test("whatever it quotes", () => {
    const pieces = ["eyJ", ".", "-", "bearer", "token", "secret", " ", '"', "=", "://", "@", "a"];
    const read = (message: string): unknown => fromStatus("create x", 422, { message });
    assertLinear(read, repeated("eyJ-"));
    assertLinearFor(pieces, read);
  });
});
