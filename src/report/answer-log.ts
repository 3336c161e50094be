/** Logs calls; identical answers are combined, because Cluster API repeats a call every few seconds for days. */

import type { Logger } from "../lib/logger.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { policyName } from "../policy/policy-ref.ts";
import type { HookRequest } from "../hooks/hook-request.ts";
import type { Outcome } from "../hooks/outcome.ts";

export interface LoggedAnswer {
  /** The JSON text of a Line: it takes a quarter of the memory, and is read every ten minutes (with everyCall each time). */
  readonly line: string;
  loggedAt: number;
  /** How often it was given again since then. */
  repeated: number;
}

type Line = readonly [message: string, fields: Readonly<Record<string, unknown>>];

/** How often an unchanged answer is logged, with a count. */
const SUMMARY_EVERY_MS = 10 * 60 * 1000;

export interface AnswerLogOptions {
  readonly log: Logger;
  /** Log identical answers, too (`--log-level debug`). */
  readonly everyCall: boolean;
}

export class AnswerLog {
  readonly #options: AnswerLogOptions;

  constructor(options: AnswerLogOptions) {
    this.#options = options;
  }

  /** Returns `last` if the answer reads the same. */
  answered(request: HookRequest, outcome: Outcome, last: LoggedAnswer | undefined, now: Date): LoggedAnswer {
    const [message, fields] = lineOf(request, outcome);
    const line = JSON.stringify([message, fields]);
    if (last?.line === line) {
      this.repeated(last, now);
      return last;
    }
    if (last !== undefined) this.ended(request.call.hook, last);
    this.#options.log.info(message, fields);
    return { line, loggedAt: now.getTime(), repeated: 0 };
  }

  repeated(last: LoggedAnswer, now: Date): void {
    const { log, everyCall } = this.#options;
    if (!everyCall) {
      last.repeated += 1;
      if (now.getTime() - last.loggedAt < SUMMARY_EVERY_MS) return;
    }
    const [message, fields]: Line = JSON.parse(last.line);
    if (everyCall) return log.info(message, fields);
    log.info(message, { ...fields, repeated: last.repeated });
    last.loggedAt = now.getTime();
    last.repeated = 0;
  }

  /** Another answer follows, or the Cluster is deleted. */
  ended(hook: HookName, { line, repeated }: LoggedAnswer): void {
    if (repeated === 0) return;
    const [, { cluster }]: Line = JSON.parse(line);
    this.#options.log.info(`${hook} was answered the same until now`, { cluster, repeated });
  }
}

function lineOf({ call, cluster }: HookRequest, { verdict, answer, decision }: Outcome): Line {
  const { status, retryAfterSeconds } = answer;
  const { namespace, name } = cluster.metadata;
  const speaking =
    decision?.trace.filter((policy) => policy.verdict === decision.verdict && policy.matched) ?? [];
  const first = speaking[0];
  const rule = first?.rules.find((r) => r.holds) ?? first?.rules[0];
  return [
    `${call.hook} is called, response is ${status}. retry: ${retryAfterSeconds}`,
    {
      cluster: `${namespace}/${name}`,
      verdict,
      ...(first !== undefined && { policy: policyName(first.policy) }),
      ...(rule !== undefined && { rule: rule.rule }),
      ...(speaking.length > 1 && { morePolicies: speaking.length - 1 }),
    },
  ];
}
