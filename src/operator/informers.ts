/** The informers of the controller, each of which tells memory of its changes. */

import type { HookOverride, HookRollout } from "../api/hook-policy.ts";
import type { Cluster, ObjectMeta, StoredNamespace } from "../api/meta.ts";
import { sizeOf } from "../lib/json-size.ts";
import {
  compactCluster,
  expressionBytes,
  stubOverride,
  stubPolicy,
  stubRollout,
  storedOverride,
  storedPolicy,
  storedRollout,
} from "../memory/stored-views.ts";
import type { DecisionStore } from "../memory/decision-store.ts";
import { policyKey, type PolicyObject } from "../memory/policy-set.ts";
import type { Rollouts } from "../rollouts/rollout-decisions.ts";
import { isSameSpec } from "../memory/same-object.ts";
import { fieldsOf, listOf } from "../lib/fields.ts";
import type { ClusterResource } from "../kube/cluster-resource.ts";
import { Informer, type InformerOptions } from "../kube/informer.ts";
import { type MemoryUse, memoryUseOf, PLATFORM } from "../kube/memory-budget.ts";
import { resourceName } from "../kube/resource.ts";
import { HOOK_TASKS, NAMESPACES, OVERRIDES, POLICY_RESOURCES, ROLLOUTS } from "../kube/resources.ts";
import type { InformerEntry } from "../report/metric-makers.ts";
import type { Tasks } from "./task-wiring.ts";
import type { ObjectWatchOptions } from "../objects/object-watch.ts";
import type { OwnedObjects } from "../objects/owned-objects.ts";
import { tellEach } from "../lib/tell-each.ts";
import { packedVariables, viewCluster, viewNamespace } from "../views/cluster.ts";
import type { PolicyKind } from "../policy/policy-ref.ts";
import { namesAccount } from "../policy/tasks/compile-task.ts";
import { sizeErrors } from "../policy/validation/spec-size.ts";
import { stubCluster, stubNamespace } from "../views/too-large.ts";

export type Informers = ReturnType<typeof createInformers>;

interface Listeners {
  readonly store: () => DecisionStore;
  readonly rollouts: () => Rollouts;
  readonly tasks: () => Pick<Tasks, "clusterChanged" | "rolloutChanged">;
  readonly owned: OwnedObjects;
  readonly lookAgain: (namespace: string) => void;
}

// oxlint-disable-next-line typescript/explicit-module-boundary-types -- it names each informer
export function createInformers(
  { budget, ...common }: Pick<ObjectWatchOptions, "client" | "log" | "budget">,
  clusterResource: ClusterResource,
  { store, rollouts, tasks, owned, lookAgain }: Listeners,
) {
  const stubs = { budget, ownerOf: namespaceOf, memoryUseOf };
  const policies = (kind: PolicyKind): Informer<PolicyObject> =>
    new Informer<PolicyObject>({
      ...common,
      ...policiesOf(kind, store),
      stubs: { ...stubs, memoryUseOf: memoryUseOfPolicy, stub: stubPolicy },
    });
  return {
    policies: { HookPolicy: policies("HookPolicy"), ClusterHookPolicy: policies("ClusterHookPolicy") },
    clusters: new Informer<Cluster>({
      ...common,
      resource: async (signal) => await clusterResource.resolve(signal),
      project: (raw, known) => compactCluster(viewCluster(raw, known)),
      stubs: { ...stubs, memoryUseOf: memoryUseOfCluster, stub: stubCluster },
      onChange: ({ old, new: cluster }) => {
        owned.clusterChanged(old, cluster);
        tellEach([store(), rollouts(), tasks()], (each) => each.clusterChanged(old, cluster));
      },
    }),
    overrides: new Informer<HookOverride>({
      ...common,
      resource: OVERRIDES,
      project: storedOverride,
      stubs: { ...stubs, stub: stubOverride },
      isSame: isSameSpec,
      onChange: ({ key, new: object }) => store().overrideChanged(key, object),
    }),
    rollouts: new Informer<HookRollout>({
      ...common,
      resource: ROLLOUTS,
      project: storedRollout,
      stubs: { ...stubs, memoryUseOf: ({ spec, ...rest }) => withCompiled(spec, rest), stub: stubRollout },
      isSame: isSameSpec,
      onChange: ({ key, old, new: object }) => {
        store().rolloutChanged(key, object);
        rollouts().rolloutChanged(key, object);
        tasks().rolloutChanged(old, object);
      },
    }),
    namespaces: new Informer<StoredNamespace>({
      ...common,
      resource: NAMESPACES,
      metadataOnly: true,
      project: viewNamespace,
      stubs: { ...stubs, ownerOf: ({ metadata }) => metadata.name, stub: stubNamespace },
      onChange: ({ key }) => {
        store().namespaceChanged(key);
        rollouts().membersChanged();
        lookAgain(key);
      },
    }),
  };
}

