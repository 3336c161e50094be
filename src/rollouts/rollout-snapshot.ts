/** The HookRollouts at one moment of a confirmation, compared with those in memory. */

import type { ObjectMeta } from "../api/meta.ts";
import { compareResourceVersions, mayReplace } from "../views/versions.ts";

export class RolloutSnapshot {
  /** As of performance.now(): the reads of the confirmation begin later. */
  readonly began = performance.now();
  readonly #before: ReadonlyMap<string, ObjectMeta>;
  readonly #known: (name: string) => ObjectMeta | undefined;
  readonly #onMissing: (live: ObjectMeta, restored: boolean) => void;
  #live: ReadonlyMap<string, ObjectMeta> = new Map();
  /** The first moment: what was read since may be older than the last one. */
  #at = "";
  /**
   * The slots that the Cluster may have been allowed to use only after this moment: the resourceVersion of the rollout with the
   * slot, by the rollout's name. Only a later snapshot then shows all that holds the Cluster.
   */
  readonly laterSlots = new Map<string, string>();

  /** To be made before the rollouts are read. `known`: the rollout in memory now; `onMissing`: memory does not have it. */
  constructor(
    before: ReadonlyMap<string, ObjectMeta>,
    known: (name: string) => ObjectMeta | undefined,
    onMissing: (live: ObjectMeta, restored: boolean) => void,
  ) {
    this.#before = before;
    this.#known = known;
    this.#onMissing = onMissing;
  }

  /**
   * Whether memory has all rollouts that were read in the same generation, so that none of them is ignored. A resource version
   * below the one that memory had before the read means a restored etcd, where the same generation may be another spec.
   * `at`: the resourceVersion of the moment. A confirmation that reads twice asks for both moments.
   */
  hasAll(live: readonly ObjectMeta[], at: string): boolean {
    this.#live = new Map(live.map((metadata) => [metadata.name, metadata]));
    if (this.#at === "") this.#at = at;
    return live.every((metadata) => {
      const before = this.#before.get(metadata.name);
      const isRestored = before !== undefined && !mayReplace(metadata, before);
      const has = !isRestored && isSame(metadata, this.#known(metadata.name));
      if (!has) this.#onMissing(metadata, isRestored);
      return has;
    });
  }

  /** `undefined`: there was none of this name. */
  get(name: string): ObjectMeta | undefined {
    return this.#live.get(name);
  }

  /** Whether memory still has all of them. */
  isInMemory(): boolean {
    return this.#live.values().every((metadata) => isSame(metadata, this.#known(metadata.name)));
  }

  /** Whether memory has this very copy of the rollout: a slot is written without a new generation. */
  hasSlotsOf(name: string): boolean {
    const live = this.#live.get(name);
    return live === undefined || live.resourceVersion === this.#known(name)?.resourceVersion;
  }

  /** Whether the rollout, as it was read later, has not been written since the first moment. */
  isUnchanged(metadata: ObjectMeta): boolean {
    return (compareResourceVersions(metadata.resourceVersion, this.#at) ?? 1) <= 0;
  }

  /** Whether this later snapshot shows the same specs of the same rollouts, and the slots as they were taken. */
  confirms(earlier: RolloutSnapshot): boolean {
    return (
      this.#live.size === earlier.#live.size &&
      this.#live.values().every((metadata) => isSame(metadata, earlier.get(metadata.name))) &&
      earlier.laterSlots.entries().every(([name, version]) => this.get(name)?.resourceVersion === version)
    );
  }
}

/** The same spec of the same rollout. */
export function isSame(a: ObjectMeta, b: ObjectMeta | undefined): boolean {
  return a.uid === b?.uid && a.generation === b.generation;
}
