/** The timeline of a rollout if every operation takes `durationMs` and none fails. */

import { namespacedName } from "../lib/keys.ts";
import { after, earliest } from "../policy/instant.ts";
import { neededOf, needsNone } from "./limit.ts";
import type { Member } from "./member.ts";
import { inOrder, orderOf, type Place, takeTurns, Turns } from "./order.ts";
import type { CompiledRollout, CompiledStage } from "./rollout.ts";
import { Slots } from "./slots.ts";

export interface PlanMember {
  readonly member: Member;
  /** The earliest instant from `at` on at which every policy releases it; `undefined`: time alone does not. */
  readonly releasedFrom: (at: Date) => Date | undefined;
}

export interface PlannedCluster {
  readonly namespace: string;
  readonly name: string;
  readonly stage: string;
  readonly begins: Date;
  readonly ends: Date;
  /** Whether a user has to act first; the plan assumes that this is done. */
  readonly needsAction: boolean;
}

export interface PlannedStage {
  readonly name: string;
  readonly clusters: number;
  /** Absent: none of its Clusters ever begins. */
  readonly begins?: Date;
  readonly ends?: Date;
  /** When the next stage may begin; absent: never. */
  readonly passes?: Date;
}

export interface Plan {
  readonly from: Date;
  readonly stages: readonly PlannedStage[];
  /** In the order in which they begin. */
  readonly clusters: readonly PlannedCluster[];
  /** Members that never begin, because no stage selects them or they never get a slot. */
  readonly never: readonly string[];
}

interface Waiting extends Place {
  readonly each: PlanMember;
  readonly stage: CompiledStage;
  /** When the policies release it; absent until it could begin. */
  notBefore?: Date;
  needsAction: boolean;
}

export function planRollout(
  rollout: CompiledRollout,
  members: readonly PlanMember[],
  { from, durationMs }: { readonly from: Date; readonly durationMs: number },
): Plan {
  const walk = new Walk(rollout, members, durationMs);
  for (let at: Date | undefined = from; at !== undefined; at = walk.next(at)) walk.begin(at);
  return walk.plan(from);
}

class Walk {
  readonly #rollout: CompiledRollout;
  readonly #durationMs: number;
  readonly #slots: Slots;
  readonly #sizes = new Map<string, number>();
  readonly #planned: PlannedCluster[] = [];
  readonly #running = new Map<string, Date>();
  readonly #turns = new Turns();
  #waiting: readonly Waiting[];
  readonly #unplaced: readonly string[];

  constructor(rollout: CompiledRollout, members: readonly PlanMember[], durationMs: number) {
    this.#rollout = rollout;
    this.#durationMs = durationMs;
    const all = members.map(({ member }) => ({ ...member, marked: false }));
    this.#slots = new Slots(rollout, {}, all, new Date(0));
    this.#waiting = inOrder(members.flatMap((each) => this.#placeOf(each) ?? []));
    this.#unplaced = members.filter(({ member }) => member.stage === undefined).map(nameOf);
    for (const { stage } of this.#waiting) this.#sizes.set(stage.name, this.#size(stage) + 1);
  }

  /** Ends the operations that are over at this instant, and begins those that may begin. */
  begin(at: Date): void {
    for (const [uid, ends] of this.#running) {
      if (ends > at) continue;
      this.#running.delete(uid);
      this.#slots.free(uid);
    }
    const begun = new Set<Waiting>();
    takeTurns(this.#waiting, this.#turns, (waiting) => {
      if (!this.#begins(waiting, at)) return false;
      begun.add(waiting);
      return true;
    });
    this.#waiting = this.#waiting.filter((waiting) => !begun.has(waiting));
  }

  #placeOf(each: PlanMember): Waiting | undefined {
    const { metadata, stage } = each.member;
    if (stage === undefined) return undefined;
    const { orderLabelKey, stages } = this.#rollout;
    return {
      each,
      stage,
      needsAction: false,
      group: stages.indexOf(stage),
      order: orderOf(metadata.labels, orderLabelKey),
      namespace: metadata.namespace ?? "",
      since: 0,
      name: metadata.name,
    };
  }

  #begins(waiting: Waiting, at: Date): boolean {
    const { each, stage } = waiting;
    const { metadata, values } = each.member;
    const room = { stage, values };
    if (!this.#isOpen(stage, at) || !this.#slots.hasRoom(room)) return false;
    if (waiting.notBefore === undefined || waiting.notBefore <= at) {
      const released = each.releasedFrom(at);
      waiting.needsAction ||= released === undefined;
      waiting.notBefore = released ?? at;
    }
    if (waiting.notBefore > at) return false;
    this.#slots.take(metadata.uid, room);
    const ends = after(at, this.#durationMs);
    this.#running.set(metadata.uid, ends);
    const { namespace = "", name } = metadata;
    const { needsAction } = waiting;
    this.#planned.push({ namespace, name, stage: stage.name, begins: at, ends, needsAction });
    return true;
  }

  /** The next instant at which something can change; `undefined`: nothing can. */
  next(at: Date): Date | undefined {
    if (this.#waiting.length === 0) return undefined;
    const passes = this.#rollout.stages.map((stage) => this.#passes(stage));
    const released = this.#waiting.map(({ notBefore }) => notBefore);
    const edges = [...this.#running.values(), ...passes, ...released];
    const next = earliest(edges.filter((edge) => edge !== undefined && edge > at));
    return next instanceof Date ? next : undefined;
  }

  plan(from: Date): Plan {
    const stages = this.#rollout.stages.map((stage): PlannedStage => {
      const own = this.#planned.filter((each) => each.stage === stage.name);
      const passes = this.#passes(stage);
      const [first, last] = [own[0], own.at(-1)];
      return {
        name: stage.name,
        clusters: this.#size(stage),
        ...(first !== undefined && { begins: first.begins }),
        ...(last !== undefined && { ends: last.ends }),
        ...(passes !== undefined && { passes }),
      };
    });
    const never = [...this.#unplaced, ...this.#waiting.map(({ each }) => nameOf(each))];
    return { from, stages, clusters: this.#planned, never };
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
    const size = this.#size(stage);
    const needed = neededOf(stage.minSucceeded, size);
    if (size === 0) return needsNone(stage.minSucceeded) ? new Date(0) : undefined;
    if (needed === 0) return new Date(0);
    const ends = this.#planned.filter((each) => each.stage === stage.name).map((each) => each.ends);
    const enough = ends.toSorted((a, b) => a.getTime() - b.getTime())[needed - 1];
    return enough && after(enough, stage.minSuccessTimeMs);
  }

  #size({ name }: CompiledStage): number {
    return this.#sizes.get(name) ?? 0;
  }
}

function nameOf({ member: { metadata } }: PlanMember): string {
  return namespacedName(metadata);
}
