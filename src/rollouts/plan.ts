/** The timeline of a rollout from its present state on, if every operation takes `durationMs` and none fails. */

import { namespacedName } from "../lib/keys.ts";
import type { HookRolloutStatus, RolloutAwaited, RolloutClaim } from "../api/hook-policy.ts";
import { after, earliest, readTimestamp } from "../lib/instant.ts";
import { neededOf, needsNone } from "./limit.ts";
import type { Member } from "./member.ts";
import { inOrder, orderNumber, type OrderPlace, takeTurns, LastTurns } from "./order.ts";
import type { CompiledRollout, CompiledStage } from "./rollout.ts";
import { Slots } from "./slots.ts";

export interface PlanMember {
  readonly member: Member;
  /**
   * Done: it has succeeded. Stands: it does not succeed without help, or its failure is tolerated. Absent: it runs, or
   * begins as soon as it may.
   */
  readonly state?: "Done" | "Stands";
  /** Its operation ends, and it has not succeeded then: its workers are pinned to an older version. */
  readonly staysBehind?: boolean;
  /** The earliest instant from `at` on at which every policy releases it; `undefined`: time alone does not. */
  readonly releasedFrom: (at: Date) => Date | undefined;
  /** The same, if users have done what is up to them: its windows still hold; `undefined`: for ever. */
  readonly opensFrom?: (at: Date) => Date | undefined;
  /** The windows and other unmet gates from `at` until it is released, in words. */
  readonly heldBy?: (at: Date) => string;
}

export interface PlannedCluster {
  readonly namespace: string;
  readonly name: string;
  readonly stage: string;
  readonly begins: Date;
  readonly ends: Date;
  /** Whether a user has to act first; the plan assumes that this is done. */
  readonly needsAction: boolean;
  /** Whether it runs already. */
  readonly runs: boolean;
  /** See PlanMember. */
  readonly staysBehind?: true;
}

/** How far a stage is; without it, no Cluster has succeeded yet. */
export interface StageProgress {
  /** How many have to succeed. */
  readonly needed: number;
  readonly succeeded: number;
  /** Since when enough have succeeded. */
  readonly soakingSince?: Date | undefined;
  /** It had passed, and does not soak again. */
  readonly closed?: boolean | undefined;
  readonly passed: boolean;
  readonly waitsFor: readonly RolloutAwaited[];
}

export interface PlanWish {
  readonly from: Date;
  /** The assumed time of every operation. */
  readonly durationMs: number;
  /** By the name of the stage. */
  readonly progress?: ReadonlyMap<string, StageProgress>;
  readonly status?: Pick<HookRolloutStatus, "running" | "failed" | "turns">;
  /** Of which percentages are; default: the members that the plan is about. */
  readonly all?: readonly Member[];
  /** Nothing more begins: too many have failed. */
  readonly halted?: boolean;
}

export interface PlannedStage {
  readonly name: string;
  readonly clusters: number;
  readonly succeeded: number;
  readonly passed: boolean;
  /** Absent: none of its Clusters runs, or begins at an instant that is known. */
  readonly begins?: Date;
  readonly ends?: Date;
  /** When the next stage may begin; absent if it has passed, never passes, or the time is unknown. */
  readonly passes?: Date;
  /** The Clusters without which it does not pass, and that waiting alone does not bring there. */
  readonly waitsFor: readonly RolloutAwaited[];
}

/** A time in which Clusters with a free slot wait for windows or clocks. */
export interface PlannedPause {
  readonly from: Date;
  readonly to: Date;
  readonly by: string;
  /** How many begin after it, or later. */
  readonly clusters: number;
}

export interface Plan {
  readonly from: Date;
  readonly stages: readonly PlannedStage[];
  /** In the order in which they begin. */
  readonly clusters: readonly PlannedCluster[];
  /** Members that wait for those that a stage waits for, or for the end of a halt: at no instant that is known. */
  readonly later: readonly string[];
  /** Members that never begin, because no stage selects them or they never get a slot. */
  readonly never: readonly string[];
  /** Those of them that no stage selects. */
  readonly noStage: readonly string[];
  /** Those of them whose windows are never open together. */
  readonly closed: readonly string[];
  /** Members of which waiting alone brings none there, and that no stage waits for: failed, unhealthy or paused. */
  readonly stand: readonly string[];
  readonly pauses: readonly PlannedPause[];
}

interface WaitingMember extends OrderPlace {
  readonly each: PlanMember;
  readonly stage: CompiledStage;
  /** When the policies release it; absent until it could begin, and if they never do. */
  notBefore?: Date | undefined;
  /** The end of its latest pause. */
  heldUntil?: Date;
  needsAction: boolean;
  isClosed: boolean;
}

