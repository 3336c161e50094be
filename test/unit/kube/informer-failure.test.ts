import assert from "node:assert/strict";
import { test } from "node:test";
import { isForbidden, isNotFound } from "../../../src/kube/kube-error.ts";
import type { FakeApiServer, Misbehaviour, Verb } from "./fake-api-server.ts";
import { dropConnection, hang, status } from "./fake-api-server.ts";
import { until } from "./fixtures.ts";
import { startInformer } from "./informer-lab.ts";

const refusals: Record<string, Misbehaviour> = {
  "500": status(500, "InternalError"),
  "503": status(503, "ServiceUnavailable"),
  "429": status(429, "TooManyRequests"),
  "401": status(401, "Unauthorized"),
  "a dropped connection": dropConnection,
  "a page that is not JSON": (_, response) => void response.end("<html>"),
};

for (const [name, misbehave] of Object.entries(refusals)) {
  test(`survives ${name} instead of a list, again and again`, async (t) => {
    const { informer, stop, server, caughtUp } = await startInformer(t, {
      prepare: (fake) => fake.next("list", misbehave, 3),
    });
    await informer.whenSynced(stop.signal);
    assert.equal(informer.restarts, 3);
    server.put("team-a/w1", 1);
    await caughtUp();
    assert.equal(informer.failure(), undefined);
  });

  test(`survives ${name} instead of a watch, again and again`, async (t) => {
    const { informer, server, caughtUp } = await startInformer(t, {
      prepare: (fake) => fake.next("watch", misbehave, 3),
      tuning: { healthyWatchMs: 1_000 }, // a page is no watch that worked, however slow the machine
    });
    await until("the watch failed three times", () => informer.restarts >= 3);
    server.put("team-a/w1", 1);
    await caughtUp();
    await until("it is healthy", () => informer.failure() === undefined);
  });
}

test("a dropped watch is taken up where it broke, without a list", async (t) => {
  const { server, informer, replayed, caughtUp } = await startInformer(t);
  server.put("team-a/w1", 1);
  await caughtUp();
  server.isMute = true;
  server.put("team-a/w2", 2);
  server.remove("team-a/w1");
  server.isMute = false;
  server.dropWatches();
  await caughtUp();
  assert.deepEqual(replayed(), new Map([["team-a/w2", 2]]));
  assert.equal(server.count("list"), 1);
  assert.equal(informer.restarts, 1);
});

for (const goneAs of ["status", "event"] as const) {
  test(`a compacted position, told as ${goneAs}, gives a list with the deltas that were missed`, async (t) => {
    const { server, informer, changes, replayed, caughtUp } = await startInformer(t);
    server.goneAs = goneAs;
    for (const [i, key] of ["team-a/gone", "team-a/same", "team-a/again", "team-a/changed"].entries())
      server.put(key, i);
    await caughtUp();
    const uid = informer.get("team-a/again")?.metadata.uid;
    const seen = changes.length;
    server.isMute = true;
    server.remove("team-a/gone");
    server.remove("team-a/again");
    server.put("team-a/again", 20);
    server.put("team-a/changed", 30);
    server.put("team-a/new", 40);
    server.compact();
    server.isMute = false;
    server.dropWatches();
    await caughtUp();
    const missed = changes
      .slice(seen)
      .map(({ key, old, new: now }) => `${key}:${old?.size ?? ""}>${now?.size ?? ""}`);
    assert.deepEqual(missed.toSorted(), [
      "team-a/again:2>20",
      "team-a/changed:3>30",
      "team-a/gone:0>",
      "team-a/new:>40",
    ]);
    const again = changes.find(({ old }) => old?.metadata.uid === uid);
    assert.notEqual(again?.new?.metadata.uid, uid);
    assert.equal(replayed().size, 4);
    const verbs = server.requests.map(({ verb }) => verb);
    assert.deepEqual(verbs, ["list", "watch", "watch", "list", "watch"]);
  });
}

