/** What a body leaves behind in memory, and how many values it has. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { MAX_VALUES, WholeBody } from "../../../src/server/bodies.ts";
import { goldenRequest } from "../../contract/golden.ts";

const MIB = 1024 * 1024;
const dense = (bytes: Buffer): boolean => new WholeBody([bytes]).hasTooManyValues();

/** A chunk as it comes from a socket: of memory that is its own. */
function chunkOf(text: string): Buffer {
  return Buffer.from(new TextEncoder().encode(text).buffer);
}

test("a body gives the memory of its chunks back, and is empty then", () => {
  const chunks = [chunkOf('{"a":'), chunkOf("1}")];
  const body = new WholeBody(chunks);
  body.free();
  assert.deepEqual(
    chunks.map(({ length }) => length),
    [0, 0],
  );
  assert.equal(body.text(), "");
});

test("a body whose chunks were joined keeps the joined bytes alone, until it is freed", () => {
  const half = "x".repeat(100_000); // the pool has no piece as large as both
  const chunks = [chunkOf(half), chunkOf(half)];
  const body = new WholeBody(chunks);
  const bytes = body.bytes();
  assert.deepEqual(
    chunks.map(({ length }) => length),
    [0, 0],
  );
  assert.equal(bytes.toString(), half + half);
  assert.equal(body.text(), half + half);
  assert.equal(body.tail(2), "xx");
  body.free();
  assert.equal(bytes.length, 0);
});

test("a body that is looked at stays whole", () => {
  const body = new WholeBody([chunkOf('{"a":'), chunkOf("1}")]);
  assert.equal(body.text(), '{"a":1}');
  assert.equal(body.text(), '{"a":1}');
  assert.equal(body.tail(2), "1}");
});

test("memory that a chunk shares with others is left to them", () => {
  const memory = Buffer.from(new ArrayBuffer(100)).fill("x");
  const [first, second] = [memory.subarray(0, 50), memory.subarray(50)];
  new WholeBody([first]).free();
  assert.equal(second.toString(), "x".repeat(50));
  const pooled = Buffer.from("of the pool of Node.js");
  new WholeBody([pooled]).free();
  assert.equal(pooled.toString(), "of the pool of Node.js");
});

test("a body can be freed more than once", () => {
  const body = new WholeBody([chunkOf("{}")]);
  body.free();
  body.free();
  assert.equal(body.text(), "");
});

for (const text of ["[", "{},", "[],", "0,", '{"":', '"",']) {
  test(`4 MiB of ${text} have too many values`, () => {
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

test("values count the same wherever a body is divided", () => {
  const values = "[".repeat(MAX_VALUES);
  const whole = Buffer.from(String.raw`{"a\\\"b\\":"${values}","c":${values}`);
  for (const length of [1, 2, 3, 7, 20]) {
    const chunks = Array.from({ length: Math.ceil(whole.length / length) }, (_, index) =>
      whole.subarray(index * length, (index + 1) * length),
    );
    assert.equal(new WholeBody(chunks).hasTooManyValues(), true, `chunks of ${length} bytes`);
    assert.equal(new WholeBody(chunks.slice(0, -2)).hasTooManyValues(), false, `chunks of ${length} bytes`);
  }
});

test("a body with fewer bytes than values are allowed never has too many", () => {
  assert.equal(dense(Buffer.alloc(MAX_VALUES, "[")), false);
  assert.equal(dense(Buffer.alloc(MAX_VALUES + 1, "[")), true);
});
