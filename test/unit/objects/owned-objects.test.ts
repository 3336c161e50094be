/** The watch of what Clusters own, against an API server that is a few functions. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { test, type TestContext } from "node:test";
import type { Cluster, OwnedPart } from "../../../src/api/meta.ts";
import type { KubeClient } from "../../../src/kube/kube-client.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import type { WatchEvent } from "../../../src/kube/watch-stream.ts";
import { OwnedObjects, type OwnedObjectsOptions } from "../../../src/objects/owned-objects.ts";
import { cluster } from "../builders.ts";
import { MemoryLogger, until } from "../kube/fixtures.ts";

const PART: OwnedPart = { group: "infrastructure.cluster.x-k8s.io", kind: "LabCluster", name: "c1" };
const FORBIDDEN = new KubeError("list labclusters: forbidden", { code: 403, reason: "Forbidden" });
const NOT_FOUND = new KubeError("get /apis: not found", { code: 404, reason: "NotFound" });
const VERBS = ["create", "delete", "list", "watch"];

const owning = (...parts: OwnedPart[]): Cluster => ({ ...cluster({ namespace: "team-a" }), parts });

function labCluster(resourceVersion: string, deletionTimestamp?: string): KubeObject {
  const metadata = { namespace: "team-a", name: "c1", uid: "u", resourceVersion };
  return { metadata: { ...metadata, ...(deletionTimestamp !== undefined && { deletionTimestamp }) } };
}
const DELETING = labCluster("2", "2026-11-21T12:00:00Z");

interface Lab {
  readonly owned: OwnedObjects;
  readonly log: MemoryLogger;
  /** What was asked of the API server. */
  readonly asked: string[];
  readonly changes: string[];
  readonly send: (event: WatchEvent) => void;
  /** Whether the API server has the kind's definition. */
  readonly definition: { isServed: boolean };
}

function lab(t: TestContext, list: () => readonly KubeObject[], lagMs = 0): Lab {
  const asked: string[] = [];
  const changes: string[] = [];
  const definition = { isServed: true };
  let send: Lab["send"] = () => assert.fail("no watch is open");
  const client = {
    getPath: async (path: string) => {
      asked.push(path);
      if (!definition.isServed) throw NOT_FOUND;
      const resources = [{ name: "labclusters", kind: "LabCluster", namespaced: true, verbs: VERBS }];
      return path.endsWith("/v1beta2") ? { resources } : { versions: [{ version: "v1beta2" }] };
    },
    list: async (_: unknown, { project }: { readonly project: (raw: KubeObject) => unknown }) => {
      asked.push("list");
      return { items: list().map(project), resourceVersion: "1" };
    },
    watch: async (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
      asked.push("watch");
      return (async function* events() {
        while (!signal.aborted) {
          const next = Promise.withResolvers<WatchEvent>();
          send = next.resolve;
          const event = await Promise.race([next.promise, once(signal, "abort")]);
          if ("type" in event) yield event;
        }
      })();
    },
  };
  const log = new MemoryLogger();
  const owned = new OwnedObjects({
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what an informer needs of it
    client: client as unknown as Pick<KubeClient, "getPath" | "list" | "watch">,
    log,
    onChange: (namespace) => changes.push(namespace),
    lagMs,
  } satisfies OwnedObjectsOptions);
  const stop = new AbortController();
  const done = owned.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await done;
  });
  return { owned, log, asked, changes, send: (event) => send(event), definition };
}

test("nothing is asked of the API server before a Cluster may be held, and after the last one", async (t) => {
  const { owned, asked, send } = lab(t, () => [labCluster("1")]);
  owned.clusterChanged(undefined, cluster());
  assert.equal(asked.length, 0);
  const [held, another] = [owning(PART), owning(PART)];
  owned.clusterChanged(undefined, held);
  owned.clusterChanged(undefined, another);
  await until("one watch", () => asked.includes("watch"));
  owned.clusterChanged(held, undefined);
  send({ type: "MODIFIED", object: DELETING });
  await until("the watch to work", () => owned.isBeingDeleted("team-a", PART));
  owned.clusterChanged(another, undefined);
  assert.equal(owned.isBeingDeleted("team-a", PART), false);
  assert.equal(asked.filter((each) => each === "list").length, 1);
});

test("reports once that a part is being deleted, and again when it no longer is", async (t) => {
  const { owned, changes, asked, send } = lab(t, () => [labCluster("1")]);
  owned.clusterChanged(undefined, owning(PART));
  await until("a watch", () => asked.includes("watch"));
  assert.equal(owned.isBeingDeleted("team-a", PART), false);
  send({ type: "MODIFIED", object: DELETING });
  await until("the change", () => changes.length === 1);
  assert.ok(owned.isBeingDeleted("team-a", PART));
  assert.equal(owned.isBeingDeleted("team-b", PART), false);
  assert.equal(owned.isBeingDeleted("team-a", { ...PART, name: "c2" }), false);
  send({ type: "DELETED", object: DELETING });
  await until("the end", () => changes.length === 2);
  assert.equal(owned.isBeingDeleted("team-a", PART), false);
});

test("does not report a deletion yet that the Cluster's own watch may be behind", async (t) => {
  const { owned, changes, asked, send } = lab(t, () => [DELETING], 60_000);
  owned.clusterChanged(undefined, owning(PART));
  await until("a watch", () => asked.includes("watch"));
  assert.equal(owned.isBeingDeleted("team-a", PART), false);
  send({ type: "DELETED", object: DELETING });
  assert.deepEqual(changes, []);
});

test("without the right the operator says so, and warns of nothing", async (t) => {
  const { owned, log, asked } = lab(t, () => {
    throw FORBIDDEN;
  });
  owned.clusterChanged(undefined, owning(PART));
  await until("a line", () => log.lines.some(({ message }) => message.startsWith("Does not see")));
  assert.equal(owned.isBeingDeleted("team-a", PART), false);
  assert.ok(!asked.includes("watch"));
  assert.deepEqual(
    log.lines.filter(({ level }) => level === "warn" || level === "error"),
    [],
  );
});

test("does not watch other groups, or kinds that do not exist, which tenants name in references", async (t) => {
  const { owned, asked } = lab(t, () => []);
  owned.clusterChanged(
    undefined,
    owning({ ...PART, group: "" }, { ...PART, group: "rbac.authorization.k8s.io" }),
  );
  assert.equal(asked.length, 0);
  owned.clusterChanged(undefined, owning({ ...PART, kind: "Invented" }));
  await until("discovery", () => asked.length === 2);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(asked.length, 2);
});

test("a kind whose definition is replaced is watched again", async (t) => {
  const { owned, asked, send, definition } = lab(t, () => [labCluster("1")]);
  const count = (what: string): number => asked.filter((each) => each === what).length;
  owned.clusterChanged(undefined, owning(PART));
  await until("a watch", () => count("watch") === 1);
  definition.isServed = false;
  send({ type: "ERROR", error: NOT_FOUND });
  await until("a look for the kind", () => count(`/apis/${PART.group}`) === 2);
  definition.isServed = true;
  await until("another watch", () => count("watch") === 2);
});
