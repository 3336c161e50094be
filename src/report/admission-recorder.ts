/** Records the answers to reviews of Clusters: in metrics, the log, the audit log and, where they refuse, the policies. */

import type { AdmissionRecorder, RequestRefusal } from "../admission/cluster-handler.ts";
import type { AdmissionOutcome } from "../admission/review.ts";
import { type Logger, rateLimited } from "../lib/logger.ts";
import type { AuditLog } from "./audit-log.ts";
import type { DecisionRequest } from "../policy/world.ts";
import { namespacedName } from "../lib/keys.ts";
import type { Metrics } from "./metrics.ts";
import { type Decision, holdingRules } from "../policy/decision.ts";
import { policyName } from "../policy/policy-ref.ts";

export interface AdmissionRecording {
  readonly metrics: Pick<Metrics, "admissionReviews" | "admissionReviewDuration">;
  readonly log: Logger;
  /** Whether only the API server is answered; otherwise any client can have any number of requests refused. */
  readonly authenticated: boolean;
  /** The policies that refused the request, in their status and in Events. */
  readonly policies: { requestRefused(request: DecisionRequest, decision: Decision): void };
  readonly audit: Pick<AuditLog, "refused"> | undefined;
  readonly now: () => Date;
}

export function recordAdmission(recording: AdmissionRecording): AdmissionRecorder {
  const { metrics, log, authenticated } = recording;
  const warnRateLimited = rateLimited(log);
  return {
    decided: (review, requested, outcome, seconds) => {
      const {
        call: { hook },
        cluster: { metadata },
      } = requested;
      const { username: user, dryRun } = review;
      metrics.admissionReviews.inc({ hook, verdict: outcome.verdict });
      metrics.admissionReviewDuration.observe({ hook }, seconds);
      const cluster = namespacedName(metadata);
      const fields = { hook, cluster, user, dryRun, ...describe(outcome) };
      const { denial } = outcome;
      if (denial === undefined) return log.debug("Admitted a request about a Cluster", fields);
      log[authenticated ? "info" : "debug"]("Refused a request about a Cluster", fields);
      if (authenticated) keep({ review, requested, outcome: { ...outcome, denial } }, recording);
    },
    unconcerned: () => metrics.admissionReviews.inc({ hook: "None", verdict: "Allowed" }),
    undecodable: (bytes) => {
      metrics.admissionReviews.inc({ hook: "None", verdict: "Undecodable" });
      warnRateLimited("Refused a review that is not one of a Cluster", { bytes });
    },
    failed: (hook, error) => log.error("Failed to decide about a review", { hook, error }),
  };
}

/** Keeps more of a refusal than a log line only for reviews of the API server, because others may be invented. */
function keep(request: RequestRefusal, { policies, audit, log, now }: AdmissionRecording): void {
  const { review, requested, outcome } = request;
  audit?.refused(request, now());
  if (review.dryRun || outcome.decision === undefined) return;
  try {
    policies.requestRefused(requested, outcome.decision);
  } catch (error) {
    log.error("Failed to record a refusal", { hook: requested.call.hook, error });
  }
}

function describe({ verdict, reason, decision }: AdmissionOutcome): Record<string, unknown> {
  const first = decision?.trace.find(({ holds }) => holds);
  const [rule] = holdingRules(first?.rules ?? []);
  return {
    verdict,
    ...(reason !== undefined && { reason }),
    ...(first !== undefined && { policy: policyName(first.policy) }),
    ...(rule !== undefined && { rule: rule.rule }),
  };
}
