/** Confirmations whose calls wait for no turn, so that a slow machine changes no result. */

import { Decisions, type DecisionsOptions } from "../../../src/decisions/decisions.ts";
import { Confirmer, type ConfirmationOptions } from "../../../src/decisions/confirmation.ts";
import { CallTurns } from "../../../src/turns/turns.ts";
import type { LiveReader } from "../../../src/decisions/live-reads.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { namespace } from "../builders.ts";
import { policyList, silent, storeWith } from "../memory/fixtures.ts";

type Given = Pick<ConfirmationOptions, "store" | "reader" | "now"> & Partial<ConfirmationOptions>;

export function testConfirmer(given: Given): Confirmer {
  return new Confirmer({
    turns: new CallTurns(Infinity),
    log: silent,
    onStale: () => undefined,
    ...given,
  });
}

/** What a confirmation reads: these policies, a Namespace, and nothing else; a Cluster and HookTasks only if `over` has them. */
export function readerOf(policies: readonly PolicyObject[], over: Partial<LiveReader> = {}): LiveReader {
  return {
    policies: async (kind) =>
      policyList(policies.filter((each) => each.kind === kind).map(({ metadata }) => metadata)),
    cluster: async () => await Promise.reject(new Error("not read")),
    namespace: async () => namespace(),
    namespaces: async () => [],
    rollouts: async () => [],
    definition: async (kind) => kind,
    overrides: async () => [],
    objects: async () => ({ ok: true, namespaced: true, objects: [] }),
    tasks: async () => await Promise.reject(new Error("not read")),
    clockAheadMs: () => 0,
    reasonOf: () => "Unavailable",
    ...over,
  };
}

const NO_MEMORY = storeWith().store;

/** Decides by confirmations; its memory knows no policy. */
export function decisionsBy(given: Pick<DecisionsOptions, "confirmer" | "rollouts" | "tasks">): Decisions {
  return new Decisions({
    store: NO_MEMORY,
    turns: new CallTurns(Infinity),
    mayHaveTasks: () => true,
    ...given,
  });
}
