/** Opens the audit log as --audit-log configures it. */

import { hostname } from "node:os";
import type { Logger } from "../lib/logger.ts";
import { LineWriter } from "./line-writer.ts";
import { FileTarget, streamTarget } from "./audit-targets.ts";
import type { AnswerRecorder } from "../hooks/hook-handler.ts";
import { AuditLog } from "./audit-log.ts";
import type { Metrics } from "./metrics.ts";

export interface Auditing {
  readonly recorders: readonly AuditLog[];
  /** Waits briefly for waiting lines; lines that are not written by then are lost. */
  close(): Promise<void>;
}

/** `to`: a file, "-" for standard output, absent for none. Rejects when the file can never be written. */
export async function openAuditLog(
  to: string | undefined,
  { metrics, log }: { readonly metrics: Pick<Metrics, "auditLines">; readonly log: Logger },
): Promise<Auditing> {
  if (to === undefined) return { recorders: [], close: async () => undefined };
  const target = to === "-" ? streamTarget(process.stdout) : await new FileTarget(to).open();
  const onLines = (result: string, count: number): void => metrics.auditLines.inc({ result }, count);
  const writer = new LineWriter({ target, log, onLines });
  const write = (line: string): void => writer.write(line);
  return {
    recorders: [new AuditLog({ write, instance: hostname(), log })],
    close: async () => await writer.close(),
  };
}

/** Records an answer with each of the recorders. */
export function recordAll(recorders: readonly AnswerRecorder[]): AnswerRecorder {
  return {
    record: (request, outcome, now) => {
      for (const recorder of recorders) recorder.record(request, outcome, now);
    },
    repeat: (hook, clusterUID, now) => {
      for (const recorder of recorders) recorder.repeat(hook, clusterUID, now);
    },
    forget: (clusterUID) => {
      for (const recorder of recorders) recorder.forget(clusterUID);
    },
  };
}
