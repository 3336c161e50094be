/** The Events about a rollout: between the status that was stored and the one that replaces it. */

import { conditionOf } from "../api/meta.ts";
import { type EventText, ownReference } from "../api/event-text.ts";
import {
  CONDITION,
  type HookRollout,
  type HookRolloutStatus,
  REASON,
  type RolloutTarget,
} from "../api/hook-policy.ts";

interface Change {
  readonly reason: "StageOpened" | "StagePassed" | "Halted" | "Resumed";
  readonly note: string;
  /** Tells one change of this kind from the next. */
  readonly key: string;
}

export function rolloutEvents(
  { metadata: { name, uid, resourceVersion } }: HookRollout,
  before: HookRolloutStatus | undefined,
  now: HookRolloutStatus,
): readonly EventText[] {
  return [...stageChanges(before, now), ...haltChange(before, now)].map(({ reason, note, key }) => ({
    identity: [reason, uid, resourceVersion, key].join(" "),
    type: reason === "Halted" ? "Warning" : "Normal",
    reason,
    action: "Rollout",
    note,
    regarding: ownReference({ kind: "HookRollout", name }, uid),
  }));
}

function stageChanges(before: HookRolloutStatus | undefined, now: HookRolloutStatus): Change[] {
  const { targets = [] } = now;
  return targets.flatMap((target) => {
    const { version } = target;
    if (version === undefined) return [];
    const known = before?.targets?.find((each) => each.version === version);
    const had = known?.stages.filter((stage) => stage.passed || stage.closed === true);
    const passed = target.stages.filter(
      (stage) => stage.passed && !had?.some(({ name }) => name === stage.name),
    );
    const open = mayBegin(now) ? openIn(target) : undefined;
    const wasOpen = mayBegin(before) ? openIn(known) : undefined;
    return [
      ...passed.map(({ name }) => changeOf("StagePassed", name, version)),
      ...(open === undefined || open === wasOpen ? [] : [changeOf("StageOpened", open, version)]),
    ];
  });
}

function changeOf(reason: "StageOpened" | "StagePassed", stage: string, version: string): Change {
  const what = reason === "StageOpened" ? "may be upgraded" : "has passed";
  return { reason, note: `Stage ${stage} ${what} to ${version}`, key: `${stage} ${version}` };
}

/** One that had passed, and is closed, does not open: it keeps the next one from it. */
function openIn(target: RolloutTarget | undefined): string | undefined {
  const stage = target?.stages.find(({ passed }) => !passed);
  return stage?.closed === true ? undefined : stage?.name;
}

/** Neither invalid nor paused nor halted, nor is its status being rebuilt. */
function mayBegin(status: HookRolloutStatus | undefined): boolean {
  const [ready, halt] = [CONDITION.Ready, CONDITION.Halted].map((type) => conditionOf({ status }, type));
  return ready?.status === "True" && ready.reason !== REASON.Paused && halt?.status !== "True";
}

function haltChange(before: HookRolloutStatus | undefined, now: HookRolloutStatus): Change[] {
  const [old, present] = [before, now].map((status) => conditionOf({ status }, CONDITION.Halted));
  const [was, is] = [old?.status === "True", present?.status === "True"];
  if (was === is || present === undefined) return [];
  return [{ reason: is ? "Halted" : "Resumed", note: present.message, key: present.lastTransitionTime }];
}
