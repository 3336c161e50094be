/** Explores one scenario in a thread of its own, whose clocks stand, and which no test runner watches. */

import { parentPort, Worker, workerData } from "node:worker_threads";
import { type Exploration, explore } from "./explorer.ts";
import { finalizerScenarios } from "./finalizer.ts";
import { Fleet, rested, type Scenario } from "./fleet.ts";
import { releaseScenarios } from "./release.ts";
import { stopClocks } from "./replica.ts";
import { statusScenarios } from "./status.ts";

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  ...finalizerScenarios,
  ...releaseScenarios,
  ...statusScenarios,
};

const MAX_STATES = 20_000;

export async function exploreScenario(name: string): Promise<Exploration> {
  const { promise, resolve, reject } = Promise.withResolvers<Exploration>();
  const worker = new Worker(new URL(import.meta.url), { workerData: name });
  worker.once("message", resolve);
  worker.once("error", reject);
  return await promise;
}

if (parentPort !== null) {
  stopClocks();
  const scenario = SCENARIOS[workerData];
  if (scenario === undefined) throw new Error(`no scenario ${workerData}`);
  const begun = await rested(scenario);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- of a worker thread, not of a window
  parentPort.postMessage(await explore(() => new Fleet(begun), MAX_STATES));
}
