import assert from "node:assert/strict";
import test from "node:test";
import { follow } from "../../../../src/cli/fleet/follow.ts";
import { dropConnection, status, WIDGETS } from "../../kube/fake-api-server.ts";
import { startLab, until } from "../../kube/fixtures.ts";

interface Observation {
  readonly names: string[][];
  readonly lost: string[];
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

function start(
  client: Parameters<typeof follow>[0],
  scope: { namespace?: string; name?: string } = {},
): Observation {
  const names: string[][] = [];
  const lost: string[] = [];
  const stop = new AbortController();
  const done = follow(
    client,
    { resource: WIDGETS, ...scope },
    {
      onObjects: (objects) => void names.push(objects.map(({ metadata }) => metadata.name)),
      onLost: (message) => void lost.push(message),
    },
    stop.signal,
  );
  done.catch(() => undefined);
  return { names, lost, stop, done };
}

test("what is there is told, and every change of it, until it is stopped", async (t) => {
  const { server, client } = await startLab(t);
  server.put("a/x", 1);
  const { names, stop, done } = start(client);
  await until("the watch", () => server.count("watch") === 1);
  server.put("a/y", 1);
  await until("the new one", () => names.length === 2);
  server.remove("a/x");
  await until("the end of the old one", () => names.length === 3);
  assert.deepEqual(names, [["x"], ["x", "y"], ["y"]]);
  stop.abort();
  await done;
});

test("only what lies in the namespace and has the name is asked for", async (t) => {
  const { server, client } = await startLab(t);
  const { stop, done } = start(client, { namespace: "a", name: "x" });
  await until("the watch", () => server.count("watch") === 1);
  for (const verb of ["list", "watch"] as const) {
    const { path, query } = server.last(verb);
    assert.match(path, /\/namespaces\/a\//);
    assert.equal(query.get("fieldSelector"), "metadata.name=x");
  }
  stop.abort();
  await done;
});

test("a watch that breaks is made again, with what has changed meanwhile", async (t) => {
  const { server, client } = await startLab(t);
  server.put("a/old", 1);
  const { names, lost, stop, done } = start(client);
  await until("the watch", () => server.count("watch") === 1);
  server.next("list", dropConnection);
  server.dropWatches();
  server.remove("a/old");
  server.put("a/x", 1);
  await until("the object", () => names.at(-1)?.includes("x") === true);
  assert.deepEqual(names.at(-1), ["x"]);
  assert.ok(lost.length <= 1);
  stop.abort();
  await done;
});

test("what cannot be read at first fails, and so does what may not be read any more", async (t) => {
  const { server, client } = await startLab(t);
  server.next("list", status(500, "InternalError", "no"));
  await assert.rejects(start(client).done, /^KubeError: list \S+: internal error/);
  const { done } = start(client);
  await until("the watch", () => server.count("watch") === 1);
  server.always("list", status(403, "Forbidden", "no"));
  server.endWatches();
  await assert.rejects(done, /^KubeError: list \S+: forbidden/);
});

test("a server that ends each watch at once is not asked again without a pause", async (t) => {
  let [lists, watches] = [0, 0];
  const { stop } = start({
    list: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return { items: [], resourceVersion: String(++lists) };
    },
    watch: async () => {
      watches += 1;
      return (async function* none() {})();
    },
  });
  t.after(() => stop.abort());
  for (let turns = 0; turns < 100; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([lists, watches], [1, 1]);
});
