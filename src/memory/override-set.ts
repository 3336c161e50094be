/** The HookOverrides in memory, and the operations that each of them has released. */

import { byText } from "../lib/compare-text.ts";
import { namespacedName } from "../lib/keys.ts";
import { type HookOverride, MAX_USED, type OverrideUse } from "../api/hook-policy.ts";
import type { Cluster } from "../api/meta.ts";
import { clusterKey } from "../views/cluster.ts";
import { compileOverride } from "../policy/compile-override.ts";
import type { Override } from "../policy/world.ts";

export interface OverrideEntry {
  readonly key: string;
  object: HookOverride;
  compiled: Override;
  /** The operations that this replica has released because of it, newest first. */
  used: readonly OverrideUse[];
}

const NONE: readonly Override[] = [];
const PREFIX = "HookOverride//";

export function overrideKey(name: string): string {
  return `${PREFIX}${name}`;
}

export function isOverrideKey(key: string): boolean {
  return key.startsWith(PREFIX);
}

export class OverrideSet {
  readonly #maxMs: number;
  readonly #entries = new Map<string, OverrideEntry>();
  /** By "namespace/name" of the Cluster, in the order of their names. */
  readonly #byCluster = new Map<string, readonly Override[]>();

  constructor(maxMs: number) {
    this.#maxMs = maxMs;
  }

  get(key: string): OverrideEntry | undefined {
    return this.#entries.get(key);
  }

  entries(): Iterable<OverrideEntry> {
    return this.#entries.values();
  }

  /** Includes expired ones, because the decision looks at the clock. */
  ofCluster(cluster: Cluster): readonly Override[] {
    return this.of(clusterKey(cluster));
  }

  of(cluster: string): readonly Override[] {
    return this.#byCluster.get(cluster) ?? NONE;
  }

  /** Returns the Clusters ("namespace/name") that it was and is about. */
  set(
    name: string,
    object: HookOverride | undefined,
    compiled = object && compileOverride(object, this.#maxMs),
  ): readonly string[] {
    const key = overrideKey(name);
    const before = this.#entries.get(key);
    if (object === undefined || compiled === undefined) this.#entries.delete(key);
    else {
      const same = before?.compiled.uid === compiled.uid;
      this.#entries.set(key, { key, object, compiled, used: same ? before.used : [] });
    }
    const now = this.#entries.get(key);
    const clusters = new Set([before, now].filter((entry) => entry !== undefined).map(clusterOf));
    for (const cluster of clusters) this.#index(cluster);
    return [...clusters];
  }

  #index(cluster: string): void {
    const overrides = [...this.#entries.values()]
      .filter((entry) => clusterOf(entry) === cluster)
      .map(({ compiled }) => compiled)
      .toSorted(byText(({ name }) => name));
    if (overrides.length === 0) this.#byCluster.delete(cluster);
    else this.#byCluster.set(cluster, overrides);
  }

  /** `undefined` if the use is known already. */
  use(name: string, use: OverrideUse): OverrideEntry | undefined {
    const entry = this.#entries.get(overrideKey(name));
    if (entry === undefined) return undefined;
    const known = [...entry.used, ...(entry.object.status?.used ?? [])].map(useKey);
    if (known.includes(useKey(use))) return undefined;
    entry.used = [use, ...entry.used].slice(0, MAX_USED);
    return entry;
  }
}

export function useKey({ clusterUID, hook, targetVersion }: OverrideUse): string {
  return [clusterUID, hook, targetVersion].join(" ");
}

function clusterOf({ compiled: { clusterRef } }: OverrideEntry): string {
  return namespacedName(clusterRef);
}
