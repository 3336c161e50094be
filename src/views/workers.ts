/** Reads the workers of a topology: each entry is a MachineDeployment or a MachinePool, perhaps with a version of its own. */

import { type Fields, fieldsOf, listOf, nonEmptyText, textOf } from "../lib/fields.ts";
import type { PinnedWorkers } from "../api/meta.ts";

/** `version` is absent where the workers follow the version of the topology. */
export type Workers = Omit<PinnedWorkers, "version"> & Partial<Pick<PinnedWorkers, "version">>;

const LISTS = [
  ["MachineDeployment", "machineDeployments"],
  ["MachinePool", "machinePools"],
] as const;

export function viewWorkers(topology: Fields): readonly Workers[] {
  const workers = fieldsOf(topology["workers"]);
  return LISTS.flatMap(([kind, list]) =>
    listOf(workers[list]).map((raw) => {
      const entry = fieldsOf(raw);
      const version = nonEmptyText(entry["version"]);
      return { kind, name: textOf(entry["name"]), ...(version !== undefined && { version }) };
    }),
  );
}
