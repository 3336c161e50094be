/** What the policies say of operations that have proceeded: decided when there is time, for what was known when it was seen. */

import type { Decision } from "../policy/decision.ts";
import { decide } from "../policy/decide.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import type { World } from "../policy/world.ts";
import type { AskRequest } from "./ports.ts";

/**
 * Policies, the Cluster, its Namespace, overrides and what is remembered are values that nothing changes. Objects are those
 * at the time of the decision; they are never those of Cluster API's call, of which a watch tells later.
 */
export interface Passed {
  readonly request: AskRequest;
  readonly policies: readonly CompiledPolicy[];
  readonly world: World;
  readonly at: Date;
  /** Keys of the policies that have held it: once it has ended, memory does not tell. */
  readonly heldBy: ReadonlySet<string>;
}

/** Of one Cluster: nine hooks, a few times over. Of one that passes more often, the newest are not recorded. */
const MAX_WAITING = 32;

export class PassedOperations {
  /** By the Cluster's uid, the oldest first. */
  readonly #waiting = new Map<string, Passed[]>();

  isEmpty(clusterUID: string): boolean {
    return !this.#waiting.has(clusterUID);
  }

  add(clusterUID: string, passed: Passed): void {
    const waiting = this.#waiting.get(clusterUID) ?? [];
    if (waiting.length >= MAX_WAITING) return;
    waiting.push(passed);
    this.#waiting.set(clusterUID, waiting);
  }

  take(clusterUID: string): Passed | undefined {
    const waiting = this.#waiting.get(clusterUID);
    const next = waiting?.shift();
    if (waiting?.length === 0) this.#waiting.delete(clusterUID);
    return next;
  }
}

export function decidePassed({ policies, world, request, at }: Passed): Decision {
  return decide(policies, world, request.call, at);
}
