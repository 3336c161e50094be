import assert from "node:assert/strict";
import test from "node:test";
import { tellEach } from "../../../src/lib/tell-each.ts";

test("each listener hears, whatever one before it throws, and the error is not lost", () => {
  const heard: string[] = [];
  const tell = (name: string): void => {
    heard.push(name);
    if (name !== "c") throw new Error(name);
  };
  assert.throws(() => tellEach(["a", "b", "c"], tell), /^Error: a$/);
  assert.deepEqual(heard, ["a", "b", "c"]);
});
