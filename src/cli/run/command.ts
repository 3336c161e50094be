/** `hookpolicy run`: the operator. */

import type { Logger } from "../../api/logger.ts";
import { runOperator } from "../../operator/operator.ts";
import type { Options } from "../../operator/options.ts";

export interface RunDeps {
  readonly log: Logger;
  /** Aborted: drain and return. */
  readonly signal: AbortSignal;
}

/** Returns when everything is closed after `signal`; rejects with an error of one line when it cannot start or go on. */
export async function run(options: Options, { log, signal }: RunDeps): Promise<void> {
  await runOperator(options, { log, signal });
  log.info("Stopped");
}
