/** Decides about calls from memory, and about confirmations from what they have just read. No decision changes memory. */

import { isDeepStrictEqual } from "node:util";
import type { Cluster, StoredNamespace } from "../api/meta.ts";
import { HOUR_MS } from "../lib/duration.ts";
import { namespacedName } from "../lib/keys.ts";
import type { HookCall, HookName } from "../api/runtime-hooks.ts";
import { answering, hasEnded, operationKey } from "../operations/operation.ts";
import { shownSince } from "../operations/call.ts";
import { isWanted } from "../operations/hook-lives.ts";
import { denying, warningOnly } from "../policy/admission.ts";
import { asRequested, clusterKey } from "../views/cluster.ts";
import { isNewer, newerThan } from "../views/versions.ts";
import { decide, matches, objectQueries } from "../policy/decide.ts";
import {
  type Decision,
  holdsBesideTasks,
  readsCall,
  type ValidityCheck,
  validUntil,
  withoutLastTasks,
} from "../policy/decision.ts";
import { NOTHING_READ } from "../policy/watched-objects.ts";
import { CAUSE, type CompiledPolicy, type ObjectQuery, readsNamespaces } from "../policy/policy.ts";
import { policyName } from "../policy/policy-ref.ts";
import { targetVersion } from "../api/target-version.ts";
import type { DecisionRequest, LiveWorld, OperationState, Override, World } from "../policy/world.ts";
import type { CallShare } from "../turns/turns.ts";
import { type Memory, type Revisions, type StoreOptions, withSettings, worldOf } from "./memory.ts";

/** Shared by all Clusters that memory does not have, because a caller may invent names. No namespace is called "?". */
const NOT_IN_MEMORY: CallShare = { namespace: "?", cluster: "" };

/** Shared by all reviews of Clusters that memory does not have, if any client can send reviews. */
const INVENTED_REVIEWS: CallShare = { namespace: "? reviews", cluster: "" };

type Options = Pick<StoreOptions, "served" | "settings"> & Partial<Pick<StoreOptions, "log">>;

/** One bug can concern every rule: after so many, none is told again within an hour. */
const MAX_TOLD = 1000;

export class Decider {
  readonly #memory: Memory;
  readonly #revisions: Pick<Revisions, "of">;
  readonly #options: Options;
  /** The rules whose errors were logged: a decision is made again at each call. */
  readonly #told = new Set<string>();
  #forgotAt = -Infinity;

  constructor(memory: Memory, revisions: Pick<Revisions, "of">, options: Options) {
    this.#memory = memory;
    this.#revisions = revisions;
    this.#options = options;
  }

