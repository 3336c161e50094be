/**
 * What must be true of a HookRollout and its Clusters, in whatever order things happen:
 * R1: no more Clusters are in operation than maxConcurrency.
 * R2: a Cluster of a later stage begins only once the first stage has passed.
 * R3: what begins was held neither by a policy nor by the rollout at one moment since its call.
 * R4: at rest, no slot is kept.
 * R5: at rest, no Cluster waits, but those that a gate or another rollout holds for good.
 * R6: beside such Clusters, the only one that nothing holds begins at its second call.
 */

import type { HookRolloutSpec } from "../../../src/api/hook-policy.ts";
import { parseDuration } from "../../../src/lib/duration.ts";
import { PassedVersions, type RolloutClusters } from "./rollout-clusters.ts";

/** The part of a scenario that the laws are about. */
export interface LawScenario {
  /** By name, their stages. */
  readonly clusters: Readonly<Record<string, string>>;
  readonly spec: Partial<HookRolloutSpec>;
  /** Of another rollout. */
  readonly beside?: Partial<HookRolloutSpec>;
  /** A Cluster joins the rollout while it runs. */
  readonly joins?: boolean;
}

/** The Clusters, and what Cluster API was told about them. */
interface Fleet extends RolloutClusters {
  readonly passedMs: number;
  /** Cluster API may begin with it, and has not yet. */
  mayBegin(name: string): boolean;
}

/** The label of Clusters that a gate, or another rollout, holds for good. */
export const STUCK = "stuck";

export class RolloutLaws {
  readonly #scenario: LawScenario;
  readonly #fleet: Fleet;
  readonly #begunAt = new Map<string, number>();
  /** How often in a row the only Cluster that may begin was told to wait. */
  #refused = 0;
  readonly #passed: PassedVersions;
  readonly #broken: string[] = [];

  constructor(scenario: LawScenario, fleet: Fleet) {
    this.#scenario = scenario;
    this.#fleet = fleet;
    this.#passed = new PassedVersions(scenario.spec.stages?.[0]?.minSuccessTime);
  }

  /** What holds it at this moment. */
  holder(name: string): string | undefined {
    if (this.#fleet.isHeldByPolicy) return "a policy";
    if (this.#isStuck(name)) return "a gate, or another rollout";
    if (!this.#isRunning()) return "the rollout, which is paused or halted";
    return this.#hasRoom(name) ? undefined : "the rollout, which has no free slot";
  }

  #isStuck(name: string): boolean {
    return this.#scenario.clusters[name] === STUCK;
  }

  /** Cluster API was told that it may not begin, although nothing held it as the call began. */
  refused(name: string): void {
    const others = this.#names().filter((each) => each !== name);
    if (!others.some((each) => this.#isStuck(each)) || this.holder(name) !== undefined) return;
    if (others.some((each) => !this.#isStuck(each) && this.#fleet.waits(each))) return;
    this.#refused += 1;
    if (this.#refused > 1) this.#broken.push(`R6: ${name} waits, with a free slot`);
  }

  #isRunning(): boolean {
    const fleet = this.#fleet;
    return fleet.rollout === undefined || (fleet.spec.paused !== true && !fleet.isTrue("Halted"));
  }

  /** Only members count, and are held. */
  #hasRoom(name: string): boolean {
    const fleet = this.#fleet;
    if (fleet.rollout === undefined || !fleet.isMember(name)) return true;
    const others = this.#inOperation().filter((each) => each !== name && fleet.isMember(each));
    return others.length < Number(this.#scenario.spec.maxConcurrency ?? 1);
  }

  /** Cluster API was told that it may begin. `wasReleased`: at one moment since it asked, nothing held the Cluster. */
  begins(
    name: string,
    { target, wasReleased }: { readonly target: string; readonly wasReleased: boolean },
  ): void {
    this.#begunAt.set(name, this.#fleet.passedMs);
    this.#refused = 0;
    if (!wasReleased)
      this.#broken.push(`R3: ${name} begins, and was held at each moment, now by ${this.holder(name)}`);
    const { spec, clusters } = this.#scenario;
    const isLater = (spec.stages ?? []).length > 1 && clusters[name] !== "canary";
    if (isLater && this.#fleet.rollout !== undefined && !this.#passed.has(target))
      this.#broken.push(`R2: ${name} begins, and stage canary has not passed`);
  }

  /** Sees which versions have passed the first stage. */
  look(): void {
    const canaries = this.#names().filter((name) => this.#scenario.clusters[name] === "canary");
    const [version = "", ...others] = new Set(canaries.map((name) => this.#fleet.reachedVersion(name)));
    this.#passed.look(others.length === 0 ? version : "", this.#fleet.passedMs);
  }

  broken(): readonly string[] {
    const inOperation = this.#inOperation();
    // Where a Cluster joins while it runs, only what begins then can be judged.
    const isJudged = this.#fleet.rollout !== undefined && this.#scenario.joins !== true;
    const over = isJudged && this.#isTooMany(inOperation);
    return [...this.#broken, ...(over ? [`R1: ${inOperation.join(" and ")} are in operation`] : [])];
  }

  /** Once nothing goes on by itself. */
  brokenAtRest(): readonly string[] {
    const waiting = this.#names().filter((name) => this.#fleet.waits(name) && !this.#isStuck(name));
    if (waiting.length > 0) return [`R5: ${waiting.join(" and ")} wait for ever`];
    const held = (this.#fleet.status.running ?? []).map(({ name }) => name);
    return held.length > 0 ? [`R4: ${held.join(" and ")} keep their slots`] : [];
  }

  #inOperation(): string[] {
    const { progressDeadline } = this.#scenario.spec;
    const deadlineMs = parseDuration(progressDeadline ?? "1h") ?? Infinity;
    const fleet = this.#fleet;
    return this.#names().filter(
      (name) =>
        (fleet.isMarked(name) || fleet.mayBegin(name)) &&
        fleet.passedMs - (this.#begunAt.get(name) ?? 0) < deadlineMs,
    );
  }

  /** In all, or with the same value of the only label that Clusters have here. */
  #isTooMany(names: readonly string[]): boolean {
    const { maxConcurrency = 1, spread = [] } = this.#scenario.spec;
    const largest = Math.max(
      0,
      ...names.map((name) => names.filter((each) => this.#valueOf(each) === this.#valueOf(name)).length),
    );
    return (
      names.length > Number(maxConcurrency) || spread.some((each) => largest > Number(each.maxConcurrency))
    );
  }

  #valueOf(name: string): string | undefined {
    return this.#scenario.clusters[name];
  }

  #names(): string[] {
    return Object.keys(this.#scenario.clusters);
  }

  /** What later judgements depend on. */
  state(): unknown {
    return [this.#begunAt, this.#passed.state(), this.#refused];
  }
}
