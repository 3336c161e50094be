/** The rows of the speed table, and the measurements that they need. */

import { BARE_BYTES, COMMON_BYTES } from "../fleet/requests.ts";
import { median } from "../measure/statistics.ts";
import { atLeast, below, type Goal, row, type Row } from "../result.ts";
import type { ServerName } from "./servers.ts";

export interface Work {
  readonly server: ServerName;
  readonly bytes: number;
  /** Each call has bytes that were never sent before. */
  readonly fresh: boolean;
  /** Those bytes are other settings. */
  readonly newSettings?: boolean;
  readonly connections?: number;
  readonly reconnect?: boolean;
  /** Calls per second; absent: as many as are answered. */
  readonly rate?: number;
}

/** Times in milliseconds. */
export interface Sample {
  readonly callsPerSecond: number;
  readonly callsPerCpuSecond: number;
  readonly p99: number;
  /** The part of a core that the client used. Near 1, the client may be what was measured. */
  readonly clientCores: number;
  /** From HookPolicy's own histogram. */
  readonly serverP99: number | undefined;
}

/** One kind of load, under which HookPolicy, the peer and `besides` are measured. */
interface Scene extends Omit<Work, "server"> {
  readonly id: string;
  readonly title: string;
  readonly besides?: "parse" | "discard";
  /** For calls per second, as a ratio to the peer's. */
  readonly goal?: Goal;
  /** For calls per CPU second, as a ratio to the peer's. */
  readonly cpuGoal?: Goal;
}

const LARGE = { bytes: COMMON_BYTES, fresh: true };
const SMALL = { bytes: BARE_BYTES, fresh: true };
const HUGE = { bytes: 250_000, fresh: true };
const SAME = { fresh: false, besides: "discard" } as const;
const SETTINGS = "other settings in every call";
const IN_TURN = "26 KB body, 1,000 Clusters in turn";
const CONNECTION = "a new TLS connection per call, 26 KB body";
const SAME_IN_TURN = `${IN_TURN}, each with the same bytes again`;

const SCENES: readonly Scene[] = [
  { id: "fresh-26k", title: `${IN_TURN}, new bytes in every call`, ...LARGE, besides: "parse" },
  { id: "settings-26k", title: `${IN_TURN}, ${SETTINGS}`, ...LARGE, newSettings: true, goal: atLeast(1.5) },
  { id: "same-26k", title: SAME_IN_TURN, ...LARGE, ...SAME, goal: atLeast(2.5) },
  { id: "fresh-1k", title: "1 KB body, new bytes in every call", ...SMALL, besides: "parse" },
  { id: "settings-1k", title: `1 KB body, ${SETTINGS}`, ...SMALL, newSettings: true, goal: atLeast(0.9) },
  { id: "same-1k", title: "1 KB body, the same bytes again", ...SMALL, ...SAME, goal: atLeast(1.2) },
  { id: "fresh-250k", title: "250 KB body, new bytes in every call", ...HUGE, goal: atLeast(1.5) },
  { id: "reconnect", title: `${CONNECTION}, new bytes`, ...LARGE, reconnect: true, cpuGoal: atLeast(1) },
  {
    id: "reconnect-same",
    title: `${CONNECTION}, the same bytes again`,
    ...LARGE,
    fresh: false,
    reconnect: true,
  },
];

/** At a fixed pace, where times are what counts. */
const OPEN: Scene = {
  id: "open",
  title: "500 calls/s over 500 connections, whether answers come or not; 26 KB body, new bytes",
  ...LARGE,
  rate: 500,
  connections: 500,
};

const nameOf = ({ id }: Scene, server: ServerName): string => `${id} ${server}`;

/** All measurements of one round, by name. */
export type Round = ReadonlyMap<string, Sample>;

/** In the order of a round: measurements that are compared follow one another. */
export const MEASUREMENTS = [...SCENES, OPEN].flatMap((scene) => {
  const { besides } = scene;
  const servers = ["peer", "hookpolicy", ...(besides === undefined ? [] : [besides])] as const;
  return servers.map((server) => ({
    name: nameOf(scene, server),
    work: { ...scene, server } satisfies Work,
  }));
});

/** Every ratio is of two measurements of the same round. */
export function rowsOf(rounds: readonly Round[]): Row[] {
  const figures = (scene: Scene, server: ServerName, of: keyof Sample): number[] =>
    rounds.map((round) => round.get(nameOf(scene, server))?.[of] ?? NaN);
  const ratio = (scene: Scene, by: ServerName, of: keyof typeof UNITS, goal?: Goal): Row => {
    const [own, other] = [figures(scene, "hookpolicy", of), figures(scene, by, of)];
    const samples = own.map((value, index) => value / (other[index] ?? NaN));
    return row(`${scene.id}/${by}${of === "callsPerCpuSecond" ? "-cpu" : ""}`, scene.title, samples, {
      unit: `× ${TITLES[by]}, ${UNITS[of]}`,
      goal,
      note: `${whole(own)} against ${whole(other)} ${UNITS[of]}`,
    });
  };
  const ratios = SCENES.flatMap((scene) => [
    ratio(scene, "peer", "callsPerSecond", scene.goal),
    ratio(scene, "peer", "callsPerCpuSecond", scene.cpuGoal),
    ...(scene.besides === undefined ? [] : [ratio(scene, scene.besides, "callsPerSecond")]),
  ]);
  const peerMs = median(figures(OPEN, "peer", "p99")).toFixed(1);
  return [
    ...ratios,
    row(`${OPEN.id}/server-p99`, OPEN.title, figures(OPEN, "hookpolicy", "serverP99"), {
      unit: "ms (p99 of the server)",
      goal: below(5),
      note: "of HookPolicy's own histogram, as Prometheus estimates it",
    }),
    row(`${OPEN.id}/client-p99`, OPEN.title, figures(OPEN, "hookpolicy", "p99"), {
      unit: "ms (p99 of the client)",
      note: `as the client sees it, from when the call was due; Go peer: ${peerMs} ms`,
    }),
  ];
}

const TITLES: Readonly<Record<ServerName, string>> = {
  hookpolicy: "HookPolicy",
  peer: "Go peer",
  discard: "node:https",
  parse: "node:https with JSON.parse",
};

const UNITS = { callsPerSecond: "calls/s", callsPerCpuSecond: "calls per CPU second" } as const;

function whole(values: readonly number[]): string {
  return Math.round(median(values)).toLocaleString("en");
}
