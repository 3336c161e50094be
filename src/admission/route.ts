/** Adds the webhook to what the hook server serves. */

import { ADMISSION_PATH, type AdmissionDeps, createAdmissionHandler } from "./handler.ts";
import { NOT_REVIEWED } from "./review.ts";

interface Route {
  readonly path: string;
  readonly authenticated?: boolean;
  handle(body: Buffer, digest?: string): string | Promise<string>;
  readonly repeat?: (digest: string) => string | undefined;
}

interface Routes<Reason> {
  readonly routes: readonly Route[];
  readonly undecodable: (path: string, reason: Reason) => string;
}

export function withAdmission<Reason>(
  { routes, undecodable }: Routes<Reason>,
  deps: AdmissionDeps,
): Routes<Reason> {
  return {
    routes: [...routes, { path: ADMISSION_PATH, handle: createAdmissionHandler(deps) }],
    undecodable: (path, reason) => (path === ADMISSION_PATH ? NOT_REVIEWED : undecodable(path, reason)),
  };
}
