/** Writes one line per changed answer, and one per refused request: the answer, its inputs, and its reasons. */

import { hash } from "node:crypto";
import type { Logger } from "../lib/logger.ts";
import { printable } from "../lib/printable.ts";
import { targetVersion } from "../policy/target-version.ts";
import type { PolicyTrace } from "../policy/decision.ts";
import { policyName } from "../policy/policy-ref.ts";
import type { AnswerRecorder } from "../hooks/hook-handler.ts";
import type { AnswerVerdict, Outcome } from "../hooks/outcome.ts";
import type { RefusedRequest } from "../admission/cluster-handler.ts";
import { type AuditEntry, auditEntry, type AuditRefusal, auditRefusal } from "./audit-entry.ts";
import type { HookRequest } from "../hooks/hook-request.ts";
import { LastAnswers } from "./last-answers.ts";

export interface AuditLogOptions {
  /** Takes a line with its newline; never waits or fails (report/line-writer.ts). */
  readonly write: (line: string) => void;
  /** Name of this replica. */
  readonly instance: string;
  readonly log: Logger;
}

interface Last {
  readonly version: string | undefined;
  readonly verdict: AnswerVerdict;
  /** A digest, because the text can be kilobytes. */
  readonly said: string;
}

export class AuditLog implements AnswerRecorder {
  readonly #options: AuditLogOptions;
  /** An answer that was evicted is written once more. */
  readonly #last = new LastAnswers<Last>();

  constructor(options: AuditLogOptions) {
    this.#options = options;
  }

  /** Never throws: an answer does not depend on its record. */
  record(request: HookRequest, outcome: Outcome, now: Date): void {
    try {
      this.#record(request, outcome, now);
    } catch (error) {
      this.#options.log.error("Failed to record an answer in the audit log", { error });
    }
  }

  /** Every refusal is written. Never throws. */
  refused(request: RefusedRequest, now: Date): void {
    try {
      this.#write(auditRefusal(request, { now, instance: this.#options.instance }));
    } catch (error) {
      this.#options.log.error("Failed to record a refusal in the audit log", { error });
    }
  }

  /** The same answer is already recorded. */
  repeat(): void {}

  forget(clusterUID: string): void {
    this.#last.forget(clusterUID);
  }

  #record(request: HookRequest, outcome: Outcome, now: Date): void {
    const { call, cluster } = request;
    const { uid } = cluster.metadata;
    const version = targetVersion(call);
    const earlier = this.#last.get(uid, call.hook);
    const last = earlier?.version === version ? earlier : undefined;
    const said = saidBy(outcome);
    if (last?.said === said) return;
    this.#last.set(uid, call.hook, { version, verdict: outcome.verdict, said });
    const { instance } = this.#options;
    this.#write(auditEntry(request, outcome, { now, instance, before: last?.verdict }));
  }

  #write(entry: AuditEntry | AuditRefusal): void {
    this.#options.write(`${printable(JSON.stringify(entry))}\n`);
  }
}

/** Leaves out the seconds, which count down to the next edge, and policies that do not match. */
function saidBy({ verdict, answer, decision }: Outcome): string {
  const matched = decision?.trace.filter((policy) => policy.matched) ?? [];
  const said = [verdict, answer.status, answer.retryAfterSeconds > 0, answer.message, matched.map(reasonsOf)];
  return hash("sha256", JSON.stringify(said), "base64");
}

function reasonsOf({ policy, verdict, overriddenBy, rules }: PolicyTrace): unknown {
  return [
    policyName(policy),
    verdict,
    overriddenBy,
    rules.map(({ rule, verdict: said, reason }) => [rule, said, reason]),
  ];
}
