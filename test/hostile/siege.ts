/** An attack on one operator, with a well-behaved client and an eye on memory beside it. */

import type { Attack, Scale } from "./attack.ts";
import { Tally } from "./tally.ts";
import { Bystander, type Calls } from "./bystander.ts";
import { forgetPeak, memoryOf } from "./memory.ts";
import { seedOf, type Target } from "./target.ts";

export interface Outcome {
  readonly attack: Attack;
  readonly tally: Tally;
  readonly calls: Calls;
  /** MiB of resident memory at the peak, and above what the process had before the attack. */
  readonly peak: number;
  readonly growth: number;
  readonly survived: boolean;
}

const PER_SECOND = 50;

export async function endure(
  target: Target,
  { attack, scale, bystander }: { attack: Attack; scale: Scale; bystander: Bystander },
): Promise<Outcome> {
  const { daemon } = target.operator;
  forgetPeak(daemon.pid);
  const base = mib(memoryOf(daemon.pid).resident);
  await bystander.calls();
  const tally = new Tally();
  await attack.run(target, scale, tally);
  const calls = await bystander.calls();
  const survived = daemon.running();
  const peak = survived ? mib(memoryOf(daemon.pid).peak) : NaN;
  return { attack, tally, calls, survived, peak, growth: peak - base };
}

export async function startBystander(target: Target): Promise<Bystander> {
  const { route, body } = seedOf(target, "BeforeClusterDelete");
  const request: object = JSON.parse(body.toString());
  const expected = await target.operator.ask("BeforeClusterDelete", request);
  const errand = { port: target.port, ca: target.ca, path: route.path, body: body.toString() };
  return new Bystander({ ...errand, expected: JSON.stringify(expected), perSecond: PER_SECOND });
}

export function mib(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}
