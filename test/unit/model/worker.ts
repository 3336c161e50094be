/** Explores scenarios in a thread of their own, whose clocks stand, and which no test runner watches. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { parentPort, Worker } from "node:worker_threads";
import { type Exploration, explore } from "./explorer.ts";
import { finalizerScenarios } from "./finalizer.ts";
import { Fleet, rested, type Scenario } from "./fleet.ts";
import { releaseScenarios, weakConfirmations } from "./release.ts";
import { stopClocks } from "./replica.ts";
import { rolloutScenarios, weakClocks, weakReleases, weakRollouts } from "./rollout.ts";
import { restedRollout } from "./rested-rollout.ts";
import { RolloutFleet, type RolloutScenario } from "./rollout-fleet.ts";
import { statusScenarios } from "./status.ts";

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  ...finalizerScenarios,
  ...releaseScenarios,
  ...statusScenarios,
  ...weakConfirmations,
};

const ROLLOUTS: Readonly<Record<string, RolloutScenario>> = {
  ...rolloutScenarios,
  ...weakRollouts,
  ...weakReleases,
  ...weakClocks,
};

const MAX_STATES = 60_000;

/** One for all scenarios of a process: half a second of it goes to its modules. */
let worker: Worker | undefined;

/** One scenario at a time. */
export async function exploreScenario(name: string): Promise<Exploration> {
  const thread = (worker ??= new Worker(new URL(import.meta.url)));
  thread.ref();
  try {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- of a worker thread, not of a window
    thread.postMessage(name);
    const [found]: Exploration[] = await once(thread, "message");
    assert.ok(found);
    return found;
  } catch (error) {
    worker = undefined; // an error has ended it
    throw error;
  } finally {
    thread.unref();
  }
}

async function exploreHere(name: string): Promise<Exploration> {
  const rollout = ROLLOUTS[name];
  if (rollout !== undefined) {
    const begun = await restedRollout(rollout);
    return await explore(() => new RolloutFleet(begun), MAX_STATES);
  }
  const scenario = SCENARIOS[name];
  if (scenario === undefined) throw new Error(`no scenario ${name}`);
  const begun = await rested(scenario);
  return await explore(() => new Fleet(begun), MAX_STATES);
}

if (parentPort !== null) {
  const port = parentPort;
  stopClocks();
  port.on("message", (name: string) => {
    // What is broken ends the thread, by a rejection that nothing handles.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- of a worker thread, not of a window
    void exploreHere(name).then((found) => port.postMessage(found));
  });
}
