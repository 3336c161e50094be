/** The listener for probes: always plain HTTP, as kubelet expects it. */

import type { Logger } from "../api/logger.ts";
import type { Address } from "./address.ts";
import { createPlainServer, type Page, type Pages, type PageServer } from "./pages.ts";

export interface HealthCheck {
  readonly name: string;
  /**
   * `undefined` when all is well, else the reason in a few words, which every client that reaches the port can read.
   */
  readonly check: () => string | undefined;
}

export interface HealthOptions {
  readonly address: Address;
  readonly checks: readonly HealthCheck[];
  readonly log: Logger;
}

const OK: Page = { code: 200, body: "ok" };

/** `/healthz` shows that the event loop runs, `/readyz` runs the checks; the body is the same as Kubernetes' own. */
export function createHealthServer({ address, checks, log }: HealthOptions): PageServer {
  const pages: Pages = {
    "/healthz": () => OK,
    "/readyz": ({ query }) => readiness(checks, new URLSearchParams(query).has("verbose"), log),
  };
  return createPlainServer({ address, flag: "--health-addr", pages, log });
}

function readiness(checks: readonly HealthCheck[], verbose: boolean, log: Logger): Page {
  const results = checks.map((each) => ({ name: each.name, reason: ask(each, log) }));
  const ready = results.every(({ reason }) => reason === undefined);
  if (ready && !verbose) return OK;
  const lines = results.map(({ name, reason }) =>
    reason === undefined ? `[+]${name} ok` : `[-]${name} failed: ${reason}`,
  );
  lines.push(ready ? "readyz check passed" : "readyz check failed");
  return { code: ready ? 200 : 503, body: `${lines.join("\n")}\n` };
}

function ask({ name, check }: HealthCheck, log: Logger): string | undefined {
  try {
    return check();
  } catch (error) {
    log.warn("Health check threw", { name, error });
    return "internal error";
  }
}
