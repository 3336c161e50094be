/** Logs calls; identical answers are combined, because Cluster API repeats a call every few seconds for days. */

import type { Logger } from "../lib/logger.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import { policyName } from "../policy/policy-ref.ts";
import type { AnswerRecorder } from "../hooks/hook-handler.ts";
import type { HookRequest } from "../hooks/hook-request.ts";
import { LastAnswers } from "./last-answers.ts";
import type { Outcome } from "../hooks/outcome.ts";

/** One is kept for each Cluster and hook that Cluster API asks about. */
interface Entry {
  /** The JSON text of a Said: it takes a quarter of the memory, and is read every ten minutes (with everyCall each time). */
  readonly said: string;
  loggedAt: number;
  repeated: number;
}

/** The message and the fields of a line. */
type Said = readonly [line: string, fields: Readonly<Record<string, unknown>>];

/** How often an unchanged answer is logged, with a count. */
const SUMMARY_EVERY_MS = 10 * 60 * 1000;

export interface AnswerLogOptions {
  readonly log: Logger;
  /** Log identical answers, too (`--log-level debug`). */
  readonly everyCall: boolean;
}

export class AnswerLog implements AnswerRecorder {
  readonly #last = new LastAnswers<Entry>();
  readonly #options: AnswerLogOptions;

  constructor(options: AnswerLogOptions) {
    this.#options = options;
  }

  record(request: HookRequest, outcome: Outcome, now: Date): void {
    const { hook } = request.call;
    const { status, retryAfterSeconds } = outcome.answer;
    const line = `${hook} is called, response is ${status}. retry: ${retryAfterSeconds}`;
    const fields = describe(request, outcome);
    const what: Said = [line, fields];
    const said = JSON.stringify(what);
    const { uid } = request.cluster.metadata;
    const entry = this.#last.get(uid, hook);
    if (entry?.said === said) return this.#repeat(entry, now);
    if (entry !== undefined) this.#end(hook, entry);
    this.#options.log.info(line, fields);
    this.#last.set(uid, hook, { said, loggedAt: now.getTime(), repeated: 0 });
  }

  repeat(hook: HookName, clusterUID: string, now: Date): void {
    const entry = this.#last.get(clusterUID, hook);
    if (entry !== undefined) this.#repeat(entry, now);
  }

  forget(clusterUID: string): void {
    for (const [hook, entry] of this.#last.forget(clusterUID)) this.#end(hook, entry);
  }

  #end(hook: HookName, { said, repeated }: Entry): void {
    if (repeated === 0) return;
    const [, fields]: Said = JSON.parse(said);
    this.#options.log.info(`${hook} was answered the same until now`, {
      cluster: fields["cluster"],
      repeated,
    });
  }

  #repeat(entry: Entry, now: Date): void {
    const { log, everyCall } = this.#options;
    if (!everyCall) {
      entry.repeated += 1;
      if (now.getTime() - entry.loggedAt < SUMMARY_EVERY_MS) return;
    }
    const [line, fields]: Said = JSON.parse(entry.said);
    if (everyCall) return log.info(line, fields);
    log.info(line, { ...fields, repeated: entry.repeated });
    entry.loggedAt = now.getTime();
    entry.repeated = 0;
  }
}

function describe({ cluster }: HookRequest, { verdict, decision }: Outcome): Record<string, unknown> {
  const { namespace, name } = cluster.metadata;
  const speaking =
    decision?.trace.filter((policy) => policy.verdict === decision.verdict && policy.matched) ?? [];
  const first = speaking[0];
  const rule = first?.rules.find((r) => r.holds) ?? first?.rules[0];
  return {
    cluster: `${namespace}/${name}`,
    verdict,
    ...(first !== undefined && { policy: policyName(first.policy) }),
    ...(rule !== undefined && { rule: rule.rule }),
    ...(speaking.length > 1 && { morePolicies: speaking.length - 1 }),
  };
}
