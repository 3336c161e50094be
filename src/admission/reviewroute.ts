/** The paths that the admission listener serves. */

import { ADMISSION_PATH, type AdmissionDeps, createAdmissionHandler } from "./reviewhandler.ts";
import { NOT_REVIEWED } from "./review.ts";

export interface AdmissionRoutes {
  readonly routes: readonly { readonly path: string; handle(body: Buffer): Promise<string> }[];
  readonly undecodable: () => string;
}

export function createAdmissionRoutes(deps: AdmissionDeps): AdmissionRoutes {
  return {
    routes: [{ path: ADMISSION_PATH, handle: createAdmissionHandler(deps) }],
    undecodable: () => NOT_REVIEWED,
  };
}
