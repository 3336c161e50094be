/** The HookRollouts of a suite and their statuses, as an API server stores them. */

import { isDeepStrictEqual } from "node:util";
import type { HookRollout, HookRolloutStatus } from "../../api/hook-policy.ts";
import type { Cluster, ObjectMeta } from "../../api/meta.ts";
import type { RolloutApi } from "../../rollouts/rollout-api.ts";
import { viewRollout } from "../fleet/kinds.ts";
import type { SuiteObjects } from "./suite-objects.ts";

export class SuiteRolloutApi implements RolloutApi {
  readonly #objects: SuiteObjects;
  readonly #stored = new Map<string, HookRollout>();
  #version = 0;

  constructor(objects: SuiteObjects) {
    this.#objects = objects;
  }

  /** Of the last write. */
  get version(): string {
    return String(this.#version);
  }

  all(): readonly HookRollout[] {
    return [...this.#stored.values()];
  }

  stored(name: string): HookRollout | undefined {
    return this.#stored.get(name);
  }

  /**
   * Stores the rollouts that a step has created, edited or deleted, and returns their names. The stored status is newer than
   * that of the file.
   */
  follow(): readonly string[] {
    const found = new Map(this.#objects.rollouts().map(viewRollout).map((each) => [each.metadata.name, each]));
    const names = new Set([...this.#stored.keys(), ...found.keys()]);
    return [...names].filter((name) => {
      const [known, object] = [this.#stored.get(name), found.get(name)];
      if (isDeepStrictEqual(known?.spec, object?.spec)) return false;
      const { status = object?.status } = known ?? {};
      const generation = (known?.metadata.generation ?? 0) + 1;
      if (object === undefined) this.#stored.delete(name);
      else this.#put({ ...object, metadata: { ...object.metadata, generation }, ...(status && { status }) });
      return true;
    });
  }

  #put(object: HookRollout): HookRollout {
    this.#version += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    this.#stored.set(stored.metadata.name, stored);
    return stored;
  }

  async getRollout(name: string): Promise<HookRollout | undefined> {
    return await Promise.resolve(this.#stored.get(name));
  }

  async members(): Promise<readonly ObjectMeta[]> {
    return await Promise.resolve(this.#objects.fleet.clusters().map(({ metadata }) => metadata));
  }

  async findCluster(namespace: string, name: string): Promise<Cluster | undefined> {
    return await Promise.resolve(this.#objects.fleet.cluster(namespace, name));
  }

  async replaceRolloutStatus(
    { metadata }: HookRollout,
    status: HookRolloutStatus,
  ): Promise<HookRollout | undefined> {
    const known = this.#stored.get(metadata.name);
    return await Promise.resolve(known && this.#put({ ...known, status }));
  }

  /** A suite has one clock. */
  clockAheadMs(): number {
    return 0;
  }

  /** Only one replica writes, and one status after the other. */
  isConflict(): boolean {
    return false;
  }
}
