/** A HookRollout, two replicas and Cluster API with a few Clusters that want an upgrade, as one system to explore. */

import type { KubeObject } from "../../../src/kube/resource.ts";
import { NOW } from "../rollouts/fixtures.ts";
import { ApiModel, type Request, withoutVersions } from "./api-server.ts";
import type { Step, System } from "./explorer.ts";
import { text } from "./replica.ts";
import type { Event } from "./rollout-event.ts";
import { begun, ended, keyOf, objectsOf, versionOf } from "./rollout-objects.ts";
import { RolloutClusters } from "./rollout-clusters.ts";
import { type LawScenario, RolloutLaws } from "./rollout-laws.ts";
import { RolloutReplica, type Weakness } from "./rollout-replica.ts";

export interface RolloutScenario extends LawScenario {
  /** Replicas whose informers lag; those of others bring everything at once. */
  readonly lags?: readonly string[];
  /** Clusters that the informers of A have not brought when the story begins. */
  readonly unseen?: readonly string[];
  /** The replicas that Cluster API asks about a Cluster; absent: both. */
  readonly asks?: Readonly<Record<string, readonly string[]>>;
  /** How often each of these can happen. */
  readonly limits?: Partial<Record<Event, number>>;
  readonly others?: (fleet: RolloutFleet) => readonly Step[];
  /** Whether it is right that a Cluster waits at rest. */
  readonly mayWait?: (fleet: RolloutFleet) => boolean;
  readonly weakness?: Weakness;
  /** Clusters whose upgrade runs when the story begins. */
  readonly begun?: readonly string[];
  /** Clusters that are unhealthy when their upgrade has ended. */
  readonly failing?: readonly string[];
  /** Upgrades that never end, to look only at how they begin: of these Clusters, or all. */
  readonly endless?: true | readonly string[];
  /** Each request is a step of its own, and its answer another; otherwise only what a claim rests on is, with its answer. */
  readonly fine?: boolean;
  /** Of requests, only writes are steps of their own: what is read is read in the step before, as it could be anyway. */
  readonly writesAlone?: boolean;
  /** How old the rollout is, in milliseconds: a young one has lost nothing. */
  readonly createdAgo?: number;
  /** By plural; absent: as they are made. */
  readonly objects?: Readonly<Record<string, readonly KubeObject[]>>;
}

/** Of a Cluster that Cluster API asks about, or that it may begin with. */
interface Call {
  readonly target: string;
  readonly replica: RolloutReplica;
  /** At one moment since it began, by policies and the rollout together. */
  wasReleased: boolean;
  isGo: boolean;
}

const STEP_MS = 60;
/** Longer than a deadline, or a soak. */
const AHEAD_MS = 61 * 60_000;
const FINE = /^(get|list clusters|put)/;
const COARSE = /^(get hookrollouts|put)/;
const WRITES = /^put/;

export class RolloutFleet extends RolloutClusters implements System {
  readonly scenario: RolloutScenario;
  readonly #replicas: RolloutReplica[] = [];
  readonly #calls = new Map<string, Call>();
  readonly #laws: RolloutLaws;
  readonly #used = new Map<string, number>();
  readonly #ahead = new Set<string>();
  #late: Request[] = [];
  #leader = "A";
  #passedMs = 0;
  #steps = 0;
  #begun = false;

  constructor(scenario: RolloutScenario) {
    super(new ApiModel(false));
    this.scenario = scenario;
    this.#laws = new RolloutLaws(scenario, this);
    for (const [plural, objects] of Object.entries(scenario.objects ?? objectsOf(scenario)))
      for (const object of objects) this.api.put(plural, object);
    for (const name of ["A", "B"]) this.#replicas.push(this.#start(name));
    for (const replica of this.#replicas) {
      for (const name of this.#names()) if (this.#isAwaited(replica, name)) replica.asked(keyOf(name));
      replica.rest();
    }
    this.#begun = true;
  }

  #start(name: string): RolloutReplica {
    const { scenario } = this;
    const { weakness } = scenario;
    const replica = new RolloutReplica(name, {
      api: this.api,
      clock: {
        now: () => this.#clockOf(name),
        serverNow: () => this.now,
        nowMs: () => this.#passedMs + STEP_MS * this.#steps,
      },
      firstAsked: NOW,
      leading: () => this.#leader === name,
      follows: (what) =>
        this.#begun &&
        (scenario.fine === true ? FINE : scenario.writesAlone === true ? WRITES : COARSE).test(what),
      isFine: scenario.fine === true,
      ...(weakness !== undefined && { weakness }),
    });
    const { unseen = [] } = this.scenario;
    const hides = (what: string): boolean =>
      !this.#begun && name === "A" && unseen.some((each) => what.endsWith(`/${each}`));
    for (const each of replica.unseen()) if (!hides(each.name)) each.deliver();
    return replica;
  }

