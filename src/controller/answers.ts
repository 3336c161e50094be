/** Answers from memory, to calls and to confirmations that have just read the objects. Answers do not change it. */

import type { ServedHooks } from "../api/hookcatalog.ts";
import type { Cluster } from "../api/meta.ts";
import type { HookName } from "../api/runtimehooks.ts";
import { answering } from "../operations/operation.ts";
import { hasEnded } from "../operations/ended.ts";
import { denying, warning } from "../policy/admission.ts";
import { asRequested, clusterKey, isNewer, newerThan } from "../policy/cluster.ts";
import { decide, matches } from "../policy/decide.ts";
import type { Decision } from "../policy/decision.ts";
import { NOTHING_READ } from "../policy/objects.ts";
import { objectQueries } from "../policy/gates/objectqueries.ts";
import { type CompiledPolicy, type ObjectQuery, selectsNamespaces } from "../policy/policy.ts";
import type { LiveWorld } from "../policy/world.ts";
import { type Memory, worldOf } from "./memory.ts";
import type { Candidates } from "./policyset.ts";
import type { DecisionRequest } from "./ports.ts";
import type { Standing } from "../policy/standing.ts";
import { standing } from "./standingdecision.ts";

export class Answers {
  readonly #memory: Memory;
  readonly #served: ServedHooks;

  constructor(memory: Memory, served: ServedHooks) {
    this.#memory = memory;
    this.#served = served;
  }

  /** Whether the Cluster is in memory, so that no caller has invented its names. */
  knows(cluster: Cluster): boolean {
    return this.#known(cluster) !== undefined;
  }

  /** When the pending operation of the Cluster began; `undefined`: the Cluster shows none. */
  firstAsked(clusterUID: string, hook: HookName): Date | undefined {
    return this.#memory.operations.get(clusterUID, hook)?.firstAsked;
  }

  /**
   * The decision from memory, which it does not change. The request tells the operation, and describes the Cluster only
   * where memory has no such Cluster.
   */
  ask({ call, cluster: requested }: DecisionRequest, now: Date): Decision {
    const known = this.#known(requested);
    const cluster = known ?? asRequested(requested);
    const { compiled } = this.#candidates(cluster);
    const operation = known && this.#memory.operations.get(known.metadata.uid, call.hook);
    const world = worldOf(this.#memory, cluster, answering(operation, call, now));
    const source = { source: "Memory" as const, ...(known === undefined && { fromRequest: true as const }) };
    return { ...decide(compiled, world, call, now), basis: { ...source, world, policies: compiled } };
  }

  /**
   * The refusal of a request, if its object alone is reason enough: whatever else memory knows may be out of date.
   * `undefined`: a confirmation decides.
   */
  refusal({ call, cluster }: DecisionRequest, now: Date): Decision | undefined {
    const policies = denying(this.#candidates(cluster).compiled);
    const world = worldOf(this.#memory, cluster);
    const alone = { cluster, namespace: undefined, objects: NOTHING_READ, overrides: world.overrides };
    if (decide(policies, alone, call, now).verdict !== "Blocked") return undefined;
    const decision = decide(policies, world, call, now);
    return decision.holds ? { ...decision, basis: { source: "Memory", world, policies } } : undefined;
  }

  /** The policies' warnings about a request that none refuses. */
  warnings({ call, cluster }: DecisionRequest, now: Date): Decision {
    const policies = warning(this.#candidates(cluster).compiled);
    return decide(policies, worldOf(this.#memory, cluster), call, now);
  }

  #candidates({ metadata: { namespace } }: Cluster): Candidates {
    return this.#memory.policies.candidates(namespace ?? "");
  }

  #known(requested: Cluster): Cluster | undefined {
    const known = this.#memory.clusters.get(clusterKey(requested));
    return known?.metadata.uid === requested.metadata.uid ? known : undefined;
  }

  /**
   * Tells whether ask() would decide the same again: it would if all inputs of `decision` are still identical.
   * `undefined`: unknown.
   */
  standing({ call, cluster }: DecisionRequest, decision: Decision, at: Date): Standing | undefined {
    const known = this.#known(cluster);
    const operation = known && this.#memory.operations.get(known.metadata.uid, call.hook);
    if (decision.rollout !== undefined) return undefined;
    // Only a remembered operation stays identical from one call to the next.
    if (known === undefined || operation === undefined || decision.basis?.world.state !== operation)
      return undefined;
    return standing(this.#memory, known, { decision, call, at });
  }

  /**
   * The decision for objects that were just read; if memory has learnt more since, memory must release, too. What is
   * remembered of the operation counts only if the Cluster that was read shows the same operation. Nothing is stored,
   * because a caller chooses when these reads are made.
   */
  decideLive({ call, admission }: DecisionRequest, live: LiveWorld, now: Date): Decision {
    const { clusters, namespaces, objects } = this.#memory;
    const namespace = live.cluster.metadata.namespace ?? "";
    const { compiled: all } = this.#candidates(live.cluster);
    const compiled = admission === true ? denying(all) : all;
    const remembered = this.#memory.operations.get(live.cluster.metadata.uid, call.hook);
    const isOver = remembered !== undefined && hasEnded(remembered, live.cluster, this.#served);
    const operation = isOver ? undefined : remembered;
    const state = answering(operation, call, now);
    const world = { ...live, state };
    const basis = { source: "ApiServer" as const, world, policies: compiled };
    const decision = decide(compiled, world, call, now);
    if (decision.holds) return { ...decision, basis };
    const learnt = {
      cluster:
        admission === true ? live.cluster : newerThan(live.cluster, clusters.get(clusterKey(live.cluster))),
      namespace: live.namespace && newerThan(live.namespace, namespaces.get(namespace)),
      namespaces: () => namespaces.list(),
      overrides: live.overrides,
      objects,
      state,
    };
    return { ...decide(compiled, learnt, call, now), basis };
  }

  /** The API server has newer copies than memory, so memory has not seen what happened in between. */
  isBehind({ cluster, namespace }: LiveWorld): boolean {
    const { clusters, namespaces } = this.#memory;
    const known = clusters.get(clusterKey(cluster));
    const knownNamespace = namespaces.get(cluster.metadata.namespace ?? "");
    return (
      (known !== undefined && isNewer(cluster, known)) ||
      (namespace !== undefined && knownNamespace !== undefined && isNewer(namespace, knownNamespace))
    );
  }

  /**
   * The objects that policies which may hold the operation look at; Audit policies hold nothing, so theirs are left out.
   * Throws if the search takes too many steps, and then nothing is confirmed.
   */
  objectQueries(request: DecisionRequest, world: LiveWorld, now: Date): readonly ObjectQuery[] {
    const queries = objectQueries(this.#holding(request, world), world, request.call, now);
    if (queries === undefined) throw new Error("to find the objects that gates look at takes too many steps");
    return queries;
  }

  /** Whether those policies look into selected namespaces, so that all Namespaces have to be read. */
  selectsNamespaces(request: DecisionRequest, world: LiveWorld): boolean {
    return this.#holding(request, world).some((policy) => selectsNamespaces(policy, request.call.hook));
  }

  #holding({ admission }: DecisionRequest, world: LiveWorld): readonly CompiledPolicy[] {
    const { compiled } = this.#candidates(world.cluster);
    const speaking = admission === true ? denying(compiled) : compiled;
    return speaking.filter((policy) => policy.mode === "Enforce" && matches(policy, world) !== "no");
  }
}
