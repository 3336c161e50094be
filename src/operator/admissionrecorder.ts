/** Records the answers to reviews of Clusters, in metrics and the log. */

import type { AdmissionOutcome, AdmissionRecorder } from "../admission/clusterhandler.ts";
import type { Logger } from "../api/logger.ts";
import { sparing } from "../log/sparing.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { policyName } from "../policy/policyref.ts";

export interface AdmissionRecording {
  readonly metrics: Pick<Metrics, "admissionReviews" | "admissionReviewDuration">;
  readonly log: Logger;
  /** Whether only the API server is answered; otherwise any client can have any number of requests refused. */
  readonly authenticated: boolean;
}

export function recordAdmission({ metrics, log, authenticated }: AdmissionRecording): AdmissionRecorder {
  const complain = sparing(log);
  return {
    decided: ({ username, dryRun }, { call: { hook }, cluster: { metadata } }, outcome, seconds) => {
      metrics.admissionReviews.inc({ hook, verdict: outcome.verdict });
      metrics.admissionReviewDuration.observe({ hook }, seconds);
      const cluster = `${metadata.namespace}/${metadata.name}`;
      const fields = { hook, cluster, user: username, dryRun, ...describe(outcome) };
      if (outcome.denial === undefined) log.debug("Admitted a request about a Cluster", fields);
      else log[authenticated ? "info" : "debug"]("Refused a request about a Cluster", fields);
    },
    unconcerned: () => metrics.admissionReviews.inc({ hook: "None", verdict: "Allowed" }),
    undecodable: (bytes) => {
      metrics.admissionReviews.inc({ hook: "None", verdict: "Undecodable" });
      complain("Refused a review that is not one of a Cluster", { bytes });
    },
    failed: (hook, error) => log.error("Failed to decide about a review", { hook, error }),
  };
}

function describe({ verdict, reason, decision }: AdmissionOutcome): Record<string, unknown> {
  const first = decision?.trace.find(({ holds }) => holds);
  const rule = first?.rules.find(({ holds }) => holds);
  return {
    verdict,
    ...(reason !== undefined && { reason }),
    ...(first !== undefined && { policy: policyName(first.policy) }),
    ...(rule !== undefined && { rule: rule.rule }),
  };
}
