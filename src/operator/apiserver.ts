/** What the controller needs from the API server, said with the Kubernetes adapter. */

import {
  CLUSTER_HOOK_POLICIES,
  type ClusterHookPolicy,
  GROUP,
  HOOK_OVERRIDES,
  HOOK_POLICIES,
  type HookOverride,
  type HookOverrideStatus,
  type HookPolicy,
  VERSION,
} from "../api/hookpolicy.ts";
import { CLUSTER_API_GROUP } from "../api/meta.ts";
import type { LiveReader } from "../controller/livereads.ts";
import type { OverrideEntry } from "../controller/overrideset.ts";
import type { PolicyEntry, PolicyObject } from "../controller/policyset.ts";
import type { PolicyWriter } from "../controller/reconciler.ts";
import type { KubeClient } from "../kube/kubeclient.ts";
import { servesResource } from "../kube/apidiscovery.ts";
import {
  isConflict,
  isForbidden,
  isNotFound,
  isThrottled,
  KubeError,
  unlessNotFound,
} from "../kube/kubeerror.ts";
import type { KubeObject, Resource } from "../kube/resource.ts";
import { viewCluster, viewMetadata, viewNamespace } from "../policy/cluster.ts";
import type { ObjectQuery, PolicyKind } from "../policy/policy.ts";
import type { ObjectInformers } from "../objects/objectinformers.ts";

export const POLICY_RESOURCES: Readonly<Record<PolicyKind, Resource>> = {
  HookPolicy: { group: GROUP, version: VERSION, plural: HOOK_POLICIES, kind: "HookPolicy", namespaced: true },
  ClusterHookPolicy: {
    group: GROUP,
    version: VERSION,
    plural: CLUSTER_HOOK_POLICIES,
    kind: "ClusterHookPolicy",
    namespaced: false,
  },
};

export const OVERRIDES: Resource = {
  group: GROUP,
  version: VERSION,
  plural: HOOK_OVERRIDES,
  kind: "HookOverride",
  namespaced: false,
};

export const NAMESPACES: Resource = {
  group: "",
  version: "v1",
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
};

/** Newest first; Cluster API ≤ 1.10 serves only v1beta1. */
const CLUSTER_VERSIONS = ["v1beta2", "v1beta1"];

/** Which version of Cluster this API server serves; asked again before each list, because upgrades change it. */
export class ClusterResource {
  readonly #client: KubeClient;
  #version = "v1beta2";

  constructor(client: KubeClient) {
    this.#client = client;
  }

  get current(): Resource {
    return {
      group: CLUSTER_API_GROUP,
      version: this.#version,
      plural: "clusters",
      kind: "Cluster",
      namespaced: true,
    };
  }

  async resolve(signal: AbortSignal): Promise<Resource> {
    const group = await this.#client.getPath(`/apis/${CLUSTER_API_GROUP}`, { signal });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- metav1.APIGroup, from the API server itself
    const { versions = [] } = group as { versions?: readonly { readonly version: string }[] };
    const served = CLUSTER_VERSIONS.find((wanted) => versions.some(({ version }) => version === wanted));
    this.#version = served ?? versions[0]?.version ?? this.#version;
    return this.current;
  }
}

