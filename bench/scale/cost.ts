/** The cost of a fleet: resident memory above that of an idle operator, and CPU time and writes while nothing changes. */

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { ControlPlane } from "../../test/controlplane/control-plane.ts";
import type { Operator } from "../../test/controlplane/operator.ts";
import { freePorts } from "../../test/controlplane/ports.ts";
import { startShipped } from "../../test/controlplane/shipped.ts";
import { type Memory, memoryOf } from "../../test/hostile/memory.ts";
import { PERIOD_SECONDS } from "../calls/generator.ts";
import { EVERYTHING } from "../fleet/fleet.ts";
import { rests, settled } from "../fleet/settled.ts";
import { cpuSeconds } from "../measure/cpu.ts";
import { countRequests } from "../measure/requests.ts";
import { kibibytes, median, rounded } from "../measure/statistics.ts";
import { atMost, below, none, row, type Row } from "../result.ts";
import { allAsk, type Lab } from "./lab.ts";
import { allHeld } from "./startup.ts";
import { inRounds, type Site } from "../part.ts";

/** MB (10^6 bytes) */
export interface Resident {
  readonly asIs: number;
  readonly collected: number;
  /** What V8 has in use after the collection: without pages that it keeps for later. */
  readonly kept: number;
  /** Of the collected one. */
  readonly anonymous: number;
}

/** How much of Node.js's own file an idle process has in memory differs by some MB. */
const IDLE_ROUNDS = 5;
const FLEET_ROUNDS = 3;
const ROUNDTRIP_SECONDS = 2;
const SETTLE_MS = 5000;
const INSPECTOR_MS = 60_000;
const FORGET_MS = 600_000;
/** More than the time for which Events are collected before they are written as one (src/report/event-bursts.ts). */
const BURST_MS = 35_000;

export async function idleMemory(site: Site): Promise<Resident> {
  const rounds = await inRounds(site, IDLE_ROUNDS, async (round) => {
    const { operator, resident } = await startInspected(site.cp, `hookpolicy-idle-${round}`);
    const memory = await resident();
    await operator.daemon.stop();
    return memory;
  });
  site.progress(`idle: ${JSON.stringify(rounds)}`);
  const middle = (of: keyof Resident): number => median(rounds.map((round) => round[of]));
  return {
    asIs: middle("asIs"),
    collected: middle("collected"),
    anonymous: middle("anonymous"),
    kept: middle("kept"),
  };
}

export async function memoryRows(lab: Lab, idle: Resident): Promise<Row[]> {
  const rounds = await inRounds(lab, FLEET_ROUNDS, async (round) => await memoryOfFleet(lab, round));
  const [unit, goal] = ["MB", lab.size.memoryGoal];
  const over = (id: string, when: string, fleet: readonly Resident[]): Row[] => {
    const above = (of: keyof Resident): number[] => fleet.map((each) => rounded(each[of] - idle[of]));
    const own = `${rounded(median(above("anonymous")))} MB of the difference are not Node.js's own file`;
    const whole = (of: keyof Resident): string =>
      `${rounded(median(fleet.map((each) => each[of])), 0)} MB; idle ${rounded(idle[of], 0)} MB`;
    const note = `${whole("collected")}, both after garbage collection; ${own}`;
    const [work, same] = ["resident memory over the idle process", "the same with the garbage that is there"];
    return [
      row(id, `${work}, ${when}`, above("collected"), { unit, goal, note }),
      row(`${id}-as-is`, `${same}, ${when}`, above("asIs"), { unit, note: whole("asIs") }),
    ];
  };
  const alone = "resident memory of the idle process, after garbage collection";
  const loaded = rounds.map((round) => round.loaded);
  const asked = rounds.map((round) => round.asked);
  return [
    row("memory-idle", alone, rounded(idle.collected), { unit, goal: below(90) }),
    ...over("memory-loaded", "loaded", loaded),
    ...over("memory-asked", "all have asked", asked),
  ];
}

async function memoryOfFleet(lab: Lab, round: number): Promise<{ loaded: Resident; asked: Resident }> {
  const { cp, size, progress } = lab;
  await forgetWritten(cp);
  const { operator, resident } = await startInspected(cp, `hookpolicy-memory-${round}`, size.memoryMiB);
  await allHeld(cp, operator, size.clusters);
  await settled(cp, operator);
  const loaded = await resident();
  await allAsk(lab, operator, PERIOD_SECONDS + ROUNDTRIP_SECONDS);
  await settled(cp, operator);
  await rests(cp, async () => await operator.metric("hookpolicy_events_total"), { everyMs: BURST_MS });
  const asked = await resident();
  progress(`memory: ${JSON.stringify({ loaded, asked })}`);
  await operator.daemon.stop();
  return { loaded, asked };
}

