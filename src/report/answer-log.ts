/** Logs the answers to hook calls, and remembers the last one about each Cluster and hook, so that the logs show what changes. */

import { holdingRules } from "../policy/decision.ts";
import { HOOK_NAMES, type HookName } from "../api/runtime-hooks.ts";
import type { AnswerRecorder } from "../hooks/hook-handler.ts";
import type { ClusterCall } from "../policy/world.ts";
import type { Outcome } from "../hooks/hook-answer.ts";
import { MINUTE_MS } from "../lib/duration.ts";
import type { Logger } from "../lib/logger.ts";
import { LARGEST_FLEET } from "../lib/kept.ts";
import { policyName } from "../policy/policy-ref.ts";
import type { AnswerDigest, AuditLog } from "./audit-log.ts";

/** How often an unchanged answer is logged, with a count: Cluster API repeats a call every few seconds for days. */
const SUMMARY_EVERY_MS = 10 * MINUTE_MS;

export interface RecorderOptions {
  readonly log: Logger;
  /** Log identical answers, too (`--log-level debug`). */
  readonly everyCall: boolean;
  readonly audit?: Pick<AuditLog, "answered"> | undefined;
}

/** The log and the audit log differ in what they call a change; both compare with what is remembered here. */
interface AnswerRecord {
  /** The JSON text of a Line: it takes a quarter of the memory, and is read every ten minutes (with everyCall each time). */
  readonly line: string;
  loggedAt: number;
  /** How often it was given again since then. */
  repeated: number;
  readonly audited: AnswerDigest | undefined;
}

type Line = readonly [message: string, fields: Readonly<Record<string, unknown>>];

export class AnswerLog implements AnswerRecorder {
  readonly #options: RecorderOptions;
  /** By hook and uid. The first entry, which has not changed for the longest time, is evicted first. */
  readonly #last = new Map<string, AnswerRecord>();

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  record(request: ClusterCall, outcome: Outcome, now: Date): void {
    const { log, audit } = this.#options;
    const key = keyOf(request.cluster.metadata.uid, request.call.hook);
    const last = this.#last.get(key);
    const [message, fields] = lineOf(request, outcome);
    const line = JSON.stringify([message, fields]);
    const isSame = last?.line === line;
    if (isSame) this.#repeated(last, now);
    else log.info(message, fields);
    const audited = audit?.answered(request, outcome, last?.audited, now);
    if (isSame && audited === last.audited) return;
    this.#last.delete(key); // to the end
    this.#last.set(
      key,
      isSame ? { ...last, audited } : { line, loggedAt: now.getTime(), repeated: 0, audited },
    );
    // Any client that reaches the port can invent Clusters.
    const oldest = this.#last.keys().next();
    if (this.#last.size > 2 * LARGEST_FLEET && oldest.done !== true) this.#last.delete(oldest.value);
  }

  /** The audit log has the answer already. */
  repeat(hook: HookName, clusterUID: string, now: Date): void {
    const last = this.#last.get(keyOf(clusterUID, hook));
    if (last !== undefined) this.#repeated(last, now);
  }

  forget(clusterUID: string): void {
    for (const hook of HOOK_NAMES) this.#last.delete(keyOf(clusterUID, hook));
  }

  #repeated(last: AnswerRecord, now: Date): void {
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
}

function keyOf(clusterUID: string, hook: HookName): string {
  return `${hook} ${clusterUID}`;
}

function lineOf({ call, cluster }: ClusterCall, { verdict, answer, decision }: Outcome): Line {
  const { rollout, overriddenRollouts } = decision ?? {};
  const { status, retryAfterSeconds } = answer;
  const { namespace, name } = cluster.metadata;
  const deciding =
    decision?.trace.filter((policy) => policy.verdict === decision.verdict && policy.matched) ?? [];
  const first = deciding[0];
  const { rules = [] } = first ?? {};
  const rule = holdingRules(rules)[0] ?? rules[0];
  return [
    `${call.hook} is called, response is ${status}. retry: ${retryAfterSeconds}`,
    {
      cluster: `${namespace}/${name}`,
      verdict,
      ...(first !== undefined && { policy: policyName(first.policy) }),
      ...(rule !== undefined && { rule: rule.rule }),
      ...(deciding.length > 1 && { morePolicies: deciding.length - 1 }),
      ...rollout,
      ...(overriddenRollouts !== undefined && { overriddenRollouts }),
    },
  ];
}
