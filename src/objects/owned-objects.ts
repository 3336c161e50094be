/**
 * Which control planes and infrastructures are being deleted, of Clusters that may be held. Needs the right to list and
 * watch them, which the operator does without: Cluster API's status says when they are gone.
 */

import type { Logger } from "../lib/logger.ts";
import { namespacedName } from "../lib/keys.ts";
import type { Cluster, OwnedPart } from "../api/meta.ts";
import { discoverResource, versionsOf } from "../kube/api-discovery.ts";
import { WATCH_LAG_MS } from "../lib/requeue.ts";
import { RunGroup } from "../lib/signals.ts";
import { Informer } from "../kube/informer.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import type { InformerObject } from "../kube/object-store.ts";
import { isNotFound } from "../kube/kube-error.ts";
import type { Resource } from "../kube/resource.ts";
import { PART_GROUPS, viewIdentity } from "../views/cluster.ts";

export interface OwnedObjectsOptions {
  readonly client: Pick<KubeClient, "getPath" | "list" | "watch">;
  readonly log: Logger;
  /** The result of isBeingDeleted() changed for objects of this namespace. */
  readonly onChange: (namespace: string) => void;
  /** Only tests set it. */
  readonly lagMs?: number;
}

/** The right may be missing for good. */
const TUNING = { backoffMaxMs: 300_000 };

type Kind = Pick<OwnedPart, "group" | "kind">;

interface Watch {
  /** How many parts of Clusters are of the kind. */
  wanted: number;
  readonly deleting: Map<string, NodeJS.Timeout>;
  /** Keys of objects that have been deleting for longer than the lag. */
  readonly deletingLong: Set<string>;
  readonly informer: Informer<InformerObject>;
  stop: () => void;
}

export class OwnedObjects {
  readonly #options: OwnedObjectsOptions;
  readonly #watches = new Map<string, Watch>();
  readonly #group = new RunGroup();

  constructor(options: OwnedObjectsOptions) {
    this.#options = options;
  }

  /** Watches the kinds of the parts of all Clusters, as long as there are any. */
  clusterChanged(before: Cluster | undefined, now: Cluster | undefined): void {
    for (const part of partsOf(now)) this.#want(part);
    for (const part of partsOf(before)) this.#release(part);
  }

  isBeingDeleted(namespace: string, part: OwnedPart): boolean {
    return (
      this.#watches.get(kindKey(part))?.deletingLong.has(namespacedName({ namespace, name: part.name })) ??
      false
    );
  }

  /** Runs until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#group.run(signal);
  }

  #want(part: OwnedPart): void {
    const key = kindKey(part);
    const known = this.#watches.get(key);
    if (known !== undefined) {
      known.wanted += 1;
      return;
    }
    const watch = this.#create(part);
    this.#watches.set(key, watch);
    watch.stop = this.#group.start(async (signal) => await run(watch, signal));
  }

  #release(part: OwnedPart): void {
    const key = kindKey(part);
    const watch = this.#watches.get(key);
    if (watch === undefined) return;
    watch.wanted -= 1;
    if (watch.wanted > 0) return;
    this.#watches.delete(key);
    watch.stop();
  }

  #create(kind: Kind): Watch {
    const { client, log } = this.#options;
    const watch: Watch = {
      wanted: 1,
      stop: () => undefined,
      deleting: new Map(),
      deletingLong: new Set(),
      informer: new Informer<InformerObject>({
        client,
        resource: async (signal) => await this.#resolve(kind, watch, signal),
        project: ({ metadata }) => ({ metadata: viewIdentity(metadata) }),
        onChange: ({ key, new: object }) => this.#changed(watch, key, object),
        metadataOnly: true,
        log: calm(log.child({ kind: kindKey(kind) })),
        tuning: TUNING,
      }),
    };
    return watch;
  }

  /**
   * In the version that the API server prefers. Clusters can name any number of kinds that do not exist, so one that was never
   * listed is not tried again. Another one may come back: its definition can have been replaced.
   */
  async #resolve({ group, kind }: Kind, watch: Watch, signal: AbortSignal): Promise<Resource> {
    const { client } = this.#options;
    try {
      const [version = ""] = versionsOf(await client.getPath(`/apis/${group}`, { signal }));
      return await discoverResource(client, { apiVersion: `${group}/${version}`, kind }, signal);
    } catch (error) {
      if (isNotFound(error) && !watch.informer.synced()) watch.stop();
      throw error;
    }
  }

  #changed({ deleting, deletingLong }: Watch, key: string, object: InformerObject | undefined): void {
    const namespace = key.split("/")[0] ?? "";
    if (object?.metadata.deletionTimestamp === undefined) {
      clearTimeout(deleting.get(key));
      deleting.delete(key);
      if (deletingLong.delete(key)) this.#options.onChange(namespace);
    } else if (!deleting.has(key)) {
      // Cluster API marks a Cluster as released before it deletes what that owns.
      const report = (): void => {
        deletingLong.add(key);
        this.#options.onChange(namespace);
      };
      deleting.set(key, setTimeout(report, this.#options.lagMs ?? WATCH_LAG_MS));
    }
  }
}

async function run({ informer, deleting }: Watch, signal: AbortSignal): Promise<void> {
  await informer.run(signal);
  for (const timer of deleting.values()) clearTimeout(timer);
}

function partsOf(cluster: Cluster | undefined): readonly OwnedPart[] {
  return (cluster?.parts ?? []).filter(({ group }) => PART_GROUPS.includes(group));
}

function kindKey({ group, kind }: Kind): string {
  return `${kind}.${group}`;
}

/** Nothing depends on these watches, so failures are not logged as warnings. */
function calm(log: Logger): Logger {
  return {
    debug: (message, fields) => log.debug(message, fields),
    info: (message, fields) => log.info(message, fields),
    warn: (_, fields) =>
      log.info("Does not see whether control planes or infrastructures are being deleted", fields),
    error: (message, fields) => log.error(message, fields),
    child: (fields) => calm(log.child(fields)),
  };
}