  get now(): Date {
    return new Date(NOW.getTime() + this.#passedMs);
  }

  #clockOf(replica: string): Date {
    return new Date(this.now.getTime() + (this.#ahead.has(replica) ? AHEAD_MS : 0));
  }

  get passedMs(): number {
    return this.#passedMs;
  }

  mayBegin(name: string): boolean {
    return this.#calls.get(name)?.isGo === true;
  }

  /** A step of others, that can be taken so many times; `open`: now. */
  limited(name: string, limit: number, steps: () => readonly Step[]): Step[] {
    const used = this.#used.get(name) ?? 0;
    if (used >= limit) return [];
    return steps().map((step) => ({
      ...step,
      run: () => {
        this.#used.set(name, used + 1);
        step.run();
      },
    }));
  }

  once(name: string, open: boolean, run: () => void): Step[] {
    return this.limited(name, 1, () => (open ? [{ name, own: false, run }] : []));
  }

  hasHappened(name: string): boolean {
    return this.#used.has(name);
  }

  steps(): Step[] {
    return [
      ...this.#replicas.flatMap((replica) => replica.steps()),
      ...Object.keys(this.scenario.clusters).flatMap((name) => this.#ofClusterApi(name)),
      ...this.#limitedEvents(),
      ...(this.#replicas.some(({ rests }) => rests) ? this.#waitLong("a minute of rest passes", 1) : []),
      ...[...this.#ahead].map((name) => ({
        name: `the clock of ${name} is right again`,
        own: true,
        run: () => this.#setAhead(name, false),
      })),
      ...this.#late.map((request) => ({
        name: `late: ${request.what}`,
        own: false,
        run: () => {
          this.#late = this.#late.filter((each) => each !== request);
          request.perform();
        },
      })),
      ...(this.scenario.others?.(this) ?? []),
    ];
  }

  #limitedEvents(): Step[] {
    const { limits = {} } = this.scenario;
    const of = (event: Event, steps: () => readonly Step[]): Step[] =>
      this.limited(event, limits[event] ?? 0, steps);
    const other = (name: string, run: () => void): Step => ({ name, own: false, run });
    const calls = [...this.#calls];
    return [
      ...of("a replica is killed", () =>
        this.#replicas.map((replica, index) => other(`${replica.name} is killed`, () => this.#kill(index))),
      ),
      ...of("leadership moves", () => [
        other("leadership moves", () => this.#lead(this.#leader === "A" ? "B" : "A")),
      ]),
      ...of("a clock is ahead", () =>
        this.#replicas.map(({ name }) =>
          other(`the clock of ${name} is ahead`, () => this.#setAhead(name, true)),
        ),
      ),
      ...of("an answer is lost", () =>
        this.#replicas.flatMap((replica) => replica.failures((request) => this.#late.push(request))),
      ),
      ...of("a go is vetoed", () =>
        calls
          .filter(([, { isGo }]) => isGo)
          .map(([name]) => other(`another extension holds ${name}`, () => this.#calls.delete(name))),
      ),
      ...of("Cluster API gives up", () =>
        calls
          .filter(([, { isGo }]) => !isGo)
          .map(([name]) => other(`Cluster API gives up on ${name}`, () => this.#calls.delete(name))),
      ),
      ...of("a minute passes", () =>
        calls.some(([, { isGo }]) => isGo) ? [other("a minute passes", () => this.wait(60_000))] : [],
      ),
      ...of("four minutes pass", () => (this.#waitsForTime() ? this.#waitLong("four minutes pass", 4) : [])),
      ...of("an hour passes", () => (this.#waitsForTime() ? this.#waitLong("an hour passes", 61) : [])),
      ...of("a soak passes", () => (this.soaks() ? this.#waitLong("a soak passes", 61) : [])),
    ];
  }

  /** Longer than Cluster API waits for an answer, and than a go takes to become a mark. */
  #waitLong(name: string, duration: number): Step[] {
    if ([...this.#calls.values()].some(({ isGo }) => isGo)) return [];
    const run = (): void => {
      this.#calls.clear();
      this.wait(duration * 60_000);
    };
    return [{ name, own: true, run }];
  }

  wait(ms: number): void {
    this.#passedMs += ms;
    for (const replica of this.#replicas) replica.look();
  }

  #setAhead(replica: string, is: boolean): void {
    if (is) this.#ahead.add(replica);
    else this.#ahead.delete(replica);
    for (const each of this.#replicas) if (each.name === replica) each.look();
  }

  #lead(name: string): void {
    this.#leader = name;
    for (const replica of this.#replicas) replica.look();
  }

  /** It starts again, without memory. */
  #kill(index: number): void {
    const killed = this.#replicas[index];
    if (killed === undefined) return;
    for (const [name, { replica, isGo }] of this.#calls)
      if (replica === killed && !isGo) this.#calls.delete(name);
    this.#late.push(...killed.stop());
    this.#replicas[index] = this.#start(killed.name);
  }

  #ofClusterApi(name: string): Step[] {
    const own = (what: string, run: () => void): Step => ({ name: what, own: true, run });
    if (this.mayBegin(name))
      return [
        own(`Cluster API begins with ${name}`, () => {
          this.#calls.delete(name);
          this.set(name, begun);
        }),
      ];
    if (this.isMarked(name)) {
      const available = this.scenario.failing?.includes(name) === true ? "False" : "True";
      const end = own(`${name} is upgraded`, () => this.set(name, (object) => ended(object, available)));
      return this.#isEndless(name) ? [] : [end];
    }
    if (this.#calls.has(name) || !this.waits(name)) return [];
    return this.#replicas
      .filter((replica) => this.#isAwaited(replica, name))
      .map((replica) =>
        own(`Cluster API asks ${replica.name} about ${name}`, () => this.#ask(replica, name)),
      );
  }

  #isEndless(name: string): boolean {
    const { endless = [] } = this.scenario;
    return endless === true || endless.includes(name);
  }

  #isAwaited({ name: replica }: RolloutReplica, name: string): boolean {
    return this.scenario.asks?.[name]?.includes(replica) ?? true;
  }

  #ask(replica: RolloutReplica, name: string): void {
    const target = versionOf(this.cluster(name));
    const isFree = this.#laws.holder(name) === undefined;
    const call: Call = { target, replica, wasReleased: isFree, isGo: false };
    this.#calls.set(name, call);
    replica.ask(keyOf(name), (go) => {
      // Cluster API has given up, or the replica was killed.
      if (this.#calls.get(name) !== call) return;
      if (!go) {
        this.#calls.delete(name);
        if (isFree) this.#laws.refused(name);
        return;
      }
      call.isGo = true;
      this.#laws.begins(name, call);
    });
  }

  /** Cluster API does nothing with it any more, whatever it is answered. */
  remove(name: string): void {
    this.#calls.delete(name);
    this.api.delete("clusters", keyOf(name), this.now);
  }

  /** It is being upgraded, or may be at once. */
  isBusy(name: string): boolean {
    return this.isMarked(name) || this.#calls.has(name);
  }

  /** It was upgraded to this version. */
  has(name: string, version: string): boolean {
    return this.reachedVersion(name) === version;
  }

  /** Until nothing goes on without another step, and informers that do not lag have brought everything. */
  async settle(): Promise<void> {
    await turn();
    this.#steps += 1;
    const { lags = [] } = this.scenario;
    for (const replica of this.#replicas)
      if (!lags.includes(replica.name)) for (const each of replica.unseen()) each.deliver();
    this.#look();
  }

  /** The operator learns of the rollout. */
  async prepare(): Promise<void> {
    this.#begun = false;
    for (const replica of this.#replicas) replica.look();
    for (let left = 4; left > 0; left -= 1) {
      for (const step of this.#replicas.flatMap((replica) => replica.steps())) step.run();
      this.#steps += 1;
      await turn();
    }
  }

  #look(): void {
    for (const replica of this.#replicas) replica.observe();
    for (const [name, call] of this.#calls)
      if (this.#laws.holder(name) === undefined) call.wasReleased = true;
    this.#laws.look();
  }

  #names(): string[] {
    return Object.keys(this.scenario.clusters);
  }

  visible(): string {
    return JSON.stringify(["hookrollouts", "clusters", "hookpolicies"].map((each) => this.api.list(each)));
  }

  state(): string {
    const calls = [...this.#calls].map(([name, { replica, ...call }]) =>
      JSON.stringify([name, replica.name, call]),
    );
    return withoutVersions(
      text([
        this.visible(),
        this.#replicas.map((replica) => replica.state()),
        new Set(calls),
        this.#laws.state(),
        this.#used,
        this.#late.map(({ what, body }) => [what, body]),
        this.#leader,
        this.#ahead,
        this.#passedMs,
      ]),
      // Which of two Clusters changed first means something only to informers that lag, or to reads that do.
      this.scenario.lags === undefined && this.scenario.fine !== true
        ? (version) => this.api.writtenAs(version)
        : undefined,
    );
  }

  broken(): readonly string[] {
    return this.#laws.broken();
  }

  brokenAtRest(): readonly string[] {
    const { mayWait, endless } = this.scenario;
    if (endless !== undefined || mayWait?.(this) === true || this.#endsTooSoon()) return [];
    return this.#laws.brokenAtRest();
  }

  /** The three minutes of a claim, or of a status that was lost, have not passed when the story ends. */
  #endsTooSoon(): boolean {
    const event: Event = "four minutes pass";
    if (this.#used.get(event) !== this.scenario.limits?.[event]) return false;
    return this.#waitsForTime();
  }

  #waitsForTime(): boolean {
    const { running = [] } = this.status;
    return !this.isTrue("Ready") || running.some(({ markedAt }) => markedAt === undefined);
  }

  /** A stage that has not passed ends by time, too. */
  soaks(): boolean {
    const stages = this.status.targets?.flatMap((target) => target.stages) ?? [];
    return stages.some(
      ({ soakingSince, closed, passed }) => soakingSince !== undefined && closed !== true && !passed,
    );
  }

  stop(): void {
    for (const replica of this.#replicas) replica.stop();
  }
}

async function turn(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
}
