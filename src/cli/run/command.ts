/** `hookpolicy run`: the operator. */

import type { Logger } from "../../api/logger.ts";
import { runOperator } from "../../operator/operator.ts";
import type { Options } from "../../operator/options.ts";

export interface RunDeps {
  readonly log: Logger;
  /** When it aborts: drain and return. */
  readonly signal: AbortSignal;
}

/** Returns when everything is closed after `signal`; rejects with a one-line error if it cannot start or continue. */
export async function run(options: Options, { log, signal }: RunDeps): Promise<void> {
  await runOperator(options, { log, signal });
  log.info("Stopped");
}