/** Deletes the statuses and Events of earlier operators: one that has to write them itself has more memory afterwards. */
async function forgetWritten(cp: ControlPlane): Promise<void> {
  for (const kind of ["HookPolicy", "ClusterHookPolicy"]) {
    const ref = { apiVersion: "hookpolicy.dev/v1alpha1", kind };
    for (const { metadata } of await cp.list(ref)) await cp.patchStatus({ ...ref, ...metadata }, null);
  }
  for (const { metadata } of await cp.list({ apiVersion: "v1", kind: "Namespace" })) {
    const events = `/apis/events.k8s.io/v1/namespaces/${metadata.name}/events`;
    // Tens of thousands take longer than one request may; each deletes on from where the last one ended.
    await cp.waitFor(
      `the Events of ${metadata.name} to be gone`,
      async () => {
        await cp.request("DELETE", events);
        return true;
      },
      FORGET_MS,
    );
  }
}

/** For a while Cluster API asks about all Clusters, and then about none. */
export async function restRows(lab: Lab, operator: Operator): Promise<Row[]> {
  const { cp, noise, progress } = lab;
  const { clusters, loadSeconds, restSeconds } = lab.size;
  await allAsk(lab, operator, PERIOD_SECONDS); // the first answer about each Cluster costs more
  await settled(cp, operator);
  noise.sample();
  const requests = await countRequests(cp);
  const begun = performance.now();
  const cpuBefore = cpuSeconds(operator.daemon.pid);
  const { seconds, p50, p99 } = await allAsk(lab, operator, loadSeconds);
  const cpu = cpuSeconds(operator.daemon.pid) - cpuBefore;
  progress(`all ask: ${cpu} s of CPU in ${seconds} s, p99 ${p99} ms`);
  await sleep(Math.max(0, restSeconds * 1000 - (performance.now() - begun)));
  const { writes } = await requests();
  const holding = `status of the policy that holds all ${clusters.toLocaleString("en")} Clusters`;
  const asking = `all Clusters ask every ${PERIOD_SECONDS} s (${clusters / PERIOD_SECONDS} calls/s of 26 KB)`;
  return [
    row("status-size", holding, kibibytes((await cp.get(EVERYTHING)).status), {
      unit: "KiB",
      goal: atMost(64),
    }),
    row("writes-at-rest", `writes at rest in ${Math.round(restSeconds / 60)} minutes`, writes, {
      ...none("writes"),
      note: `the first ${loadSeconds} s with all Clusters asking`,
    }),
    row("all-ask-cpu", asking, rounded((100 * cpu) / seconds), {
      unit: "% of a core",
      goal: atMost(50),
      note: `p50 ${rounded(p50)} ms, p99 ${rounded(p99)} ms`,
    }),
  ];
}

/** Starts an operator whose garbage can be collected from outside. */
/** `resident` also collects garbage, so that what is kept can be told from what is not collected yet. */
export async function startInspected(
  cp: ControlPlane,
  name: string,
  memoryMiB?: number,
): Promise<{ operator: Operator; resident: () => Promise<Resident> }> {
  const [port = 0] = await freePorts(1);
  const operator = await startShipped(cp, { name, nodeFlags: [`--inspect=127.0.0.1:${port}`], memoryMiB });
  const now = async (): Promise<Memory> => {
    await sleep(SETTLE_MS);
    return memoryOf(operator.daemon.pid);
  };
  const resident = async (): Promise<Resident> => {
    const asIs = await now();
    const kept = await collectGarbage(port);
    const { resident: collected, anonymous } = await now();
    return {
      asIs: asIs.resident / 1e6,
      collected: collected / 1e6,
      anonymous: anonymous / 1e6,
      kept: kept / 1e6,
    };
  };
  return { operator, resident };
}

/** Resolves with the bytes that V8 then has in use. Rejects when the inspector does not answer in time. */
async function collectGarbage(port: number): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
  const targets: readonly { readonly webSocketDebuggerUrl: string }[] = JSON.parse(await answer.text());
  const socket = new WebSocket(targets[0]?.webSocketDebuggerUrl ?? "");
  const signal = AbortSignal.timeout(INSPECTOR_MS);
  await once(socket, "open", { signal });
  const ask = async (method: string): Promise<unknown> => {
    socket.send(JSON.stringify({ id: 1, method }));
    const [{ data }] = await once(socket, "message", { signal });
    return JSON.parse(data).result;
  };
  for (let times = 0; times < 2; times += 1) await ask("HeapProfiler.collectGarbage");
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Runtime.getHeapUsage of Chrome's protocol
  const usage = (await ask("Runtime.getHeapUsage")) as { usedSize: number; backingStorageSize: number };
  socket.close();
  await once(socket, "close", { signal });
  return usage.usedSize + usage.backingStorageSize;
}
