/**
 * Calls that are made to have the checksum and the length of another one: they change no answer to it. CRC-32 is linear,
 * so who knows a call finds as many of them as wanted.
 */

import assert from "node:assert/strict";
import { crc32 } from "node:zlib";
import test from "node:test";
import type { HookName } from "../../src/api/runtimehooks.ts";
import type { PolicyObject } from "../../src/controller/policyset.ts";
import { APPROVED, cluster, hookPolicy, NOW, rule } from "../unit/builders.ts";
import { Operators } from "./operators.ts";
import { blocking, shown } from "./shownclusters.ts";

const deletionTimestamp = NOW.toISOString();

interface Said {
  readonly settings?: object;
  readonly annotations?: object;
  readonly versions?: object;
}

/** As Cluster API writes it: settings first, then the Cluster, then the versions. */
function callAbout(
  { name, uid }: { readonly name: string; readonly uid: string },
  { settings = {}, annotations = {}, versions = {} }: Said,
): string {
  const metadata = { name, namespace: "team-a", uid, resourceVersion: "1", annotations };
  return JSON.stringify({ settings, cluster: { metadata }, ...versions });
}

/** \`forged\` with a last field that gives it the length and the checksum of \`real\`. */
function colliding(real: string, forged: string): string {
  const [open, close] = [`${forged.slice(0, -1)},"pad":"`, '"}'];
  const length = real.length - open.length - close.length;
  assert.ok(length >= FREE);
  const bits = new Set<number>();
  const text = (): string => {
    const pad = Array.from({ length }, (_, at) => (bits.has(at) ? "A" : "@")).join("");
    return open + pad + close;
  };
  const base = crc32(text());
  const rows = Array.from({ length: FREE }, (_, at): Row => {
    bits.add(at);
    const row = { sum: (crc32(text()) ^ base) >>> 0, of: new Set([at]) };
    bits.clear();
    return row;
  });
  for (const at of solve(rows, (crc32(real) ^ base) >>> 0)) bits.add(at);
  return text();
}

const FREE = 64;

interface Row {
  sum: number;
  of: Set<number>;
}

/** Which of the rows have this sum: Gauss, in bits. */
function solve(rows: readonly Row[], wanted: number): ReadonlySet<number> {
  const result: Row = { sum: wanted, of: new Set() };
  const left = new Set(rows);
  for (let bit = 31; bit >= 0; bit -= 1) {
    const has = ({ sum }: Row): boolean => ((sum >>> bit) & 1) === 1;
    const pivot = [...left].find(has);
    if (pivot === undefined) continue;
    left.delete(pivot);
    for (const row of [...left, result]) {
      if (!has(row)) continue;
      row.sum = (row.sum ^ pivot.sum) >>> 0;
      row.of = row.of.symmetricDifference(pivot.of);
    }
  }
  assert.equal(result.sum, 0);
  return result.of;
}

const LONG = { long: "x".repeat(800) };
const until = (expression: string): PolicyObject =>
  hookPolicy({
    rules: [
      rule({
        hooks: ["BeforeClusterDelete", "BeforeClusterUpgrade"],
        until: [{ name: "as-told", expression }],
      }),
    ],
  });

const deleting = cluster({ deletionTimestamp });
const upgrading = shown({
  version: "v1.33.0",
  message: blocking("BeforeClusterUpgrade", "v1.33.0", "v1.33.0"),
});
const from = (version: string): object => ({
  fromKubernetesVersion: version,
  toKubernetesVersion: "v1.33.0",
});

const MEANT: Readonly<
  Record<string, { policy: PolicyObject; hook: HookName; on: typeof deleting; real: Said; forged: Said }>
> = {
  settings: {
    policy: until("request.settings.region == 'eu'"),
    hook: "BeforeClusterDelete",
    on: deleting,
    real: { settings: { region: "eu" } },
    forged: { settings: { region: "us" } },
  },
  "another version to come from": {
    policy: until("request.fromKubernetesVersion == 'v1.32.0'"),
    hook: "BeforeClusterUpgrade",
    on: upgrading,
    real: { versions: from("v1.32.0") },
    forged: { versions: from("v1.31.0") },
  },
};

for (const [what, { policy, hook, on, real, forged }] of Object.entries(MEANT)) {
  test(`a call with ${what} and the checksum of a real one does not hold the Cluster for the real one`, async () => {
    const operators = new Operators({ policies: [policy], clusters: [on] });
    const { metadata } = on;
    const call = callAbout(metadata, { annotations: LONG, ...real });
    // Of two fields with one name the last counts: it begins as the real one, and says something else.
    const lie = JSON.stringify({ ...forged, ...("versions" in forged ? Object(forged.versions) : {}) }).slice(
      1,
    );
    const made = colliding(call, `${callAbout(metadata, real).slice(0, -1)},${lie}`);
    assert.deepEqual([made.length, crc32(made)], [call.length, crc32(call)]);
    const held = await operators.askInBytes(0, hook, Buffer.from(made));
    assert.notEqual(held.retryAfterSeconds, 0, held.message);
    assert.equal((await operators.askInBytes(0, hook, Buffer.from(call))).retryAfterSeconds, 0);
  });
}

test("a call about one's own Cluster with the checksum of one that names it is no call about the other", async () => {
  const [prod, dev] = [
    cluster({ deletionTimestamp, annotations: { [APPROVED]: "" } }),
    cluster({ deletionTimestamp, name: "dev-1", uid: "uid-dev-1" }),
  ];
  const policy = hookPolicy({
    rules: [rule({ until: [{ name: "approved", annotation: { key: APPROVED } }] })],
  });
  const operators = new Operators({ policies: [policy], clusters: [prod, dev] });
  const annotations = { peer: dev.metadata.uid, ...LONG };
  const call = callAbout(prod.metadata, { annotations });
  const begin = call.slice(0, call.indexOf(dev.metadata.uid) + dev.metadata.uid.length);
  const made = colliding(call, `${begin}"}}},${callAbout(dev.metadata, {}).slice(1)}`);
  assert.equal(crc32(made), crc32(call));
  const held = await operators.askInBytes(0, "BeforeClusterDelete", Buffer.from(made));
  assert.match(held.message ?? "", /approved/);
  const answer = await operators.askInBytes(0, "BeforeClusterDelete", Buffer.from(call));
  assert.equal(answer.retryAfterSeconds, 0, answer.message);
});