const lostEvents: Record<string, string> = {
  "a line that is not JSON": "{oops",
  "a line that is no event": '{"hello":"world"}',
  "an event of an object without a name": '{"type":"ADDED","object":{"metadata":{}}}',
  "an unknown type of event": '{"type":"EXPLODED","object":{"metadata":{"name":"a","resourceVersion":"1"}}}',
  "an ERROR event with 500":
    '{"type":"ERROR","object":{"kind":"Status","code":500,"reason":"InternalError"}}',
};
for (const [name, line] of Object.entries(lostEvents)) {
  test(`lists again after ${name}: an event may be lost`, async (t) => {
    const { server, caughtUp } = await startInformer(t);
    server.put("team-a/w1", 1);
    await caughtUp();
    server.isMute = true;
    server.remove("team-a/w1");
    server.isMute = false;
    server.sendLine(line);
    await caughtUp();
    assert.equal(server.count("list"), 2);
  });
}

test("a silent watch is dropped and taken up from its last position", async (t) => {
  const { server, informer, caughtUp } = await startInformer(t, { tuning: { idleTimeoutMs: 500 } });
  server.put("team-a/w1", 1);
  await caughtUp();
  const position = server.version;
  server.isMute = true;
  server.put("team-a/w2", 2);
  server.isMute = false;
  await caughtUp();
  assert.equal(server.last("watch").query.get("resourceVersion"), position);
  assert.equal(server.count("list"), 1);
  assert.equal(informer.restarts, 1);
});

test("a watch that stays silent from its position is given up for a list", async (t) => {
  const { server, informer, log, caughtUp } = await startInformer(t, { tuning: { idleTimeoutMs: 30 } });
  await until("watching", () => server.watchCount === 1);
  server.isMute = true;
  server.put("team-a/w1", 1);
  await until("listed again", () => server.count("list") >= 2);
  await caughtUp();
  const verbs = server.requests.map(({ verb }) => verb);
  assert.deepEqual(verbs.slice(0, 4), ["list", "watch", "watch", "list"]);
  assert.ok(log.lines.some(({ fields }) => String(fields["error"]).includes("stalled: silent for 0.03 s")));
  assert.ok(informer.restarts >= 2);
});

test("bookmarks keep a quiet watch alive", async (t) => {
  const { server, informer } = await startInformer(t, { tuning: { idleTimeoutMs: 1_000 } });
  await until("watching", () => server.watchCount === 1);
  for (let i = 0; i < 12; i++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    server.bookmark();
  }
  assert.deepEqual([server.count("watch"), informer.restarts], [1, 0]);
});

test("a watch that is never answered is given up", async (t) => {
  const { server, informer, caughtUp } = await startInformer(t, {
    clientOptions: { timeoutMs: 50 },
    prepare: (fake) => fake.next("watch", hang),
  });
  await until("it timed out", () => informer.restarts >= 1);
  server.put("team-a/w1", 1);
  await caughtUp();
});

for (const [code, reason, is] of [
  [404, "NotFound", isNotFound],
  [403, "Forbidden", isForbidden],
] as const) {
  test(`a list that is answered ${code} keeps the store, and failure() tells`, async (t) => {
    const { server, informer, changes, caughtUp } = await startInformer(t);
    server.put("team-a/w1", 1);
    await caughtUp();
    server.always("list", status(code, reason));
    server.always("watch", status(code, reason));
    server.dropWatches();
    await until("the list was refused", () => server.count("list") >= 4);
    assert.ok(is(informer.failure()), String(informer.failure()));
    assert.equal(informer.size, 1);
    assert.equal(informer.synced(), true);
    assert.equal(changes.length, 1);
    server.always("list", undefined);
    server.always("watch", undefined);
    await until("healthy again", () => informer.failure() === undefined);
    assert.equal(changes.length, 1);
  });
}