/** A stored policy as the controller keeps it: without managedFields and whatever else is not used. */
export function viewPolicy(kind: PolicyKind, raw: KubeObject): PolicyObject {
  const view = {
    apiVersion: `${GROUP}/${VERSION}`,
    kind,
    metadata: viewMetadata(raw.metadata),
    spec: raw.spec,
    status: raw.status,
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- whether the spec is one is for compilePolicy to say
  return view as HookPolicy | ClusterHookPolicy;
}

export function viewOverride(raw: KubeObject): HookOverride {
  const view = {
    apiVersion: `${GROUP}/${VERSION}`,
    kind: "HookOverride",
    metadata: viewMetadata(raw.metadata),
    spec: raw.spec,
    status: raw.status,
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- whether the spec is one is for compileOverride to say
  return view as HookOverride;
}

export class ApiServer implements LiveReader, PolicyWriter {
  readonly #client: KubeClient;
  readonly #clusters: ClusterResource;
  readonly #objects: ObjectInformers;

  constructor(client: KubeClient, clusters: ClusterResource, objects: ObjectInformers) {
    this.#client = client;
    this.#clusters = clusters;
    this.#objects = objects;
  }

  async policies(kind: PolicyKind, namespace: string | undefined): ReturnType<LiveReader["policies"]> {
    const options = { metadataOnly: true, ...(namespace !== undefined && { namespace }) };
    const { items } = await this.#client.list(POLICY_RESOURCES[kind], options);
    return items.map(({ metadata }) => viewMetadata(metadata));
  }

  async cluster(namespace: string, name: string): ReturnType<LiveReader["cluster"]> {
    return viewCluster(await this.#client.get(this.#clusters.current, { namespace, name }));
  }

  async namespace(name: string): ReturnType<LiveReader["namespace"]> {
    return viewNamespace(await this.#client.get(NAMESPACES, { name }, { metadataOnly: true }));
  }

  async overrides(): ReturnType<LiveReader["overrides"]> {
    const { items } = await this.#client.list(OVERRIDES, { metadataOnly: true });
    return items.map(({ metadata }) => viewMetadata(metadata));
  }

  async objects({ kind, namespace, whole, name }: ObjectQuery): ReturnType<LiveReader["objects"]> {
    return await this.#objects.read(kind, namespace, { whole, ...(name !== undefined && { name }) });
  }

  clockAheadMs(now: Date, since: number): number | undefined {
    return this.#client.serverClock.aheadMs(now, since);
  }

  async findNamespace(name: string): ReturnType<PolicyWriter["findNamespace"]> {
    return await unlessNotFound(this.namespace(name));
  }

  async clustersOf(namespace: string): ReturnType<PolicyWriter["clustersOf"]> {
    const resource = this.#clusters.current;
    try {
      const { items } = await this.#client.list(resource, { namespace, metadataOnly: true });
      return items.map((each) => viewCluster(each));
    } catch (error) {
      if (!isNotFound(error) || (await servesResource(this.#client, resource, GROUP))) throw error;
      return undefined;
    }
  }

  reasonOf(error: unknown): string {
    if (isForbidden(error)) return "Forbidden";
    if (isNotFound(error)) return "NotFound";
    if (isThrottled(error)) return "Throttled";
    if (isConflict(error)) return "Conflict";
    return error instanceof KubeError ? "ApiServerUnavailable" : "InternalError";
  }

  async get({ compiled: { ref } }: PolicyEntry): Promise<PolicyObject | undefined> {
    const read = this.#client.get(POLICY_RESOURCES[ref.kind], ref);
    return await unlessGone(read, (raw) => viewPolicy(ref.kind, raw));
  }

  async getOverride({ compiled }: OverrideEntry): Promise<HookOverride | undefined> {
    return await unlessGone(this.#client.get(OVERRIDES, compiled), viewOverride);
  }

  async replaceOverrideStatus(
    { object }: OverrideEntry,
    status: HookOverrideStatus,
  ): Promise<HookOverride | undefined> {
    return await unlessGone(this.#client.replaceStatus(OVERRIDES, { ...object, status }), viewOverride);
  }

  async replaceStatus(
    { object }: PolicyEntry,
    status: PolicyObject["status"],
  ): Promise<PolicyObject | undefined> {
    const written = this.#client.replaceStatus(POLICY_RESOURCES[object.kind], { ...object, status });
    return await unlessGone(written, (raw) => viewPolicy(object.kind, raw));
  }

  async setFinalizers(
    { object }: PolicyEntry,
    finalizers: readonly string[],
  ): Promise<PolicyObject | undefined> {
    const { resourceVersion, uid } = object.metadata;
    const patch = { metadata: { uid, resourceVersion, finalizers } };
    const patched = this.#client.mergePatch(POLICY_RESOURCES[object.kind], object.metadata, patch);
    return await unlessGone(patched, (raw) => viewPolicy(object.kind, raw));
  }

  isConflict(error: unknown): boolean {
    return isConflict(error);
  }
}

async function unlessGone<T>(
  answer: Promise<KubeObject>,
  view: (raw: KubeObject) => T,
): Promise<T | undefined> {
  const raw = await unlessNotFound(answer);
  return raw && view(raw);
}
