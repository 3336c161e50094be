/** The operator's memory with a simulated clock: known calls, and since when rules wait. */

import type { Cluster } from "../../api/meta.ts";
import type { HookCall, HookName } from "../../api/runtimehooks.ts";
import { nextDeadlineStep } from "../../controller/transitions.ts";
import type { Attempt } from "../../operations/attempt.ts";
import { hasEnded } from "../../operations/ended.ts";
import { type Ask, newAsk } from "../../operations/operation.ts";
import { AskSet } from "../../operations/operations.ts";
import type { ServedHooks } from "../../api/hookcatalog.ts";
import { type Decision, speaks } from "../../policy/decision.ts";
import { targetVersion } from "../../policy/targetversion.ts";
import type { FleetPolicy } from "../fleet/fleet.ts";
import { type AdmissionAnswer, admitted, answerOf } from "../fleet/admissionrequest.ts";
import { editsBetween } from "../fleet/edits.ts";
import { type Look, lookAt, type Operation, type Span, spansOf, walk } from "../../operations/timeline.ts";
import { Coverage } from "./coverage.ts";
import { Reported } from "./reported.ts";
import type { SuiteWorld } from "./suiteworld.ts";

export interface SessionOptions {
  readonly served: ServedHooks;
  readonly now: Date;
  /** Whether Events and metrics are wanted. */
  readonly reports?: boolean;
}

export class Session {
  readonly world: SuiteWorld;
  readonly served: ServedHooks;
  /** Absent: not wanted. */
  readonly reported?: Reported;
  readonly coverage = new Coverage();
  readonly #asks = new AskSet();
  #clusters: readonly Cluster[] = [];
  #policies: readonly FleetPolicy[] = [];
  #now: Date;

  constructor(world: SuiteWorld, { served, now, reports = false }: SessionOptions) {
    this.world = world;
    this.served = served;
    this.#now = now;
    if (reports) this.reported = new Reported(world, { asks: this.#asks, served, now });
  }

  get now(): Date {
    return this.#now;
  }

  /** Records an earlier call; `ask.rules` are its timers. What it caused was reported then. */
  adopt(ask: Ask, cluster: Cluster): void {
    this.#policiesChanged();
    this.#put(lookAt(this.#operation(cluster, ask), this.#now));
    this.reported?.takeEvents();
  }

  /** Does what the operator's alarm does between calls. */
  advanceTo(to: Date): void {
    this.reported?.advanceTo(to);
    for (const operation of this.#operations()) {
      for (const look of walk(operation, this.#now, to)) this.#put(look);
    }
    this.#now = to;
  }

  /** Called after objects have changed: operations begin, end, and are re-evaluated. */
  worldChanged(): void {
    this.#policiesChanged();
    const clusters = this.world.fleet.clusters();
    const byUID = new Map(clusters.map((cluster) => [cluster.metadata.uid, cluster]));
    for (const before of this.#clusters) {
      const { uid } = before.metadata;
      this.reported?.clusterChanged(before, byUID.get(uid));
      if (!byUID.has(uid)) for (const ask of this.#asks.forget(uid)) this.reported?.ended(ask);
    }
    this.#clusters = clusters;
    for (const cluster of clusters) {
      const { ended } = this.#asks.follow(cluster, { now: this.#now, served: this.served });
      for (const ask of ended) this.reported?.ended(ask);
    }
    for (const operation of this.#operations()) this.#put(lookAt(operation, this.#now));
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
    this.coverage.know(now.map(({ compiled }) => compiled));
    this.reported?.objectsChanged(now);
  }

  /** When the pending operation of the Cluster began; `undefined`: there is none. */
  firstAsked(clusterUID: string, hook: HookName): Date | undefined {
    return this.#asks.get(clusterUID, hook)?.firstAsked;
  }

  ask(cluster: Cluster, call: HookCall): Decision {
    const before = this.#asks.get(cluster.metadata.uid, call.hook);
    const ask = newAsk(call, cluster, this.#now, before);
    const look = lookAt(this.#operation(cluster, ask), this.#now);
    this.coverage.see(look.decision);
    const waits = this.served.blocking.has(call.hook) && look.decision.trace.some(speaks);
    if (waits && !hasEnded(ask, cluster, this.served)) {
      if (before !== undefined && targetVersion(before.call) !== targetVersion(call))
        this.reported?.ended(before);
      this.#put(look);
    }
    return look.decision;
  }

  /** What a request would be answered; changes no state. */
  admit(attempt: Attempt): AdmissionAnswer {
    const found = admitted(this.world.fleet, attempt, this.#now);
    this.coverage.seeAtAdmission(found);
    return answerOf(attempt, found);
  }

  /** The answers from now on if only time passes; changes no state. */
  timeline(cluster: Cluster, call: HookCall, to: Date): Span[] {
    const ask = newAsk(call, cluster, this.#now, this.#asks.get(cluster.metadata.uid, call.hook));
    return spansOf(this.#seen(walk(this.#operation(cluster, ask), this.#now, to)), to);
  }

  *#seen(looks: Iterable<Look<Ask>>): Generator<Look<Ask>> {
    for (const look of looks) {
      this.coverage.see(look.decision);
      yield look;
    }
  }

  #put({ asked, decision, at }: Look<Ask>): void {
    this.#asks.put(asked);
    this.coverage.see(decision);
    this.reported?.decided(asked, decision, at);
  }

  #operations(): Operation<Ask>[] {
    return this.world.fleet
      .clusters()
      .flatMap((cluster) => this.#asks.of(cluster.metadata.uid).map((ask) => this.#operation(cluster, ask)));
  }

  #operation(cluster: Cluster, ask: Ask): Operation<Ask> {
    const { fleet, usesNow } = this.world;
    const policies = fleet.policiesFor(cluster.metadata.namespace ?? "");
    return {
      policies,
      world: fleet.world(cluster),
      call: { settings: {}, ...ask.call },
      asked: ask,
      ...(usesNow && { lookAgain: asOftenAsAsked }),
      ...(this.reported !== undefined && {
        alsoAt: ({ at, decision }: Look) => nextDeadlineStep(policies, decision.trace, at),
      }),
    };
  }
}

/** Interval for an operation that may proceed. */
const LOOK_AGAIN_SECONDS = 60;

function asOftenAsAsked({ retryAfterSeconds }: Decision): number {
  return retryAfterSeconds || LOOK_AGAIN_SECONDS;
}
