/** `make bench PART=hostile`: everything that no client should send, and what others feel of it. */

import { describeMachine, today } from "../machine.ts";
import type { Goal, PartResult, Row } from "../result.ts";
import type { Scale } from "./attack.ts";
import { ATTACKS } from "./attacks.ts";
import { type Calls, percentile } from "./bystander.ts";
import { besiege, type Outcome, type Siege } from "./siege.ts";
import { startTarget } from "./target.ts";

const FULL: Omit<Scale, "seed"> = { mutants: 100_000, connections: 1000, rounds: 5 };
const QUICK: Omit<Scale, "seed"> = { mutants: 2000, connections: 100, rounds: 1 };
/** Of the Deployment: beyond it the kernel ends the process. */
const MEMORY_LIMIT_MIB = 512;
/** What a p99 is when nobody moves it: as much it differs from one quiet minute to the next. */
const UNMOVED: Goal = { is: "at most", value: 1.5 };
const NONE: Goal = { is: "exactly", value: 0 };

export async function runHostile(progress: (line: string) => void): Promise<PartResult> {
  const isQuick = process.env["BENCH_QUICK"] === "1";
  const seed = Number(process.env["HOSTILE_SEED"] ?? 1);
  progress(`mutants of seed ${seed} (set by HOSTILE_SEED)`);
  const target = await startTarget();
  try {
    const scale = { ...(isQuick ? QUICK : FULL), seed };
    const calmMs = isQuick ? 4000 : 40_000;
    return resultOf(await besiege(target, { attacks: ATTACKS, scale, calmMs, progress }), scale);
  } finally {
    await target.cp.stop();
  }
}

function resultOf(siege: Siege, scale: Scale): PartResult {
  const { before, outcomes } = siege;
  return {
    part: "hostile",
    command: "make bench PART=hostile",
    date: today(),
    machine: describeMachine({}),
    tables: [
      { title: "What came of it", rows: totals(siege) },
      {
        title: "What another client felt: 50 calls/s, half over kept and half over new connections",
        rows: [calmRow(before), ...outcomes.map((outcome) => outcomeRow(outcome, before))],
      },
    ],
    plots: [],
    notes: [
      `Mutated requests are made by fast-check from the golden bodies, the bodies of the other benches, discovery and reviews of policies, in their JSON, in their bytes, and in the head of the request: \`HOSTILE_SEED=${scale.seed}\` makes the same ones again.`,
      "The operator runs with the heap that the Deployment gives it (75 % of 512 MiB). Every Cluster is held, so that any go is wrong. A valid answer is 200 with JSON that Cluster API's types take; a refusal is 400, 404, or a connection that ends.",
      "All clients run on the same machine, so that an attack also takes the processor away from the operator and from the client beside it.",
    ],
  };
}

function totals({ outcomes, kept, errors, logLines }: Siege): Row[] {
  const sum = (of: (outcome: Outcome) => number): number =>
    outcomes.reduce((total, each) => total + of(each), 0);
  const peak = Math.max(...outcomes.map(({ peak: own }) => own));
  const mutated = outcomes.find(({ attack }) => attack.id === "mutated")?.tally.sent ?? 0;
  const sent = sum(({ tally }) => tally.sent);
  const note = `of ${sent} requests and connections; ${sum(({ tally }) => tally.answered)} were answered, ${sum(({ tally }) => tally.refused)} refused`;
  const crashes = outcomes.filter(({ survived }) => !survived).length;
  return [
    row("mutated", ["mutated requests", "requests"], mutated, {
      goal: { is: "at least", value: FULL.mutants },
    }),
    row(
      "invalid",
      ["neither a valid answer nor a clean refusal", "answers"],
      sum(({ tally }) => tally.invalid),
      { goal: NONE, note },
    ),
    row(
      "wrong-allows",
      ["a go for a Cluster that is held", "answers"],
      sum(({ tally }) => tally.wrongAllows),
      { goal: NONE },
    ),
    row("crashes", ["the process ended", "times"], crashes, { goal: NONE }),
    row("errors", ["errors in the operator's log", "lines"], errors.length, {
      goal: NONE,
      note: [`of ${logLines} lines`, ...errors.slice(0, 1)].join("; the first: "),
    }),
    row(
      "failed",
      ["calls of the other client that failed or got another answer", "calls"],
      sum(({ calls }) => calls.failures.length),
      { goal: NONE },
    ),
    row("peak", ["resident memory at its peak", "MiB"], peak, {
      goal: { is: "below", value: MEMORY_LIMIT_MIB },
    }),
    row("kept", ["resident memory above that of before, when all is over", "MiB"], kept, {}),
  ];
}

function calmRow(before: Calls): Row {
  return row("calm", ["p99 with nobody else there", "ms"], p99(before), { note: spread(before) });
}

function outcomeRow({ attack, calls, tally, growth }: Outcome, before: Calls): Row {
  const { sent, answered, refused } = tally;
  const note = `${spread(calls)}; ${sent} sent, ${answered} answered, ${refused} refused; memory +${growth} MiB`;
  return row(`p99-${attack.id}`, [attack.title, "times p99 before"], p99(calls) / p99(before), {
    goal: UNMOVED,
    note,
  });
}

function row(
  id: string,
  [work, unit]: readonly [work: string, unit: string],
  sample: number,
  { goal, note }: { readonly goal?: Goal; readonly note?: string },
): Row {
  const samples = [Math.round(sample * 100) / 100];
  return { id: `hostile-${id}`, work, unit, goal, samples, ...(note !== undefined && { note }) };
}

function p99({ kept, fresh }: Calls): number {
  return percentile([...kept, ...fresh], 0.99);
}

function spread({ kept, fresh }: Calls): string {
  const [median, late, last] = [0.5, 0.99, 1].map((share) =>
    percentile([...kept, ...fresh], share).toFixed(1),
  );
  const shaken = percentile(fresh, 0.99).toFixed(1);
  return `${kept.length + fresh.length} calls: median ${median} ms, p99 ${late} ms (${shaken} ms over new connections), longest ${last} ms`;
}
