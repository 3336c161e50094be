/** A HookRollout and its Clusters in the model's API server: what they are, and what their owners do with them. */

import type { HookRolloutSpec, HookRolloutStatus } from "../../../src/api/hook-policy.ts";
import { PENDING_HOOKS_ANNOTATION } from "../../../src/api/meta.ts";
import { parseDuration } from "../../../src/lib/duration.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import type { ApiModel } from "./api-server.ts";
import {
  conditionOf,
  ended,
  isHeld,
  keyOf,
  scaling,
  versionOf,
  wanting,
  withVersion,
} from "./rollout-objects.ts";

export const ROLLOUT = "upgrades";

export class RolloutClusters {
  readonly api: ApiModel;

  constructor(api: ApiModel) {
    this.api = api;
  }

  get rollout(): KubeObject | undefined {
    return this.api.get("hookrollouts", ROLLOUT);
  }

  get status(): HookRolloutStatus {
    return this.rollout?.status ?? {};
  }

  get spec(): Partial<HookRolloutSpec> {
    return this.rollout?.spec ?? {};
  }

  /** A condition of the rollout. */
  isTrue(type: string): boolean {
    return this.rollout !== undefined && conditionOf(this.rollout, type) === "True";
  }

  /** There is a policy, which holds every Cluster. */
  get isHeldByPolicy(): boolean {
    return this.api.list("hookpolicies").length > 0;
  }

  makePolicy(): void {
    const metadata = { name: "freeze", namespace: "fleet", uid: "uid-freeze", resourceVersion: "" };
    this.api.put("hookpolicies", { metadata });
  }

  set(name: string, change: (object: KubeObject) => KubeObject): void {
    this.api.edit("clusters", keyOf(name), change);
  }

  /** As its owner does, while nothing of it is under way. */
  want(name: string, version: string): void {
    this.set(name, (object) => wanting(object, version));
  }

  /** While its upgrade runs, past Cluster API's webhook (`disable-update-version-check`). */
  changeVersion(name: string, version: string): void {
    this.set(name, (object) => withVersion(object, version));
  }

  /** Its upgrade has ended. */
  isUnhealthy(name: string): boolean {
    const cluster = this.cluster(name);
    return cluster !== undefined && conditionOf(cluster, "Available") === "False";
  }

  /** It has the version still. */
  scale(name: string): void {
    this.set(name, scaling);
  }

  isScaling(name: string): boolean {
    const cluster = this.cluster(name);
    return (
      cluster !== undefined && !this.isMarked(name) && !isHeld(cluster) && conditionOf(cluster) === "False"
    );
  }

  recover(name: string): void {
    this.set(name, (object) => ended(object));
  }

  editSpec(change: Readonly<Record<string, unknown>>): void {
    this.api.edit("hookrollouts", ROLLOUT, ({ metadata, spec, ...object }) => ({
      ...object,
      metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
      spec: { ...(spec as object), ...change },
    }));
  }

  loseStatus(): void {
    this.api.edit("hookrollouts", ROLLOUT, ({ status: _, ...object }) => object);
  }

  isMarked(name: string): boolean {
    return this.cluster(name)?.metadata.annotations?.[PENDING_HOOKS_ANNOTATION] !== undefined;
  }

  waits(name: string): boolean {
    const cluster = this.api.get("clusters", keyOf(name));
    return cluster !== undefined && !this.isMarked(name) && isHeld(cluster);
  }

  /** "": its upgrade waits or runs. */
  reachedVersion(name: string): string {
    return this.waits(name) || this.isMarked(name) ? "" : versionOf(this.cluster(name));
  }

  cluster(name: string): KubeObject | undefined {
    return this.api.get("clusters", keyOf(name));
  }

  isMember(name: string): boolean {
    const { matchLabels = {} } = this.spec.clusterSelector ?? {};
    const { labels } = this.cluster(name)?.metadata ?? {};
    return Object.entries(matchLabels).every(([key, value]) => labels?.[key] === value);
  }

  label(name: string, labels: Readonly<Record<string, string>>): void {
    this.set(name, (object) => ({ ...object, metadata: { ...object.metadata, labels } }));
  }
}

/** The versions for which the first stage has passed: every Cluster of it has had them for as long as it soaks. */
export class PassedVersions {
  readonly #soakMs: number;
  readonly #since = new Map<string, number>();
  readonly #passed = new Set<string>();

  constructor(soak = "") {
    this.#soakMs = parseDuration(soak) ?? 0;
  }

  /** `version`: that all of them have; "": they do not have the same. */
  look(version: string, nowMs: number): void {
    for (const each of this.#since.keys()) if (each !== version) this.#since.delete(each);
    if (version === "") return;
    const since = this.#since.get(version) ?? nowMs;
    this.#since.set(version, since);
    if (nowMs - since >= this.#soakMs) this.#passed.add(version);
  }

  has(version: string): boolean {
    return this.#passed.has(version);
  }

  state(): unknown {
    return [this.#since, this.#passed];
  }
}
