/** Clusters that do not show how far they are, as those of files often have no status. */

import type { MemberState } from "./rollout-progress.ts";

export function isShown({ cluster, member }: MemberState): boolean {
  return member.marked || cluster.progress !== undefined;
}

/** It counts as one that has succeeded with the version that it asks for: nothing begins for it. */
export function asSucceeded(state: MemberState): MemberState {
  return isShown(state) ? state : { ...state, hasReached: true, health: "Healthy" };
}
