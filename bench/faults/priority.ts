/** In a fleet the API server has cores of its own; here it must not take those of the operator that is measured. */

import { readdir } from "node:fs/promises";
import { setPriority } from "node:os";
import type { ControlPlane } from "../../test/controlplane/controlplane.ts";

const NICE = 5;

/** Threads that start later inherit it. */
export async function yieldCores({ processes }: Pick<ControlPlane, "processes">): Promise<void> {
  for (const pid of ["etcd", "kube-apiserver"].flatMap((name) => processes.pids(name))) {
    // Linux has a priority for each thread.
    for (const thread of await readdir(`/proc/${pid}/task`)) setPriority(Number(thread), NICE);
  }
}
