/** The operator's memory with a simulated clock: known calls, and since when rules wait. */

import type { Cluster } from "../../api/meta.ts";
import type { HookCall } from "../../api/runtimehooks.ts";
import { hasEnded } from "../../operations/ended.ts";
import { type Ask, newAsk } from "../../operations/operation.ts";
import { AskSet } from "../../operations/operations.ts";
import type { ServedHooks } from "../../api/hookcatalog.ts";
import { type Decision, speaks } from "../../policy/decision.ts";
import type { FleetPolicy } from "../fleet/fleet.ts";
import { editsBetween } from "../fleet/edits.ts";
import { lookAt, type Operation, type Span, spansOf, walk } from "../../operations/timeline.ts";
import type { SuiteWorld } from "./suiteworld.ts";

export class Session {
  readonly world: SuiteWorld;
  readonly served: ServedHooks;
  readonly #asks = new AskSet();
  #uids: readonly string[] = [];
  #policies: readonly FleetPolicy[] = [];
  #now: Date;

  constructor(world: SuiteWorld, served: ServedHooks, now: Date) {
    this.world = world;
    this.served = served;
    this.#now = now;
  }

  get now(): Date {
    return this.#now;
  }

  /** Records an earlier call; `ask.rules` are its timers. */
  adopt(ask: Ask): void {
    this.#asks.put(ask);
  }

  /** Does what the operator's alarm does between calls. */
  advanceTo(to: Date): void {
    for (const operation of this.#operations()) {
      for (const { asked } of walk(operation, this.#now, to)) this.#asks.put(asked);
    }
    this.#now = to;
  }

  /** Called after objects have changed: operations begin, end, and are re-evaluated. */
  worldChanged(): void {
    this.#policiesChanged();
    const clusters = this.world.fleet.clusters();
    const uids = clusters.map(({ metadata }) => metadata.uid);
    const gone = this.#uids.filter((uid) => !uids.includes(uid));
    for (const ask of gone.flatMap((uid) => this.#asks.of(uid))) this.#asks.delete(ask);
    this.#uids = uids;
    for (const cluster of clusters) {
      for (const ask of this.#asks.of(cluster.metadata.uid))
        if (hasEnded(ask, cluster, this.served)) this.#asks.delete(ask);
      this.#asks.begin(cluster, this.served.blocking, { now: this.#now, served: this.served });
    }
    for (const operation of this.#operations()) this.#asks.put(lookAt(operation, this.#now).asked);
  }

  #policiesChanged(): void {
    const now = this.world.fleet.policies;
    for (const { compiled } of this.#policies) {
      if (!now.some((policy) => policy.compiled.uid === compiled.uid)) this.#asks.forgetPolicy(compiled.uid);
    }
    for (const { uid, before, after } of editsBetween(this.#policies, now)) {
      this.#asks.policyEdited(uid, before, after);
    }
    this.#policies = now;
  }

  ask(cluster: Cluster, call: HookCall): Decision {
    const ask = this.#newAsk(cluster, call);
    const { decision, asked } = lookAt(this.#operation(cluster, ask), this.#now);
    const waits = this.served.blocking.has(call.hook) && decision.trace.some(speaks);
    if (waits && !hasEnded(ask, cluster, this.served)) this.#asks.put(asked);
    return decision;
  }

  /** The answers from now on if only time passes; changes no state. */
  timeline(cluster: Cluster, call: HookCall, to: Date): Span[] {
    const operation = this.#operation(cluster, this.#newAsk(cluster, call));
    return spansOf(walk(operation, this.#now, to), to);
  }

  #newAsk(cluster: Cluster, call: HookCall): Ask {
    return newAsk(call, cluster, this.#now, this.#asks.get(cluster.metadata.uid, call.hook));
  }

  #operations(): Operation<Ask>[] {
    return this.world.fleet
      .clusters()
      .flatMap((cluster) => this.#asks.of(cluster.metadata.uid).map((ask) => this.#operation(cluster, ask)));
  }

  #operation(cluster: Cluster, ask: Ask): Operation<Ask> {
    const { fleet, usesNow } = this.world;
    return {
      policies: fleet.policiesFor(cluster.metadata.namespace ?? ""),
      world: fleet.world(cluster),
      call: { settings: {}, ...ask.call },
      asked: ask,
      ...(usesNow && { lookAgain: asOftenAsAsked }),
    };
  }
}

/** Interval for an operation that may proceed. */
const LOOK_AGAIN_SECONDS = 60;

function asOftenAsAsked({ retryAfterSeconds }: Decision): number {
  return retryAfterSeconds || LOOK_AGAIN_SECONDS;
}
