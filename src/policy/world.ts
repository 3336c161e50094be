/** What decide() looks at besides the policies, the call and the clock: plain data, gathered by the caller. */

import type { Cluster, Namespace } from "../api/meta.ts";

/** Everything a decision may look at besides the policies, the call and the clock. */
export interface World {
  readonly cluster: Cluster;
  /** `undefined`: not known; what depends on it is not evaluable. */
  readonly namespace: Namespace | undefined;
}