export function planRollout(rollout: CompiledRollout, members: readonly PlanMember[], wish: PlanWish): Plan {
  const { from } = wish;
  const walk = new Walk(rollout, members, wish);
  for (let at: Date | undefined = from; at !== undefined; at = walk.next(at)) walk.begin(at);
  return walk.plan(from);
}

class Walk {
  readonly #rollout: CompiledRollout;
  readonly #wish: PlanWish;
  readonly #slots: Slots;
  readonly #sizes = new Map<string, number>();
  readonly #planned: PlannedCluster[] = [];
  readonly #running = new Map<string, Date>();
  readonly #turns: LastTurns;
  #waiting: readonly WaitingMember[];
  readonly #unplaced: readonly string[];
  readonly #standing: readonly string[];
  readonly #staysBehind: ReadonlySet<string>;
  readonly #pauses = new Map<string, PlannedPause>();

  constructor(rollout: CompiledRollout, members: readonly PlanMember[], wish: PlanWish) {
    const { from, status = {} } = wish;
    this.#rollout = rollout;
    this.#wish = wish;
    this.#turns = new LastTurns(status.turns);
    const all = members.map(({ member }) => member);
    this.#slots = new Slots(rollout, status, wish.all ?? all, from);
    for (const claim of status.running ?? []) this.#runs(claim);
    const todo = members.filter(
      ({ member, state }) => state === undefined && !this.#running.has(member.metadata.uid),
    );
    this.#waiting = inOrder(todo.flatMap((each) => this.#placeOf(each) ?? []));
    this.#standing = members.filter(({ state }) => state === "Stands").map(nameOf);
    this.#staysBehind = new Set(members.filter(({ staysBehind }) => staysBehind === true).map(nameOf));
    this.#unplaced = todo.filter(({ member }) => member.stage === undefined).map(nameOf);
    for (const { stage } of all) if (stage !== undefined) this.#sizes.set(stage.name, this.#size(stage) + 1);
  }

