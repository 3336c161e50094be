/**
 * Explores all that can happen in a small system: breadth-first over its states, each visited once, whatever the order
 * of steps that led there. A state is reached again by taking the same steps from the start, so a system needs no copy
 * of itself, and may be made of real code that keeps its secrets; it only has to do the same each time.
 */

import { hash } from "node:crypto";

export interface Step {
  /** Unique among those that can be taken at the same time. */
  readonly name: string;
  /** What the system does by itself, sooner or later; the others may happen or not. */
  readonly own: boolean;
  run(): void;
}

export interface System {
  steps(): readonly Step[];
  /** After a step: until nothing goes on without another one. */
  settle(): Promise<void>;
  /** Everything that what happens next depends on. */
  state(): string;
  /** The part of it that the world sees: a system is at rest when only steps of others change that. */
  visible(): string;
  /** What must never be so. */
  broken(): readonly string[];
  /** What must not be so at rest. */
  brokenAtRest(): readonly string[];
  stop(): void;
}

export interface Exploration {
  readonly states: number;
  readonly steps: number;
  readonly atRest: number;
}

interface State {
  readonly parent: State | undefined;
  readonly by: string;
  readonly depth: number;
  readonly visible: string;
  readonly brokenAtRest: readonly string[];
  readonly open: readonly { readonly name: string; readonly own: boolean }[];
  readonly next: { readonly to: State; readonly own: boolean }[];
}

/** Throws with the shortest way to a state that must not be. */
export async function explore(start: () => System, maxStates: number): Promise<Exploration> {
  const found = new Map<string, State>();
  /** Systems in states from which no step was taken yet: each saves taking all steps to there again. */
  const kept = new Map<State, System>();
  const visit = (system: System, parent: State | undefined, by: string): State => {
    const key = hash("sha256", system.state(), "base64");
    const known = found.get(key);
    const [broken] = system.broken();
    if (broken !== undefined) throw new Error(`${broken}\n${wayTo(parent)}\n  and then: ${by}`);
    if (known !== undefined) {
      system.stop();
      return known;
    }
    const open = system.steps().map(({ name, own }) => ({ name, own }));
    const depth = (parent?.depth ?? 0) + 1;
    const visible = hash("sha256", system.visible(), "base64");
    const state = { parent, by, depth, visible, brokenAtRest: system.brokenAtRest(), open, next: [] };
    found.set(key, state);
    kept.set(state, system);
    if (found.size > maxStates) throw new Error(`more than ${maxStates} states\n${wayTo(state)}`);
    return state;
  };
  visit(await replay(start, []), undefined, "");
  let steps = 0;
  // A Map goes on with what is added while it is walked: that is the queue.
  for (const state of found.values()) {
    for (const { name, own } of state.open) {
      const system = kept.get(state) ?? (await replay(start, wayBack(state)));
      kept.delete(state);
      await take(system, name);
      state.next.push({ to: visit(system, state, name), own });
      steps += 1;
    }
    kept.get(state)?.stop();
    kept.delete(state);
  }
  return { states: found.size, steps, atRest: checkRest([...found.values()]) };
}

async function replay(start: () => System, names: readonly string[]): Promise<System> {
  const system = start();
  await system.settle();
  for (const name of names) await take(system, name);
  return system;
}

async function take(system: System, name: string): Promise<void> {
  const step = system.steps().find((each) => each.name === name);
  if (step === undefined) throw new Error(`not the same twice: ${name}`);
  step.run();
  await system.settle();
}

/** Wherever the system is left alone, it comes to rest, and there all is as it should be. */
function checkRest(states: readonly State[]): number {
  const resting = atRest(states);
  for (const state of resting) {
    const [broken] = state.brokenAtRest;
    if (broken !== undefined) throw new Error(`at rest: ${broken}\n${wayTo(state)}`);
  }
  const settles = new Set(resting);
  for (let before = -1; before !== settles.size;) {
    before = settles.size;
    for (const state of states.toReversed()) {
      if (state.next.some(({ to, own }) => own && settles.has(to))) settles.add(state);
    }
  }
  const restless = states.find((state) => !settles.has(state));
  if (restless !== undefined) throw new Error(`never comes to rest\n${wayTo(restless)}`);
  return resting.size;
}

/** The states from which no number of own steps leads to one that looks otherwise. */
function atRest(states: readonly State[]): Set<State> {
  const resting = new Set(states);
  for (let before = -1; before !== resting.size;) {
    before = resting.size;
    for (const state of states.toReversed()) {
      const moves = state.next.some(
        ({ to, own }) => own && (to.visible !== state.visible || !resting.has(to)),
      );
      if (moves) resting.delete(state);
    }
  }
  return resting;
}

function wayBack(state: State | undefined): string[] {
  const names: string[] = [];
  for (let each = state; each?.parent !== undefined; each = each.parent) names.push(each.by);
  return names.toReversed();
}

function wayTo(state: State | undefined): string {
  return wayBack(state)
    .map((name, index) => `  ${index + 1}. ${name}`)
    .join("\n");
}
