/** Follows policies and rollouts, and passes what their statuses say to a feed. */

import type { KubeClient } from "../../kube/kube-client.ts";
import type { LiveState } from "../../page/wire.ts";
import { tellLost } from "../fleet/connection.ts";
import { ownKind, type RawObject, viewRollout } from "../fleet/kinds.ts";
import { followHolders, type Holders, unreadNotes } from "../get/holders.ts";
import { heldBy } from "../fleet/held.ts";
import type { OperatorSeen } from "../fleet/operator-life.ts";
import { commandFor, heldNotes, heldObject, tornDownNotes } from "../get/report.ts";
import { rolloutState } from "../rollout/status-report.ts";
import { adviceText, type CommandWords } from "../terminal/printed-command.ts";
import type { LiveFeed } from "./live-feed.ts";

interface FollowOptions {
  readonly holders: Holders;
  readonly words: CommandWords;
  readonly signal: AbortSignal;
}

const GATHER_MS = 300;

/** Runs until `signal` fires. */
export async function followFleet(
  client: KubeClient,
  feed: LiveFeed,
  { holders, words, signal }: FollowOptions,
): Promise<void> {
  let { objects, unread } = holders;
  let seen: OperatorSeen = {};
  let lost: string | undefined;
  let waiting: NodeJS.Timeout | undefined;
  const tell = (): void => {
    waiting = undefined;
    const now = client.serverClock.serverTime();
    feed.tell({ ...stateOf({ objects, unread, ...seen }, words, now), lost });
  };
  const tellSoon = (): void => {
    waiting ??= setTimeout(tell, GATHER_MS);
  };
  const onHolders = (found: readonly RawObject[]): void => {
    objects = found;
    lost = undefined;
    tellSoon();
  };
  const onLost = (message: string): void => {
    tellLost(message);
    lost = message;
    tellSoon();
  };
  const onOperator = (found: OperatorSeen): void => {
    seen = found;
    // Every half minute, because notes depend on the time.
    tellSoon();
  };
  const onUnread = (text: string): void => {
    unread = [...unread, text];
    tellSoon();
  };
  tell();
  try {
    await followHolders(client, holders, { onHolders, onLost, onOperator, onUnread }, signal);
  } finally {
    clearTimeout(waiting);
  }
}

function stateOf(
  { objects, unread, ...seen }: Pick<Holders, "objects" | "unread"> & OperatorSeen,
  words: CommandWords,
  now: Date,
): LiveState {
  const fleet = { ...heldBy(objects), ...seen };
  return {
    rows: fleet.held.map((held) => ({ ...heldObject(held), command: commandFor(held, words) })),
    omits: fleet.omitted.length > 0,
    notes: [...tornDownNotes(fleet), ...heldNotes(fleet, now).map((note) => adviceText(note, words))],
    unread: unreadNotes({ unread }),
    rollouts: objects
      .filter((object) => ownKind(object) === "HookRollout")
      .map(viewRollout)
      .map((object) => ({ object, state: adviceText(rolloutState(object).state, words) })),
  };
}
