import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-error.ts";
import type { Change } from "../../../src/kube/object-store.ts";
import { WIDGETS } from "./fake-api-server.ts";
import { until } from "./fixtures.ts";
import { startInformer, toSize } from "./informer-lab.ts";
import type { Size } from "./informer-lab.ts";

const brief = (changes: readonly Change<Size>[]): string[] =>
  changes.map(({ key, old, new: now }) => `${key}:${old?.size ?? ""}>${now?.size ?? ""}`);

test("holds what was listed, then what is watched", async (t) => {
  const { server, informer, changes, caughtUp, log } = await startInformer(t, {
    prepare: (fake) => void fake.put("team-a/w1", 1),
  });
  await informer.whenSynced(new AbortController().signal);
  const [listed] = log.lines.filter(({ message }) => message === "Listed for the first time");
  assert.deepEqual(listed?.fields, { resource: "widgets.example.com", objects: 1 });
  assert.deepEqual(brief(changes), ["team-a/w1:>1"]);
  server.put("team-a/w2", 2);
  server.put("team-a/w1", 10);
  server.remove("team-a/w2");
  server.put("team-b/w3", 3);
  await caughtUp();
  assert.deepEqual(brief(changes).slice(1), [
    "team-a/w2:>2",
    "team-a/w1:1>10",
    "team-a/w2:2>",
    "team-b/w3:>3",
  ]);
  assert.deepEqual([server.count("list"), server.count("watch")], [1, 1]);
});

test("is not synced before the first list is in the store, and stays synced", async (t) => {
  const { server, informer, caughtUp, stop } = await startInformer(t, {
    prepare: (fake) => fake.always("list", (_, response) => void response.writeHead(500).end()),
  });
  await until("a list failed", () => informer.failure() !== undefined);
  assert.equal(informer.synced(), false);
  server.always("list", undefined);
  server.put("team-a/w1", 1);
  await informer.whenSynced(stop.signal);
  assert.equal(informer.size, 1);
  server.always("list", (_, response) => void response.writeHead(500).end());
  server.always("watch", (_, response) => void response.writeHead(500).end());
  server.dropWatches();
  await until("contact is lost", () => informer.failure() !== undefined);
  assert.equal(informer.synced(), true);
  server.always("list", undefined);
  server.always("watch", undefined);
  await caughtUp();
});

test("all objects of a list are in the store before the first change is told", async (t) => {
  const sizes: number[] = [];
  const { informer, stop } = await startInformer(t, {
    prepare: (fake) => void (fake.put("team-a/w1", 1), fake.put("team-a/w2", 2)),
    onChange: () => sizes.push(informer.size),
  });
  await informer.whenSynced(stop.signal);
  assert.deepEqual(sizes, [2, 2]);
});

test("whenSynced ends with the signal, and leaves the informer alone", async (t) => {
  const { server, informer } = await startInformer(t, {
    prepare: (fake) => fake.always("list", (_, response) => void response.writeHead(500).end()),
  });
  const wait = new AbortController();
  const waiting = informer.whenSynced(wait.signal);
  wait.abort();
  await assert.rejects(waiting, (error: unknown) => error instanceof KubeError && error.reason === "Aborted");
  server.always("list", undefined);
  await informer.whenSynced(new AbortController().signal);
});

test("tells of which version the store is the state, and when that changes", async (t) => {
  const { server, informer, stop, caughtUp } = await startInformer(t);
  assert.equal(informer.version, undefined);
  await informer.whenSynced(stop.signal);
  await caughtUp();
  const seen: (readonly [version: string | undefined, size: number])[] = [];
  const moved = informer.moved().then(() => seen.push([informer.version, informer.size]));
  const { metadata } = server.put("team-a/w1", 1);
  await moved;
  assert.deepEqual(seen, [[metadata.resourceVersion, 1]]);
  server.remove("team-a/w1");
  await caughtUp();
  assert.ok(Number(informer.version) > Number(metadata.resourceVersion));
});

test("an object that could not be read leaves the version of the store unknown", async (t) => {
  const { server, informer, caughtUp } = await startInformer(t, {
    project: (raw) => {
      if (raw.metadata.name === "broken") throw new Error("unreadable");
      return toSize(raw);
    },
  });
  server.put("team-a/w1", 1);
  await caughtUp();
  assert.notEqual(informer.version, undefined);
  server.put("team-a/broken", 1);
  await until("it was looked at", () => informer.projectionFailures > 0);
  server.put("team-a/w2", 1);
  await until("the next is there", () => informer.get("team-a/w2") !== undefined);
  assert.equal(informer.version, undefined);
});

