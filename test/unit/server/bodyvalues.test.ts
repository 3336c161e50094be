import assert from "node:assert/strict";
import test from "node:test";

import { hasTooManyValues } from "../../../src/server/bodyvalues.ts";
import { WholeBody } from "../../../src/server/wholebody.ts";
import { goldenRequest } from "../../contract/golden.ts";

const MIB = 1024 * 1024;
const dense = (bytes: Buffer): boolean => hasTooManyValues(new WholeBody([bytes]));

for (const text of ["[", "{},", "[],", "0,", '{"":', '"",']) {
  test(`20 MiB of ${text} hold too many values`, () => {
    assert.equal(dense(Buffer.alloc(20 * MIB, text)), true);
  });
}

test("a Cluster of 1.5 MiB and a text of 20 MiB do not", () => {
  const request: { cluster: { spec: { topology: { variables: unknown[] } } } } = JSON.parse(
    goldenRequest("v1beta2", "BeforeClusterDelete").toString(),
  );
  const { topology } = request.cluster.spec;
  const own = topology.variables;
  while (JSON.stringify(topology.variables).length < 1.5 * MIB)
    topology.variables.push(...own.slice(0, 1000));
  assert.equal(dense(Buffer.from(JSON.stringify(request))), false);
  assert.equal(dense(Buffer.alloc(20 * MIB, "x")), false);
});

test("as many values as bytes are none too many where there are few bytes", () => {
  assert.equal(dense(Buffer.alloc(256 * 1024, "[")), false);
  assert.equal(dense(Buffer.alloc(256 * 1024 + 1, "[")), true);
});
