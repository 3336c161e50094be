/** The rows of the speed table: which measurements each one needs, and what is made of them. */

import { median } from "../report/statistics.ts";
import type { Goal, Row, Table } from "../result.ts";
import { BARE_BYTES, COMMON_BYTES } from "./bodies.ts";
import type { Sample, Work } from "./measure.ts";
import type { ServerName } from "./servers.ts";

const BIG_BYTES = 250_000;

/** All measurements of one round, by name. */
export type Round = ReadonlyMap<string, Sample>;

const at = (bytes: number, fresh: boolean, rest: Partial<Work> = {}): Omit<Work, "server"> => ({
  bytes,
  fresh,
  ...rest,
});

const SCENES = {
  fresh26k: at(COMMON_BYTES, true),
  settings26k: at(COMMON_BYTES, true, { newSettings: true }),
  same26k: at(COMMON_BYTES, false),
  fresh1k: at(BARE_BYTES, true),
  settings1k: at(BARE_BYTES, true, { newSettings: true }),
  same1k: at(BARE_BYTES, false),
  fresh250k: at(BIG_BYTES, true),
  reconnect: at(COMMON_BYTES, true, { reconnect: true }),
  reconnectSame: at(COMMON_BYTES, false, { reconnect: true }),
  open: at(COMMON_BYTES, true, { rate: 500, connections: 500 }),
} as const;

type Scene = keyof typeof SCENES;

const SERVERS_OF: Readonly<Record<Scene, readonly ServerName[]>> = {
  fresh26k: ["peer", "hookpolicy", "parse"],
  settings26k: ["peer", "hookpolicy"],
  same26k: ["peer", "hookpolicy", "discard"],
  fresh1k: ["peer", "hookpolicy", "parse"],
  settings1k: ["peer", "hookpolicy"],
  same1k: ["peer", "hookpolicy", "discard"],
  fresh250k: ["peer", "hookpolicy"],
  reconnect: ["peer", "hookpolicy"],
  reconnectSame: ["peer", "hookpolicy"],
  open: ["peer", "hookpolicy"],
};

/** In the order of a round: whatever is compared is measured one right after the other. */
export const MEASUREMENTS: readonly { readonly name: string; readonly work: Work }[] = Object.entries(
  SERVERS_OF,
).flatMap(([scene, servers]) =>
  servers.map((server) => ({
    name: `${scene} ${server}`,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a key of the record above
    work: { server, ...SCENES[scene as Scene] },
  })),
);

type Figure = "callsPerSecond" | "callsPerCpuSecond" | "p99" | "serverP99";

interface RowPlan {
  readonly id: string;
  readonly work: string;
  readonly scene: Scene;
  readonly figure: Figure;
  /** What HookPolicy's figure is divided by; absent: it stands for itself, in milliseconds. */
  readonly by?: ServerName;
  readonly goal?: Goal;
}

const atLeast = (value: number): Goal => ({ is: "at least", value });
const RATE = { figure: "callsPerSecond" } as const;
const PER_CPU = { figure: "callsPerCpuSecond" } as const;

const FRESH_26K = {
  scene: "fresh26k",
  work: "26 KB body, 1,000 Clusters in turn, new bytes in every call",
} as const;
const SETTINGS_26K = {
  scene: "settings26k",
  work: "26 KB body, 1,000 Clusters in turn, other settings in every call",
} as const;
const SAME_26K = {
  scene: "same26k",
  work: "26 KB body, 1,000 Clusters in turn, each with the same bytes again",
} as const;
const FRESH_1K = { scene: "fresh1k", work: "1 KB body, new bytes in every call" } as const;
const SETTINGS_1K = { scene: "settings1k", work: "1 KB body, other settings in every call" } as const;
const SAME_1K = { scene: "same1k", work: "1 KB body, the same bytes again" } as const;
const FRESH_250K = { scene: "fresh250k", work: "250 KB body, new bytes in every call" } as const;
const RECONNECT = {
  scene: "reconnect",
  work: "a new TLS connection per call, 26 KB body, new bytes",
} as const;
const RECONNECT_SAME = {
  scene: "reconnectSame",
  work: "a new TLS connection per call, 26 KB body, the same bytes again",
} as const;
const OPEN = {
  scene: "open",
  work: "500 calls/s over 500 connections, whether answers come or not; 26 KB body, new bytes",
} as const;

