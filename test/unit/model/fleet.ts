/** Two replicas, the API server, Cluster API and people: everything that takes part, as one system to explore. */

import type { HookCall } from "../../../src/api/runtime-hooks.ts";
import { namespacedName } from "../../../src/lib/keys.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { ApiModel, type Request, withoutVersions } from "./api-server.ts";
import type { Step, System } from "./explorer.ts";
import { type Clock, Replica, type Surroundings, text } from "./replica.ts";

export interface Scenario {
  readonly call: HookCall;
  /** By plural. */
  readonly objects: Readonly<Record<string, readonly KubeObject[]>>;
  readonly forgetsStatus?: boolean;
  readonly replicas?: number;
  readonly startsAt: Date;
  /** Requests whose way is followed step by step; others are answered at once. */
  readonly follows: RegExp;
  /** How often each of these can happen. */
  readonly limits?: { readonly relists?: number; readonly crashes?: number; readonly failures?: number };
  /** Absent: they do. Where only answers count, nothing need be written. */
  readonly reconciles?: boolean;
  /** What people and other controllers do. */
  readonly others: (fleet: Fleet) => readonly Step[];
  /** What must never be so. */
  readonly broken?: (fleet: Fleet) => readonly string[];
  readonly brokenAtRest: (fleet: Fleet) => readonly string[];
  /** Whether the Cluster may go on: asked after each step while a call is under way, and a go needs one yes. */
  readonly mayGoOn?: (fleet: Fleet) => boolean;
  readonly weaken?: Surroundings["weaken"];
}

/** The story begins at rest: with the objects as the operator has left them. */
export async function rested(scenario: Scenario): Promise<Scenario> {
  const fleet = new Fleet({ ...scenario, replicas: 1 });
  await fleet.settle();
  fleet.stop();
  const lists = Object.keys(scenario.objects).map((plural) => [plural, fleet.api.list(plural)]);
  return { ...scenario, objects: Object.fromEntries(lists) };
}

export class Fleet implements System {
  readonly api: ApiModel;
  readonly clock: Clock;
  readonly scenario: Scenario;
  readonly replicas: Replica[] = [];
  readonly #used = new Map<string, number>();
  readonly #broken: string[] = [];
  #begun = false;
  /** Cluster API's call: whether at some time since it began the Cluster might have gone on. */
  #call: { mayGoOn: boolean } | undefined;
  #late: Request[] = [];
  /** The Clusters about which a call was answered, and when. */
  readonly answered: string[] = [];
  readonly answeredAt: Date[] = [];
  /** The answer to a call was a go. */
  wentOn = false;

  constructor(scenario: Scenario) {
    this.scenario = scenario;
    this.api = new ApiModel(scenario.forgetsStatus ?? false);
    this.clock = { now: scenario.startsAt };
    for (const [plural, objects] of Object.entries(scenario.objects))
      for (const object of objects) this.api.put(plural, object);
    for (const name of ["A", "B"].slice(0, scenario.replicas ?? 2)) {
      const replica = this.#start(name);
      replica.loadAtOnce();
      this.replicas.push(replica);
    }
  }

