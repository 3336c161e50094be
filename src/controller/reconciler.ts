/** Brings one policy's finalizer and status in line with what is in memory. Level-based: at rest it writes nothing. */

import { isDeepStrictEqual } from "node:util";
import type { HookPolicyStatus } from "../api/hookpolicy.ts";
import type { Logger } from "../api/logger.ts";
import { type FinalizerReader, wantedFinalizers } from "./finalizer.ts";
import type { PolicyEntry, PolicyObject } from "./policyset.ts";
import { computeStatus, type StatusInput } from "./status.ts";
import type { DecisionStore } from "./store.ts";

/** The write side of the API server for policies; rejects with what `isConflict` and `isGone` tell apart. */
export interface PolicyWriter extends FinalizerReader {
  get(entry: PolicyEntry): Promise<PolicyObject>;
  replaceStatus(entry: PolicyEntry, status: HookPolicyStatus): Promise<PolicyObject>;
  setFinalizers(entry: PolicyEntry, finalizers: readonly string[]): Promise<PolicyObject>;
  isConflict(error: unknown): boolean;
  /** The policy does not exist any more. */
  isGone(error: unknown): boolean;
}

export interface ReconcilerOptions {
  readonly store: DecisionStore;
  readonly writer: PolicyWriter;
  readonly log: Logger;
  readonly now: () => Date;
  /** Why Clusters cannot be read, if the API server says so. */
  readonly clustersUnavailable: () => { readonly reason: string; readonly message: string } | undefined;
  readonly onStatusWrite: (kind: string, result: "written" | "conflict") => void;
}

/** What the work queue asks for (kube/workqueue.ts). */
export interface Result {
  readonly requeueAfterMs?: number;
}

/** At most one status write per policy and second, however many Clusters change. */
const WRITE_INTERVAL_MS = 1000;
const MAX_CONFLICTS = 5;

export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #written = new Map<string, number>();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  async reconcile(key: string): Promise<Result> {
    const { store, clustersUnavailable, writer } = this.#options;
    const entry = store.policies.get(key);
    if (entry === undefined) {
      this.#written.delete(key);
      return {};
    }
    if (!store.loaded && clustersUnavailable() === undefined) return {};
    try {
      if (store.loaded) await this.#reconcileFinalizers(entry);
      const wait = (this.#written.get(key) ?? -Infinity) + WRITE_INTERVAL_MS - performance.now();
      if (wait > 0) return { requeueAfterMs: wait };
      await this.#reconcileStatus(entry);
    } catch (error) {
      if (!writer.isGone(error)) throw error;
    }
    return {};
  }

  async #reconcileFinalizers(entry: PolicyEntry): Promise<void> {
    const { writer, store, log } = this.#options;
    const { compiled, object, matched } = entry;
    const finalizers = await wantedFinalizers(compiled, object.metadata, matched.size, writer);
    if (finalizers === undefined) return;
    log.debug("Setting finalizers", { policy: entry.key, finalizers });
    const updated = await writer.setFinalizers(entry, finalizers);
    store.policyChanged(entry.key, updated);
  }

  async #reconcileStatus(entry: PolicyEntry): Promise<void> {
    const { store, writer, now, onStatusWrite } = this.#options;
    const { kind } = entry.compiled.ref;
    for (let conflicts = 0; ; conflicts += 1) {
      const input = this.#statusInput(entry);
      const status = computeStatus(input, now());
      if (isDeepStrictEqual(status, entry.object.status)) return remember(entry, input);
      try {
        const updated = await writer.replaceStatus(entry, status);
        onStatusWrite(kind, "written");
        // Monotonic: a clock that is set back must not stop the writes.
        this.#written.set(entry.key, performance.now());
        remember(entry, input);
        return store.policyChanged(entry.key, updated);
      } catch (error) {
        if (!writer.isConflict(error) || conflicts >= MAX_CONFLICTS) throw error;
        onStatusWrite(kind, "conflict");
        store.policyChanged(entry.key, await writer.get(entry));
        if (store.policies.get(entry.key) !== entry) return;
      }
    }
  }

  #statusInput({
    compiled,
    object,
    matched,
    held,
    heldBefore,
    rowsBefore,
    recent,
  }: PolicyEntry): StatusInput {
    const clustersUnavailable = this.#options.clustersUnavailable();
    return {
      policy: compiled,
      stored: object.status,
      matchedClusters: matched.size,
      held: [...held.values()],
      heldBefore,
      rowsBefore,
      recent,
      ...(clustersUnavailable !== undefined && { clustersUnavailable }),
    };
  }
}

/** What the stored status now says about what this replica knows. */
function remember(entry: PolicyEntry, { held }: StatusInput): void {
  const rows = [...held];
  entry.heldBefore = new Set(rows.filter(({ holds }) => holds).map(({ clusterUID }) => clusterUID));
  entry.rowsBefore = rows.length;
}
