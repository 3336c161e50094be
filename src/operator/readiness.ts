/** Decides what /readyz reports: whether this replica should get calls. */

import type { HealthCheck } from "./health-server.ts";
import type { Controller } from "./controller.ts";

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

  readonly checks: readonly HealthCheck[] = [
    { name: "hooks", check: () => (this.#listeningSince === undefined ? "not listening yet" : undefined) },
    { name: "policies", check: () => this.#waiting() },
    { name: "registration", check: () => this.#controller.misplaced() },
    { name: "shutdown", check: () => (this.#stopping ? "stopping" : undefined) },
  ];

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
