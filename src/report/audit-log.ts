/** Writes one line per changed answer, and one per refused request: the answer, its inputs, and its reasons. */

import { hash } from "node:crypto";
import { hostname } from "node:os";
import type { Logger } from "../lib/logger.ts";
import { printable } from "../lib/printable.ts";
import { targetVersion } from "../api/target-version.ts";
import type { PolicyTrace } from "../policy/decision.ts";
import { policyName } from "../policy/policy-ref.ts";
import type { ClusterCall } from "../policy/world.ts";
import type { AnswerVerdict, Outcome } from "../hooks/hook-answer.ts";
import type { RequestRefusal } from "../admission/cluster-handler.ts";
import { type AuditEntry, auditEntry, type AuditRefusal, auditRefusal } from "./audit-entry.ts";
import { FileTarget, streamTarget } from "./audit-targets.ts";
import { AuditWriter } from "./audit-writer.ts";
import type { Metrics } from "./metrics.ts";

export interface AuditLogOptions {
  /** Takes a line with its newline; never waits or fails (report/audit-writer.ts). */
  readonly write: (line: string) => void;
  /** Name of this replica. */
  readonly instance: string;
  readonly log: Logger;
}

export interface AnswerDigest {
  readonly version: string | undefined;
  readonly verdict: AnswerVerdict;
  /** Of the answer and its reasons, because their text can be kilobytes. */
  readonly digest: string;
}

export class AuditLog {
  readonly #options: AuditLogOptions;

  constructor(options: AuditLogOptions) {
    this.#options = options;
  }

  /** Returns `last` if the answer and its reasons are the same. Never throws: an answer does not depend on its record. */
  answered(
    request: ClusterCall,
    outcome: Outcome,
    last: AnswerDigest | undefined,
    now: Date,
  ): AnswerDigest | undefined {
    const { instance, log } = this.#options;
    let audited = last;
    try {
      const version = targetVersion(request.call);
      const before = last?.version === version ? last : undefined;
      const digest = digestOf(outcome);
      if (before?.digest === digest) return last;
      audited = { version, verdict: outcome.verdict, digest };
      this.#write(auditEntry(request, outcome, { now, instance, before: before?.verdict }));
    } catch (error) {
      log.error("Failed to record an answer in the audit log", { error });
    }
    return audited;
  }

  /** Every refusal is written. Never throws. */
  refused(request: RequestRefusal, now: Date): void {
    try {
      this.#write(auditRefusal(request, { now, instance: this.#options.instance }));
    } catch (error) {
      this.#options.log.error("Failed to record a refusal in the audit log", { error });
    }
  }

  #write(entry: AuditEntry | AuditRefusal): void {
    this.#options.write(`${printable(JSON.stringify(entry))}\n`);
  }
}

/** Leaves out the seconds, which count down to the next edge, and policies that do not match. */
function digestOf({ verdict, answer, decision }: Outcome): string {
  const matched = decision?.trace.filter((policy) => policy.matched) ?? [];
  const { rollout, overriddenRollouts } = decision ?? {};
  const reasons = [matched.map(reasonsOf), rollout?.reason, overriddenRollouts];
  const said = [verdict, answer.status, answer.retryAfterSeconds > 0, answer.message, reasons];
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

/**
 * `to`: a file, or "-" for standard output. Rejects when the file can never be written. The writer is for the end: close() waits
 * briefly for waiting lines, and those that are not written by then are lost.
 */
export async function openAuditLog(
  to: string,
  { metrics, log }: { readonly metrics: Pick<Metrics, "auditLines">; readonly log: Logger },
): Promise<{ readonly audit: AuditLog; readonly writer: AuditWriter }> {
  const target = to === "-" ? streamTarget(process.stdout) : await new FileTarget(to).open();
  const onLines = (result: string, count: number): void => metrics.auditLines.inc({ result }, count);
  const writer = new AuditWriter({ target, log, onLines });
  const write = (line: string): void => writer.write(line);
  return { audit: new AuditLog({ write, instance: hostname(), log }), writer };
}
