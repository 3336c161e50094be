/** Holds the objects of a suite, and changes them as its steps say. */

import { isFields } from "../../lib/fields.ts";
import { namespacedName } from "../../lib/keys.ts";
import type { Cluster } from "../../api/meta.ts";
import type { Memory } from "../../memory/memory.ts";
import { clusterKey, viewMetadata } from "../../views/cluster.ts";
import { timestamp } from "../../lib/instant.ts";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { policyName } from "../../policy/policy-ref.ts";
import { changeErrors } from "../../policy/validation/schema.ts";
import { emptyMemory, Fleet, type FleetOptions } from "../fleet/fleet.ts";
import { groupOf, identityOf, isCluster, ownKind, type RawObject } from "../fleet/kinds.ts";
import { edited } from "../fleet/merge-patch.ts";
import { lackedNamespace } from "../fleet/selections.ts";
import type { ObjectRef } from "../../tasks/task-objects.ts";
import { SuiteError } from "./suite-error.ts";

export class SuiteObjects {
  /** The operator's memory, as its informers would have filled it; its lists show the present objects. */
  readonly memory: Memory;
  readonly #options: FleetOptions;
  #objects: readonly RawObject[] = [];
  #fleet: Fleet | undefined;

  constructor(options: Omit<FleetOptions, "complete" | "memory">) {
    const filled = emptyMemory(options.maxOverrideMs);
    this.#options = { ...options, complete: true, memory: filled };
    this.memory = {
      ...filled,
      clusters: {
        get: (key) => this.fleet.memory.clusters.get(key),
        byNamespace: (name) => this.fleet.memory.clusters.byNamespace(name),
        list: () => this.fleet.clusters(),
      },
      namespaces: {
        get: (name) => this.fleet.namespace(name),
        byNamespace: () => [],
        list: () => this.fleet.namespaces(),
      },
      objects: { find: (...query) => this.fleet.memory.objects.find(...query) },
      ...(options.tasks !== undefined && options.tasks !== "Unread" && { tasks: options.tasks }),
    };
  }

  /** The present objects; what has changed in them is in memory from now on. */
  get fleet(): Fleet {
    this.#fleet ??= new Fleet(this.#objects, this.#options);
    return this.#fleet;
  }

  rollouts(): readonly RawObject[] {
    return this.#objects.filter((object) => ownKind(object) === "HookRollout");
  }

  create(objects: readonly RawObject[], now: Date): void {
    for (const object of objects) {
      if (this.#objects.some((other) => identityOf(other) === identityOf(object))) {
        throw new SuiteError(
          `${describe(object)} is there already: two of the same name would hide each other`,
        );
      }
      this.put(undefined, created(object, now));
    }
    this.#checkPolicies();
  }

  /** Applies JSON merge patches (RFC 7386). */
  patch(patches: readonly RawObject[]): void {
    const changes = patches.map((patch) => {
      const found = this.#find(refOf(patch));
      const after = edited(found, patch);
      this.put(found, after);
      return { found, after };
    });
    this.#checkPolicies();
    for (const { found, after } of changes) checkChange(found, after);
  }

  /** The Cluster's owner asks for another version. */
  wantVersion(cluster: Cluster, version: string): void {
    this.rewrite(cluster, (raw) => edited(raw, { spec: { topology: { version } } }));
  }

