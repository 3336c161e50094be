/** `make bench PART=hostile`: everything that no client should send (test/hostile), and what others feel of it. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Scale } from "../../test/hostile/attack.ts";
import { ATTACKS } from "../../test/hostile/attacks.ts";
import type { Calls } from "../../test/hostile/bystander.ts";
import { memoryOf } from "../../test/hostile/memory.ts";
import { endure, mib, type Outcome, startBystander } from "../../test/hostile/siege.ts";
import { startTarget, type Target } from "../../test/hostile/target.ts";
import { Noise } from "../measure/noise.ts";
import { quantile, rounded } from "../measure/statistics.ts";
import { type Progress, QUICK, resultOf } from "../part.ts";
import { atLeast, atMost, below, NONE, type PartResult, row, type Row } from "../result.ts";

const FULL: Omit<Scale, "seed"> = { mutants: 100_000, connections: 1000, rounds: 5 };
const SKETCH: Omit<Scale, "seed"> = { mutants: 2000, connections: 100, rounds: 1 };
/** How long the well-behaved client is alone first. */
const CALM_MS = QUICK ? 4000 : 40_000;
/** Of the Deployment: beyond it the kernel ends the process. */
const MEMORY_LIMIT_MIB = 512;
/** Times p99 of the other client. */
const FAIR = atMost(3);

interface Siege {
  /** Without an attack. */
  readonly before: Calls;
  readonly outcomes: readonly Outcome[];
  /** MiB above the memory of before the first attack, when all is over. */
  readonly kept: number;
  /** Lines of the operator's log at level error. */
  readonly errors: readonly string[];
  readonly logLines: number;
  readonly noise: Noise;
}

/** HOSTILE_SEED: makes other mutants. */
export async function runHostile(progress: Progress): Promise<PartResult> {
  const seed = Number(process.env["HOSTILE_SEED"] ?? 1);
  progress(`mutants of seed ${seed} (set by HOSTILE_SEED)`);
  const target = await startTarget();
  try {
    const siege = await besiege(target, { ...(QUICK ? SKETCH : FULL), seed }, progress);
    const { before, outcomes, noise } = siege;
    const felt = [calmRow(before), ...outcomes.map((outcome) => outcomeRow(outcome, before))];
    return resultOf("hostile", {
      tables: [
        { title: "What came of it", rows: totals(siege) },
        {
          title: "What another client felt: 50 calls/s, half over kept and half over new connections",
          rows: [...felt, noise.row("hostile")],
        },
      ],
      notes: notes(seed),
    });
  } finally {
    await target.cp.stop();
  }
}

/** One attack after the other on one operator, with a well-behaved client beside them. */
async function besiege(target: Target, scale: Scale, progress: Progress): Promise<Siege> {
  const { pid } = target.operator.daemon;
  const noise = new Noise();
  const bystander = await startBystander(target);
  try {
    await sleep(CALM_MS / 2); // until everything is compiled
    await bystander.calls();
    await sleep(CALM_MS);
    const before = await bystander.calls();
    const base = memoryOf(pid).resident;
    const outcomes: Outcome[] = [];
    for (const attack of ATTACKS) {
      progress(attack.title);
      noise.sample();
      const outcome = await endure(target, { attack, scale, bystander });
      outcomes.push(outcome);
      progress(describe(outcome));
      if (!outcome.survived) break;
    }
    const lines = target.operator.lines();
    const errors = lines.filter(({ level }) => level === "error").map((line) => JSON.stringify(line));
    const survived = outcomes.at(-1)?.survived === true;
    const kept = survived ? mib(memoryOf(pid).resident - base) : NaN;
    return { before, outcomes, kept, errors, logLines: lines.length, noise };
  } finally {
    await bystander.stop();
  }
}

