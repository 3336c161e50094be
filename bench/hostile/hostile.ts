/** Everything that no client should send (test/hostile), and how much longer another client waits meanwhile. */

import { setTimeout as sleep } from "node:timers/promises";
import { post } from "../../test/controlplane/post.ts";
import { MEMORY_LIMIT_MIB } from "../../test/controlplane/shipped.ts";
import type { Scale } from "../../test/hostile/attack.ts";
import { ATTACKS } from "../../test/hostile/attacks.ts";
import { Bystander, type Calls } from "../../test/hostile/bystander.ts";
import { memoryOf } from "../../test/hostile/memory.ts";
import { endure, mib, type Outcome, startBystander } from "../../test/hostile/siege.ts";
import { seedOf, startTarget, type Target } from "../../test/hostile/target.ts";
import { Noise } from "../measure/noise.ts";
import { quantile, rounded } from "../measure/statistics.ts";
import { type Progress, QUICK, resultOf } from "../part.ts";
import { atLeast, below, none, type PartResult, row, type Row } from "../result.ts";
import { startBareServer } from "../speed/servers.ts";
import { standBack } from "./stand-back.ts";

/** In 20 s the well-behaved client makes 1,000 calls: a p99 leaves ten of them out. */
const FULL: Omit<Scale, "seed"> = { mutants: 100_000, connections: 1000, lastsMs: 20_000 };
const SKETCH: Omit<Scale, "seed"> = { mutants: 2000, connections: 100, lastsMs: 2000 };
const SCALE = QUICK ? SKETCH : FULL;
/** How long the well-behaved client is alone before each attack: the machine is not equally fast all the time. */
const CALM_MS = QUICK ? 1000 : 15_000;
/** Until the code is compiled, or the last attack is over for the operator, too. */
const SETTLING_MS = { code: QUICK ? 2000 : 20_000, attack: QUICK ? 200 : 2000 };

/** Calls per second to a server beside the operator that has no attackers: what it feels is the machine. */
const BARE_PER_SECOND = 20;

/** Cluster API waits for an answer for 10 s. */
const PROMISED_MS = 1000;

interface SiegeOutcome extends Outcome {
  /** What the server without attackers felt meanwhile. */
  readonly bare: Calls;
}

interface Siege {
  readonly calm: Calls;
  readonly outcomes: readonly SiegeOutcome[];
  /** MiB at the end, above the memory before the first attack. */
  readonly kept: number;
  readonly errors: readonly string[];
  readonly logLines: number;
  readonly noise: Noise;
}

