/** Context besides the policies: why no hook is called, and what statuses leave out. */

import { fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import { printable } from "../../lib/printable.ts";
import type { Cluster } from "../../api/meta.ts";
import { matches } from "../../policy/decide.ts";
import { truncate } from "../../policy/message.ts";
import type { Fleet } from "./fleet.ts";
import type { RawObject } from "./kinds.ts";

/** Why Cluster API calls no hook for the Cluster; `undefined`: it does. */
export function notCalled({ topology, paused }: Cluster): string | undefined {
  if (topology === undefined) return "Cluster API calls no hook for the Cluster: it has no spec.topology";
  return paused ? "Cluster API calls no hook for the Cluster while it is paused" : undefined;
}

/** Why Cluster API's last call about the Cluster failed, as its condition tells; `undefined`: it does not tell so. */
export function failedCall(cluster: RawObject): string | undefined {
  const status = fieldsOf(cluster["status"]);
  const all = [status, fieldsOf(status["v1beta2"])].flatMap(({ conditions }) =>
    listOf(conditions).map(fieldsOf),
  );
  const messages = all
    .filter((condition) => condition["type"] === "TopologyReconciled" && condition["status"] !== "True")
    .map(({ message }) => /failed to call extension handler[^\n]*/.exec(textOf(message))?.[0]);
  const [text] = messages.filter((message) => message !== undefined);
  return text === undefined ? undefined : truncate(printable(text), MAX_SHOWN);
}

const MAX_SHOWN = 300;

/** A note for a call that Cluster API never makes. */
export const MINOR_STEPS =
  "Cluster API upgrades a control plane by one minor version at a time, and calls BeforeControlPlaneUpgrade for each: ask about one step with --from-version and --to-version";

/** A status has a limited number of rows, so an operation can wait without one. */
export function omittedRows(fleet: Fleet, cluster: Cluster): string | undefined {
  const world = fleet.world(cluster);
  const full = fleet.policies.some(
    ({ compiled, status }) => (status.decisionsOmitted ?? 0) > 0 && matches(compiled, world) !== "no",
  );
  return full
    ? "a policy's status has more rows than it shows, so that more operations can wait: ask with --hook"
    : undefined;
}