  /** The core has no logger, so what it caught is logged here. */
  #decide(...inputs: Parameters<typeof decide>): Decision {
    const decision = decide(...inputs);
    for (const { policy, rules } of decision.trace)
      for (const { rule, gates, [CAUSE]: cause } of rules) {
        const error = cause ?? gates.find((gate) => CAUSE in gate)?.[CAUSE];
        if (error !== undefined) this.#tellBug(`${policyName(policy)}, rule ${rule}`, error);
      }
    return decision;
  }

  #tellBug(rule: string, error: unknown): void {
    if (this.#told.has(rule)) return;
    if (this.#told.size >= MAX_TOLD) {
      if (performance.now() - this.#forgotAt < HOUR_MS) return;
      this.#forgotAt = performance.now();
      this.#told.clear();
    }
    this.#told.add(rule);
    this.#options.log?.error("Failed to evaluate a rule", { rule, error });
  }

  /** Whose turn a call or a review uses, so that no caller who invents names delays the Clusters that exist. */
  shareOf({ cluster, admission, fromApiServer }: Omit<DecisionRequest, "call">): CallShare {
    const { namespace = "", name } = cluster.metadata;
    if (this.known(cluster) !== undefined) return { namespace, cluster: name };
    if (admission === undefined) return NOT_IN_MEMORY;
    // A Cluster that is being created: neither invented calls nor the creations of other namespaces may delay it.
    return fromApiServer === true ? { namespace: `${namespace} creations`, cluster: name } : INVENTED_REVIEWS;
  }

  /** The Cluster of a call or a review in memory; `undefined`: a caller may have invented its names. */
  known(requested: Cluster): Cluster | undefined {
    const known = this.#memory.clusters.get(clusterKey(requested));
    return known?.metadata.uid === requested.metadata.uid ? known : undefined;
  }

  /** When the pending operation of the Cluster began; `undefined`: the Cluster shows none. */
  firstAsked(clusterUID: string, hook: HookName): Date | undefined {
    return this.#memory.operations.get(clusterUID, hook)?.firstAsked;
  }

  /** Whether anything of a policy holds it but tasks, which may need the slots of rollouts first. */
  policiesHold({ metadata: { namespace = "", uid } }: Cluster, hook: HookName): boolean {
    const key = operationKey(uid, hook);
    const { entries } = this.#memory.policies.candidates(namespace);
    return entries.some(({ held }) => {
      const row = held.get(key);
      return row !== undefined && holdsBesideTasks(row);
    });
  }

  overridesOf(cluster: Cluster): readonly Override[] {
    return this.#memory.overrides.ofCluster(cluster);
  }

  worldOf(cluster: Cluster): World {
    return worldOf(this.#memory, cluster);
  }

  /**
   * The decision from memory. The request names the operation; it describes the Cluster only if memory does not have it.
   */
  ask({ call, cluster: requested }: DecisionRequest, now: Date): Decision {
    const known = this.known(requested);
    const cluster = known ?? asRequested(requested);
    const policies = this.#policies(cluster);
    const operation = known && this.#memory.operations.get(known.metadata.uid, call.hook);
    const world = worldOf(this.#memory, cluster, answering(operation, call, now));
    const fromRequest = known === undefined && { fromRequest: true as const };
    const basis = { source: "Memory" as const, ...fromRequest, world, policies };
    return { ...this.#decide(policies, world, call, now), basis };
  }

  /**
   * The refusal of a request, if its object alone is reason enough: whatever else memory knows may be out of date.
   * `undefined`: a confirmation decides.
   */
  refusal({ call, cluster, cascade }: DecisionRequest, now: Date): Decision | undefined {
    if (cascade !== undefined) return undefined; // other rules than those that deny count, too
    const policies = denying(this.#policies(cluster));
    const world = worldOf(this.#memory, cluster);
    const alone = { cluster, namespace: undefined, objects: NOTHING_READ, overrides: world.overrides };
    if (this.#decide(policies, alone, call, now).verdict !== "Blocked") return undefined;
    const decision = this.#decide(policies, world, call, now);
    return decision.holds ? { ...decision, basis: { source: "Memory", world, policies } } : undefined;
  }

  /** The policies' warnings about a request that none refuses. */
  warnings({ call, cluster }: DecisionRequest, now: Date): Decision {
    const policies = warningOnly(this.#policies(cluster));
    return this.#decide(policies, worldOf(this.#memory, cluster), call, now);
  }

  #policies({ metadata: { namespace } }: Cluster): readonly CompiledPolicy[] {
    return this.#memory.policies.candidates(namespace ?? "").compiled;
  }

  /** A review is about the policies that deny at admission, or about all that would hold a deletion with a Cascade. */
  #policiesFor({ admission, cascade }: DecisionRequest, cluster: Cluster): readonly CompiledPolicy[] {
    const policies = this.#policies(cluster);
    return admission === true && cascade === undefined ? denying(policies) : policies;
  }

  /**
   * Returns a function that tells whether ask() would still decide as it has just done at `at`, because no input of `decision`
   * has changed. `undefined`: unknown.
   */
  validity(
    { call, cluster: requested }: DecisionRequest,
    decision: Decision,
    at: Date,
  ): ValidityCheck | undefined {
    const cluster = this.known(requested);
    if (cluster === undefined || decision.rollout !== undefined || hasTasks(decision)) return undefined;
    const { namespace = "", name, uid } = cluster.metadata;
    const operation = this.#memory.operations.get(uid, call.hook);
    // Only a remembered operation stays identical from one call to the next.
    if (operation === undefined || decision.basis?.world.state !== operation) return undefined;
    const compiled = this.#policies(cluster);
    const until = validUntil(compiled, decision);
    if (until === undefined) return undefined;
    // Kept for each Cluster, so it has no Date and no key of its own, which would make it half as large again.
    const since = at.getTime();
    const revision = this.#revisionOf(namespace, name);
    const isValid = (now: Date): boolean =>
      now.getTime() >= since &&
      (until === "Never" || now < until) &&
      this.#revisionOf(namespace, name) === revision;
    const isShown = targetVersion(operation.call) === targetVersion(call);
    return Object.assign(isValid, { forAnyCall: isShown && !readsCall(compiled, decision) });
  }

  #revisionOf(namespace: string, name: string): number {
    return this.#revisions.of(namespace, namespacedName({ namespace, name }));
  }

  /**
   * The decision for objects that were just read, none before `since`. A release needs a decision for that moment, too: a
   * window may have opened after what was read has changed. It needs a third one, for what memory has learnt since.
   * What is remembered of the operation counts only if the Cluster that was read shows the same operation. Nothing is
   * stored, because a caller chooses when these reads are made.
   */
  decideLive(request: DecisionRequest, live: LiveWorld, now: Date, since = now): Decision {
    const { operations, policies: known } = this.#memory;
    const { call } = request;
    const { cluster } = live;
    const policies = this.#policiesFor(request, cluster);
    const remembered = operations.get(cluster.metadata.uid, call.hook);
    const isOver = remembered !== undefined && hasEnded(remembered, cluster, this.#options.served);
    const stateAt = (at: Date): OperationState => answering(isOver ? undefined : remembered, call, at);
    const { readers } = known;
    const worldAt = (at: Date) => ({ ...live, state: stateAt(at), readers });
    const world = worldAt(now);
    const basis = { source: "ApiServer" as const, world, policies, since };
    const atFirst = this.#decide(policies, worldAt(since), call, since);
    const decision = isFirmHold(atFirst) ? atFirst : this.#decide(policies, world, call, now);
    if (isFirmHold(decision)) return { ...decision, basis };
    const learnt = this.#learnt(request, world);
    const last = this.#decide(policies, learnt, call, now);
    const found = agreed([atFirst, decision], last);
    if (found.tasksDue !== true && call.hook !== "AfterControlPlaneInitialized") return { ...found, basis };
    const shown = this.#asShown(call, learnt.cluster);
    const rendered = this.#decide(policies, { ...learnt, rendersTasks: true }, shown, now);
    return { ...agreed([atFirst, decision, last], rendered), basis };
  }

  /**
   * The call as tasks follow from it: who reaches the port can write a call, and tasks act. What the Cluster shows counts, and
   * the settings only if the ExtensionConfigs have the same; they may be newer than memory. Before Cluster API 1.14, most
   * upgrades do not show the version that they come from: it is that of the call.
   */
  #asShown({ settings = {}, ...call }: HookCall, cluster: Cluster): HookCall {
    const shown = { ...call, ...shownSince(call, cluster) };
    const told = withSettings(shown, cluster.metadata.namespace ?? "", this.#options);
    return isDeepStrictEqual(told.settings, settings) ? told : shown;
  }

  /** What was read, with what memory has learnt since. */
  #learnt({ admission }: DecisionRequest, read: World): World {
    const { clusters, namespaces, objects } = this.#memory;
    const { cluster, namespace } = read;
    const known = namespaces.get(cluster.metadata.namespace ?? "");
    return {
      ...read,
      objects,
      cluster: admission === true ? cluster : newest(cluster, clusters.get(clusterKey(cluster))),
      namespace: namespace && newest(namespace, known),
      namespaces,
    };
  }

  /**
   * Whether the Cluster that was read, and a newer one in memory, want the operation. A review contains the request for it,
   * so its Cluster does not show it yet.
   */
  isWanted({ call, admission }: DecisionRequest, cluster: Cluster): boolean {
    const newer = newest(cluster, this.#memory.clusters.get(clusterKey(cluster)));
    return admission === true || [cluster, newer].every((each) => isWanted(call, each, this.#options.served));
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
   * The objects that the policies look at which may hold the operation; an Audit policy holds nothing. Throws if the search
   * takes too many steps, so that nothing is confirmed.
   */
  objectQueries(request: DecisionRequest, world: LiveWorld, now: Date): readonly ObjectQuery[] {
    const queries = objectQueries(this.#holding(request, world), world, request.call, now);
    if (queries === undefined) throw new Error("finding the objects that gates look at takes too many steps");
    return queries;
  }

  /** Where the HookTasks are on which the decision depends. */
  taskNamespaces(request: DecisionRequest, world: LiveWorld): readonly string[] {
    if (request.admission === true && request.cascade === undefined) return [];
    const accounts = this.#holding(request, world)
      .filter(({ rules }) =>
        rules.some(({ tasks, hooks }) => tasks.length > 0 && hooks.has(request.call.hook)),
      )
      .flatMap(({ account }) => account?.namespace ?? []);
    return [...new Set(accounts)];
  }

  /** Whether other Namespaces than the Cluster's own matter to these policies, so that all have to be read. */
  readsNamespaces(request: DecisionRequest, world: LiveWorld): boolean {
    return this.#holding(request, world).some((policy) => readsNamespaces(policy, request.call.hook));
  }

  #holding(request: DecisionRequest, world: LiveWorld): readonly CompiledPolicy[] {
    return this.#policiesFor(request, world.cluster).filter(
      (policy) => policy.mode === "Enforce" && matches(policy, world) !== "no",
    );
  }
}

/** Whether the hold needs no confirmation, because neither a release nor the beginning of a task follows from it. */
function isFirmHold(decision: Decision): boolean {
  return holdsBesideTasks(decision) && decision.tasksDue !== true;
}

/**
 * The last of the decisions about one call, as far as the others agree: none of them holds what is released, and nothing but
 * tasks holds it in all of them if its last tasks begin.
 */
function agreed(others: readonly Decision[], last: Decision): Decision {
  const holding = others.find(({ holds }) => holds);
  if (!last.holds) return holding === undefined ? last : withoutLastTasks(holding);
  return others.every(({ waitsForTasks }) => waitsForTasks === true) ? last : withoutLastTasks(last);
}

/** What is said about tasks is not among what a validity check compares. */
function hasTasks({ trace }: Decision): boolean {
  return trace.some(({ rules }) => rules.some(({ tasks }) => tasks !== undefined));
}

/** What is too large for memory is too large for a release, whatever a read shows. */
function newest<T extends Cluster | StoredNamespace>(live: T, known: T | undefined): T {
  return known?.tooLarge === true && known.metadata.uid === live.metadata.uid
    ? known
    : newerThan(live, known);
}