function describe({ attack, tally, calls, growth, survived }: Outcome): string {
  const { sent, invalid, wrongAllows } = tally;
  const others = calls.failures.slice(0, 3).map((failure) => `another client: ${failure}`);
  return [
    `${attack.id}: ${survived ? "survived" : "CRASHED"}, ${sent} sent, ${invalid} invalid, ${wrongAllows} wrong allows, +${growth} MiB`,
    ...[...tally.problems, ...others].map((problem) => `  ${problem}`),
  ].join("\n");
}

function totals({ outcomes, kept, errors, logLines }: Siege): Row[] {
  const sum = (of: (outcome: Outcome) => number): number =>
    outcomes.reduce((total, each) => total + of(each), 0);
  const peak = Math.max(...outcomes.map((outcome) => outcome.peak));
  const mutated = outcomes.find(({ attack }) => attack.id === "mutated")?.tally.sent ?? 0;
  const failed = sum(({ calls }) => calls.failures.length);
  const crashes = outcomes.filter(({ survived }) => !survived).length;
  const total = (what: "sent" | "answered" | "refused" | "invalid" | "wrongAllows"): number =>
    sum(({ tally }) => tally[what]);
  const answers = { unit: "answers", goal: NONE };
  return [
    row("hostile-mutated", "mutated requests", mutated, { unit: "requests", goal: atLeast(FULL.mutants) }),
    row("hostile-invalid", "neither a valid answer nor a clean refusal", total("invalid"), {
      ...answers,
      note: `of ${total("sent")} requests and connections; ${total("answered")} were answered, ${total("refused")} refused`,
    }),
    row("hostile-wrong-allows", "a go for a Cluster that is held", total("wrongAllows"), answers),
    row("hostile-crashes", "the process ended", crashes, { unit: "times", goal: NONE }),
    row("hostile-errors", "errors in the operator's log", errors.length, {
      unit: "lines",
      goal: NONE,
      note: [`of ${logLines} lines`, ...errors.slice(0, 1)].join("; the first: "),
    }),
    row("hostile-failed", "calls of the other client that failed or got another answer", failed, {
      unit: "calls",
      goal: NONE,
    }),
    row("hostile-peak", "resident memory at its peak", peak, { unit: "MiB", goal: below(MEMORY_LIMIT_MIB) }),
    row("hostile-kept", "resident memory above that of before, when all is over", kept, { unit: "MiB" }),
  ];
}

function calmRow(before: Calls): Row {
  return row("hostile-calm", "p99 without an attack", rounded(p99(before), 2), {
    unit: "ms",
    note: spread(before),
  });
}

function outcomeRow({ attack, calls, tally, growth }: Outcome, before: Calls): Row {
  const { sent, answered, refused } = tally;
  return row(`hostile-p99-${attack.id}`, attack.title, rounded(p99(calls) / p99(before), 2), {
    unit: "times p99 before",
    goal: FAIR,
    note: `${spread(calls)}; ${sent} sent, ${answered} answered, ${refused} refused; memory +${growth} MiB`,
  });
}

function p99({ kept, fresh }: Calls): number {
  return quantile([...kept, ...fresh], 0.99);
}

function spread({ kept, fresh }: Calls): string {
  const all = [...kept, ...fresh];
  const [median, late, last] = [0.5, 0.99, 1].map((share) => quantile(all, share).toFixed(1));
  const shaken = quantile(fresh, 0.99).toFixed(1);
  return `${all.length} calls: median ${median} ms, p99 ${late} ms (${shaken} ms over new connections), longest ${last} ms`;
}

function notes(seed: number): string[] {
  return [
    `Mutated requests are made by fast-check from the golden bodies, the bodies of the other benches, discovery and reviews of policies, in their JSON, in their bytes, and in the head of the request: \`HOSTILE_SEED=${seed}\` makes the same ones again.`,
    "The operator runs with the heap that the Deployment gives it (75 % of 512 MiB). Every Cluster is held, so that any go is wrong. A valid answer is 200 with JSON that Cluster API's types take; a refusal is 400, 404, or a connection that ends.",
    "All clients run on the same machine, so that an attack also takes the processor away from the operator and from the client beside it.",
  ];
}
