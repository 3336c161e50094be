/** What an informer keeps of the objects that it is sent, and what it does where it cannot. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "./fixtures.ts";
import { startInformer, toSize } from "./informer-lab.ts";

function notNegative(raw: Parameters<typeof toSize>[0]): ReturnType<typeof toSize> {
  const sized = toSize(raw);
  if (sized.size < 0) throw new Error("negative");
  return sized;
}

test("an event is projected beside what it follows on, a list anew", async (t) => {
  const known: (number | undefined)[] = [];
  const { server, informer, caughtUp } = await startInformer(t, {
    project: (raw, before) => {
      known.push(before?.size);
      return toSize(raw);
    },
    tuning: { refreshIntervalMs: 0 },
    prepare: (fake) => void fake.put("team-a/w1", 1),
  });
  await informer.whenSynced(new AbortController().signal);
  server.put("team-a/w1", 2);
  await caughtUp();
  informer.refresh();
  await until("relisted", () => server.count("list") === 2 && known.length === 3);
  assert.deepEqual(known, [undefined, 1, undefined]);
});

test("an object that cannot be projected does not cost the others, and is counted", async (t) => {
  const { server, informer, log, caughtUp } = await startInformer(t, {
    prepare: (fake) => void (fake.put("team-a/bad", -1), fake.put("team-a/good", 1)),
    project: notNegative,
  });
  await until("the good one is there", () => informer.get("team-a/good") !== undefined);
  assert.equal(informer.projectionFailures, 1);
  server.put("team-a/bad", -2);
  server.put("team-a/good", 2);
  await until("the good one changed", () => informer.get("team-a/good")?.size === 2);
  assert.equal(informer.projectionFailures, 2);
  assert.deepEqual(log.messages("error"), ["Object cannot be read", "Object cannot be read"]);
  server.put("team-a/bad", 3);
  await caughtUp();
});

test("an object that cannot be projected any more keeps its last copy, until it is deleted", async (t) => {
  const { server, informer, caughtUp } = await startInformer(t, {
    project: notNegative,
  });
  server.put("team-a/w1", 1);
  await caughtUp();
  server.put("team-a/w1", -1);
  server.compact();
  server.dropWatches();
  await until("relisted", () => server.count("list") === 2 && informer.projectionFailures >= 1);
  assert.equal(informer.get("team-a/w1")?.size, 1);
  server.remove("team-a/w1");
  await until("deleted", () => informer.size === 0);
});

test("no version is shown while an object could not be projected, and again once it could, or is gone", async (t) => {
  const { server, informer, caughtUp } = await startInformer(t, {
    project: notNegative,
  });
  const failed = async (count: number): Promise<void> => {
    await until("it cannot be read", () => informer.projectionFailures === count);
    assert.equal(informer.version, undefined);
  };
  server.put("team-a/w1", -1);
  await failed(1);
  server.put("team-a/w1", 1);
  await caughtUp();
  assert.notEqual(informer.version, undefined);
  server.put("team-a/w1", -1);
  await failed(2);
  server.remove("team-a/w1");
  await until("deleted", () => informer.size === 0);
  assert.notEqual(informer.version, undefined);
  server.put("team-a/w1", -1);
  await failed(3);
  server.dropWatches();
  server.remove("team-a/w1");
  server.compact();
  await until("relisted", () => server.count("list") === 2 && informer.version !== undefined);
});

test("a handler that throws, or rejects, costs neither the other changes nor the informer", async (t) => {
  const seen: string[] = [];
  const { server, log, caughtUp, informer } = await startInformer(t, {
    prepare: (fake) => void (fake.put("team-a/w1", 1), fake.put("team-a/w2", 2)),
    // oxlint-disable-next-line typescript/no-misused-promises -- what the type cannot forbid
    onChange: ({ key }) => {
      seen.push(key);
      if (key === "team-a/w1") throw new Error("handler");
      return Promise.reject(new Error("async handler"));
    },
  });
  await caughtUp();
  server.put("team-a/w1", 10);
  server.put("team-a/w3", 3);
  await caughtUp();
  assert.deepEqual(seen, ["team-a/w1", "team-a/w2", "team-a/w1", "team-a/w3"]);
  assert.equal(log.messages("error").length, 4);
  assert.equal(informer.restarts, 0);
});
