/** The controller's ports to the API server, implemented with the Kubernetes adapter. */

import {
  GROUP,
  type HookOverride,
  type HookOverrideStatus,
  type HookRollout,
  type HookRolloutStatus,
} from "../api/hook-policy.ts";
import type { LiveReader } from "../decisions/live-reads.ts";
import type { PolicyApi } from "../status/policy-api.ts";
import type { RolloutApi } from "../rollouts/rollout-api.ts";
import type { OverrideEntry } from "../memory/override-set.ts";
import type { PolicyEntry } from "../memory/policy-entry.ts";
import type { KubeClient, ListOptions } from "../kube/kube-client.ts";
import type { List } from "../kube/paged-list.ts";
import { servesResource } from "../kube/api-discovery.ts";
import { definitionUid, isDefinitionChanging } from "../kube/definitions.ts";
import {
  isConflict,
  isForbidden,
  isNotFound,
  isThrottled,
  isTooLarge,
  KubeError,
  unlessNotFound,
} from "../kube/kube-error.ts";
import type { ClusterResource } from "../kube/cluster-resource.ts";
import type { KubeObject, Resource } from "../kube/resource.ts";
import { NAMESPACES, OVERRIDES, POLICY_RESOURCES, ROLLOUTS } from "../kube/resources.ts";
import { storedOverride, storedPolicy, storedRollout } from "../memory/stored-views.ts";
import { viewCluster, viewIdentity, viewNamespace } from "../views/cluster.ts";
import type { ObjectMeta } from "../api/meta.ts";
import type { ObjectQuery } from "../policy/policy.ts";
import { MAX_READ_BYTES, type ObjectInformers } from "../objects/object-informers.ts";
import type { HolderRef, PolicyKind, PolicyRef } from "../policy/policy-ref.ts";
import { TaskStore } from "../tasks/task-store.ts";
import type { PolicyObject } from "../memory/policy-set.ts";
import { viewMember } from "../views/too-large.ts";
import { presentMetadata, type PresentClustersOptions } from "./present-clusters.ts";

export interface ApiServerOptions extends Pick<PresentClustersOptions, "memory" | "patienceMs"> {
  readonly client: KubeClient;
  readonly clusters: ClusterResource;
  readonly objects: ObjectInformers;
}

export class ApiServerAdapter implements LiveReader, PolicyApi, RolloutApi {
  readonly #client: KubeClient;
  readonly #clusters: ClusterResource;
  readonly #objects: ObjectInformers;
  readonly #tasks: TaskStore;
  readonly #present: PresentClustersOptions;

  constructor({ client, clusters, objects, ...memory }: ApiServerOptions) {
    this.#client = client;
    this.#clusters = clusters;
    this.#objects = objects;
    this.#tasks = new TaskStore(client);
    this.#present = {
      ...memory,
      version: async () => await client.version(clusters.current),
      list: async (signal) => (await this.#metadata(clusters.current, { signal }, viewMember)).items,
    };
  }

  /** The apiVersion in which Clusters are served. */
  get clusterVersion(): string {
    const { group, version } = this.#clusters.current;
    return `${group}/${version}`;
  }

  async policies(
    kind: PolicyKind,
    namespace: string | undefined,
    at?: string,
  ): ReturnType<LiveReader["policies"]> {
    const scope = namespace !== undefined && { namespace };
    return await this.#metadata(POLICY_RESOURCES[kind], { ...scope, at, maxBytes: MAX_READ_BYTES });
  }

