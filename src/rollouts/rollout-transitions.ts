/** The transitions of a rollout that users learn of: between the status that was stored and the one that replaces it. */

import {
  CONDITION,
  type HookRollout,
  type HookRolloutStatus,
  type RolloutTarget,
} from "../api/hook-policy.ts";
import type { RolloutTransition } from "../memory/transitions.ts";

export function rolloutTransitions(
  { metadata: { name, uid, resourceVersion } }: HookRollout,
  before: HookRolloutStatus | undefined,
  now: HookRolloutStatus,
): readonly RolloutTransition[] {
  const changes = [...stageChanges(before, now), ...haltChange(before, now)];
  return changes.map((each) => ({
    type: "RolloutChanged",
    rollout: name,
    rolloutUID: uid,
    ...each,
    key: `${resourceVersion} ${each.key}`,
  }));
}

type Change = Pick<RolloutTransition, "change" | "note" | "key">;

function stageChanges(before: HookRolloutStatus | undefined, { targets = [] }: HookRolloutStatus): Change[] {
  return targets.flatMap((target) => {
    const { version } = target;
    if (version === undefined) return [];
    const known = before?.targets?.find((each) => each.version === version);
    const passed = passedIn(target).filter((stage) => !passedIn(known).includes(stage));
    const open = openIn(target);
    return [
      ...passed.map((stage) => changeOf("StagePassed", stage, version)),
      ...(open === undefined || open === openIn(known) ? [] : [changeOf("StageOpened", open, version)]),
    ];
  });
}

function changeOf(change: "StageOpened" | "StagePassed", stage: string, version: string): Change {
  const what = change === "StageOpened" ? "may be upgraded" : "has passed";
  return { change, note: `Stage ${stage} ${what} to ${version}`, key: `${stage} ${version}` };
}

function passedIn(target: RolloutTarget | undefined): readonly string[] {
  return target?.stages.filter(({ passed }) => passed).map(({ name }) => name) ?? [];
}

function openIn(target: RolloutTarget | undefined): string | undefined {
  return target?.stages.find(({ passed }) => !passed)?.name;
}

function haltChange(before: HookRolloutStatus | undefined, now: HookRolloutStatus): Change[] {
  const [old, present] = [before, now].map((status) =>
    status?.conditions?.find(({ type }) => type === CONDITION.Halted),
  );
  const [was, is] = [old?.status === "True", present?.status === "True"];
  if (was === is || present === undefined) return [];
  return [{ change: is ? "Halted" : "Resumed", note: present.message, key: present.lastTransitionTime }];
}