  /** An operation that takes longer than assumed ends at once. */
  #runs({ uid, namespace, name, stage = "", claimedAt }: RolloutClaim): void {
    const { from, durationMs } = this.#wish;
    const begins = readTimestamp(claimedAt) ?? from;
    const ends = new Date(Math.max(from.getTime(), after(begins, durationMs).getTime()));
    this.#running.set(uid, ends);
    this.#planned.push({ namespace, name, stage, begins, ends, needsAction: false, runs: true });
  }

  /** Ends the operations that are over at this instant, and begins those that may begin. */
  begin(at: Date): void {
    for (const [uid, ends] of this.#running) {
      if (ends > at) continue;
      this.#running.delete(uid);
      this.#slots.free(uid);
    }
    if (this.#wish.halted === true) return;
    const begun = new Set<WaitingMember>();
    takeTurns(this.#waiting, this.#turns, (waiting) => {
      if (!this.#begins(waiting, at)) return false;
      begun.add(waiting);
      return true;
    });
    this.#waiting = this.#waiting.filter((waiting) => !begun.has(waiting));
  }

  #placeOf(each: PlanMember): WaitingMember | undefined {
    const { metadata, stage } = each.member;
    if (stage === undefined) return undefined;
    const { orderLabelKey, stages } = this.#rollout;
    return {
      each,
      stage,
      needsAction: false,
      isClosed: false,
      group: stages.indexOf(stage),
      order: orderNumber(metadata.labels, orderLabelKey),
      namespace: metadata.namespace ?? "",
      since: 0,
      name: metadata.name,
    };
  }

  #begins(waiting: WaitingMember, at: Date): boolean {
    const { each, stage } = waiting;
    const { metadata, values } = each.member;
    const room = { stage, values };
    if (waiting.isClosed || !this.#isOpen(stage, at) || !this.#slots.hasRoom(room)) return false;
    if (waiting.notBefore === undefined || waiting.notBefore <= at) lookAhead(waiting, at);
    if (waiting.notBefore === undefined) return false;
    if (waiting.notBefore > at) {
      this.#pause(waiting, at, waiting.notBefore);
      return false;
    }
    this.#slots.take(metadata.uid, room);
    const ends = after(at, this.#wish.durationMs);
    this.#running.set(metadata.uid, ends);
    const { namespace = "", name } = metadata;
    const { needsAction } = waiting;
    this.#planned.push({ namespace, name, stage: stage.name, begins: at, ends, needsAction, runs: false });
    return true;
  }

  /** Adds the wait of a Cluster that has room; it is looked at again at each instant until it begins. */
  #pause(waiting: WaitingMember, from: Date, to: Date): void {
    if (waiting.heldUntil?.getTime() === to.getTime()) return;
    waiting.heldUntil = to;
    const by = waiting.each.heldBy?.(from) ?? "";
    const key = `${to.getTime()} ${by}`;
    const known = this.#pauses.get(key);
    const since = known === undefined || from < known.from ? from : known.from;
    this.#pauses.set(key, { from: since, to, by, clusters: (known?.clusters ?? 0) + 1 });
  }

  /** The next instant at which something can change; `undefined`: nothing can. */
  next(at: Date): Date | undefined {
    if (this.#waiting.length === 0) return undefined;
    const passes = this.#rollout.stages.map((stage) => this.#passes(stage));
    const released = this.#waiting.map(({ notBefore }) => notBefore);
    const edges = [...this.#running.values(), ...passes, ...released];
    return earliest(edges.filter((edge) => edge !== undefined && edge > at));
  }

  plan(from: Date): Plan {
    const stages = this.#rollout.stages.map((stage): PlannedStage => {
      const own = this.#planned.filter((each) => each.stage === stage.name);
      const { succeeded, passed, waitsFor } = this.#progressOf(stage);
      const passes = this.#passes(stage);
      const begins = earliest(own.map((each) => each.begins));
      const ends = own
        .map((each) => each.ends)
        .toSorted(byTime)
        .at(-1);
      return {
        name: stage.name,
        clusters: this.#size(stage),
        succeeded,
        passed,
        ...(begins !== undefined && { begins }),
        ...(ends !== undefined && { ends }),
        ...(passes !== undefined && !passed && { passes }),
        waitsFor: passes === undefined ? waitsFor : [],
      };
    });
    const closed = this.#waiting.filter(({ isClosed }) => isClosed).map(({ each }) => nameOf(each));
    const rest = this.#waiting.filter(({ isClosed }) => !isClosed).map(({ each }) => nameOf(each));
    const waits = this.#wish.halted === true || stages.some(({ waitsFor }) => waitsFor.length > 0);
    const never = [...this.#unplaced, ...closed, ...(waits ? [] : rest)];
    const named = new Set(stages.flatMap(({ waitsFor }) => waitsFor.map(namespacedName)));
    return {
      from,
      stages,
      clusters: this.#planned.map((each) => (this.#isBehind(each) ? { ...each, staysBehind: true } : each)),
      later: waits ? rest : [],
      never,
      noStage: this.#unplaced,
      closed,
      stand: this.#standing.filter((name) => !named.has(name)),
      pauses: [...this.#pauses.values()],
    };
  }

  #progressOf(stage: CompiledStage): StageProgress {
    const needed = neededOf(stage.minSucceeded, this.#size(stage));
    const nothing = { needed, succeeded: 0, passed: false, waitsFor: [] };
    return this.#wish.progress?.get(stage.name) ?? nothing;
  }

  #isOpen(stage: CompiledStage, at: Date): boolean {
    const { stages } = this.#rollout;
    return stages.slice(0, stages.indexOf(stage)).every((before) => {
      const passes = this.#passes(before);
      return passes !== undefined && passes <= at;
    });
  }

  /** When enough Clusters have succeeded and the soak is over; `undefined`: not known yet, or never. */
  #passes(stage: CompiledStage): Date | undefined {
    const { needed, succeeded, soakingSince, closed, passed } = this.#progressOf(stage);
    const { from } = this.#wish;
    if (passed) return from;
    if (this.#size(stage) === 0 && !needsNone(stage.minSucceeded)) return undefined;
    const ends = this.#planned
      .filter((each) => each.stage === stage.name && !this.#isBehind(each))
      .map((each) => each.ends);
    const enough =
      succeeded >= needed ? (soakingSince ?? from) : ends.toSorted(byTime)[needed - succeeded - 1];
    return enough && after(enough, closed === true ? 0 : stage.minSuccessTimeMs);
  }

  #isBehind(planned: PlannedCluster): boolean {
    return this.#staysBehind.has(namespacedName(planned));
  }

  #size({ name }: CompiledStage): number {
    return this.#sizes.get(name) ?? 0;
  }
}

/** When the policies release it from `at` on. */
function lookAhead(waiting: WaitingMember, at: Date): void {
  const { each } = waiting;
  const released = each.releasedFrom(at);
  waiting.needsAction ||= released === undefined;
  waiting.notBefore = released ?? (each.opensFrom === undefined ? at : each.opensFrom(at));
  waiting.isClosed = waiting.notBefore === undefined;
}

function byTime(a: Date, b: Date): number {
  return a.getTime() - b.getTime();
}

function nameOf({ member: { metadata } }: PlanMember): string {
  return namespacedName(metadata);
}
