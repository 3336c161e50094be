/**
 * Holds Clusters for HookRollouts after every policy has released them. A hold from memory costs no read; a slot is taken in
 * the API server (rollout-claims.ts).
 */

import { isDeepStrictEqual } from "node:util";
import { compareText } from "../lib/compare-text.ts";
import type { HookRollout } from "../api/hook-policy.ts";
import type { Cluster, ObjectMeta } from "../api/meta.ts";
import type { HookCall, HookName } from "../api/runtime-hooks.ts";
import { isAwaited } from "../operations/hook-lives.ts";
import { clusterKey } from "../views/cluster.ts";
import type { Lifted } from "../memory/memory.ts";
import { type ObjectDemand, type ObjectQuery, SOON_SECONDS } from "../policy/policy.ts";
import type { DecisionRequest, LiveWorld, Situation, World } from "../policy/world.ts";
import { joinMessages } from "../policy/message.ts";
import { policyName } from "../policy/policy-ref.ts";
import { promotionQueries, stageDemands } from "./promotion.ts";
import {
  type Confirmation,
  type Decision,
  holdsBesideTasks,
  type OverriddenRollout,
  withoutLastTasks,
} from "../policy/decision.ts";
import { asksMidway, isBegun, ownClaim } from "./claim.ts";
import { closedFor, type Hold, holdOf, holdText, liftingOverride } from "./hold.ts";
import { memberOf, readsNamespaceLabels, targetOf } from "./member.ts";
import { operationOf } from "../operations/beginnings.ts";
import { type CompiledStage, compileRollout } from "./rollout.ts";
import { clockProblem } from "../lib/clock-skew.ts";
import type { RolloutApi } from "./rollout-api.ts";
import { type ClaimTerms, RolloutClaims } from "./rollout-claims.ts";
import { type StagePlace, RolloutEntry, type RolloutWorld } from "./rollout-entry.ts";
import { RolloutSnapshot } from "./rollout-snapshot.ts";
import { mayReplace } from "../views/versions.ts";
import { stubRollout } from "../memory/stored-views.ts";
import { withinBudget } from "../lib/signals.ts";

export interface RolloutsOptions extends RolloutWorld {
  readonly api: RolloutApi;
  /** The status of the rollout may have to change: reconcile it. */
  readonly enqueue: (name: string) => void;
  /** The kinds of objects that gates look at may have changed. */
  readonly onDemands: () => void;
  /** Memory is behind: read the rollouts again. */
  readonly onStale: () => void;
  /** The reason label of a failed read in metrics. */
  readonly reasonOf: (error: unknown) => string;
}

const NOT_IN_MEMORY: Confirmation = { ok: false, reason: "RolloutNotInMemory" };

export class Rollouts {
  readonly #options: RolloutsOptions;
  readonly #entries = new Map<string, RolloutEntry>();
  readonly #claims: RolloutClaims;
  /** What came last of a rollout, if it is older than memory: the informer is behind, or etcd was restored. */
  readonly #older = new Map<string, HookRollout>();

