/** How long calls about other namespaces take while one tenant does the harm, and what else takes long beside them. */

import { readFile, readdir, writeFile } from "node:fs/promises";
import { setPriority } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ControlPlane } from "../../test/controlplane/control-plane.ts";
import { clusterRef } from "../../test/controlplane/lab.ts";
import { repeat } from "../calls/pace.ts";
import { inTurn } from "../fleet/fleet.ts";
import { startBareServer } from "../speed/servers.ts";
import type { Call, TimeSpan } from "./judge.ts";
import { HELD, type Lab, type ReplicaOptions } from "./lab.ts";
import { load } from "./load.ts";
import type { Stretch } from "./loop-times.ts";

/** Milliseconds, during the fault. */
export interface Felt {
  /** Calls about Clusters that are held all the time: the operator answers them from memory. */
  readonly held: readonly number[];
  /** Calls that released a Cluster: each waits for reads of the API server. */
  readonly released: readonly number[];
  readonly read: readonly number[];
  /** The same calls, fewer of them, to a server that only reads the body: the machine's own share. */
  readonly bare: readonly number[];
  readonly stretches: readonly Stretch[];
}

const READ_EVERY_MS = 50;
const BARE_PER_SECOND = 20;
/** Of the API server and etcd: in a fleet they have cores of their own, here they share the operator's. */
const NICE = 5;

/** The options of a replica that reaches the API server directly and writes down long stretches of its event loop. */
export function observed(lab: Lab): ReplicaOptions {
  const module = pathToFileURL(join(import.meta.dirname, "loop-times.ts"));
  module.searchParams.set("log", stretchesFile(lab));
  return { direct: true, nodeFlags: [`--import=${module.href}`] };
}

const stretchesFile = ({ cp }: Lab): string => join(cp.folder, "stretches.jsonl");

interface Observer {
  readonly running: Promise<void>;
  readonly felt: (calls: readonly Call[], fault: TimeSpan) => Promise<Felt>;
}

export async function observe(lab: Lab, signal: AbortSignal): Promise<Observer> {
  await lowerPriority(lab.cp);
  const { port } = await startBareServer(lab.cp, lab.firstReplica.operator.certDir, "discard");
  const reads: TimeSpan[] = [];
  const bare: TimeSpan[] = [];
  const toBare = {
    perSecond: BARE_PER_SECOND,
    port: () => port,
    onCall: (call: TimeSpan) => bare.push(call),
  };
  return {
    running: Promise.all([readAgain(lab, reads, signal), load(lab, toBare, signal)]).then(() => undefined),
    felt: async (calls, fault) => {
      const isDuring = (at: number): boolean => fault.from <= at && at < fault.to;
      const durations = (all: readonly TimeSpan[]): number[] =>
        all.filter(({ from }) => isDuring(from)).map(({ from, to }) => to - from);
      return {
        held: durations(calls.filter(({ cluster }) => cluster.includes(`/${HELD}-`))),
        released: durations(calls.filter(({ result }) => result === "Go")),
        read: durations(reads),
        bare: durations(bare),
        stretches: (await readStretches(lab)).filter(({ at }) => isDuring(at - performance.timeOrigin)),
      };
    },
  };
}

/** Linux has a priority for each thread; threads that start later inherit it. */
async function lowerPriority({ processes }: ControlPlane): Promise<void> {
  for (const pid of ["etcd", "kube-apiserver"].flatMap((name) => processes.pids(name))) {
    // Between sessions of processes only this counts, where the kernel groups them (sched_autogroup_enabled).
    await writeFile(`/proc/${pid}/autogroup`, String(NICE)).catch(() => undefined);
    for (const thread of await readdir(`/proc/${pid}/task`)) setPriority(Number(thread), NICE);
  }
}

async function readAgain({ cp, subjects }: Lab, reads: TimeSpan[], signal: AbortSignal): Promise<void> {
  const { namespace, name } = inTurn(subjects, 0);
  await repeat(READ_EVERY_MS, signal, async () => {
    const from = performance.now();
    await cp.get(clusterRef(namespace, name));
    reads.push({ from, to: performance.now() });
  });
}

/** Without a long stretch there is no file. */
async function readStretches(lab: Lab): Promise<Stretch[]> {
  const lines = await readFile(stretchesFile(lab), "utf8").catch(() => "");
  return (lines.match(/.+/g) ?? []).map((line) => JSON.parse(line));
}