  /** Writes the Cluster; `undefined` deletes it. */
  rewrite(cluster: Cluster, change: (raw: RawObject) => RawObject | undefined): void {
    const found = this.#objects.filter(isCluster).find(({ metadata }) => {
      const { name, namespace = "default" } = viewMetadata(metadata);
      return clusterKey(cluster) === namespacedName({ namespace, name });
    });
    if (found !== undefined) this.put(found, change(found));
  }

  delete(refs: readonly Wanted[]): void {
    for (const ref of refs) this.put(this.#find(ref), undefined);
  }

  /** Writes an object: a new one without `before`, none without `after`. */
  put(before: RawObject | undefined, after: RawObject | undefined): void {
    const index = before === undefined ? this.#objects.length : this.#objects.indexOf(before);
    this.#put(this.#objects.toSpliced(index, 1, ...(after === undefined ? [] : [after])));
  }

  /** `namespace` absent: of a kind without namespaces. */
  named(ref: ObjectRef): RawObject | undefined {
    return this.#objects.find((object) => isMeant(object, ref));
  }

  ofKind({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): readonly RawObject[] {
    return this.#objects.filter(
      (object) => object["kind"] === kind && groupOf(object) === groupOf({ apiVersion }),
    );
  }

  /** Removes the objects whose label has one of these values. */
  dropLabelled(label: string, values: readonly string[]): void {
    const isMarked = ({ metadata }: RawObject): boolean =>
      values.includes(viewMetadata(metadata).labels?.[label] ?? "");
    this.#put(this.#objects.filter((object) => !isMarked(object)));
  }

  #put(objects: readonly RawObject[]): void {
    this.#objects = objects;
    this.#fleet = undefined;
  }

  #find(ref: Wanted): RawObject {
    const found = this.#objects.filter((object) => isMeant(object, ref));
    const [first, second] = found;
    if (second !== undefined)
      throw new SuiteError(`${nameOf(ref)} could be several objects: say its apiVersion and namespace`);
    if (first !== undefined) return first;
    throw new SuiteError(
      `${nameOf(ref)} is not there${didYouMean(nameOf(ref), this.#objects.map(describe))}`,
    );
  }

  /** Throws for an object that the API server would reject, and for a rollout whose members are not known. */
  #checkPolicies(): void {
    const { policies, overrides, rollouts } = this.fleet;
    for (const rollout of rollouts) {
      const lacked = lackedNamespace(this.fleet, rollout);
      if (lacked !== undefined)
        throw new SuiteError(
          `HookRollout ${rollout.compiled.name} selects by namespace: add Namespace ${lacked}, with its labels, to spec.namespaces`,
        );
    }
    const problems = [
      ...policies.flatMap(({ compiled: { ref, errors } }) =>
        errors.map(({ path, message }) => [policyName(ref), `${path}: ${message}`]),
      ),
      ...overrides.map(({ name, problem }) => [`HookOverride ${name}`, problem?.message]),
      ...rollouts.map(({ compiled: { name, problem } }) => [`HookRollout ${name}`, problem]),
    ];
    for (const [name, problem] of problems)
      if (problem !== undefined) throw new SuiteError(`${name} is not valid: ${problem}`);
  }
}

/** Throws if the API server would refuse the change. */
function checkChange(before: RawObject, after: RawObject): void {
  const kind = ownKind(after);
  const [error] = kind === undefined ? [] : changeErrors(kind, before, after);
  if (error !== undefined) throw new SuiteError(`${describe(after)}: ${error.path}: ${error.message}`);
}

/**
 * Gives overrides and rollouts a creation time: an override's lifetime starts there, and an old rollout without a status
 * could have lost it.
 */
function created(object: RawObject, now: Date): RawObject {
  const kind = ownKind(object);
  if ((kind !== "HookOverride" && kind !== "HookRollout") || !isFields(object["metadata"])) return object;
  return { ...object, metadata: { creationTimestamp: timestamp(now), ...object["metadata"] } };
}

/** `undefined`: any. */
type Wanted = Omit<ObjectRef, "apiVersion"> & { readonly apiVersion?: string | undefined };

function refOf({ apiVersion, kind, metadata }: RawObject): Wanted {
  const { name, namespace } = viewMetadata(metadata);
  const version = typeof apiVersion === "string" ? apiVersion : undefined;
  return { apiVersion: version, kind: String(kind), namespace, name };
}

function isMeant(object: RawObject, { apiVersion, kind, namespace, name }: Wanted): boolean {
  const metadata = viewMetadata(object["metadata"]);
  return (
    object["kind"] === kind &&
    metadata.name === name &&
    (namespace === undefined || metadata.namespace === namespace) &&
    (apiVersion === undefined || groupOf(object) === groupOf({ apiVersion }))
  );
}

function describe(object: RawObject): string {
  return nameOf(refOf(object));
}

function nameOf(ref: Wanted): string {
  return `${ref.kind} ${namespacedName(ref)}`;
}
