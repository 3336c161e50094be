/** Runs a scenario: load, the fault, its end, and the judgement of every answer. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { startBalancer } from "../../test/controlplane/balancer.ts";
import { startControlPlane } from "../../test/controlplane/controlplane.ts";
import { clusterRef } from "../../test/controlplane/lab.ts";
import { installHookPolicy } from "../../test/controlplane/operator.ts";
import { repeat } from "../calls/pace.ts";
import { startBareServer } from "../speed/servers.ts";
import { type Call, type Judgement, judge } from "./judge.ts";
import { arrangeDefault, HELD, Lab } from "./lab.ts";
import { load } from "./load.ts";
import type { Stretch } from "./looptimes.ts";
import { yieldCores } from "./priority.ts";
import type { Scenario } from "./scenario.ts";
import { DEFAULT_HOOK } from "./subjects.ts";

export interface Run extends Judgement {
  /** Seen otherwise than in an answer. */
  readonly wrongAllowsBesides: number;
  /** During the fault, in milliseconds. */
  readonly durations: Durations;
  /** Long stretches of the replicas' event loops during the fault. */
  readonly stretches: readonly Stretch[];
  /** Why goes that were due were not confirmed; those of replicas that have ended are not known any more. */
  readonly unconfirmed: ReadonlyMap<string, number>;
}

export interface Durations {
  /** Calls about Clusters that are held all the time: they are answered from memory. */
  readonly held: readonly number[];
  /** Calls that released: each waits for reads of the API server. */
  readonly released: readonly number[];
  /** A read of one object from the API server, beside them. */
  readonly read: readonly number[];
  /** The same calls, fewer of them, to a server beside them that only reads the body: what the machine itself costs. */
  readonly bare: readonly number[];
}

const REPLICAS = 2;
const READ_EVERY_MS = 50;
const BARE_PER_SECOND = 20;
const FULL = { beforeMs: 3000, faultMs: 12_000, afterMs: 8000, afterAtMostMs: 60_000 };
const QUICK = { beforeMs: 1500, faultMs: 3000, afterMs: 3000, afterAtMostMs: 10_000 };

export async function runScenario(scenario: Scenario, quick: boolean): Promise<Run> {
  const { hook = DEFAULT_HOOK, controlPlane } = scenario;
  const lab = new Lab(await startControlPlane(controlPlane), await startBalancer(), { hook, quick });
  try {
    await prepare(lab, scenario);
    return await runLoaded(lab, scenario);
  } finally {
    await lab.stop();
  }
}

async function prepare(lab: Lab, scenario: Scenario): Promise<void> {
  const { arrange = arrangeDefault } = scenario;
  await installHookPolicy(lab.cp);
  await arrange(lab);
  for (let index = 0; index < REPLICAS; index++) {
    const options = (await scenario.replica?.(lab, index)) ?? {};
    const observed = { direct: true, nodeFlags: [...(options.nodeFlags ?? []), loopTimes(lab, index)] };
    await lab.addReplica({ ...options, ...(scenario.fromOthers === true && observed) });
  }
  await scenario.settle?.(lab);
  if (scenario.fromOthers === true) await yieldCores(lab.cp);
}

function loopTimes(lab: Lab, index: number): string {
  const module = pathToFileURL(join(import.meta.dirname, "looptimes.ts"));
  module.searchParams.set("log", stretchesFile(lab, index));
  return `--import=${module.href}`;
}

function stretchesFile({ cp }: Lab, index: number): string {
  return join(cp.folder, `stretches-${index}.jsonl`);
}

async function readStretches(lab: Lab): Promise<Stretch[]> {
  const files = lab.replicas.map((_, index) => stretchesFile(lab, index));
  const texts = await Promise.all(files.map(async (file) => await readFile(file, "utf8").catch(() => "")));
  return texts.flatMap((text) => text.match(/.+/g) ?? []).map((line) => JSON.parse(line));
}

async function runLoaded(lab: Lab, scenario: Scenario): Promise<Run> {
  const times = lab.quick ? QUICK : { ...FULL, faultMs: scenario.faultMs ?? FULL.faultMs };
  const { hook, subjects } = lab;
  const options = { port: portsFor(lab, scenario), hook, subjects, trusted: () => lab.trusted };
  const calls: Call[] = [];
  const reads: Timed[] = [];
  const bare: Timed[] = [];
  const stop = new AbortController();
  const minds = lab.changeMinds(stop.signal);
  const loading = load(options, (call) => calls.push(call), stop.signal);
  const beside =
    scenario.fromOthers === true ? [readAgain(lab, reads, stop.signal), askBare(lab, bare, stop.signal)] : [];
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
    await Promise.all([minds, loading, ...beside]);
  }
  const wrongAllowsBesides = (await scenario.wrongAllowsBesides?.(lab)) ?? 0;
  const isDuring = (at: number): boolean => injectedAt <= at && at < healedAt;
  const during = (all: readonly Timed[]): number[] =>
    all.filter(({ from }) => isDuring(from)).map(({ from, to }) => to - from);
  const durations: Durations = {
    held: during(calls.filter(({ cluster }) => cluster.includes(`/${HELD}-`))),
    released: during(calls.filter(({ result }) => result === "Go")),
    read: during(reads),
    bare: during(bare),
  };
  const all = await readStretches(lab);
  const stretches = all.filter(({ at }) => isDuring(at - performance.timeOrigin));
  const judgement = judge(calls, healedAt);
  return { ...judgement, wrongAllowsBesides, durations, stretches, unconfirmed: unconfirmedBy(lab) };
}

/** Where the next call goes: what the driver puts in between would be felt as well where durations count. */
function portsFor({ replicas, service }: Lab, { fromOthers }: Scenario): () => number {
  let calls = 0;
  return () =>
    (fromOthers === true ? replicas[calls++ % replicas.length] : undefined)?.ports.webhook ?? service.port;
}

type Timed = Pick<Call, "from" | "to">;

/** One after the other, until `signal` aborts. */
async function readAgain({ cp, subjects }: Lab, reads: Timed[], signal: AbortSignal): Promise<void> {
  const [subject] = subjects;
  if (subject === undefined) return;
  await repeat(READ_EVERY_MS, signal, async () => {
    const from = performance.now();
    await cp.get(clusterRef(subject.namespace, subject.name));
    reads.push({ from, to: performance.now() });
  });
}

async function askBare(lab: Lab, calls: Timed[], signal: AbortSignal): Promise<void> {
  const { cp, hook, subjects } = lab;
  const { port } = await startBareServer(cp, lab.replica(0).operator.certDir, "discard");
  const trusted = (): string => lab.trusted;
  const options = { port: () => port, hook, subjects, trusted, perSecond: BARE_PER_SECOND };
  await load(options, (call) => calls.push(call), signal);
}

function unconfirmedBy({ replicas }: Lab): ReadonlyMap<string, number> {
  const lines = replicas
    .flatMap(({ operator }) => operator.lines())
    .filter(({ msg }) => msg.startsWith("Holding a Cluster because a release could not be confirmed"));
  const byReason = Map.groupBy(lines, ({ reason }) => String(reason));
  return new Map([...byReason].map(([reason, { length }]) => [reason, length]));
}
