/** The paths that the admission listener serves. */

import {
  CLUSTER_ADMISSION_PATH,
  type ClusterAdmissionDeps,
  createClusterHandler,
} from "./cluster-handler.ts";
import { ADMISSION_PATH, type AdmissionDeps, createAdmissionHandler } from "./review-handler.ts";
import type { UndecodableReason } from "../server/hook-server.ts";
import { type Denial, tooBusy, tooSlow, unread } from "./denial.ts";
import { encodeVerdict, NOT_REVIEWED, readHead } from "./review.ts";

export interface AdmissionRoutes {
  readonly routes: readonly { readonly path: string; handle(body: Buffer): Promise<string> }[];
  readonly undecodable: typeof refuseUnread;
}

export function createAdmissionRoutes(
  policies: AdmissionDeps,
  clusters: ClusterAdmissionDeps,
): AdmissionRoutes {
  return {
    routes: [
      { path: ADMISSION_PATH, handle: createAdmissionHandler(policies) },
      { path: CLUSTER_ADMISSION_PATH, handle: createClusterHandler(clusters) },
    ],
    undecodable: refuseUnread,
  };
}

const DENIALS: Readonly<Partial<Record<UndecodableReason, () => Denial>>> = {
  "too-large": unread,
  "no-room": () => tooBusy("large objects"),
  internal: tooSlow,
};

/**
 * Refuses a review that was not read; `head` is the beginning of its body, which has the uid. An answer without the uid
 * would be a failed call, after which the API server stores the policy unreviewed: a reason to make a policy too large.
 */
function refuseUnread(_path: string, reason: UndecodableReason, head: Buffer): string {
  const uid = readHead(head)?.uid;
  const denial = DENIALS[reason]?.();
  return uid === undefined || denial === undefined ? NOT_REVIEWED : encodeVerdict(uid, { denial });
}
