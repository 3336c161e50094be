/** Runs a scenario: load, the fault, its end, and the judgement of every answer. */

import { setTimeout as sleep } from "node:timers/promises";
import { startBalancer } from "../../test/controlplane/balancer.ts";
import { startControlPlane } from "../../test/controlplane/control-plane.ts";
import { installHookPolicy } from "../../test/controlplane/operator.ts";
import { QUICK } from "../part.ts";
import { type Felt, observe, observed } from "./felt.ts";
import { type Call, type Judgement, judge } from "./judge.ts";
import { arrangeDefault, Lab } from "./lab.ts";
import { load } from "./load.ts";
import type { Scenario } from "./scenario.ts";

export interface Run extends Judgement {
  readonly wrongAllowsBesides: number;
  /** Only where the fault comes from others. */
  readonly felt: Felt | undefined;
  /** Of the larger replica, after the fault. */
  readonly residentMiB: number;
}

const REPLICAS = 2;
const CALLS_PER_SECOND = 200;
const DEFAULT_FAULT_MS = 12_000;
const FULL = { beforeMs: 3000, afterMs: 8000, afterAtMostMs: 60_000 };
const SKETCH = { beforeMs: 1500, faultMs: 3000, afterMs: 3000, afterAtMostMs: 10_000 };

export async function runScenario(scenario: Scenario): Promise<Run> {
  const { hook = "BeforeClusterUpgrade", controlPlane, arrange = arrangeDefault, fromOthers } = scenario;
  const lab = new Lab(await startControlPlane(controlPlane), await startBalancer(), hook);
  try {
    await installHookPolicy(lab.cp);
    await arrange(lab);
    for (let index = 0; index < REPLICAS; index++) {
      const options = (await scenario.replica?.(lab, index)) ?? {};
      await lab.addReplica(fromOthers === true ? observed(lab) : options);
    }
    await scenario.settle?.(lab);
    return await runLoaded(lab, scenario);
  } finally {
    await lab.stop();
  }
}

async function runLoaded(lab: Lab, scenario: Scenario): Promise<Run> {
  const times = QUICK ? SKETCH : { ...FULL, faultMs: scenario.faultMs ?? DEFAULT_FAULT_MS };
  const { replicas, service } = lab;
  const calls: Call[] = [];
  const stop = new AbortController();
  const observer = scenario.fromOthers === true ? await observe(lab, stop.signal) : undefined;
  let sent = 0;
  // The balancer would add to the durations that others feel.
  const direct = (): number | undefined => replicas[sent++ % replicas.length]?.operator.ports.webhook;
  const port = (): number => (observer === undefined ? undefined : direct()) ?? service.port;
  const options = { perSecond: CALLS_PER_SECOND, port, onCall: (call: Call) => calls.push(call) };
  const observing = observer?.running ?? Promise.resolve();
  const running = [load(lab, options, stop.signal), lab.changeApprovals(stop.signal), observing];
  let injectedAt = Infinity;
  let healedAt = Infinity;
  try {
    await sleep(times.beforeMs);
    injectedAt = performance.now();
    await scenario.inject(lab);
    await sleep(times.faultMs);
    await lab.endBackground();
    await scenario.heal?.(lab);
    healedAt = performance.now();
    await sleep(times.afterMs);
    const settled = (): boolean => judge(calls, healedAt).rightAgainMs !== undefined;
    while (!settled() && performance.now() - healedAt < times.afterAtMostMs) await sleep(1000);
  } finally {
    stop.abort();
    await Promise.all(running);
  }
  return {
    ...judge(calls, healedAt),
    wrongAllowsBesides: (await scenario.wrongAllowsBesides?.(lab)) ?? 0,
    residentMiB: await residentMiB(lab),
    felt: await observer?.felt(calls, { from: injectedAt, to: healedAt }),
  };
}

async function residentMiB({ replicas }: Lab): Promise<number> {
  const running = replicas.filter(({ operator }) => operator.daemon.running());
  const bytes = await Promise.all(
    running.map(async ({ operator }) => await operator.metric("process_resident_memory_bytes")),
  );
  return Math.max(0, ...bytes) / 1024 ** 2;
}
