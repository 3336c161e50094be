import { MemoryBudget } from "../../../src/kube/memory-budget.ts";
import type { TestContext } from "node:test";
import { ObjectInformers } from "../../../src/objects/object-informers.ts";
import { type FoundObjects, objectKindKey, type ObjectKind } from "../../../src/policy/watched-objects.ts";
import { json, type Misbehaviour } from "../kube/fake-api-server.ts";
import type { FakeApiServer } from "../kube/fake-api-server.ts";
import { MemoryLogger, startLab, until } from "../kube/fixtures.ts";
import { FAST } from "../kube/informer-lab.ts";

export const WIDGET: ObjectKind = { apiVersion: "example.com/v1", kind: "Widget" };

const VERBS = ["create", "delete", "get", "list", "update", "watch"];

/** Discovery that serves Widgets, and no other kind. */
export function serving(
  more: { readonly namespaced?: boolean; readonly verbs?: readonly string[] } = {},
): Misbehaviour {
  const resources = [{ name: "widgets", kind: "Widget", namespaced: true, verbs: VERBS, ...more }];
  return ({ path }, response) =>
    path === "/apis/example.com/v1"
      ? json(response, 200, { kind: "APIResourceList", resources })
      : json(response, 404, { kind: "Status", code: 404, reason: "NotFound" });
}

export interface ObjectLab {
  readonly server: FakeApiServer;
  readonly objects: ObjectInformers;
  readonly log: MemoryLogger;
  /** Namespaces of changed objects. */
  readonly changes: (string | undefined)[];
  /** Kinds that were told available or not. */
  readonly available: string[];
  readonly run: () => Promise<void>;
  readonly stop: AbortController;
  /** find() for namespace team-a: names, or the reason of the refusal. */
  readonly found: () => string;
  readonly untilFound: (wanted: string) => Promise<void>;
}

interface Overrides {
  readonly onAvailability?: (kind: ObjectKind) => void;
}

/** Not running yet. */
export async function objectLab(t: TestContext, overrides: Overrides = {}): Promise<ObjectLab> {
  const { server, client } = await startLab(t);
  server.always("other", serving());
  const log = new MemoryLogger();
  const changes: (string | undefined)[] = [];
  const available: string[] = [];
  const objects = new ObjectInformers({
    client,
    log,
    budget: new MemoryBudget(log),
    onChange: (_, namespace) => changes.push(namespace),
    onAvailability: (kind) => available.push(objectKindKey(kind)),
    tuning: FAST,
    ...overrides,
  });
  const stop = new AbortController();
  let done = Promise.resolve();
  t.after(async () => {
    stop.abort();
    await done;
  });
  const found = (): string => brief(objects.find(WIDGET, "team-a"));
  return {
    server,
    objects,
    log,
    changes,
    available,
    run: () => (done = objects.run(stop.signal)),
    stop,
    found,
    untilFound: async (wanted) => await until(`find() to give ${wanted}`, () => found() === wanted),
  };
}

export function brief(found: FoundObjects): string {
  return found.ok ? found.objects.map(({ metadata }) => metadata.name).join(" ") : found.reason;
}