/** HOSTILE_SEED makes other mutants. */
export async function runHostile(progress: Progress): Promise<PartResult> {
  const seed = Number(process.env["HOSTILE_SEED"] ?? 1);
  progress(`mutants of seed ${seed} (set by HOSTILE_SEED)`);
  const target = await startTarget();
  try {
    const siege = await besiege(target, { ...SCALE, seed }, progress);
    return resultOf("hostile", {
      tables: [
        { title: "What came of it", rows: totals(siege) },
        {
          title: "What another client felt: 50 calls/s, half over kept and half over new connections",
          rows: [...feltRows(siege), siege.noise.row("hostile")],
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
  let unattacked: Bystander | undefined;
  let endStandingBack: (() => void) | undefined;
  try {
    unattacked = await startUnattacked(target);
    await sleep(SETTLING_MS.code);
    const base = memoryOf(pid).resident;
    endStandingBack = standBack();
    const calm: Calls[] = [];
    const outcomes: SiegeOutcome[] = [];
    for (const attack of ATTACKS) {
      progress(attack.title);
      noise.sample();
      await sleep(SETTLING_MS.attack);
      calm.push(await alone(bystander));
      await unattacked.calls();
      const outcome = await endure(target, { attack, scale, bystander });
      outcomes.push({ ...outcome, bare: await unattacked.calls() });
      const { survived, tally, calls } = outcome;
      progress(`${survived ? "survived" : "CRASHED"}: ${tallyOf(outcome)}`);
      for (const problem of [...tally.problems, ...calls.failures.slice(0, 3)]) progress(`  ${problem}`);
      if (!survived) break;
    }
    const lines = target.operator.lines();
    const errors = lines.filter(({ level }) => level === "error").map((line) => JSON.stringify(line));
    const kept = target.operator.daemon.running() ? mib(memoryOf(pid).resident - base) : NaN;
    return { calm: together(calm), outcomes, kept, errors, logLines: lines.length, noise };
  } finally {
    endStandingBack?.();
    await Promise.all([bystander.stop(), unattacked?.stop()]);
  }
}

/** Calls a bare node:https server with the same body. */
async function startUnattacked(target: Target): Promise<Bystander> {
  const { cp, ca, operator } = target;
  const { port } = await startBareServer(cp, operator.certDir, "discard");
  const body = seedOf(target, "BeforeClusterDelete").body.toString();
  const call = { port, path: "/", body };
  const { text: expected } = await post({ ...call, ca, servername: "localhost" });
  return new Bystander({ ...call, ca, expected, perSecond: BARE_PER_SECOND });
}

async function alone(bystander: Bystander): Promise<Calls> {
  await bystander.calls();
  await sleep(CALM_MS);
  return await bystander.calls();
}

function together(calls: readonly Calls[]): Calls {
  return {
    kept: calls.flatMap(({ kept }) => kept),
    fresh: calls.flatMap(({ fresh }) => fresh),
    failures: calls.flatMap(({ failures }) => failures),
  };
}

function tallyOf({ tally: { sent, answered, refused }, growth }: Outcome): string {
  return `${sent} sent, ${answered} answered, ${refused} refused; memory +${growth} MiB`;
}

function totals({ calm, outcomes, kept, errors, logLines }: Siege): Row[] {
  const sum = (of: (outcome: Outcome) => number): number =>
    outcomes.reduce((total, each) => total + of(each), 0);
  const total = (what: "sent" | "answered" | "refused" | "invalid" | "wrongAllows"): number =>
    sum(({ tally }) => tally[what]);
  const mutated = outcomes.find(({ attack }) => attack.id === "mutated")?.tally.sent ?? 0;
  const peak = Math.max(...outcomes.map((outcome) => outcome.peak));
  const failed = calm.failures.length + sum(({ calls }) => calls.failures.length);
  const crashes = sum(({ survived }) => (survived ? 0 : 1));
  const logged = [`of ${logLines} lines`, ...errors.slice(0, 1)].join("; the first: ");
  const came = `of ${total("sent")} requests and connections; ${total("answered")} were answered, ${total("refused")} refused`;
  return [
    row("hostile-mutated", "mutated requests", mutated, { unit: "requests", goal: atLeast(FULL.mutants) }),
    row("hostile-invalid", "neither a valid answer nor a clean refusal", total("invalid"), {
      ...none("answers"),
      note: came,
    }),
    row("hostile-wrong-allows", "a release of a Cluster that is held", total("wrongAllows"), none("answers")),
    row("hostile-crashes", "the process ended", crashes, none("times")),
    row("hostile-errors", "errors in the operator's log", errors.length, { ...none("lines"), note: logged }),
    row(
      "hostile-failed",
      "calls of the other client that failed or got another answer",
      failed,
      none("calls"),
    ),
    row("hostile-peak", "resident memory at its peak", peak, { unit: "MiB", goal: below(MEMORY_LIMIT_MIB) }),
    row("hostile-kept", "resident memory above that of before, when all is over", kept, { unit: "MiB" }),
  ];
}

function feltRows({ calm, outcomes }: Siege): Row[] {
  return [
    row("hostile-calm", "p99 without an attack", rounded(p99(calm), 2), { unit: "ms", note: spread(calm) }),
    ...outcomes.map((outcome) => {
      const { attack, calls, bare } = outcome;
      const beside = `p99 ${p99(bare).toFixed(1)} ms of ${bare.kept.length + bare.fresh.length} calls`;
      return row(`hostile-p99-${attack.id}`, attack.title, rounded(p99(calls), 1), {
        unit: "ms",
        goal: below(PROMISED_MS),
        note: `${spread(calls)}; ${tallyOf(outcome)}; a server without attackers beside it: ${beside}`,
      });
    }),
  ];
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
    `The other client is alone for ${CALM_MS / 1000} s before each attack: all of these calls together are those without an attack, because the machine is not equally fast all the time.`,
    `An attack that ends sooner is repeated without a pause until it has lasted ${SCALE.lastsMs / 1000} s, so that the p99 is not just the slowest of a few calls; the counts are those of all repetitions.`,
    `fast-check mutates the golden bodies, the bodies of the other benches, discovery and reviews of policies, in their JSON, in their bytes, and in the head of the request: \`HOSTILE_SEED=${seed}\` makes the same requests again.`,
    "The operator runs with the heap that the Deployment gives it (75 % of 512 MiB). Every Cluster is held, so that any release is wrong. A valid answer is 200 with JSON that Cluster API's types accept; a refusal is 400, 404, or a connection that ends.",
    "The attackers have one address and the other client another, as pods have: when there are too many connections or bodies, the address that has the most pays. Calls about policies come from the address of the other client.",
    `A bare node:https server runs beside the operator, and gets ${BARE_PER_SECOND} of the same calls a second, half over new connections: it has no attackers, so what it feels is that the machine and the API server have more to do.`,
    "The promise: Cluster API waits 10 s for an answer; under each attack every call of the other client is answered, 99 of 100 within a second.",
    "Real attackers are on other machines. Here all share the processor, so the process of the attackers has the lowest priority (nice 19, for its session, too): it gets what the operator, the API server and the client beside it leave. Before it had, it kept both waiting for the scheduler, which was most of what that client felt. What the attackers' connections, TLS and requests cost the operator still counts.",
  ];
}
