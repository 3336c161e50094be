import assert from "node:assert/strict";
import test from "node:test";

import { hasTooManyValues, MAX_VALUES } from "../../../src/extension/body-values.ts";
import { WholeBody } from "../../../src/extension/whole-body.ts";
import { goldenRequest } from "../../contract/golden.ts";

const MIB = 1024 * 1024;
const dense = (bytes: Buffer): boolean => hasTooManyValues(new WholeBody([bytes]));

for (const text of ["[", "{},", "[],", "0,", '{"":', '"",']) {
  test(`4 MiB of ${text} hold too many values`, () => {
    assert.equal(dense(Buffer.alloc(4 * MIB, text)), true);
  });
}

test("a Cluster with a thousand MachineDeployments, and texts of 4 MiB, do not", () => {
  const request: { cluster: { spec: { topology: Record<string, unknown> } } } = JSON.parse(
    goldenRequest("v1beta2", "BeforeClusterDelete").toString(),
  );
  const overrides = ["size", "zone", "image"].map((name) => ({ name, value: { [name]: name, count: 3 } }));
  request.cluster.spec.topology["workers"] = {
    machineDeployments: Array.from({ length: 1000 }, (_, index) => ({
      name: `md-${index}`,
      class: "default-worker",
      replicas: 3,
      metadata: { labels: { pool: `md-${index}`, tier: "workers" } },
      variables: { overrides },
    })),
  };
  assert.equal(dense(Buffer.from(JSON.stringify(request))), false);
  assert.equal(dense(Buffer.alloc(4 * MIB, "x")), false);
  for (const text of [",", String.raw`\"[`, String.raw`{\\`])
    assert.equal(dense(Buffer.from(JSON.stringify({ text: text.repeat(MIB) }))), false, text);
});

test("what looks like the end of a text, and is not, hides no values", () => {
  const values = "[".repeat(MAX_VALUES + 1);
  for (const text of ['""', String.raw`"\\"`, String.raw`"\""`, String.raw`"\\\""`])
    assert.equal(dense(Buffer.from(text + values)), true, text);
});

test("it makes no difference where a body is divided", () => {
  const values = "[".repeat(MAX_VALUES);
  const whole = Buffer.from(String.raw`{"a\\\"b\\":"${values}","c":${values}`);
  for (const length of [1, 2, 3, 7, 20]) {
    const chunks = Array.from({ length: Math.ceil(whole.length / length) }, (_, index) =>
      whole.subarray(index * length, (index + 1) * length),
    );
    assert.equal(hasTooManyValues(new WholeBody(chunks)), true, `chunks of ${length} bytes`);
    assert.equal(hasTooManyValues(new WholeBody(chunks.slice(0, -2))), false, `chunks of ${length} bytes`);
  }
});

test("as many values as bytes are none too many where there are few bytes", () => {
  assert.equal(dense(Buffer.alloc(MAX_VALUES, "[")), false);
  assert.equal(dense(Buffer.alloc(MAX_VALUES + 1, "[")), true);
});
