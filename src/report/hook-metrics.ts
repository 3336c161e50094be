/** Counts the answers to hook calls. */

import type { HookMetrics } from "../hooks/hook-handler.ts";
import type { Metrics } from "./metrics.ts";

export function hookMetrics(metrics: Metrics): HookMetrics {
  return {
    answered: (hook, verdict, seconds) => {
      metrics.hookCalls.inc({ hook, verdict });
      metrics.hookCallDuration.observe({ hook }, seconds);
    },
    unconfirmed: (reason) => metrics.unconfirmedReleases.inc({ reason }),
    discovered: () => metrics.discoveryCalls.inc(),
  };
}