function policiesOf(
  kind: PolicyKind,
  store: Listeners["store"],
): Pick<InformerOptions<PolicyObject>, "resource" | "project" | "isSame" | "onChange"> {
  return {
    resource: POLICY_RESOURCES[kind],
    project: (raw) => storedPolicy(kind, raw),
    isSame: isSameSpec,
    onChange: ({ old, new: object }) => {
      const { namespace, name = "" } = (object ?? old)?.metadata ?? {};
      store().policyChanged(policyKey(kind, namespace, name), object);
    },
  };
}

/** Measured: what a compiled spec takes without its expressions. */
const [COMPILED_BYTES, COMPILED_SHARE] = [2048, 1.5];

/** Measured: what a policy remembers of one Cluster that it holds, and of each of its rules and gates for it. */
const [HELD_BYTES, RULE_BYTES, GATE_BYTES] = [1024, 416, 13];

/** Without the status, whose rows count with the Clusters, so that a status which becomes shorter frees nothing. */
export function memoryUseOfPolicy({ kind, spec, metadata }: PolicyObject): MemoryUse {
  return {
    ...withCompiled(spec, { metadata }),
    bytesForEachCluster: kind === "HookPolicy" ? bytesForCluster(listOf(fieldsOf(spec)["rules"])) : 0,
  };
}

function bytesForCluster(rules: readonly unknown[]): number {
  const gates = rules.flatMap((rule) => listOf(fieldsOf(rule)["until"]));
  return HELD_BYTES + RULE_BYTES * rules.length + GATE_BYTES * gates.length;
}

function withCompiled(spec: unknown, rest: object): MemoryUse {
  const { bytes, ...nothing } = memoryUseOf({ ...rest, spec });
  // A spec that is too large is not compiled.
  const expressions = sizeErrors(spec).length > 0 ? 0 : expressionBytes(spec);
  return { ...nothing, bytes: bytes + COMPILED_BYTES + COMPILED_SHARE * sizeOf(spec) + expressions };
}

/** Packed variables must not be unpacked to be counted. */
function memoryUseOfCluster({ topology, ...cluster }: Cluster): MemoryUse {
  const { className = "", version = "" } = topology ?? {};
  const packed = topology && (packedVariables(topology) ?? topology.variables);
  return { ...memoryUseOf([cluster, className, version, packed]), clusters: 1 };
}

function namespaceOf({ metadata }: { readonly metadata: ObjectMeta }): string {
  return metadata.namespace ?? PLATFORM;
}

export function nameInformers(informers: Informers): readonly InformerEntry[] {
  return [
    [resourceName(POLICY_RESOURCES.HookPolicy), informers.policies.HookPolicy],
    [resourceName(POLICY_RESOURCES.ClusterHookPolicy), informers.policies.ClusterHookPolicy],
    ["clusters.cluster.x-k8s.io", informers.clusters],
    ["namespaces", informers.namespaces],
    [resourceName(OVERRIDES), informers.overrides],
    [resourceName(ROLLOUTS), informers.rollouts],
  ];
}

/** Calls are answered before these have synced: decisions do not depend on them, or say that they are not known. */
export function withoutWaiting(
  policies: Policies,
  registrations: InformerEntry[1],
  tasks: InformerEntry[1],
): readonly InformerEntry[] {
  const own: InformerEntry = ["extensionconfigs.runtime.cluster.x-k8s.io", registrations];
  return mayHaveTasks(policies) ? [own, [resourceName(HOOK_TASKS), tasks]] : [own];
}

type Policies = Readonly<Record<PolicyKind, Pick<Informer<PolicyObject>, "synced" | "list">>>;

/** Whether a policy names a ServiceAccount, which only tasks need, or may do so. */
export function mayHaveTasks(policies: Policies): boolean {
  return Object.values(policies).some(
    (informer) => !informer.synced() || informer.list().some(({ spec }) => namesAccount(spec)),
  );
}
