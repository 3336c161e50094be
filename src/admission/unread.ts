/**
 * Refuses a review that is too large to be examined. An answer without the uid of its request would be a failed call,
 * after which the API server stores a policy unreviewed; its author may have made it large for this reason.
 */

import type { UndecodableReason } from "../server/hookserver.ts";
import { type Denial, tooBusy, tooSlow, unread } from "./denial.ts";
import { encodeVerdict, NOT_REVIEWED, readHead } from "./review.ts";

const DENIALS: Readonly<Partial<Record<UndecodableReason, () => Denial>>> = {
  "too-large": unread,
  "no-room": () => tooBusy("large objects"),
  internal: tooSlow,
};

/** `head`: the beginning of its body, which has the uid. */
export function refuseUnread(_path: string, reason: UndecodableReason, head: Buffer): string {
  const uid = readHead(head)?.uid;
  const denial = DENIALS[reason]?.();
  return uid === undefined || denial === undefined
    ? NOT_REVIEWED
    : encodeVerdict(uid, { denial, warnings: [] });
}
