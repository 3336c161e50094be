/** A fleet of one size, and the calls about it. */

import type { KubeObject } from "../../test/controlplane/client.ts";
import type { Operator } from "../../test/controlplane/operator.ts";
import { callAboutAll, type LoadResult } from "../calls/generator.ts";
import type { FleetSize } from "../fleet/fleet.ts";
import type { Site } from "../part.ts";

export interface ScaleSize extends FleetSize {
  readonly startRounds: number;
  readonly editRounds: number;
  readonly approvalRounds: number;
  readonly approvalsPerRound: number;
  readonly loadSeconds: number;
  readonly restSeconds: number;
}

export interface Lab extends Site {
  readonly size: ScaleSize;
  readonly clusters: readonly KubeObject[];
  /** The program of the load generator. */
  readonly generator: string;
  /** The file of the requests that it sends. */
  readonly bodies: string;
}

export const CONNECTIONS = 100;

/** Cluster API calls about each Cluster again and again. */
export async function allAsk(
  { size, generator, bodies }: Lab,
  { ports }: Operator,
  seconds: number,
): Promise<LoadResult> {
  const load = { hook: "BeforeClusterDelete", port: ports.webhook, bodies, seconds } as const;
  return await callAboutAll(generator, size.clusters, { ...load, connections: CONNECTIONS });
}
