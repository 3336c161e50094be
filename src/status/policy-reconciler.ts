/** Reconciles the finalizer and status of one policy with memory. Idempotent: no write if they are unchanged. */

import { isDeepStrictEqual } from "node:util";
import type { EventText } from "../api/event-text.ts";
import type { HookPolicyStatus } from "../api/hook-policy.ts";
import type { Requeue } from "../lib/requeue.ts";
import { despite } from "../lib/thrown.ts";
import { isNews } from "../views/versions.ts";
import { OBJECTS_NOT_LOADED } from "../policy/watched-objects.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import { wantedFinalizers } from "./finalizer.ts";
import { type PolicyEntry, rowSetsOf } from "../memory/policy-entry.ts";
import { reconcileOverride } from "./override-reconciler.ts";
import { isOverrideKey } from "../memory/override-set.ts";
import { computeStatus, type StatusInput } from "./policy-status.ts";
import type { DecisionStore } from "../memory/decision-store.ts";
import { callsChanged } from "../memory/policy-events.ts";
import type { StoreOptions, Unavailable } from "../memory/memory.ts";
import type { PolicyApi } from "./policy-api.ts";
import type { PolicyObject } from "../memory/policy-set.ts";
import { stubPolicy } from "../memory/stored-views.ts";

export interface PolicyReconcilerOptions extends Pick<StoreOptions, "log" | "now" | "objects"> {
  readonly store: DecisionStore;
  readonly api: PolicyApi;
  /** Why Clusters cannot be read, if the API server says so. */
  readonly clustersUnavailable: () => Unavailable | undefined;
  /** Why HookTasks cannot be read, if the API server says so. */
  readonly tasksUnavailable: () => Unavailable | undefined;
  /** Why Cluster API does not call the hooks of the policy. */
  readonly notCalled: (policy: CompiledPolicy) => StatusInput["notCalled"];
  readonly onStatusWrite: (kind: string, result: "written" | "conflict") => void;
  /** Only the replica whose write succeeded reports it. */
  readonly onEvent: (event: EventText) => void;
}

/** At most one status write per policy and second, however many Clusters change. */
const WRITE_INTERVAL_MS = 1000;
/** How long the status waits until memory has caught up with an edit. */
const MAX_BEHIND_MS = 5000;

export class PolicyReconciler {
  readonly #options: PolicyReconcilerOptions;
  readonly #written = new WeakMap<PolicyEntry, number>();
  /** Statuses of which the API server has dropped a field that its older CRDs lack. */
  readonly #cut = new WeakMap<PolicyEntry, CutStatus>();

  constructor(options: PolicyReconcilerOptions) {
    this.#options = options;
  }

  async reconcile(key: string): Promise<Requeue> {
    const { store, api, now, clustersUnavailable, onStatusWrite } = this.#options;
    if (isOverrideKey(key)) return await reconcileOverride(key, { store, api, now });
    const entry = store.policies.get(key);
    if (entry === undefined) return {};
    // Before everything was read the finalizer can only be removed, which needs nothing from memory.
    const deleting = entry.object.metadata.deletionTimestamp !== undefined;
    const failure: unknown =
      store.loaded || deleting
        ? await this.#reconcileFinalizers(entry).catch((error: unknown) => error)
        : undefined;
    if (!store.loaded && clustersUnavailable() === undefined) return finish(failure);
    const wait = (this.#written.get(entry) ?? -Infinity) + WRITE_INTERVAL_MS - performance.now();
    if (wait > 0) return finish(failure, { requeueAfterMs: wait });
    const behindMs = this.#behindMs(entry);
    // The event that ends this wait earlier makes the policy dirty.
    if (behindMs > 0) return finish(failure, { requeueAfterMs: behindMs });
    await despite(
      (error) => api.isConflict(error),
      async () => await this.#reconcileStatus(entry),
      async () => {
        onStatusWrite(entry.compiled.ref.kind, "conflict");
        this.#learn(entry, await api.getPolicy(entry));
      },
    );
    return finish(failure);
  }

  /** How long the status may still wait for the evaluation of an edited spec, for objects to be read, or for a forecast. */
  #behindMs(entry: PolicyEntry): number {
    const { editedAt, toEvaluate, toCompare, awaitingForecast, awaitingForecastSince } = entry;
    // A forecast that comes after its row would cost a second write.
    const forecastDueMs = awaitingForecast.size > 0 ? leftFrom(awaitingForecastSince) : 0;
    if (forecastDueMs > 0) return forecastDueMs;
    const left = leftFrom(editedAt);
    if (left <= 0) return 0;
    const isReading = this.#refusals(entry).some(({ reason }) => reason === OBJECTS_NOT_LOADED);
    return isReading || toEvaluate.length + toCompare.length > 0 ? left : 0;
  }

