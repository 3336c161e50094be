/**
 * The conformance data of CEL (cel-spec), evaluated as expressions of policies are: with the same functions, and
 * counted. What works and what does not is written down exactly, so that an upgrade of the library tells.
 */

import assert from "node:assert/strict";
import test from "node:test";
import { type CelInput, celMap, celUint, isCelError, isCelType, parse, plan } from "@bufbuild/cel";
import type { Value } from "@bufbuild/cel-spec/cel/expr/value_pb.js";
import { getTestRegistry } from "@bufbuild/cel-spec/testdata/registry.js";
import { getConformanceSuite, type IncrementalTestSuite } from "@bufbuild/cel-spec/testdata/tests.js";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { environment } from "../../../../src/policy/cel/environment.ts";
import { meter } from "../../../../src/policy/cel/meter.ts";
import { instrument } from "../../../../src/policy/cel/meter.ts";

type Case = IncrementalTestSuite["tests"][number]["original"];

/** How many cases there are without messages, all of which must pass but for MISSED. */
const OFFERED: Readonly<Record<string, number>> = {
  basic: 43,
  comparisons: 334,
  conversions: 109,
  fields: 60,
  fp_math: 30,
  integer_math: 64,
  lists: 39,
  logic: 30,
  macros: 44,
  namespace: 1,
  parse: 193,
  plumbing: 5,
  string: 51,
  string_ext: 206,
  timestamps: 76,
};

/** docs/expressions.md names backticks. Keys that are equal but of two types can be written in no JSON. */
const MISSED = [
  "fields/quoted_map_fields/field_access_slash",
  "fields/quoted_map_fields/field_access_dash",
  "fields/quoted_map_fields/field_access_dot",
  "fields/quoted_map_fields/has_field_slash",
  "fields/quoted_map_fields/has_field_dash",
  "fields/quoted_map_fields/has_field_dot",
  "fields/qualified_identifier_resolution/map_value_repeat_key_heterogeneous",
];

/** Sections that policies are not offered, with how many of their cases pass all the same. */
const NOT_OFFERED: Readonly<Record<string, number>> = {
  bindings_ext: 0,
  block_ext: 0,
  encoders_ext: 0,
  macros2: 8,
  math_ext: 17,
  optionals: 1,
  type_deductions: 0,
  // Without cases.
  unknowns: 0,
};

/** Of protobuf, of which policies see timestamps and durations only. */
const MESSAGES = ["dynamic", "enums", "proto2", "proto2_ext", "proto3", "wrappers"];
const MESSAGE =
  /TestAllTypes|GlobalEnum|(?:Int|UInt)(?:32|64)Value|(?:Float|Double|Bool|Bytes|String)Value|cel\s*\.\s*expr|google\.protobuf\.(?!Timestamp|Duration)/;

interface Section {
  count: number;
  readonly missed: string[];
}

const sections = new Map<string, Section>();
for (const { name, suites, tests } of getConformanceSuite().suites) {
  const section: Section = { count: 0, missed: [] };
  sections.set(name, section);
  collect({ name, suites, tests }, name, section);
}

function collect({ suites, tests }: IncrementalTestSuite, path: string, section: Section): void {
  for (const { name, original } of tests) {
    if (original.container !== "" || MESSAGE.test(original.expr)) continue;
    section.count++;
    if (!passes(original)) section.missed.push(`${path}/${name}`);
  }
  for (const suite of suites) collect(suite, `${path}/${suite.name}`, section);
}

function passes({ expr, bindings, resultMatcher: wanted }: Case): boolean {
  const variables = Object.entries(bindings).map(([name, { kind }]) => {
    assert.ok(kind.case === "value");
    return [name, toCel(kind.value)] as const;
  });
  const result = evaluate(expr, Object.fromEntries(variables));
  switch (wanted.case) {
    case "evalError":
    case "anyEvalErrors":
      return isCelError(result);
    case "value":
      return wanted.value.kind.case === "typeValue"
        ? isCelType(result) && result.name === wanted.value.kind.value
        : same(result, toCel(wanted.value));
    case undefined:
      return result === true;
    case "typedResult":
    case "unknown":
    case "anyUnknowns":
      return false;
  }
}

type Result = ReturnType<ReturnType<typeof plan>>;

/** `undefined`: it cannot even be parsed. */
function evaluate(source: string, variables: Record<string, CelInput>): Result | undefined {
  try {
    const { expr } = parse(source);
    assert.ok(expr);
    meter.start();
    return plan(environment, instrument(expr))(variables);
  } catch {
    return undefined;
  }
}

/** Of the same type, and equal; NaN is not equal to itself. */
function same(result: Result | undefined, wanted: CelInput): boolean {
  if (result === undefined || isCelError(result)) return false;
  const comparison = "a == b && type(a) == type(b) || a != a && b != b";
  return evaluate(comparison, { a: result, b: wanted }) === true;
}

function toCel({ kind }: Value): CelInput {
  if (kind.case === "uint64Value") return celUint(kind.value);
  if (kind.case === "listValue") return kind.value.values.map(toCel);
  if (kind.case === "objectValue") return anyUnpack(kind.value, getTestRegistry()) ?? null;
  if (kind.case === "mapValue") {
    const { entries } = kind.value;
    return celMap(new Map(entries.map(({ key, value }) => [toKey(key), value ? toCel(value) : null])));
  }
  return kind.case === undefined || kind.case === "nullValue" ? null : kind.value;
}

function toKey(value: Value | undefined): string | bigint | boolean {
  const key = value === undefined ? null : toCel(value);
  assert.ok(typeof key === "string" || typeof key === "bigint" || typeof key === "boolean");
  return key;
}

test("every section of the conformance data is judged", () => {
  const judged = [...Object.keys(OFFERED), ...Object.keys(NOT_OFFERED), ...MESSAGES];
  assert.deepEqual([...sections.keys()].toSorted(), judged.toSorted());
});

for (const [name, count] of Object.entries(OFFERED)) {
  test(`CEL conforms in ${name}`, () => {
    const missed = MISSED.filter((path) => path.startsWith(`${name}/`));
    assert.deepEqual(sections.get(name), { count, missed });
  });
}

for (const [name, passing] of Object.entries(NOT_OFFERED)) {
  test(`what is not offered of CEL stays so: ${name}`, () => {
    const { count, missed } = sections.get(name) ?? { count: 0, missed: [] };
    assert.equal(count - missed.length, passing);
  });
}
