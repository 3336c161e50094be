/** Finds the instants at which time alone can change what a rollout says, from its status and its gates. */

import { untilDue } from "../../controller/rolloutdue.ts";
import type { RolloutEntry } from "../../controller/rolloutentry.ts";
import { after } from "../../policy/instant.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";

/** Expressions that read the clock are re-evaluated this often. */
const LOOK_AGAIN_MS = 60_000;

/** `waiting`: when time alone can change what the policies say about each held Cluster. */
export function rolloutEdges(
  entries: readonly Pick<RolloutEntry, "rollout" | "status">[],
  waiting: readonly (Date | undefined)[],
  now: Date,
): readonly Date[] {
  return [
    ...entries.flatMap(({ rollout, status }) => [
      ...dueAt(untilDue(rollout, status, now), now),
      ...(waiting.length === 0 ? [] : gateEdges(rollout, now)),
    ]),
    ...waiting.filter((at) => at !== undefined),
  ];
}

function dueAt(ms: number, now: Date): readonly Date[] {
  return ms === Infinity ? [] : [after(now, ms)];
}

function gateEdges({ stages }: CompiledRollout, now: Date): readonly Date[] {
  return stages
    .flatMap(({ until }) => until)
    .flatMap(({ windows = [], usesNow }) => [
      ...windows.flatMap(({ window }) => window.at(now).changesAt ?? []),
      ...(usesNow === true ? [after(now, LOOK_AGAIN_MS)] : []),
    ]);
}
