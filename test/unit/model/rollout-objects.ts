/** A HookRollout and its Clusters in the model's API server, as their owners and Cluster API write them. */

import type { HookRolloutSpec } from "../../../src/api/hook-policy.ts";
import { PENDING_HOOKS_ANNOTATION } from "../../../src/api/meta.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { hookRollout, NOW, TARGET } from "../rollouts/fixtures.ts";

const OLD = "v1.34.0";

interface FleetInput {
  readonly spec: Partial<HookRolloutSpec>;
  readonly beside?: Partial<HookRolloutSpec>;
  readonly clusters: Readonly<Record<string, string>>;
  readonly begun?: readonly string[];
}

export function objectsOf({
  spec,
  beside,
  clusters,
  begun: running = [],
}: FleetInput): Readonly<Record<string, readonly KubeObject[]>> {
  return {
    hookrollouts: [rolloutNamed("upgrades", spec), ...(beside ? [rolloutNamed("zone", beside)] : [])],
    clusters: Object.entries(clusters).map(([name, stage]) => {
      const cluster = clusterOf(name, stage);
      return running.includes(name) ? begun(cluster) : cluster;
    }),
  };
}

function rolloutNamed(name: string, given: Partial<HookRolloutSpec>): KubeObject {
  const { kind: _, apiVersion: _version, metadata, ...rollout } = hookRollout(given);
  const creationTimestamp = NOW.toISOString();
  return { ...rollout, metadata: { ...metadata, name, uid: `uid-${name}`, creationTimestamp } };
}

export function keyOf(name: string): string {
  return `fleet/${name}`;
}

export function versionOf(cluster: KubeObject | undefined): string {
  const spec = (cluster?.spec ?? {}) as { readonly topology?: { readonly version?: string } };
  return spec.topology?.version ?? "";
}

const HELD = "Following hooks are blocking upgrade: BeforeClusterUpgrade: held";

type Truth = "True" | "False";

function conditionsOf(status: Truth, message: string, generation = 1, available: Truth = "True"): object {
  return {
    conditions: [
      { type: "Available", status: available, reason: "Available", lastTransitionTime: NOW.toISOString() },
      { type: "TopologyReconciled", status, reason: "R", message, observedGeneration: generation },
    ],
  };
}

export function conditionOf({ status }: KubeObject, wanted = "TopologyReconciled"): string | undefined {
  const { conditions = [] } = (status ?? {}) as {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
  return conditions.find(({ type }) => type === wanted)?.status;
}

/** Cluster API was told to wait. */
export function isHeld({ status }: KubeObject): boolean {
  const { conditions = [] } = (status ?? {}) as {
    readonly conditions?: readonly { readonly type: string; readonly message?: string }[];
  };
  return conditions.some(({ type, message }) => type === "TopologyReconciled" && message === HELD);
}

/** Its owner wants the target, and Cluster API was told to wait. */
function clusterOf(name: string, stage: string): KubeObject {
  const metadata = {
    name,
    namespace: "fleet",
    uid: `uid-${name}`,
    resourceVersion: "",
    generation: 1,
    labels: { wave: stage },
  };
  return wanting({ metadata, spec: { topology: { version: OLD } } }, TARGET);
}

export function wanting(object: KubeObject, version: string): KubeObject {
  const generation = (object.metadata.generation ?? 0) + 1;
  return {
    ...object,
    metadata: { ...object.metadata, generation },
    spec: { topology: { classRef: { name: "lab" }, version }, infrastructureRef: { name: "infra" } },
    status: conditionsOf("False", HELD, generation),
  };
}

export function withVersion(object: KubeObject, version: string): KubeObject {
  const { spec } = wanting(object, version);
  const generation = (object.metadata.generation ?? 0) + 1;
  return { ...object, metadata: { ...object.metadata, generation }, spec };
}

export function begun(object: KubeObject): KubeObject {
  const { metadata } = object;
  return {
    ...object,
    metadata: { ...metadata, annotations: { [PENDING_HOOKS_ANNOTATION]: "AfterClusterUpgrade" } },
    status: conditionsOf("False", "upgrading", metadata.generation),
  };
}

export function ended(object: KubeObject, available: Truth = "True"): KubeObject {
  const { annotations: _, ...metadata } = object.metadata;
  return { ...object, metadata, status: conditionsOf("True", "", metadata.generation, available) };
}

/** Cluster API has something to do that is no upgrade. */
export function scaling(object: KubeObject): KubeObject {
  const generation = (object.metadata.generation ?? 0) + 1;
  return {
    ...object,
    metadata: { ...object.metadata, generation },
    status: conditionsOf("False", "MachineDeployment workers is being scaled", generation),
  };
}
