/** Reads what else a release may depend on: overrides, Namespaces, HookTasks and the objects of gates. */

import type { Logger } from "../lib/logger.ts";
import type { Cluster } from "../api/meta.ts";
import {
  type FoundObjects,
  type ObjectKind,
  objectKindKey,
  NOT_READ,
  type ObjectReader,
  type WatchedObject,
} from "../policy/objects.ts";
import type { Override } from "../policy/override.ts";
import type { ObjectQuery } from "../policy/policy.ts";
import type { TaskRecord } from "../policy/tasks/task-record.ts";
import type { LiveWorld } from "../policy/world.ts";
import type { ConfirmationUnderWay, LiveReads } from "./live-reads.ts";

export class OtherReads {
  readonly #reads: LiveReads;
  readonly #log: Logger;

  constructor(reads: LiveReads, log: Logger) {
    this.#reads = reads;
    this.#log = log;
  }

  /** A failed read affects the gates that select namespaces, and no policy that proceeds without them. */
  async allNamespaces(
    underWay: ConfirmationUnderWay,
    needed: boolean,
  ): Promise<Pick<LiveWorld, "namespaces">> {
    if (!needed) return {};
    try {
      const read = await this.#reads.allNamespaces(underWay);
      return { namespaces: () => read };
    } catch (error) {
      this.#log.debug("Failed to read the Namespaces", { error });
      return {};
    }
  }

  /** Those that still exist unchanged. `known`: those in memory; one that memory does not have could only release. */
  async overrides(underWay: ConfirmationUnderWay, known: readonly Override[]): Promise<readonly Override[]> {
    if (known.length === 0) return known;
    const live = await this.#reads.overrides(underWay);
    return known.filter(({ uid, generation }) =>
      live.some((override) => override.uid === uid && override.generation === generation),
    );
  }

  /** A failed read affects the rules with tasks, and no policy that proceeds without them. */
  async tasks(
    underWay: ConfirmationUnderWay,
    namespaces: readonly string[],
    { metadata: { uid } }: Cluster,
  ): Promise<readonly TaskRecord[] | undefined> {
    try {
      const reads = namespaces.map((namespace) => this.#reads.tasks(underWay, namespace, uid));
      return (await Promise.all(reads)).flat();
    } catch (error) {
      this.#log.debug("Failed to read the HookTasks", { error });
      return undefined;
    }
  }

  async objects(underWay: ConfirmationUnderWay, queries: readonly ObjectQuery[]): Promise<ObjectReader> {
    const read = new Map<string, FoundObjects[]>();
    const unique = new Map(queries.map((query) => [JSON.stringify(query), query]));
    await Promise.all(
      [...unique.values()].map(async (query) => {
        const found = await this.#reads
          .objects(underWay, query)
          .catch((error: unknown) => this.#unreadable(query, error));
        const key = placeOf(query.kind, query.namespace);
        read.set(key, [...(read.get(key) ?? []), found]);
      }),
    );
    // Hundreds of gates may look at one place.
    const joined = new Map([...read].map(([place, parts]) => [place, join(parts)]));
    return { find: (kind, namespace) => joined.get(placeOf(kind, namespace)) ?? NOT_READ };
  }

  /** A failed read affects the gates that look at these objects, and no policy that proceeds without them. */
  #unreadable({ kind }: ObjectQuery, error: unknown): FoundObjects {
    this.#log.debug("Failed to read objects", { kind: objectKindKey(kind), error });
    return { ok: false, reason: "ObjectsUnreadable", message: "the objects could not be read just now" };
  }
}

function placeOf(kind: ObjectKind, namespace: string): string {
  return `${objectKindKey(kind)} ${namespace}`;
}

/** Several gates can look at different objects of one kind; a whole object replaces its bare metadata. */
function join(parts: readonly FoundObjects[]): FoundObjects {
  const failed = parts.find(({ ok }) => !ok);
  if (failed !== undefined) return failed;
  const found = parts.filter((part) => part.ok);
  const [first] = found;
  if (first === undefined) return NOT_READ;
  const objects = new Map<string, WatchedObject>();
  for (const object of found.flatMap((part) => part.objects)) {
    const { uid } = object.metadata;
    if (object.raw !== undefined || !objects.has(uid)) objects.set(uid, object);
  }
  return { ok: true, namespaced: first.namespaced, objects: [...objects.values()] };
}
