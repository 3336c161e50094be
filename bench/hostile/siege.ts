/** One attack after the other on one operator, with a well-behaved client and an eye on memory beside them. */

import { setTimeout as sleep } from "node:timers/promises";
import { type Attack, type Scale } from "./attack.ts";
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

export interface Siege {
  /** With nobody else there. */
  readonly before: Calls;
  readonly outcomes: readonly Outcome[];
  /** MiB above the memory of before the first attack, when all is over. */
  readonly kept: number;
  /** Lines of the operator's log at level error. */
  readonly errors: readonly string[];
  readonly logLines: number;
}

export interface SiegeOptions {
  readonly attacks: readonly Attack[];
  readonly scale: Scale;
  /** How long the well-behaved client is alone first. */
  readonly calmMs: number;
  readonly progress: (line: string) => void;
}

const PER_SECOND = 50;

export async function besiege(
  target: Target,
  { attacks, scale, calmMs, progress }: SiegeOptions,
): Promise<Siege> {
  const { pid } = target.operator.daemon;
  const bystander = await startBystander(target);
  try {
    await sleep(calmMs / 2); // until everything is compiled
    await bystander.calls();
    await sleep(calmMs);
    const before = await bystander.calls();
    const base = memoryOf(pid).resident;
    const outcomes: Outcome[] = [];
    for (const attack of attacks) {
      progress(attack.title);
      const outcome = await endure(target, { attack, scale, bystander });
      outcomes.push(outcome);
      progress(describe(outcome));
      if (!outcome.survived) break;
    }
    const lines = target.operator.lines();
    const errors = lines.filter(({ level }) => level === "error").map((line) => JSON.stringify(line));
    const last = outcomes.at(-1)?.survived === true ? memoryOf(pid).resident : NaN;
    return { before, outcomes, kept: last - base, errors, logLines: lines.length };
  } finally {
    await bystander.stop();
  }
}

export async function endure(
  target: Target,
  { attack, scale, bystander }: { attack: Attack; scale: Scale; bystander: Bystander },
): Promise<Outcome> {
  const { daemon } = target.operator;
  forgetPeak(daemon.pid);
  const base = memoryOf(daemon.pid).resident;
  await bystander.calls();
  const tally = new Tally();
  await attack.run(target, scale, tally);
  const calls = await bystander.calls();
  const survived = daemon.running();
  const peak = survived ? memoryOf(daemon.pid).peak : NaN;
  return { attack, tally, calls, survived, peak, growth: peak - base };
}

function describe({ attack, tally, calls, growth, survived }: Outcome): string {
  const { sent, invalid, wrongAllows } = tally;
  const problems = [
    ...tally.problems,
    ...calls.failures.slice(0, 3).map((failure) => `another client: ${failure}`),
  ];
  return [
    `${attack.id}: ${survived ? "survived" : "CRASHED"}, ${sent} sent, ${invalid} invalid, ${wrongAllows} wrong allows, +${growth} MiB`,
    ...problems.map((problem) => `  ${problem}`),
  ].join("\n");
}

export async function startBystander(target: Target): Promise<Bystander> {
  const { route, body } = seedOf(target, "BeforeClusterDelete");
  const request: object = JSON.parse(body.toString());
  const expected = await target.operator.ask("BeforeClusterDelete", request);
  const errand = { port: target.port, ca: target.ca, path: route.path, body: body.toString() };
  return new Bystander({ ...errand, expected: JSON.stringify(expected), perSecond: PER_SECOND });
}
