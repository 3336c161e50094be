/** What a body leaves behind in memory. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { WholeBody } from "../../../src/extension/whole-body.ts";
import { chunkOf } from "./chunk.ts";

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