  async #reconcileFinalizers(entry: PolicyEntry): Promise<void> {
    const { api } = this.#options;
    await despite(
      (error) => api.isConflict(error),
      async () => await this.#setFinalizers(entry),
      async () => this.#learn(entry, await api.getPolicy(entry)),
    );
  }

  async #setFinalizers(entry: PolicyEntry): Promise<void> {
    if (!this.#isCurrent(entry)) return;
    const { api, log } = this.#options;
    const { compiled, object, matched } = entry;
    const finalizers = await wantedFinalizers(compiled, object.metadata, matched.size, api);
    if (finalizers === undefined) return;
    log.debug("Setting finalizers", { policy: entry.key, finalizers });
    this.#learn(entry, await api.setFinalizers(object, finalizers));
  }

  async #reconcileStatus(entry: PolicyEntry): Promise<void> {
    // After a conflict, which can mean that the spec was edited.
    if (!this.#isCurrent(entry) || this.#behindMs(entry) > 0) return;
    const { api, now, onStatusWrite, onEvent } = this.#options;
    const input = this.#statusInput(entry);
    const known = rowSetsOf(input.held, entry.held.keys());
    const status = computeStatus(input, now(), known);
    if (isDeepStrictEqual(status, entry.object.status) || this.#isCut(entry, status)) {
      entry.known = known;
      return;
    }
    const event = callsChanged(entry.compiled, entry.object.status, status);
    const updated = await api.replacePolicyStatus(entry, status);
    // Not before: what a write that failed did not take out of the counts would stay in them, as if another replica knew it.
    entry.known = known;
    onStatusWrite(entry.compiled.ref.kind, "written");
    if (event !== undefined && updated !== undefined) onEvent(event);
    // Monotonic: a clock that is set back must not stop the writes.
    this.#written.set(entry, performance.now());
    this.#rememberCut(entry, status, updated?.status);
    this.#learn(entry, updated);
  }

  /** Whether it was written already, and is stored as far as the CRDs allow: another write would change nothing. */
  #isCut(entry: PolicyEntry, status: HookPolicyStatus): boolean {
    const cut = this.#cut.get(entry);
    return (
      cut !== undefined &&
      isDeepStrictEqual(status, cut.sent) &&
      isDeepStrictEqual(entry.object.status, cut.stored)
    );
  }

  #rememberCut(entry: PolicyEntry, sent: HookPolicyStatus, stored: HookPolicyStatus | undefined): void {
    if (stored === undefined || isDeepStrictEqual(sent, stored)) this.#cut.delete(entry);
    else this.#cut.set(entry, { sent, stored });
  }

  /**
   * Memory learns the API server's answer, unless the informer has meanwhile reported something newer: an edit, which
   * would be lost for good, or a deletion or another policy of its name, which must not be undone.
   */
  #learn(entry: PolicyEntry, object: PolicyObject | undefined): void {
    if (object === undefined || !this.#isCurrent(entry)) return;
    const { store } = this.#options;
    const known = store.newest(entry);
    if (!isNews(object.metadata, known.metadata)) return;
    store.policyChanged(entry.key, known.tooLarge === true ? stubPolicy(object) : object);
  }

  #isCurrent(entry: PolicyEntry): boolean {
    return this.#options.store.policies.get(entry.key) === entry;
  }

  #statusInput(entry: PolicyEntry): StatusInput {
    const { compiled, object, matched, held, known, recent } = entry;
    const refusals = this.#refusals(entry);
    return {
      policy: compiled,
      stored: object.status,
      matchedClusters: matched.size,
      isRepresented: !entry.isEvaluated,
      held: [...held.values()],
      before: known,
      recent,
      clustersUnavailable: this.#options.clustersUnavailable(),
      tasksUnavailable: hasTasks(compiled) ? this.#options.tasksUnavailable() : undefined,
      objectsUnavailable: refusals.find(({ reason }) => reason !== OBJECTS_NOT_LOADED) ?? refusals[0],
      notCalled: this.#options.notCalled(compiled),
    };
  }

  /** The kinds that its gates look at and that cannot be read, which does not depend on the namespace. */
  #refusals({ compiled: { ref }, demands }: PolicyEntry): Unavailable[] {
    return [...demands.values()]
      .map(({ kind }) => this.#options.objects.find(kind, ref.namespace ?? ""))
      .flatMap((found) => (found.ok ? [] : [{ reason: found.reason, message: found.message }]));
  }
}

function hasTasks({ rules }: CompiledPolicy): boolean {
  return rules.some(({ tasks }) => tasks.length > 0);
}

interface CutStatus {
  readonly sent: HookPolicyStatus;
  readonly stored: HookPolicyStatus;
}

/** Throws the failure to set a finalizer last, so that users see the status all the same. The queue then retries. */
function finish(failure: unknown, result: Requeue = {}): Requeue {
  if (failure !== undefined) throw failure;
  return result;
}

function leftFrom(since: number): number {
  return Math.max(0, since + MAX_BEHIND_MS - performance.now());
}