  async rollouts(at: string): ReturnType<LiveReader["rollouts"]> {
    return (await this.#metadata(ROLLOUTS, { at })).items;
  }

  async definition(kind: HolderRef["kind"]): ReturnType<LiveReader["definition"]> {
    return await definitionUid(this.#client, kind === "HookRollout" ? ROLLOUTS : POLICY_RESOURCES[kind]);
  }

  async #metadata(
    resource: Resource,
    options: Omit<ListOptions<ObjectMeta>, "project"> = {},
    view: (metadata: unknown) => ObjectMeta = viewIdentity,
  ): Promise<List<ObjectMeta>> {
    return await this.#client.list(resource, {
      ...options,
      metadataOnly: true,
      project: ({ metadata }) => view(metadata),
    });
  }

  async cluster(namespace: string, name: string): ReturnType<LiveReader["cluster"]> {
    return viewCluster(await this.#client.get(this.#clusters.current, { namespace, name }));
  }

  async namespace(name: string): ReturnType<LiveReader["namespace"]> {
    return viewNamespace(await this.#client.get(NAMESPACES, { name }, { metadataOnly: true }));
  }

  async namespaces(): ReturnType<LiveReader["namespaces"]> {
    const { items } = await this.#client.list(NAMESPACES, { metadataOnly: true, project: viewNamespace });
    return items;
  }

  async overrides(): ReturnType<LiveReader["overrides"]> {
    return (await this.#metadata(OVERRIDES)).items;
  }

  async objects({ kind, namespace, ...read }: ObjectQuery): ReturnType<LiveReader["objects"]> {
    return await this.#objects.read(kind, namespace, read);
  }

  readonly tasks: LiveReader["tasks"] = async (...of) => await this.#tasks.ofCluster(...of);

  async findPolicy({ kind, namespace = "", name }: PolicyRef): Promise<ObjectMeta | undefined> {
    const key = { name, ...(kind === "HookPolicy" && { namespace }) };
    const read = this.#client.get(POLICY_RESOURCES[kind], key, { metadataOnly: true });
    return (await unlessNotFound(read))?.metadata;
  }

  readonly clockAheadMs: LiveReader["clockAheadMs"] = (...of) => this.#client.serverClock.aheadMs(...of);

  async findNamespace(name: string): ReturnType<PolicyApi["findNamespace"]> {
    return await unlessNotFound(this.namespace(name));
  }

  async hasCluster(namespace: string, labelSelector: string): ReturnType<PolicyApi["hasCluster"]> {
    const resource = this.#clusters.current;
    try {
      return await this.#client.hasAny(resource, { namespace, labelSelector });
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
    if (isDefinitionChanging(error)) return "DefinitionChanging";
    if (isTooLarge(error)) return "TooLarge";
    return error instanceof KubeError ? "ApiServerUnavailable" : "InternalError";
  }

  readonly isConflict = isConflict;

  async getPolicy({ compiled: { ref } }: PolicyEntry): Promise<PolicyObject | undefined> {
    const read = this.#client.get(POLICY_RESOURCES[ref.kind], ref);
    return await unlessGone(read, (raw) => storedPolicy(ref.kind, raw));
  }

  async getOverride({ compiled }: OverrideEntry): Promise<HookOverride | undefined> {
    return await unlessGone(this.#client.get(OVERRIDES, compiled), storedOverride);
  }

  async replaceOverrideStatus(
    { object }: OverrideEntry,
    status: HookOverrideStatus,
  ): Promise<HookOverride | undefined> {
    return await unlessGone(
      this.#client.replaceStatus(OVERRIDES, withStatus(object, status)),
      storedOverride,
    );
  }

  async replacePolicyStatus(
    { object }: PolicyEntry,
    status: PolicyObject["status"],
  ): Promise<PolicyObject | undefined> {
    const written = this.#client.replaceStatus(POLICY_RESOURCES[object.kind], withStatus(object, status));
    return await unlessGone(written, (raw) => storedPolicy(object.kind, raw));
  }

  async setFinalizers(
    object: PolicyObject,
    finalizers: readonly string[],
  ): Promise<PolicyObject | undefined> {
    const { resourceVersion, uid } = object.metadata;
    const patch = { metadata: { uid, resourceVersion, finalizers } };
    const patched = this.#client.mergePatch(POLICY_RESOURCES[object.kind], object.metadata, patch);
    return await unlessGone(patched, (raw) => storedPolicy(object.kind, raw));
  }

  async getRollout(name: string): ReturnType<RolloutApi["getRollout"]> {
    return await unlessGone(this.#client.get(ROLLOUTS, { name }), storedRollout);
  }

  readonly members: RolloutApi["members"] = async () => await presentMetadata(this.#present);

  async findCluster(namespace: string, name: string): ReturnType<RolloutApi["findCluster"]> {
    return await unlessNotFound(this.cluster(namespace, name));
  }

  async replaceRolloutStatus(
    object: HookRollout,
    status: HookRolloutStatus,
  ): ReturnType<RolloutApi["replaceRolloutStatus"]> {
    return await unlessGone(this.#client.replaceStatus(ROLLOUTS, withStatus(object, status)), storedRollout);
  }
}

async function unlessGone<T>(
  answer: Promise<KubeObject>,
  view: (raw: KubeObject) => T,
): Promise<T | undefined> {
  const raw = await unlessNotFound(answer);
  return raw && view(raw);
}

/** The API server ignores the rest of a status update (apiextensions-apiserver: status_strategy.go, PrepareForUpdate). */
function withStatus({ apiVersion, kind, metadata }: KubeObject, status: unknown): KubeObject {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    ...(apiVersion !== undefined && { apiVersion }),
    ...(kind !== undefined && { kind }),
    metadata: { name, uid, resourceVersion, ...(namespace !== undefined && { namespace }) },
    status,
  };
}