  constructor(options: RolloutsOptions) {
    const { compile = compileRollout } = options;
    this.#options = options;
    this.#claims = new RolloutClaims({
      ...options,
      compiledOf: (object) => this.get(object.metadata.name)?.compiledOf(object) ?? compile(object),
      readsNamespaces: (name) => {
        const rollout = this.get(name)?.rollout;
        return rollout === undefined || readsNamespaceLabels(rollout);
      },
      onStored: (object) => this.learn(object),
    });
  }

  get(name: string): RolloutEntry | undefined {
    return this.#entries.get(name);
  }

  /** In the order of names, which is the order of claims. */
  entries(): readonly RolloutEntry[] {
    return [...this.#entries.values()];
  }

  rolloutChanged(name: string, object: HookRollout | undefined): void {
    const entry = this.#entries.get(name);
    this.#older.delete(name);
    // The informer also brings this replica's own writes. They are not compared by version: a stub has that of the whole object,
    // and an edit of the CRD, which may show or hide fields, changes none.
    if (object !== undefined && isDeepStrictEqual(object, entry?.object)) return;
    if (object === undefined) this.#entries.delete(name);
    else if (entry === undefined) this.#add(name, object);
    // The informer can be behind the answers to this replica's own writes.
    else if (mayReplace(object.metadata, entry.object.metadata)) entry.set(object);
    else this.#older.set(name, object);
    this.#options.onDemands();
    this.#options.enqueue(name);
  }

  /**
   * Takes an answer of the API server, of which the informer may keep only a stub. Only the informer adds rollouts: an answer
   * may arrive after a newer copy, after the deletion, or after another rollout of the name. `undefined`: it is not in memory.
   */
  learn(object: HookRollout): RolloutEntry | undefined {
    const { metadata } = object;
    const entry = this.get(metadata.name);
    if (entry?.object.metadata.uid !== metadata.uid) return undefined;
    const { object: known } = entry;
    if (mayReplace(metadata, known.metadata))
      this.rolloutChanged(metadata.name, known.tooLarge === true ? stubRollout(object) : object);
    return entry;
  }

  #add(name: string, object: HookRollout): void {
    this.#entries.set(name, new RolloutEntry(object, { ...this.#options, entries: () => this.entries() }));
    const sorted = [...this.#entries].toSorted(([a], [b]) => compareText(a, b));
    this.#entries.clear();
    for (const [key, entry] of sorted) this.#entries.set(key, entry);
  }

  clusterChanged(before: Cluster | undefined, now: Cluster | undefined): void {
    if (before !== undefined && before.metadata.uid !== now?.metadata.uid)
      for (const { queue } of this.#entries.values()) queue.forget(before.metadata.uid);
    this.membersChanged();
  }

  /** A Cluster has changed, or a Namespace: its labels select Clusters. */
  membersChanged(): void {
    for (const [name, entry] of this.#entries) {
      entry.membersChanged();
      this.#options.enqueue(name);
    }
  }

  /**
   * The decision from memory after every policy: a hold costs no read. Notes for the order of the rollouts that Cluster API
   * calls about the Cluster; nothing else remembers the call.
   */
  ask(request: DecisionRequest, given: Decision): Decision {
    if (holdsBesideTasks(given) || this.#entries.size === 0 || given.basis === undefined) return given;
    const decision = this.#withOverridden(request, given);
    const hold = this.#holdFromMemory(request, given.basis.world);
    if (hold !== undefined) return held(decision, hold);
    // Tasks that a person lets run again need a slot again, although nothing is due.
    const { cluster } = given.basis.world;
    const needsSlot = decision.holds && this.lacksSlot(cluster, request.call.hook);
    return needsSlot ? { ...decision, tasksDue: true } : decision;
  }

  /** Whether a rollout that selects the Cluster has no slot for it, as memory knows. */
  lacksSlot(cluster: Cluster, hook: HookName): boolean {
    const now = this.#options.now();
    const places = this.#placesOf(hook, this.#options.decider.worldOf(cluster), now);
    return places.some(({ entry }) => !hasSlot(entry, cluster, now));
  }

  /**
   * For what takes no slot: a deletion with a Cascade, before which Cluster API's call has to have taken those that `snapshot`
   * shows, and a release that has just taken them.
   */
  withoutSlot(request: DecisionRequest, given: Decision, snapshot?: RolloutSnapshot): Confirmation {
    if (holdsBesideTasks(given) || given.basis === undefined) return { ok: true, decision: given };
    if (snapshot?.isInMemory() === false) return NOT_IN_MEMORY;
    const { call } = request;
    const { world, since } = given.basis;
    const decision = this.#withOverridden(request, given);
    const now = this.#options.now();
    for (const place of this.#placesOf(call.hook, world, now)) {
      if (snapshot?.hasSlotsOf(place.entry.rollout.name) === false) return NOT_IN_MEMORY;
      const hold =
        closedSince(place, { world, call, now, since: since ?? now }) ??
        (hasSlot(place.entry, world.cluster, now) ? undefined : holdIn(place, "NotItsTurn"));
      if (hold !== undefined) return { ok: true, decision: held(decision, hold) };
    }
    return { ok: true, decision };
  }

  #placesOf(hook: HookName, world: LiveWorld, now: Date): readonly StagePlace[] {
    return this.#holding(hook, world, now).flatMap((entry) => livePlaceOf(entry, world) ?? []);
  }

  /** Those that an override lifts for an operation that proceeds; not those in which the Cluster has a slot all the same. */
  lifted(world: Pick<World, "cluster" | "overrides">, hook: HookName): readonly Lifted[] {
    return this.#overridden(world, hook).map(({ rollout: name, overriddenBy }) => ({
      holder: policyName({ kind: "HookRollout", name }),
      override: overriddenBy,
    }));
  }

  #withOverridden({ call }: DecisionRequest, decision: Decision): Decision {
    const { world } = decision.basis ?? {};
    const overriddenRollouts = world === undefined ? [] : this.#overridden(world, call.hook);
    return overriddenRollouts.length === 0 ? decision : { ...decision, overriddenRollouts };
  }

  #overridden(world: Pick<World, "cluster" | "overrides">, hook: HookName): readonly OverriddenRollout[] {
    if (world.overrides.length === 0) return [];
    const now = this.#options.now();
    const { cluster } = world;
    return this.entries().flatMap((entry) => {
      const { rollout } = entry;
      if (entry.hook !== hook || rollout.mode !== "Enforce" || hasSlot(entry, cluster, now)) return [];
      const override = liftingOverride(rollout, { world, call: { hook }, now });
      if (override === undefined || entry.member(cluster) === undefined) return [];
      return [{ rollout: rollout.name, overriddenBy: override.name }];
    });
  }

  /** For a confirmation of a call that begins now; `undefined`: no rollout holds this hook. */
  snapshot(hook: HookName): RolloutSnapshot | undefined {
    if (operationOf(hook) === undefined) return undefined;
    const before = new Map(this.entries().map(({ object: { metadata } }) => [metadata.name, metadata]));
    const known = (name: string): ObjectMeta | undefined => this.#entries.get(name)?.object.metadata;
    return new RolloutSnapshot(before, known, ({ name }, restored) => {
      if (restored) this.#restore(name);
      this.#options.onStale();
    });
  }

  /** What the informer brought is what the API server has, although memory had a later version. */
  #restore(name: string): void {
    const older = this.#older.get(name);
    if (older === undefined) return;
    this.#older.delete(name);
    this.#entries.get(name)?.set(older);
    this.#options.onDemands();
    this.#options.enqueue(name);
  }

  /**
   * Takes a slot of every rollout that selects the Cluster, once the decision is confirmed as of `snapshot`. Never rejects:
   * without a slot that was stored within `budgetMs`, the Cluster stays held. A slot that is stored too late is there when Cluster API
   * asks again.
   */
  async takeSlots(
    request: DecisionRequest,
    given: Decision,
    snapshot: RolloutSnapshot | undefined,
    budgetMs: number,
  ): Promise<Confirmation> {
    if (holdsBesideTasks(given) || snapshot === undefined) return { ok: true, decision: given };
    // A rollout that memory no longer has would hold nothing below, and a policy may hold in its place.
    if (given.basis === undefined || !snapshot.isInMemory()) return NOT_IN_MEMORY;
    const { api, reasonOf, onError } = this.#options;
    const { world, since } = given.basis;
    const decision = this.#withOverridden(request, given);
    const now = this.#options.now();
    const wrongClock = clockProblem(api, now, snapshot.began);
    if (wrongClock !== undefined) return { ok: false, reason: wrongClock };
    const forTasks = given.holds;
    const situation = { world, call: request.call, now, since: since ?? now, forTasks };
    try {
      return await withinBudget<Confirmation>(budgetMs, { ok: false, reason: "Timeout" }, async () => {
        const hold = await this.#take(situation, snapshot);
        return { ok: true, decision: hold === undefined ? decision : held(decision, hold) };
      });
    } catch (error) {
      const reason = reasonOf(error);
      if (reason === "Forbidden") onError(error); // only a user can grant what is missing
      return { ok: false, reason };
    }
  }

  #holdFromMemory({ call, cluster: requested }: DecisionRequest, world: World): Hold | undefined {
    const cluster = this.#options.clusters.get(clusterKey(requested));
    if (cluster === undefined || cluster.metadata.uid !== requested.metadata.uid) return undefined;
    const known = { ...world, cluster };
    const entries = this.#holding(call.hook, known, this.#options.now());
    const holds = entries.map((entry) => this.#holdOf(entry, known, call));
    return holds.find((hold) => hold !== undefined) ?? this.#withoutTurn(entries, cluster);
  }

  /** Why the rollout holds the Cluster, apart from turns. */
  #holdOf(entry: RolloutEntry, world: World, call: HookCall): Hold | undefined {
    const { rollout, status, hook } = entry;
    const { now, served } = this.#options;
    const { cluster } = world;
    if (cluster.tooLarge === true) return holdOf(rollout, { reason: "TooLarge" });
    const place = entry.placeOf(cluster, entry.member(cluster));
    if (place === undefined) return undefined;
    // Also before its stage opens, so that the order decides about the first slots, not who calls first.
    if (place.unknown === undefined && entry.asked(cluster.metadata.uid)) this.#options.enqueue(rollout.name);
    const closed = closedFor(rollout, status, place, { world, call, now: now() });
    if (closed !== undefined) return closed.reason === "NamespaceUnknown" ? soon(closed) : closed;
    if (hasSlot(entry, cluster, now()) || isAwaited(hook, cluster, served)) return undefined;
    return soon(holdIn(place, "NotItsTurn"));
  }

  /** `entries`: nothing else holds the Cluster in any of them. */
  #withoutTurn(entries: readonly RolloutEntry[], cluster: Cluster): Hold | undefined {
    const waiting: StagePlace[] = [];
    for (const entry of entries) {
      const place = entry.placeOf(cluster, entry.member(cluster));
      if (place === undefined || hasSlot(entry, cluster, this.#options.now())) continue;
      // Until it is its turn in one rollout, it is not in those that follow by name.
      if (waiting.length === 0) entry.opened(cluster.metadata.uid);
      if (!hasTurn(place)) waiting.push(place);
    }
    const [first] = waiting;
    // If the first has a slot for it, it waits for one of another rollout.
    const found = waiting.find((place) => !place.entry.hasRoom(place)) ?? first;
    return found && holdIn(found, "NoFreeSlot");
  }

  /** `undefined`: the Cluster may begin. */
  async #take(situation: ClaimSituation, snapshot: RolloutSnapshot): Promise<Hold | undefined> {
    const { call, world, now } = situation;
    // A rollout that was not there at the moment of the snapshot did not hold then.
    const entries = this.#holding(call.hook, world, now).filter(
      ({ rollout }) => snapshot.get(rollout.name) !== undefined,
    );
    // Each is asked before one of them gives a slot, which another one would leave unused.
    const hold = entries.map((entry) => this.#refusal(entry, situation)).find((each) => each !== undefined);
    if (hold !== undefined) return hold;
    for (const entry of entries) {
      const refused = await this.#takeFrom(entry, situation, snapshot);
      if (refused !== undefined) return refused;
    }
    return undefined;
  }

  #refusal(entry: RolloutEntry, situation: ClaimSituation): Hold | undefined {
    const { cluster } = situation.world;
    const place = livePlaceOf(entry, situation.world);
    if (place === undefined) return undefined;
    // Only a Cluster that shows that it waits gets a slot, or else a caller could use up all slots.
    if (!isAwaited(situation.call.hook, cluster, this.#options.served))
      return soon(holdIn(place, "NotItsTurn"));
    const closed = closedSince(place, situation);
    if (closed !== undefined) return closed;
    // A claim that ended during the reads leaves its slot to the Cluster whose turn it is. A Cluster that memory does not
    // have yet has no turn.
    if (hasSlot(entry, cluster, situation.now) || hasTurn(place)) return undefined;
    return soon(holdIn(place, "NoFreeSlot"));
  }

  async #takeFrom(
    entry: RolloutEntry,
    situation: ClaimSituation,
    snapshot: RolloutSnapshot,
  ): Promise<Hold | undefined> {
    const { rollout } = entry;
    const { forTasks } = situation;
    const { cluster, namespace } = situation.world;
    const target = targetOf(rollout.operation, cluster);
    const candidateOf: ClaimTerms["candidateOf"] = (current, status) => {
      const found = memberOf(current, cluster, namespace);
      if (found === undefined) return undefined;
      const { served } = this.#options;
      const begun = isBegun({ rollout: current, status }, { ...found, target }, served);
      const unmarked = asksMidway(current, served) && !found.marked;
      return { ...found, stage: found.stage, target, forTasks, begun, unmarked };
    };
    const renews = hasSlot(entry, cluster, situation.now);
    const taken = await this.#claims.take(rollout.name, { candidateOf, snapshot, renews });
    if (taken.begins) return undefined;
    const hold = holdOf(rollout, taken);
    return taken.reason === "NotConfirmed" ? soon(hold) : hold;
  }

  /** The objects that the gates of stages look at for this Cluster. */
  objectQueries(request: DecisionRequest, world: LiveWorld, now: Date): readonly ObjectQuery[] {
    const { call } = request;
    return this.#stagesOf(request, world, now).flatMap((stage) =>
      promotionQueries(stage, { world, call, now }),
    );
  }

  readsNamespaces(request: DecisionRequest, world: LiveWorld): boolean {
    const stages = this.#stagesOf(request, world, this.#options.now());
    return stages.some(({ until }) => until.some((gate) => gate.readsNamespaces === true));
  }

  /** The stages of the Cluster, whose gates must be met before a call about it proceeds. */
  #stagesOf({ call, admission }: DecisionRequest, world: LiveWorld, now: Date): readonly CompiledStage[] {
    if (admission === true) return [];
    return this.#holding(call.hook, world, now).flatMap(
      ({ rollout }) => memberOf(rollout, world.cluster, world.namespace)?.stage ?? [],
    );
  }

  demands(): readonly ObjectDemand[] {
    return this.entries().flatMap(({ rollout }) => stageDemands(rollout));
  }

  #holding(
    hook: HookName,
    { cluster, overrides }: Pick<LiveWorld, "cluster" | "overrides">,
    now: Date,
  ): readonly RolloutEntry[] {
    const situation = { world: { cluster, overrides }, call: { hook }, now };
    return this.entries().filter(
      (entry) =>
        entry.hook === hook &&
        entry.rollout.mode === "Enforce" &&
        liftingOverride(entry.rollout, situation) === undefined,
    );
  }
}

