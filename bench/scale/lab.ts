/** A fleet of one size, and the calls about it. */

import type { KubeObject } from "../../test/controlplane/client.ts";
import type { Operator } from "../../test/controlplane/operator.ts";
import { CONCURRENCY } from "../../test/controlplane/post.ts";
import { callAboutAll, type LoadResult } from "../calls/generator.ts";
import type { FleetSize } from "../fleet/fleet.ts";
import type { Site } from "../part.ts";
import type { Goal } from "../result.ts";

export interface ScaleSize extends FleetSize {
  /** The memory limit of the container; default: the manifest's. */
  readonly memoryMiB?: number | undefined;
  /** For MB above the idle process. */
  readonly memoryGoal?: Goal;
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
  readonly generator: string;
  readonly bodies: string;
}

/** Cluster API calls about each Cluster again and again. */
export async function allAsk(
  { size, generator, bodies }: Lab,
  { ports }: Operator,
  seconds: number,
): Promise<LoadResult> {
  const load = { hook: "BeforeClusterDelete", port: ports.webhook, bodies, seconds } as const;
  return await callAboutAll(generator, size.clusters, { ...load, connections: CONCURRENCY });
}
