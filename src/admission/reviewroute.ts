/** The paths that the admission listener serves. */

import { CLUSTER_ADMISSION_PATH, type ClusterAdmissionDeps, createClusterHandler } from "./clusterhandler.ts";
import { ADMISSION_PATH, type AdmissionDeps, createAdmissionHandler } from "./reviewhandler.ts";
import { readHead, shareOf } from "./review.ts";
import { refuseUnread } from "./unread.ts";

export interface AdmissionRoutes {
  readonly routes: readonly { readonly path: string; handle(body: Buffer): Promise<string> }[];
  readonly undecodable: typeof refuseUnread;
  readonly shareOf: (head: Buffer) => string;
}

export interface RouteDeps {
  readonly policies: AdmissionDeps;
  readonly clusters: ClusterAdmissionDeps;
}

export function createAdmissionRoutes({ policies, clusters }: RouteDeps): AdmissionRoutes {
  return {
    routes: [
      { path: ADMISSION_PATH, handle: createAdmissionHandler(policies) },
      { path: CLUSTER_ADMISSION_PATH, handle: createClusterHandler(clusters) },
    ],
    undecodable: refuseUnread,
    shareOf: (head) => shareOf(readHead(head)),
  };
}
