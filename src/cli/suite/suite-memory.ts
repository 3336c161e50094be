/** The operator's memory of a suite's world, as its informers would have filled it. */

import type { Cluster } from "../../api/meta.ts";
import type { Surroundings } from "../../memory/memory.ts";
import { OperationLife } from "../../memory/operation-life.ts";
import { OverrideSet } from "../../memory/override-set.ts";
import { policyKey, PolicySet } from "../../memory/policy-set.ts";
import type { StoreOptions } from "../../memory/ports.ts";
import { isSameSpec } from "../../memory/same-spec.ts";
import { windowTransitions } from "../../memory/transitions.ts";
import { PendingOperations } from "../../operations/operations.ts";
import { clusterKey } from "../../policy/cluster.ts";
import type { FleetPolicy } from "../fleet/fleet.ts";
import type { SuiteWorld } from "./suite-world.ts";

type SuiteMemoryOptions = Pick<StoreOptions, "served" | "now" | "onTransition">;

export class SuiteMemory implements Surroundings {
  readonly policies = new PolicySet();
  readonly operations = new PendingOperations();
  readonly overrides: OverrideSet;
  readonly namespaces: SuiteWorld["namespaces"];
  readonly objects: SuiteWorld["objects"];
  readonly life: OperationLife;
  /** A suite re-evaluates at once, so it schedules nothing. */
  readonly schedule = { set: (): void => undefined };
  readonly #world: SuiteWorld;
  readonly #now: () => Date;
  /** By clusterKey(). */
  #clusters: ReadonlyMap<string, Cluster> = new Map();

  constructor(world: SuiteWorld, options: SuiteMemoryOptions) {
    this.#world = world;
    this.#now = options.now;
    this.overrides = new OverrideSet(world.maxOverrideMs);
    this.namespaces = world.namespaces;
    this.objects = world.objects;
    const inOneTurn = { withSettings: <T>(call: T): T => call, isTurnOver: () => false };
    this.life = new OperationLife(this, inOneTurn, { ...options, onDirty: () => undefined });
  }

  /** Called after objects have changed: operations proceed, end and begin. */
  clustersChanged(): void {
    const before = this.#clusters;
    this.#clusters = new Map(this.#world.fleet.clusters().map((each) => [clusterKey(each), each]));
    for (const key of new Set([...before.keys(), ...this.#clusters.keys()]))
      this.life.clusterChanged(before.get(key), this.#clusters.get(key));
  }

  /** Called after policies or overrides have been created, edited or deleted: some clocks stop. */
  policiesChanged(): void {
    this.#overridesChanged();
    const found = new Set(this.#world.fleet.policies.map((policy) => this.#policyChanged(policy)));
    for (const { key, compiled } of this.policies.entries()) {
      if (found.has(key)) continue;
      this.operations.forgetPolicy(compiled.uid);
      this.policies.delete(key);
    }
  }

  #policyChanged({ object, compiled }: FleetPolicy): string {
    const { kind, namespace, name } = compiled.ref;
    const key = policyKey(kind, namespace, name);
    const before = this.policies.get(key);
    if (before !== undefined && isSameSpec(before.object, object)) return key;
    if (before !== undefined && before.compiled.uid !== compiled.uid)
      this.operations.forgetPolicy(before.compiled.uid);
    if (before !== undefined) this.operations.policyEdited(compiled.uid, before.object.spec, object.spec);
    // The first call only remembers which windows are open.
    windowTransitions(this.policies.set(key, object, compiled), this.#now());
    return key;
  }

  #overridesChanged(): void {
    const found = this.#world.overrides();
    const names = new Set(found.map(({ metadata }) => metadata.name));
    for (const { compiled } of this.overrides.entries())
      if (!names.has(compiled.name)) this.overrides.set(compiled.name, undefined);
    for (const object of found) this.overrides.set(object.metadata.name, object);
  }
}