interface LiveSituation extends Situation {
  readonly world: LiveWorld;
  /** A moment before the reads of the world. */
  readonly since: Date;
}

interface ClaimSituation extends LiveSituation {
  /** Only tasks hold the Cluster, and need the slot first. */
  readonly forTasks: boolean;
}

function livePlaceOf(entry: RolloutEntry, { cluster, namespace }: LiveWorld): StagePlace | undefined {
  return entry.placeOf(cluster, memberOf(entry.rollout, cluster, namespace));
}

/** When the reads began, too: a window may have opened since, and what was read may have changed. */
function closedSince(place: StagePlace, situation: LiveSituation): Hold | undefined {
  const { rollout, status } = place.entry;
  const [before, now] = [situation.since, situation.now].map((at) =>
    closedFor(rollout, status, place, { ...situation, now: at }),
  );
  return before ?? now;
}

function hasSlot({ rollout, status }: RolloutEntry, cluster: Cluster, now: Date): boolean {
  const { metadata } = cluster;
  const target = targetOf(rollout.operation, cluster);
  return ownClaim({ rollout, status, now }, { metadata, target }) !== undefined;
}

function hasTurn({ entry, metadata }: StagePlace): boolean {
  entry.refresh();
  return entry.queue.mayBegin(metadata.uid);
}

/** Only because it has no slot. */
function holdIn({ entry, stage }: StagePlace, reason: "NotItsTurn" | "NoFreeSlot"): Hold {
  return holdOf(entry.rollout, { reason, stage: stage?.name });
}

function held(released: Decision, hold: Hold): Decision {
  const { tasksDue, ...decision } = withoutLastTasks(released);
  const { rollout, reason, stage, retryAfterSeconds } = hold;
  const tasks = decision.trace.flatMap(({ holds, rules }) =>
    holds ? rules.flatMap((rule) => rule.tasks ?? []) : [],
  );
  const isDue = tasksDue === true && tasks.some((task) => task.state === "Due" && task.begins === "First");
  return {
    ...decision,
    ...(isDue && { tasksDue }),
    verdict: "Blocked",
    holds: true,
    retryAfterSeconds,
    message: joinMessages([{ text: holdText(hold) }]),
    rollout: { rollout, reason, ...(stage !== undefined && { stage }) },
  };
}

/** For a Cluster that does not show yet that it waits, because a call proves nothing. */
function soon(hold: Hold): Hold {
  return { ...hold, retryAfterSeconds: Math.min(SOON_SECONDS, hold.retryAfterSeconds) };
}