test("survives the API server being away, and gets what happened meanwhile", async (t) => {
  const { server, informer, replayed, caughtUp } = await startInformer(t);
  server.put("team-a/w1", 1);
  await caughtUp();
  const { port } = server;
  await server.stop();
  server.remove("team-a/w1");
  server.put("team-a/w2", 2);
  server.compact();
  await until("several attempts failed", () => informer.restarts >= 5);
  assert.equal(informer.failure()?.reason, "ConnectionRefused");
  assert.equal(informer.get("team-a/w1")?.size, 1);
  await server.start(port);
  await caughtUp();
  assert.deepEqual(replayed(), new Map([["team-a/w2", 2]]));
});

test("a resource version from the future (a restored etcd) ends in a list", async (t) => {
  const { server, caughtUp } = await startInformer(t);
  server.put("team-a/w1", 1);
  await caughtUp();
  server.next("watch", status(504, "Timeout", "Too large resource version"), 2);
  server.isMute = true;
  server.put("team-a/w2", 2);
  server.isMute = false;
  server.dropWatches();
  await caughtUp();
  await until("listed again", () => server.count("list") === 2);
});

test("failures are spaced by a back-off that doubles up to its maximum", async (t) => {
  const { server } = await startInformer(t, {
    prepare: (fake) => fake.always("list", status(500, "InternalError")),
    tuning: { backoffMinMs: 20, backoffMaxMs: 80 },
    random: () => 0.999,
  });
  await until("six lists", () => server.count("list") >= 6);
  assertSpaced(server, "list", [20, 40, 80, 80, 80]);
});

test("the server's Retry-After is waited for", async (t) => {
  const { server, informer, stop } = await startInformer(t, {
    prepare: (fake) => fake.next("list", status(429, "TooManyRequests", "", { "retry-after": "1" })),
  });
  await informer.whenSynced(stop.signal);
  assertSpaced(server, "list", [1_000]);
});

test("watches that the server ends at once are backed off, also when each brings events", async (t) => {
  const { server } = await startInformer(t, {
    prepare: (fake) =>
      fake.always("watch", ({ query }, response) => {
        const version = String(Number(query.get("resourceVersion")) + 1);
        const bookmark = { type: "BOOKMARK", object: { metadata: { resourceVersion: version } } };
        response.end(`${JSON.stringify(bookmark)}\n`);
      }),
    tuning: { backoffMinMs: 10, backoffMaxMs: 80, healthyWatchMs: 1_000 },
    random: () => 0.999,
  });
  await until("six watches", () => server.count("watch") >= 6);
  assertSpaced(server, "watch", [10, 20, 40, 80, 80]);
});

test("a 410 after every list cannot become a storm of lists", async (t) => {
  const { server } = await startInformer(t, {
    prepare: (fake) => fake.always("watch", status(410, "Expired")),
    tuning: { backoffMinMs: 10, backoffMaxMs: 80, healthyWatchMs: 1_000 },
    random: () => 0.999,
  });
  await until("six lists", () => server.count("list") >= 6);
  assertSpaced(server, "list", [10, 20, 40, 80, 80]);
});

test("one loss of contact is one warning, however long it lasts", async (t) => {
  const { informer, log, server } = await startInformer(t, {
    prepare: (fake) => fake.always("list", status(500, "InternalError")),
  });
  await until("five failures", () => informer.restarts >= 5);
  assert.deepEqual(log.messages("warn"), ["Lost contact with the API server"]);
  server.always("list", undefined);
  await until("healthy again", () => log.messages("info").includes("In contact with the API server again"));
});

/** By their sum: how long a request takes to arrive moves time from one gap to the next. */
function assertSpaced(server: FakeApiServer, wanted: Verb, gaps: readonly number[]): void {
  const times = server.requests.filter(({ verb }) => verb === wanted).map(({ at }) => at);
  const took = (times[gaps.length] ?? 0) - (times[0] ?? 0);
  const least = gaps.reduce((sum, gap) => sum + gap, 0);
  assert.ok(took >= least * 0.85, `${gaps.length} gaps took ${took} ms`);
}
