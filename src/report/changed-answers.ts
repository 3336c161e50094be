/** Records answers to hook calls: remembers the last one about each Cluster and hook, so that the logs show what changes. */

import { HOOK_NAMES, type HookName } from "../api/runtime-hooks.ts";
import type { AnswerRecorder } from "../hooks/hook-handler.ts";
import type { HookRequest } from "../hooks/hook-request.ts";
import type { Outcome } from "../hooks/outcome.ts";
import { AnswerLog, type AnswerLogOptions, type LoggedAnswer } from "./answer-log.ts";
import type { AuditedAnswer, AuditLog } from "./audit-log.ts";

/** Any client that reaches the port can invent Clusters. */
const MAX_ANSWERS = 20_000;

export interface RecorderOptions extends AnswerLogOptions {
  readonly audit?: Pick<AuditLog, "answered"> | undefined;
}

/** The log and the audit log differ in what they call a change; both compare with what is remembered here. */
interface LastAnswer {
  readonly logged: LoggedAnswer;
  readonly audited: AuditedAnswer | undefined;
}

export class ChangedAnswers implements AnswerRecorder {
  readonly #log: AnswerLog;
  readonly #audit: RecorderOptions["audit"];
  /** By hook and uid. The first entry is evicted first: it has not changed for the longest time. */
  readonly #last = new Map<string, LastAnswer>();

  constructor({ audit, ...options }: RecorderOptions) {
    this.#log = new AnswerLog(options);
    this.#audit = audit;
  }

  record(request: HookRequest, outcome: Outcome, now: Date): void {
    const key = keyOf(request.cluster.metadata.uid, request.call.hook);
    const last = this.#last.get(key);
    const logged = this.#log.answered(request, outcome, last?.logged, now);
    const audited = this.#audit?.answered(request, outcome, last?.audited, now);
    if (logged === last?.logged && audited === last.audited) return;
    this.#last.delete(key); // to the end
    this.#last.set(key, { logged, audited });
    const oldest = this.#last.keys().next();
    if (this.#last.size > MAX_ANSWERS && oldest.done !== true) this.#last.delete(oldest.value);
  }

  /** The audit log has the answer already. */
  repeat(hook: HookName, clusterUID: string, now: Date): void {
    const last = this.#last.get(keyOf(clusterUID, hook));
    if (last !== undefined) this.#log.repeated(last.logged, now);
  }

  forget(clusterUID: string): void {
    for (const hook of HOOK_NAMES) {
      const key = keyOf(clusterUID, hook);
      const last = this.#last.get(key);
      if (last !== undefined) this.#log.ended(hook, last.logged);
      this.#last.delete(key);
    }
  }
}

function keyOf(clusterUID: string, hook: HookName): string {
  return `${hook} ${clusterUID}`;
}
