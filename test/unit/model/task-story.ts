/** Plays one story of tasks with the code of the operator: each step is chosen by the seed. */

import type { HookTask } from "../../../src/api/hook-policy.ts";
import { isWanted } from "../../../src/operations/hook-lives.ts";
import { decide } from "../../../src/policy/decide.ts";
import { readerOf } from "../../../src/policy/tasks/task-record.ts";
import { storedTask } from "../../../src/tasks/stored-task.ts";
import { namespace, NO_OBJECTS } from "../builders.ts";
import { TaskLaws } from "./task-laws.ts";
import { type Replica, Requests, startReplica, type Weakness } from "./task-replica.ts";
import {
  attemptsOf,
  clusterOf,
  compiledOf,
  type Facts,
  HOOK,
  overridesOf,
  random,
  SERVED,
  TaskWorld,
} from "./task-world.ts";

export interface StoryResult {
  readonly broken: readonly string[];
  /** What has happened, so that a search that does nothing is noticed. */
  readonly releases: number;
  readonly jobs: number;
  readonly runs: number;
}

/** `clock`: what performance.now() gives meanwhile. */
export async function playTasks(
  seed: number,
  steps: number,
  clock: { ms: number },
  weakness: Weakness = {},
): Promise<StoryResult> {
  const story = new Story(seed, clock, weakness);
  for (let step = 0; step < steps && story.laws.broken.length === 0; step += 1) await story.step();
  return story.told();
}

/** A Cluster of the same name. */
const ANOTHER: Partial<Facts> = { running: "v1.34.0", wanted: "v1.34.0", begun: false, approved: false };

type Choice = readonly [weight: number, run: () => unknown];

function choose(choices: readonly Choice[], below: (below: number) => number): void {
  let left = below(choices.reduce((sum, [weight]) => sum + weight, 0));
  for (const [weight, run] of choices) {
    left -= weight;
    if (left >= 0) continue;
    run();
    return;
  }
}

class Story {
  readonly world = new TaskWorld();
  readonly laws = new TaskLaws(this.world);
  readonly #below: (below: number) => number;
  readonly #clock: { ms: number };
  readonly #weakness: Weakness;
  readonly #requests = new Requests();
  /** Answers of the operator that Cluster API has not acted upon, with what they are about. */
  readonly #answers: Facts[] = [];
  readonly #replicas: readonly [Replica, Replica];
  #leader = 0;
  #releases = 0;

  constructor(seed: number, clock: { ms: number }, weakness: Weakness) {
    this.#below = random(seed);
    this.#clock = clock;
    this.#weakness = weakness;
    this.#replicas = [this.#start(0), this.#start(1)];
  }

  told(): StoryResult {
    const { created, tasks } = this.world;
    return {
      broken: this.laws.broken,
      releases: this.#releases,
      jobs: [...created.values()].reduce((a, b) => a + b, 0),
      runs: Math.max(0, ...[...tasks.values()].map(({ spec }) => spec.run)),
    };
  }