test("finds objects by key and by namespace", async (t) => {
  const { server, informer, caughtUp } = await startInformer(t);
  server.put("team-a/w1", 1);
  server.put("team-a/w2", 2);
  server.put("team-b/w1", 3);
  await caughtUp();
  assert.equal(informer.get("team-b/w1")?.size, 3);
  assert.deepEqual(
    informer.byNamespace("team-a").map(({ size }) => size),
    [1, 2],
  );
  assert.equal(informer.list().length, 3);
  server.remove("team-a/w1");
  server.remove("team-a/w2");
  await caughtUp();
  assert.deepEqual(informer.byNamespace("team-a"), []);
});

test("requests bookmarks and a random timeout, and continues from a bookmark", async (t) => {
  const { server, caughtUp } = await startInformer(t, { random: () => 0.5 });
  await until("watching", () => server.watchCount === 1);
  server.put("team-a/w1", 1);
  await caughtUp();
  const { query } = server.last("watch");
  assert.deepEqual([query.get("allowWatchBookmarks"), query.get("timeoutSeconds")], ["true", "440"]);
  server.advance();
  server.bookmark();
  server.compact();
  server.endWatches();
  await until("watching again", () => server.count("watch") === 2 && server.watchCount === 1);
  assert.equal(server.last("watch").query.get("resourceVersion"), server.version);
  assert.equal(server.count("list"), 1);
});

test("a watch that the server ends is taken up where it ended, at once and without a failure", async (t) => {
  const { server, informer, changes, caughtUp } = await startInformer(t, {
    tuning: { backoffMinMs: 60_000, backoffMaxMs: 60_000 },
  });
  await until("watching", () => server.watchCount === 1);
  server.put("team-a/w1", 1);
  await caughtUp();
  const position = server.version;
  await new Promise((resolve) => setTimeout(resolve, 5)); // longer than healthyWatchMs
  server.isMute = true;
  server.put("team-a/w2", 2);
  server.isMute = false;
  server.endWatches();
  await caughtUp();
  assert.deepEqual(brief(changes), ["team-a/w1:>1", "team-a/w2:>2"]);
  assert.equal(server.last("watch").query.get("resourceVersion"), position);
  assert.deepEqual([server.count("list"), informer.restarts, informer.failure()], [1, 0, undefined]);
});

test("a kind that may read otherwise in the same version is listed again after every watch", async (t) => {
  const { server, informer, changes, caughtUp } = await startInformer(t, {
    isSame: (a, b) => a.size === b.size,
    prepare: (api) => {
      api.put("team-a/w1", 1);
      api.put("team-a/w2", 2);
    },
  });
  await until("watching", () => server.watchCount === 1);
  const w1 = server.objects.get("team-a/w1");
  assert.ok(w1);
  server.objects.set("team-a/w1", { ...w1, spec: { size: 7 } });
  server.endWatches();
  await caughtUp();
  assert.equal(informer.get("team-a/w1")?.size, 7);
  assert.deepEqual(brief(changes).slice(2), ["team-a/w1:1>7"]);
});

test("however often its watches end, it is not listed more often than that, and watched in between", async (t) => {
  const { server, changes, caughtUp } = await startInformer(t, {
    isSame: () => true,
    tuning: { refreshIntervalMs: 60_000 },
  });
  for (const size of [1, 2, 3]) {
    await until("watching", () => server.watchCount === 1);
    server.put("team-a/w1", size);
    await caughtUp();
    server.endWatches();
  }
  await caughtUp();
  assert.equal(server.count("list"), 1);
  assert.deepEqual(brief(changes), ["team-a/w1:>1", "team-a/w1:1>2", "team-a/w1:2>3"]);
});

test("a position that grew too old while a watch was open is replaced by a list at once, and is no failure", async (t) => {
  const { server, informer, log, caughtUp } = await startInformer(t, {
    tuning: { backoffMinMs: 60_000, backoffMaxMs: 60_000 },
  });
  await until("watching", () => server.watchCount === 1);
  await new Promise((resolve) => setTimeout(resolve, 5)); // longer than healthyWatchMs
  server.isMute = true;
  server.put("team-a/w1", 1);
  server.compact();
  server.isMute = false;
  server.endWatches();
  await caughtUp();
  assert.deepEqual([informer.failure(), log.messages("warn")], [undefined, []]);
  const verbs = server.requests.map(({ verb }) => verb);
  assert.deepEqual(verbs, ["list", "watch", "watch", "list", "watch"]);
});

test("no watch is opened after the signal, and the open one is closed", async (t) => {
  const { server, stop, done } = await startInformer(t);
  await until("watching", () => server.watchCount === 1);
  stop.abort();
  await done;
  await until("the server sees the end", () => server.watchCount === 0);
  assert.equal(server.count("watch"), 1);
});

