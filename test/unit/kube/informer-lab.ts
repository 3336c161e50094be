import type { TestContext } from "node:test";
import type { TooLargeMark, ObjectMeta } from "../../../src/api/meta.ts";
import type { KubeClientOptions } from "../../../src/kube/kube-client.ts";
import { Informer } from "../../../src/kube/informer.ts";
import type { InformerOptions } from "../../../src/kube/informer.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import type { Change } from "../../../src/kube/object-store.ts";
import type { InformerTuning } from "../../../src/kube/recovery.ts";
import { WIDGETS } from "./fake-api-server.ts";
import type { FakeApiServer } from "./fake-api-server.ts";
import { MemoryLogger, startLab, until } from "./fixtures.ts";

export interface Size extends TooLargeMark {
  readonly metadata: ObjectMeta;
  readonly size: number;
}

export function toSize(raw: KubeObject): Size {
  const spec = raw.spec;
  if (typeof spec !== "object" || spec === null || !("size" in spec) || typeof spec.size !== "number")
    throw new Error("no size");
  return { metadata: raw.metadata, size: spec.size };
}

/** As fast as a test wants it, and still telling "at once" from "after a while". */
export const FAST: InformerTuning = {
  idleTimeoutMs: 5_000,
  watchTimeoutSeconds: [300, 580],
  backoffMinMs: 2,
  backoffMaxMs: 20,
  healthyWatchMs: 1,
  refreshIntervalMs: 5,
};

export interface InformerLab {
  readonly server: FakeApiServer;
  readonly informer: Informer<Size>;
  readonly changes: Change<Size>[];
  readonly log: MemoryLogger;
  readonly stop: AbortController;
  /** Settles when the informer has ended. */
  readonly done: Promise<void>;
  /** The server's objects and the informer's store are the same, and a watch is open. */
  readonly caughtUp: () => Promise<void>;
  /** Before the end of the test. */
  readonly close: () => Promise<void>;
  /** What a reader knows who only saw the changes. */
  readonly replayed: () => Map<string, number>;
}

type Overrides = Partial<Omit<InformerOptions<Size>, "tuning">> & {
  readonly tuning?: Partial<InformerTuning>;
  readonly prepare?: (server: FakeApiServer) => void;
  readonly clientOptions?: KubeClientOptions;
};

/** An informer that already runs, and ends with the test. */
export async function startInformer(t: TestContext, overrides: Overrides = {}): Promise<InformerLab> {
  const { prepare, tuning, clientOptions, ...options } = overrides;
  const { server, client, close } = await startLab(t, clientOptions);
  prepare?.(server);
  const changes: Change<Size>[] = [];
  const log = new MemoryLogger();
  const informer = new Informer<Size>({
    client,
    resource: WIDGETS,
    project: toSize,
    onChange: (change) => changes.push(change),
    log,
    ...options,
    tuning: { ...FAST, ...tuning },
  });
  const stop = new AbortController();
  const done = informer.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await done;
  });
  const equal = (): boolean =>
    informer.size === server.objects.size &&
    [...server.objects].every(([key, object]) => {
      const known = informer.get(key);
      return known?.size === object.spec.size && known.metadata.uid === object.metadata.uid;
    });
  return {
    server,
    informer,
    changes,
    log,
    stop,
    done,
    caughtUp: () =>
      until("the store equals the server's", () => server.watchCount > 0 && informer.synced() && equal()),
    close,
    replayed: () => replay(changes),
  };
}

function replay(changes: readonly Change<Size>[]): Map<string, number> {
  const known = new Map<string, Size>();
  for (const { key, old, new: now } of changes) {
    if (known.get(key) !== old) throw new Error(`change of ${key} does not start from what was told before`);
    if (now === undefined) known.delete(key);
    else known.set(key, now);
  }
  return new Map([...known].map(([key, { size }]) => [key, size]));
}
