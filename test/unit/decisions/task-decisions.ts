/** Decisions about one Cluster whose tasks are stored. */

import type { Cluster } from "../../../src/api/meta.ts";
import type { Decisions } from "../../../src/decisions/decisions.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import type { HookTask } from "../../../src/api/hook-policy.ts";
import { StoredTaskBeginner } from "../../../src/tasks/task-beginner.ts";
import { ALL_HOOKS, NOW } from "../builders.ts";
import { silent, storeWith } from "../memory/fixtures.ts";
import { decisionsBy, readerOf, testConfirmer } from "./confirmer.ts";

interface Setup {
  readonly policies: readonly PolicyObject[];
  /** As it is read. */
  readonly cluster: Cluster;
  /** As memory has it. */
  readonly known?: Cluster;
  readonly create?: () => Promise<HookTask>;
}

export function taskDecisions(setup: Setup): { readonly decisions: Decisions; readonly tried: string[] } {
  const {
    policies,
    cluster,
    known = cluster,
    create = async () => await Promise.resolve({} as never),
  } = setup;
  const { store } = storeWith({ policies: [...policies], clusters: [known] });
  const reader = readerOf(policies, { cluster: async () => cluster, tasks: async () => [] });
  const tried: string[] = [];
  const decisions = decisionsBy({
    confirmer: testConfirmer({ store, reader, now: () => NOW }),
    rollouts: {
      ask: (_, decision) => decision,
      snapshot: () => undefined,
      takeSlots: async (_, decision) => await Promise.resolve({ ok: true, decision }),
      withoutSlot: (_, decision) => ({ ok: true, decision }),
    },
    tasks: new StoredTaskBeginner({
      store: {
        create: async ({ spec }) => {
          tried.push(spec.task);
          return await create();
        },
      },
      served: ALL_HOOKS,
      onUnstored: () => undefined,
      log: silent,
    }),
  });
  return { decisions, tried };
}
