/** The listener for probes, always plain HTTP, as kubelet expects it; and what /readyz reports: whether this replica should get calls. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../lib/logger.ts";
import type { Address } from "../server/address.ts";
import { createTextServer, type Reply, type Paths, type TextServer } from "../server/text-server.ts";
import type { Controller } from "./controller.ts";

/** By name: `undefined` when all is well, else the reason in a few words, which every client that reaches the port can read. */
export type HealthChecks = Readonly<Record<string, () => string | undefined>>;

const OK: Reply = { code: 200, body: "ok" };

/** Below the time-out of the startup probe (manifests/deployment.yaml). */
const MAX_WAIT_MS = 8_000;
const ASK_EVERY_MS = 50;

/**
 * `/healthz` shows that the event loop runs, `/readyz` runs the checks; the body is the same as Kubernetes' own.
 * `/readyz?wait` answers as soon as all is well, or after 8 s: a start that is under way is no failure, which Kubernetes
 * would warn about.
 */
export function createHealthServer(address: Address, checks: HealthChecks, log: Logger): TextServer {
  const paths: Paths = {
    "/healthz": () => OK,
    "/readyz": async ({ query }) => {
      const parameters = new URLSearchParams(query);
      const look = (): Reply => readiness(checks, parameters.has("verbose"));
      return parameters.has("wait") ? await whenOk(look) : look();
    },
  };
  return createTextServer({ address, flag: "--health-addr", paths, log });
}

async function whenOk(look: () => Reply): Promise<Reply> {
  const deadline = performance.now() + MAX_WAIT_MS;
  for (;;) {
    const reply = look();
    if (reply.code === OK.code || performance.now() >= deadline) return reply;
    await sleep(ASK_EVERY_MS, undefined, { ref: false });
  }
}

function readiness(checks: HealthChecks, verbose: boolean): Reply {
  const results = Object.entries(checks).map(([name, check]) => ({ name, reason: check() }));
  const ready = results.every(({ reason }) => reason === undefined);
  if (ready && !verbose) return OK;
  const lines = results.map(({ name, reason }) =>
    reason === undefined ? `[+]${name} ok` : `[-]${name} failed: ${reason}`,
  );
  lines.push(ready ? "readyz check passed" : "readyz check failed");
  return { code: ready ? 200 : 503, body: `${lines.join("\n")}\n` };
}

/** After this time a replica without policies is better than none: Cluster API's start needs discovery. */
const READY_ANYWAY_MS = 10_000;

/**
 * Ready when everything is in memory, or 10 s after the hook server started listening, whichever is first; withdrawn
 * for the shutdown, and while every ExtensionConfig leads to another namespace: then no call arrives, and an installation
 * that holds nothing must not look like one that does. A replica that is still loading holds everything, which is safe, and
 * answers discovery.
 */
export class Readiness {
  readonly #controller: Pick<Controller, "waitingFor" | "misplaced">;
  #listeningSince: number | undefined;
  #stopping = false;

  constructor(controller: Pick<Controller, "waitingFor" | "misplaced">) {
    this.#controller = controller;
  }

  readonly checks: HealthChecks = {
    hooks: () => (this.#listeningSince === undefined ? "not listening yet" : undefined),
    policies: () => this.#waiting(),
    registration: () => this.#controller.misplaced(),
    shutdown: () => (this.#stopping ? "stopping" : undefined),
  };

  listening(): void {
    this.#listeningSince = performance.now();
  }

  stopping(): void {
    this.#stopping = true;
  }

  #waiting(): string | undefined {
    const waitingFor = this.#controller.waitingFor();
    const since = this.#listeningSince ?? Infinity;
    if (waitingFor.length === 0 || performance.now() - since > READY_ANYWAY_MS) return undefined;
    return `waiting for ${waitingFor.join(", ")}`;
  }
}
