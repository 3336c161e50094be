/** Runs a scenario: load, the fault, its end, and the judgement of every answer. */

import { setTimeout as sleep } from "node:timers/promises";
import { startBalancer } from "../../test/controlplane/balancer.ts";
import { installClusterDefinition } from "../../test/controlplane/clusterapi.ts";
import { startControlPlane } from "../../test/controlplane/controlplane.ts";
import { installHookPolicy } from "../../test/controlplane/operator.ts";
import { type Judgement, judge } from "./judge.ts";
import { COUNTS, Lab, TEAM } from "./lab.ts";
import { load } from "./load.ts";
import type { Scenario } from "./scenario.ts";
import { DEFAULT_HOOK } from "./subjects.ts";

export interface Run extends Judgement {
  /** Seen otherwise than in an answer. */
  readonly wrongAllowsBesides: number;
}

const REPLICAS = 2;
const FULL = { beforeMs: 3000, faultMs: 12_000, afterMs: 10_000 };
const QUICK = { beforeMs: 1500, faultMs: 3000, afterMs: 3500 };

export async function runScenario(scenario: Scenario, quick: boolean): Promise<Run> {
  const lab = await startLab(scenario, quick);
  try {
    await prepare(lab, scenario);
    return await runLoaded(lab, scenario);
  } finally {
    await lab.stop();
  }
}

async function startLab({ hook = DEFAULT_HOOK, controlPlane }: Scenario, quick: boolean): Promise<Lab> {
  const cp = await startControlPlane(controlPlane);
  return new Lab(cp, await startBalancer(), { hook, quick });
}

async function prepare(lab: Lab, scenario: Scenario): Promise<void> {
  const { arrange = arrangeDefault } = scenario;
  await installHookPolicy(lab.cp);
  await arrange(lab);
  for (let index = 0; index < REPLICAS; index++) {
    await lab.addReplica(await scenario.replica?.(lab, index));
  }
  await scenario.settle?.(lab);
}

export async function arrangeDefault(lab: Lab): Promise<void> {
  await installClusterDefinition(lab.cp);
  await lab.addSubjects(TEAM, COUNTS);
  await lab.storePolicy();
}

async function runLoaded(lab: Lab, scenario: Scenario): Promise<Run> {
  const times = lab.quick ? QUICK : { ...FULL, faultMs: scenario.faultMs ?? FULL.faultMs };
  const { hook, subjects, service } = lab;
  const stop = new AbortController();
  const minds = lab.changeMinds(stop.signal);
  const loading = load({ port: service.port, hook, subjects, trusted: () => lab.trusted }, stop.signal);
  let healedAt = Infinity;
  try {
    await sleep(times.beforeMs);
    await scenario.inject(lab);
    await sleep(times.faultMs);
    await lab.endBackground();
    await scenario.heal?.(lab);
    healedAt = performance.now();
    await sleep(times.afterMs);
  } finally {
    stop.abort();
    await Promise.all([minds, loading]);
  }
  const judgement = judge(await loading, healedAt);
  return { ...judgement, wrongAllowsBesides: (await scenario.wrongAllowsBesides?.(lab)) ?? 0 };
}