  async step(): Promise<void> {
    const moves: readonly Choice[] = [
      [60, () => this.#requests.serve(this.#below)],
      [20, () => this.#reconcile()],
      [10, () => this.#call()],
      [20, () => this.#deliver()],
      [2, () => this.#endJob()],
      [4, () => this.#act()],
      [3, () => this.#pass()],
      [1, () => this.#crash()],
      [4, () => this.#user()],
    ];
    choose(moves, this.#below);
    await new Promise((resolve) => setImmediate(resolve));
  }

  #start(index: number): Replica {
    const { world, laws } = this;
    return startReplica({
      world,
      laws,
      weakness: this.#weakness,
      requests: this.#requests,
      isLeading: () => this.#leader === index,
    });
  }

  #replica(): Replica {
    return this.#replicas[this.#below(2) === 0 ? 0 : 1];
  }

  #reconcile(): void {
    const name = this.#recentTask();
    const { life, reconciler } = this.#replicas[this.#leader === 0 ? 0 : 1];
    // As the work queue does: one after the other for each HookTask.
    if (name === undefined || life.works.has(name)) return;
    life.works.add(name);
    void reconciler
      .reconcile(`team-a/${name}`)
      .catch(() => undefined)
      .finally(() => life.works.delete(name));
  }

  /** Mostly one of the newest. */
  #recentTask(): string | undefined {
    const names = [...this.world.tasks.keys()].toReversed();
    return names[this.#below(Math.max(1, this.#below(4) === 0 ? names.length : Math.min(2, names.length)))];
  }

  /** Cluster API calls: the answer is confirmed by one consistent read. */
  #call(): void {
    const { world, laws } = this;
    const { facts } = world;
    const replica = this.#replica();
    const call = {
      hook: HOOK,
      fromKubernetesVersion: facts.running,
      toKubernetesVersion: facts.wanted,
    } as const;
    const cluster = clusterOf(facts);
    if (
      !(this.#weakness.wanted ?? isWanted(call, cluster, SERVED)) ||
      replica.facts.generation !== facts.generation
    )
      return;
    const remembered = [...replica.memory.all()].map(({ record }) => record);
    const records = this.#weakness.records?.(world.records(), remembered) ?? world.records();
    const at = {
      cluster,
      namespace: namespace(),
      objects: NO_OBJECTS,
      overrides: overridesOf(facts),
      tasks: readerOf(records),
      rendersTasks: true as const,
    };
    const policies = [compiledOf(facts)];
    const decision = (this.#weakness.decide ?? decide)(policies, at, call, world.now);
    if (!decision.holds) {
      laws.releases(facts, [...world.tasks.values()]);
      this.#releases += 1;
      this.#answers.push(facts);
      return;
    }
    if (decision.begins === undefined) return;
    laws.begins(facts);
    const basis = { source: "ApiServer" as const, world: at, policies };
    void replica.beginner.begin({ call, cluster }, { ...decision, basis }).catch(() => undefined);
  }

  /** A replica learns something that is new, perhaps late. */
  #deliver(): void {
    const replica = this.#replica();
    const task = this.#below(3) === 0 ? undefined : this.world.tasks.get(this.#recentTask() ?? "");
    if (task === undefined) replica.facts = this.world.facts;
    else replica.memory.learn(storedTask(task));
  }

  #endJob(): void {
    this.world.left.clear();
    const jobs = [...this.world.jobs.values()];
    const job = jobs[this.#below(Math.max(1, jobs.length))];
    if (job === undefined) return;
    if (job.deleting) this.world.jobs.delete(job.name);
    else if (job.ends === "running")
      this.world.jobs.set(job.name, { ...job, ends: this.#below(3) === 0 ? "failed" : "complete" });
  }

  /** Cluster API begins, if it still wants what it was released for; later, it has finished. */
  #act(): void {
    const { world } = this;
    const { facts } = world;
    if (facts.begun) return world.change({ begun: false, running: facts.wanted });
    const answer = this.#answers.shift();
    const same =
      answer?.uid === facts.uid && answer.wanted === facts.wanted && answer.running === facts.running;
    if (same && !facts.paused) world.change({ begun: true });
  }

  #pass(): void {
    const seconds = [5, 5, 5, 5, 30, 30, 60, 60, 700, 90_000][this.#below(10)] ?? 5;
    this.world.now = new Date(this.world.now.getTime() + seconds * 1000);
    this.#clock.ms += seconds * 1000;
  }

  /** The leader is gone, and what it has asked for may still be carried out. */
  #crash(): void {
    const index = this.#leader === 0 ? 0 : 1;
    this.#replicas[index].life.isOver = true;
    Object.assign(this.#replicas[index], this.#start(index));
    this.#leader = 1 - index;
    const next = this.#replicas[index === 0 ? 1 : 0];
    for (const task of this.world.tasks.values()) next.memory.learn(storedTask(task));
  }

  #user(): void {
    const { world } = this;
    const { facts } = world;
    const higher = `v1.${Number(facts.running.split(".")[1]) + 1}.0`;
    const idle = !facts.begun;
    const edits: readonly Choice[] = [
      [8, () => world.change({ approved: true })],
      [1, () => world.change({ approved: false })],
      [8, () => idle && world.change({ wanted: higher })],
      [4, () => idle && world.change({ wanted: facts.running })],
      [3, () => world.change({ paused: facts.paused ? false : this.#below(4) === 0 })],
      [1, () => world.change({ template: this.#below(2), generation: facts.generation + 1 })],
      [
        2,
        () =>
          world.change({
            mode: this.#below(6) === 0 ? "Audit" : "Enforce",
            generation: facts.generation + 1,
          }),
      ],
      [2, () => world.change({ overridden: this.#below(6) === 0 })],
      [1, () => world.change({ ...ANOTHER, uid: `uid-${world.next()}` })],
      [2, () => (world.refuses = this.#below(6) === 0)],
      [4, () => this.#retry()],
      [1, () => this.#deleteJob()],
    ];
    choose(edits, this.#below);
  }

  #retry(): void {
    const failed = [...this.world.tasks.values()].filter(({ status }) => status?.phase === "Failed");
    const task: HookTask | undefined = failed[this.#below(Math.max(1, failed.length))];
    if (task !== undefined)
      this.world.annotate(task.metadata.name, { "hookpolicy.dev/retry": this.world.now.toISOString() });
  }

  /** Before the operator has learnt that it exists, the deletion is as if it had not been created. */
  #deleteJob(): void {
    const { world } = this;
    const names = [...world.tasks.values()].flatMap((task) => attemptsOf(task).map(({ name }) => name));
    const name = names[this.#below(Math.max(1, names.length))] ?? "";
    world.jobs.delete(name);
    world.created.delete(name);
  }
}
