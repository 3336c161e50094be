/**
 * Records the results of operations that have proceeded and of requests that were refused: for every policy that applied
 * about them, and for overrides.
 */

import { MAX_USED_POLICIES, type RecentResult } from "../api/hook-policy.ts";
import type { Cluster } from "../api/meta.ts";
import { targetVersion } from "../api/target-version.ts";
import { type Decision, type PolicyTrace, applies, heldRules } from "../policy/decision.ts";
import { timestamp } from "../lib/instant.ts";
import { clusterKey } from "../views/cluster.ts";
import { policyName } from "../policy/policy-ref.ts";
import type { Lifted, Memory, StoreOptions } from "./memory.ts";
import { heldResult, recentResult } from "../operations/rows.ts";
import { notAsked, notHeld, overrideUsed, refused, released } from "./policy-events.ts";
import { policyKey } from "./policy-set.ts";
import type { DecisionRequest, World } from "../policy/world.ts";
import type { PolicyEntry } from "./policy-entry.ts";
import type { CompiledPolicy } from "../policy/policy.ts";

/** An operation that has proceeded, with inputs that do not change. Only objects are looked up when it is recorded. */
export interface ProceededOperation {
  readonly request: DecisionRequest;
  /** The Cluster as it was before it proceeded. */
  readonly before: Cluster;
  readonly policies: readonly CompiledPolicy[];
  readonly world: World;
  readonly at: Date;
  /** Keys of the policies that have held it; entries forget that once it has ended. */
  readonly heldBy: ReadonlySet<string>;
  /** An upgrade to a version that no BeforeClusterUpgrade was asked about: see passesUnasked(). */
  readonly unasked: boolean;
  /** The rollouts that would have held it. */
  readonly lifted: readonly Lifted[];
}

/** A test suite has no log. */
export type ResultOptions = Pick<StoreOptions, "enqueue" | "onEvent"> & Partial<Pick<StoreOptions, "log">>;

const NOT_HELD: ReadonlySet<RecentResult["verdict"]> = new Set(["WouldBlock", "NotEvaluable"]);

/**
 * Cluster API has not asked, a user has written its mark or removed the finalizer, or a policy or what it looks at has
 * changed since the release.
 */
const HELD = "An operation has proceeded that policies hold";
/** `policies`: those that hold an upgrade to the version; it proceeds all the same. */
const UNASKED =
  "The version has changed while an upgrade runs, and no BeforeClusterUpgrade is asked about it";

export class Results {
  readonly #memory: Memory;
  readonly #options: ResultOptions;

  constructor(memory: Memory, options: ResultOptions) {
    this.#memory = memory;
    this.#options = options;
  }

  /** `decision`: what the policies said about the operation when it proceeded. */
  record(
    { request: { call, cluster }, policies, heldBy, at: now, unasked, lifted }: ProceededOperation,
    decision: Decision,
  ): void {
    for (const [index, trace] of decision.trace.entries()) {
      const entry = this.#entryOf(trace, policies[index]);
      if (entry === undefined || !applies(trace) || (trace.holds && !unasked)) continue;
      const result = trace.holds
        ? heldResult("NotAsked", { call, cluster }, trace, now)
        : recentResult({ call, cluster }, trace, now);
      if (result !== undefined) this.#keep(entry, result, eventOf(result, heldBy.has(entry.key)));
    }
    if (unasked) this.#tell(UNASKED, { call, cluster }, decision);
    else if (decision.holds) this.#tell(HELD, { call, cluster }, decision);
    if (!decision.holds) this.#useOverrides({ call, cluster }, [...overriddenIn(decision), ...lifted], now);
  }

  #tell(message: string, { call, cluster }: DecisionRequest, { trace }: Decision): void {
    const held = heldRules(trace);
    const version = targetVersion(call);
    this.#options.log?.warn(message, {
      hook: call.hook,
      ...(version !== undefined && { version }),
      cluster: clusterKey(cluster),
      policies: [...new Set(held.map(({ policy }) => policyName(policy)))].slice(0, MAX_USED_POLICIES),
      reasons: [...new Set(held.map(({ rule }) => rule.reason))],
    });
  }

  /** Only the first refusal by each rule counts, because a pipeline may repeat its request for days. */
  refused({ call, cluster }: DecisionRequest, { trace, basis }: Decision, now: Date): void {
    for (const [index, said] of trace.entries()) {
      const entry = said.holds ? this.#entryOf(said, basis?.policies[index]) : undefined;
      if (entry === undefined) continue;
      this.#keep(entry, heldResult("Refused", { call, cluster }, said, now), refused);
    }
  }

  /** Another policy may have its name by now. */
  #entryOf({ policy }: PolicyTrace, decided: CompiledPolicy | undefined): PolicyEntry | undefined {
    const { kind, namespace, name } = policy;
    const entry = this.#memory.policies.get(policyKey(kind, namespace, name));
    return entry?.compiled.uid === decided?.uid ? entry : undefined;
  }

  #keep(entry: PolicyEntry, result: RecentResult, event: ResultEvent | undefined): void {
    if (!entry.keep(result)) return;
    if (event !== undefined) this.#options.onEvent(event(entry.compiled, result));
    this.#options.enqueue(entry.key);
  }

  #useOverrides({ call, cluster }: DecisionRequest, lifted: readonly Lifted[], now: Date): void {
    for (const [name, all] of Map.groupBy(lifted, ({ override }) => override)) {
      const policies = all.map(({ holder }) => holder);
      const version = targetVersion(call);
      const use = {
        hook: call.hook,
        clusterUID: cluster.metadata.uid,
        ...(version !== undefined && { targetVersion: version }),
        time: timestamp(now),
        policies: policies.slice(0, MAX_USED_POLICIES),
      };
      const entry = this.#memory.overrides.use(name, use);
      if (entry === undefined) continue;
      this.#options.enqueue(entry.key);
      this.#options.onEvent(overrideUsed(entry.compiled, { cluster, call }, policies));
    }
  }
}

/** Audit policies hold nothing that an override could release. */
function overriddenIn({ trace }: Decision): Lifted[] {
  return trace.flatMap(({ mode, policy, overriddenBy }) =>
    mode === "Enforce" && overriddenBy !== undefined
      ? [{ override: overriddenBy, holder: policyName(policy) }]
      : [],
  );
}

type ResultEvent = typeof released;

function eventOf({ verdict }: RecentResult, wasHeld: boolean): ResultEvent | undefined {
  if (verdict === "NotAsked") return notAsked;
  if (NOT_HELD.has(verdict)) return notHeld;
  return wasHeld ? released : undefined;
}
