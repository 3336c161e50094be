import assert from "node:assert/strict";
import test from "node:test";

import { BARE_BYTES, COMMON_BYTES, requestAbout } from "../../../bench/fleet/requests.ts";
import { between, quantileOf } from "../../../bench/measure/histogram.ts";
import { MEASUREMENTS, type Round, rowsOf } from "../../../bench/speed/rows.ts";
import { decodeRequest } from "../../../src/hooks/hook-request.ts";

const metadata = {
  name: "prod-1",
  namespace: "team-a",
  uid: "6e3b6a9f-0d55-4d2c-9d53-3c1f6f2b9c11",
  resourceVersion: "4711",
  managedFields: [{ manager: "x" }],
};
const cluster = { apiVersion: "cluster.x-k8s.io/v1beta2", kind: "Cluster", metadata };

test("requests of the bench are about that Cluster, valid and of the size that is wanted", () => {
  for (const bytes of [BARE_BYTES, 4_000, COMMON_BYTES, 250_000]) {
    const text = requestAbout(cluster, bytes);
    assert.ok(Math.abs(text.length - bytes) < 300 + bytes / 100, `${text.length} for ${bytes}`);
    const request = decodeRequest("BeforeClusterDelete", text)?.request;
    assert.equal(request?.cluster.metadata.uid, metadata.uid);
    assert.equal(request.cluster.topology?.variables !== undefined, bytes > BARE_BYTES);
    assert.doesNotMatch(text, /managedFields|\n/);
    assert.equal(text.split('"000000000000"').length, 2, "one placeholder to count in");
  }
});

test("what is counted is a setting, where each call shall be decided", () => {
  const text = requestAbout(cluster, COMMON_BYTES, true);
  assert.match(text, /"settings": \{"foo": "000000000000"\}/);
  assert.equal(text.split('"000000000000"').length, 2);
});

test("the quantile of a histogram lies in its bucket as if that were filled evenly, counted from before", () => {
  const counts = (a: number, b: number, all: number): Map<number, number> =>
    new Map([
      [0.001, a],
      [0.005, b],
      [Infinity, all],
    ]);
  const before = counts(1000, 1000, 1000);
  assert.equal(quantileOf(between(before, counts(1100, 1100, 1100)), 0.5), 0.0005);
  assert.equal(quantileOf(between(before, counts(1050, 1100, 1100)), 0.75), 0.003);
  assert.equal(quantileOf(between(before, counts(1000, 1000, 1100)), 0.99), Infinity);
});

test("each ratio is of two measurements of the same round", () => {
  const rounds = [1, 2].map(
    (round): Round =>
      new Map(
        MEASUREMENTS.map(({ name, work: { server } }) => {
          const callsPerSecond = server === "hookpolicy" ? 100 * round * round : 10 * round;
          const rest = { p99: 1, clientCores: 1, serverP99: 1 };
          return [name, { callsPerSecond, callsPerCpuSecond: callsPerSecond * 2, ...rest }];
        }),
      ),
  );
  const rows = rowsOf(rounds);
  const ratios = rows.filter(({ unit }) => unit.startsWith("×"));
  assert.ok(ratios.length > 10);
  for (const { id, samples } of ratios) assert.deepEqual(samples, [10, 20], id);
  assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length);
});