const PLANS: readonly RowPlan[] = [
  { id: "fresh-26k/peer", ...FRESH_26K, ...RATE, by: "peer" },
  { id: "fresh-26k/peer-cpu", ...FRESH_26K, ...PER_CPU, by: "peer" },
  { id: "fresh-26k/parse", ...FRESH_26K, ...RATE, by: "parse" },
  { id: "settings-26k/peer", ...SETTINGS_26K, ...RATE, by: "peer", goal: atLeast(1.5) },
  { id: "settings-26k/peer-cpu", ...SETTINGS_26K, ...PER_CPU, by: "peer" },
  { id: "same-26k/peer", ...SAME_26K, ...RATE, by: "peer", goal: atLeast(2.5) },
  { id: "same-26k/peer-cpu", ...SAME_26K, ...PER_CPU, by: "peer" },
  { id: "same-26k/discard", ...SAME_26K, ...RATE, by: "discard" },
  { id: "fresh-1k/peer", ...FRESH_1K, ...RATE, by: "peer" },
  { id: "fresh-1k/peer-cpu", ...FRESH_1K, ...PER_CPU, by: "peer" },
  { id: "settings-1k/peer", ...SETTINGS_1K, ...RATE, by: "peer", goal: atLeast(0.9) },
  { id: "settings-1k/peer-cpu", ...SETTINGS_1K, ...PER_CPU, by: "peer" },
  { id: "fresh-1k/parse", ...FRESH_1K, ...RATE, by: "parse" },
  { id: "same-1k/peer", ...SAME_1K, ...RATE, by: "peer", goal: atLeast(1.2) },
  { id: "same-1k/peer-cpu", ...SAME_1K, ...PER_CPU, by: "peer" },
  { id: "same-1k/discard", ...SAME_1K, ...RATE, by: "discard" },
  { id: "fresh-250k/peer", ...FRESH_250K, ...RATE, by: "peer", goal: atLeast(1.5) },
  { id: "reconnect/peer-cpu", ...RECONNECT, ...PER_CPU, by: "peer", goal: atLeast(1) },
  { id: "reconnect-same/peer-cpu", ...RECONNECT_SAME, ...PER_CPU, by: "peer" },
  { id: "open/server-p99", ...OPEN, figure: "serverP99", goal: { is: "below", value: 5 } },
  { id: "open/client-p99", ...OPEN, figure: "p99" },
];

/** Every ratio is of two measurements of the same round. */
export function tableOf(rounds: readonly Round[]): Table {
  return { title: "Speed of the answer", rows: PLANS.map((plan) => rowOf(plan, rounds)) };
}

function rowOf({ id, work, scene, figure, by, goal }: RowPlan, rounds: readonly Round[]): Row {
  const own = rounds.map((round) => sampleOf(round, scene, "hookpolicy")[figure] ?? NaN);
  const unit = by === undefined ? `ms (${TITLES[figure]})` : `× ${SHORT_TITLES[by]}, ${TITLES[figure]}`;
  if (by === undefined) return { id, work, goal, samples: own, unit, note: openNote(scene, figure, rounds) };
  const other = rounds.map((round) => sampleOf(round, scene, by)[figure] ?? NaN);
  const samples = own.map((value, index) => value / (other[index] ?? NaN));
  const note = `${whole(own)} against ${whole(other)} ${TITLES[figure]}`;
  return { id, work, goal, samples, unit, note };
}

function openNote(scene: Scene, figure: Figure, rounds: readonly Round[]): string {
  if (figure === "serverP99") return "of HookPolicy's own histogram, as Prometheus estimates it";
  const peers = rounds.map((round) => sampleOf(round, scene, "peer").p99);
  return `as the client sees it, from when the call was due; Go peer: ${median(peers).toFixed(1)} ms`;
}

function sampleOf(round: Round, scene: Scene, server: ServerName): Sample {
  const sample = round.get(`${scene} ${server}`);
  if (sample === undefined) throw new Error(`${scene} of ${server} was not measured`);
  return sample;
}

const TITLES: Readonly<Record<Figure, string>> = {
  callsPerSecond: "calls/s",
  callsPerCpuSecond: "calls per CPU second",
  p99: "p99 of the client",
  serverP99: "p99 of the server",
};

const SHORT_TITLES: Readonly<Record<ServerName, string>> = {
  hookpolicy: "HookPolicy",
  peer: "Go peer",
  discard: "node:https",
  parse: "node:https with JSON.parse",
};

function whole(values: readonly number[]): string {
  return Math.round(median(values)).toLocaleString("en");
}
