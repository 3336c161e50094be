/** A Cluster that is kept in memory is the same Cluster. */

import assert from "node:assert/strict";
import test from "node:test";
import { syncBuiltinESMExports } from "node:module";
import zlib from "node:zlib";
import { sameCluster } from "../../../src/memory/same-object.ts";
import { compactCluster } from "../../../src/memory/stored-views.ts";
import { viewCluster } from "../../../src/views/cluster.ts";
import { cluster } from "../builders.ts";

const withVariables = (variables: string) =>
  cluster({}, { topology: { className: "lab", version: "v1.35.0", variables } });

test("a Cluster with many variables is kept small, and is the same to whoever looks", () => {
  const many = Object.fromEntries(
    Array.from({ length: 100 }, (_, i) => [`größe-${i}`, { size: i, ok: true }]),
  );
  const whole = withVariables(JSON.stringify(many));
  const kept = compactCluster(whole);
  assert.equal(kept.topology?.variables, whole.topology?.variables);
  assert.deepEqual(kept, whole);
  assert.equal(JSON.stringify(kept), JSON.stringify(whole));
  const variables = Object.getOwnPropertyDescriptor(kept.topology, "variables");
  assert.equal(variables?.value, undefined, "it is kept as it came");
});

test("variables of any length and alphabet come back as they were, also when others were compacted after them", () => {
  const texts = ["a", "ü", "€", "😀"].flatMap((sign) =>
    [600, 50_000, 70_000, 300_000].map((length) => JSON.stringify({ [sign]: sign.repeat(length) })),
  );
  const kept = texts.map((text) => compactCluster(withVariables(text)));
  assert.deepEqual(
    kept.map(({ topology }) => topology?.variables),
    texts,
  );
});

const many = (tier: string): string => JSON.stringify({ tier, all: "x".repeat(1000) });
const withStatus = { withStatus: true };

test("two compact Clusters are compared without being unpacked", (t) => {
  const inflate = t.mock.method(zlib, "inflateRawSync");
  syncBuiltinESMExports();
  t.after(() => {
    inflate.mock.restore();
    syncBuiltinESMExports();
  });
  const [gold, gold2, lead] = ["gold", "gold", "lead"].map((tier) =>
    compactCluster(withVariables(many(tier))),
  );
  assert.ok(gold && gold2 && lead);
  assert.equal(sameCluster(gold, gold2, withStatus), true);
  assert.equal(sameCluster(gold, lead, withStatus), false);
  assert.equal(inflate.mock.callCount(), 0);
  assert.equal(sameCluster(gold, withVariables(many("gold")), withStatus), true);
  assert.equal(sameCluster(gold, withVariables(many("lead")), withStatus), false);
  assert.equal(inflate.mock.callCount(), 2, "one that is not compact has to be compared as it is");
});

test("a Cluster whose workers are pinned to another version is not the same", () => {
  const pinned = (version: string) =>
    cluster(
      {},
      {
        topology: {
          className: "lab",
          version: "v1.35.0",
          pinnedWorkers: [{ kind: "MachinePool", name: "a", version }],
        },
      },
    );
  assert.equal(sameCluster(pinned("v1.34.0"), pinned("v1.34.0"), withStatus), true);
  assert.equal(sameCluster(pinned("v1.34.0"), pinned("v1.35.0"), withStatus), false);
});

test("the topology of an event is looked at only where the generation is another", () => {
  const raw = (generation: number | undefined, tier: string, uid = "a"): unknown => ({
    metadata: { name: "prod-1", uid, generation },
    spec: { topology: { class: "lab", variables: [{ name: "tier", value: tier }] } },
  });
  const known = compactCluster(viewCluster(raw(1, "gold")));
  assert.equal(viewCluster(raw(1, "gold"), known).topology, known.topology);
  const others = [raw(2, "lead"), raw(undefined, "lead"), raw(1, "lead", "b")];
  for (const other of others) assert.equal(viewCluster(other, known).topology?.variables, '{"tier":"lead"}');
  assert.equal(viewCluster({ metadata: { uid: "a", generation: 1 }, spec: {} }, known).topology, undefined);
});

test("a Cluster with few variables, or none, stays as it is", () => {
  for (const small of [withVariables('{"a":1}'), cluster()]) assert.equal(compactCluster(small), small);
});