  #start(name: string): Replica {
    const { api, clock, scenario } = this;
    return new Replica(name, {
      api,
      clock,
      hook: scenario.call.hook,
      follows: scenario.follows,
      reconciles: scenario.reconciles ?? true,
      weaken: scenario.weaken,
    });
  }

  /** A step that can be taken so many times; `open`: now. */
  once(name: string, open: boolean, run: () => void, times = 1): Step[] {
    const used = this.#used.get(name) ?? 0;
    if (!open || used >= times) return [];
    return [
      {
        name: times === 1 ? name : `${name} (${used + 1})`,
        own: false,
        run: () => {
          this.#used.set(name, used + 1);
          run();
        },
      },
    ];
  }

  hasHappened(name: string): boolean {
    return this.#used.has(name);
  }

  /**
   * Cluster API asks this replica: one call at a time, whatever it is about. With the Cluster as it is, or as it was
   * at first: its cache may be behind.
   */
  asks(name: string, key: string, { times = 1, behind = false } = {}): Step[] {
    const first = this.api.events("clusters").find((event) => event.key === key)?.object;
    const object = behind ? first : this.api.get("clusters", key);
    const replica = this.replicas.find((each) => each.name === name);
    if (object === undefined || replica === undefined || this.#call !== undefined || this.wentOn) return [];
    return this.once(`Cluster API asks ${name} about ${key}`, true, () => this.#ask(replica, object), times);
  }

  #ask(replica: Replica, cluster: KubeObject): void {
    const call = { mayGoOn: false };
    this.#call = call;
    const { hook: _, ...versions } = this.scenario.call;
    replica.ask({ ...versions, cluster }, (go) => {
      // Of a replica that was killed nobody hears.
      if (this.#call !== call) return;
      this.#call = undefined;
      this.answered.push(namespacedName(cluster.metadata));
      this.answeredAt.push(this.clock.now);
      if (!go) return;
      this.wentOn = true;
      if (!call.mayGoOn) this.#broken.push("a Cluster was let go that was held all the time");
    });
    this.#look();
  }

  #look(): void {
    if (this.#call !== undefined && this.scenario.mayGoOn?.(this) === true) this.#call.mayGoOn = true;
  }

  steps(): Step[] {
    const { relists = 0, crashes = 0, failures = 0 } = this.scenario.limits ?? {};
    return [
      ...this.replicas.flatMap((replica) => replica.steps()),
      ...this.#limited("relists", relists, () => this.replicas.flatMap((replica) => replica.relists())),
      ...this.#limited("crashes", crashes, () => this.#crashes()),
      ...this.#limited("failures", failures, () => this.#failures()),
      ...this.#late.map((request) => ({
        name: `late: ${request.what}`,
        own: false,
        run: () => {
          this.#late = this.#late.filter((each) => each !== request);
          request.perform();
        },
      })),
      ...this.scenario.others(this),
    ].map((step) => ({ ...step, run: () => this.#run(step) }));
  }

  #run(step: Step): void {
    step.run();
    this.#look();
  }

  #limited(what: string, limit: number, steps: () => Step[]): Step[] {
    const used = this.#used.get(what) ?? 0;
    if (used >= limit) return [];
    return steps().map((step) => ({
      ...step,
      run: () => {
        this.#used.set(what, used + 1);
        step.run();
      },
    }));
  }

  #failures(): Step[] {
    return this.replicas.flatMap((replica) => replica.failures((request) => this.#late.push(request)));
  }

  /** It starts again, without memory. */
  #crashes(): Step[] {
    return this.replicas.map((replica, index) => ({
      name: `${replica.name} is killed`,
      own: false,
      run: () => {
        if (replica.isAwaited) this.#call = undefined;
        this.#late.push(...replica.stop());
        this.replicas[index] = this.#start(replica.name);
      },
    }));
  }

  /** At first everything that is left to do is done: the story begins at rest. */
  async settle(): Promise<void> {
    await turn();
    if (this.#begun) return;
    this.#begun = true;
    for (let step = this.#ownStep(); step !== undefined; step = this.#ownStep()) {
      step.run();
      await turn();
    }
  }

  #ownStep(): Step | undefined {
    return this.replicas.flatMap((replica) => replica.steps())[0];
  }

  visible(): string {
    return text(Object.keys(this.scenario.objects).map((plural) => this.api.list(plural)));
  }

  state(): string {
    // It does not matter which replica is which: what they know is compared first, and numbered then.
    const replicas = this.replicas.map((replica) => text(replica.state()));
    const order = replicas.map((replica) => withoutVersions(replica));
    return withoutVersions(
      text([
        Object.keys(this.scenario.objects).map((plural) => this.api.list(plural)),
        replicas.toSorted((a, b) => compare(order[replicas.indexOf(a)], order[replicas.indexOf(b)])),
        this.#used,
        this.#call,
        this.#late.map(({ what, body }) => [what, body]),
        this.clock.now,
        this.wentOn,
        this.answered,
        this.answeredAt,
      ]),
    );
  }

  broken(): readonly string[] {
    return [...this.#broken, ...(this.scenario.broken?.(this) ?? [])];
  }

  brokenAtRest(): readonly string[] {
    return this.scenario.brokenAtRest(this);
  }

  stop(): void {
    for (const replica of this.replicas) replica.stop();
  }
}

async function turn(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
}

function compare(a = "", b = ""): number {
  return a < b ? -1 : Number(a > b);
}
