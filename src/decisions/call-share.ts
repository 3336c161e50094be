/** Whose turn a call or a review uses, so that no caller who invents names delays the Clusters that exist. */

import type { Decider } from "../memory/decider.ts";
import type { DecisionRequest } from "../policy/world.ts";
import type { CallShare } from "../turns/call-turns.ts";

/** Shared by all Clusters that memory does not have, because a caller may invent names. No namespace is called "?". */
const NOT_IN_MEMORY: CallShare = { namespace: "?", cluster: "" };

/** Shared by all reviews of Clusters that memory does not have, if any client can send reviews. */
const INVENTED_REVIEWS: CallShare = { namespace: "? reviews", cluster: "" };

export function shareOf(
  { cluster, admission, fromApiServer }: Omit<DecisionRequest, "call">,
  decider: Pick<Decider, "knows">,
): CallShare {
  const { namespace = "", name } = cluster.metadata;
  if (decider.knows(cluster)) return { namespace, cluster: name };
  if (admission === undefined) return NOT_IN_MEMORY;
  // A Cluster that is being created: neither invented calls nor the creations of other namespaces may delay it.
  return fromApiServer === true ? { namespace: `${namespace} creations`, cluster: name } : INVENTED_REVIEWS;
}