test("no watch is opened when the signal comes during the list", async (t) => {
  let answer = (): void => undefined;
  const { server, stop, done, log } = await startInformer(t, {
    prepare: (fake) => {
      fake.next("list", (_, response) => {
        answer = () => void response.end('{"metadata":{"resourceVersion":"1"},"items":[]}');
      });
    },
  });
  await until("listing", () => server.count("list") === 1);
  stop.abort();
  answer();
  await done;
  assert.deepEqual([server.count("watch"), log.messages("warn")], [0, []]);
});

test("the signal ends a back-off", async (t) => {
  const { informer, stop, done } = await startInformer(t, {
    prepare: (fake) => fake.always("list", (_, response) => void response.writeHead(500).end()),
    tuning: { backoffMinMs: 60_000, backoffMaxMs: 60_000 },
  });
  await until("it failed", () => informer.failure() !== undefined);
  stop.abort();
  await done;
});

test("contact is a list, an event or a bookmark", async (t) => {
  let now = 1_000;
  const { server, informer, stop, caughtUp } = await startInformer(t, {
    now: () => now,
    tuning: { healthyWatchMs: -1 },
  });
  await informer.whenSynced(stop.signal);
  await until("watching", () => server.watchCount === 1);
  now += 700;
  assert.equal(informer.contactAgeMs(), 700);
  server.bookmark();
  await until("a bookmark counts", () => informer.contactAgeMs() === 0);
  now += 300;
  server.put("team-a/w1", 1);
  await caughtUp();
  assert.equal(informer.contactAgeMs(), 0);
});

test("the served version is looked up before each list", async (t) => {
  let version = "v1";
  const { server, informer, caughtUp, stop } = await startInformer(t, {
    resource: async () => ({ ...WIDGETS, version }),
  });
  await informer.whenSynced(stop.signal);
  await until("watching", () => server.watchCount === 1);
  version = "v2";
  server.compact();
  server.put("team-a/w1", 1);
  await caughtUp();
  server.put("team-a/w2", 1);
  server.compact();
  server.isMute = true;
  server.put("team-a/w3", 1);
  server.compact();
  server.isMute = false;
  server.dropWatches();
  await caughtUp();
  assert.deepEqual(
    server.requests.filter(({ verb }) => verb === "list").map(({ path }) => path),
    ["/apis/example.com/v1/widgets", "/apis/example.com/v2/widgets"],
  );
  assert.equal(server.last("watch").path, "/apis/example.com/v2/widgets");
});

test("a served version that cannot be found is a failure to try again", async (t) => {
  let attempts = 0;
  const { informer, log, stop } = await startInformer(t, {
    resource: async () => {
      attempts++;
      if (attempts === 1)
        throw new KubeError("get /apis/example.com: not found", { code: 404, reason: "NotFound" });
      return WIDGETS;
    },
  });
  await informer.whenSynced(stop.signal);
  const failures = log.lines
    .filter(({ level }) => level === "warn")
    .map(({ fields }) => String(fields["error"]));
  assert.deepEqual(failures, ["get /apis/example.com: not found"]);
});

test("refresh lists again and tells what was missed; many calls make one list", async (t) => {
  const { server, informer, changes, caughtUp } = await startInformer(t);
  server.put("team-a/w1", 1);
  await caughtUp();
  server.isMute = true;
  server.remove("team-a/w1");
  server.put("team-a/w2", 2);
  server.isMute = false;
  for (let i = 0; i < 50; i++) informer.refresh();
  await caughtUp();
  assert.deepEqual(brief(changes), ["team-a/w1:>1", "team-a/w1:1>", "team-a/w2:>2"]);
  assert.deepEqual([server.count("list"), informer.restarts, informer.failure()], [2, 0, undefined]);
  await until("watching again", () => server.watchCount === 1);
});

test("refresh cannot storm, and the watch continues until its list", async (t) => {
  const refreshIntervalMs = 1000;
  const { server, informer, caughtUp } = await startInformer(t, { tuning: { refreshIntervalMs } });
  await until("watching", () => server.watchCount === 1);
  const began = performance.now();
  const storm = setInterval(() => informer.refresh(), 1);
  t.after(() => clearInterval(storm));
  server.put("team-a/w1", 1);
  await caughtUp();
  assert.equal(server.count("list"), 1);
  await until("two more lists", () => server.count("list") >= 3);
  const refreshes = server.count("list") - 1;
  const elapsed = performance.now() - began;
  assert.ok(refreshes <= 1 + elapsed / refreshIntervalMs, `${refreshes} lists in ${elapsed} ms`);
});
