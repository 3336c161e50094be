/** Finds HookOverrides that name a Cluster, a policy or a rollout that is not beside them. */

import type { SourceObject } from "../files/load.ts";
import { knownTo, namesNothing } from "../fleet/idle-overrides.ts";
import { ownKind, viewOverride } from "../fleet/kinds.ts";
import type { Beside } from "./beside-rollouts.ts";

/** `sound`: without errors. */
export function besideOverrides(
  sources: readonly SourceObject[],
  sound: readonly SourceObject[],
  now: Date,
): readonly Beside[] {
  const overrides = sound.filter(({ object }) => ownKind(object) === "HookOverride");
  if (overrides.length === 0) return [];
  const known = knownTo(sources.map(({ object }) => object));
  return overrides.flatMap((source) =>
    namesNothing(viewOverride(source.object, now), known).map((each) => ({ source, ...each })),
  );
}
