import type { HookName } from "../../src/api/runtimehooks.ts";
import type { ControlPlaneOptions } from "../../test/controlplane/controlplane.ts";
import type { Lab } from "./lab.ts";
import type { ReplicaOptions } from "./replica.ts";

/** One fault under load, on a control plane of its own. */
export interface Scenario {
  /** Ends the ids of the scenario's rows. */
  readonly id: string;
  readonly title: string;
  /** Default: BeforeClusterUpgrade. */
  readonly hook?: HookName;
  readonly controlPlane?: ControlPlaneOptions;
  /** Runs before the replicas start; default: Clusters and a policy in one namespace. */
  readonly arrange?: (lab: Lab) => Promise<void>;
  /** Runs once the replicas are ready. */
  readonly settle?: (lab: Lab) => Promise<void>;
  /** The options with which the replica of that number starts. */
  readonly replica?: (lab: Lab, index: number) => Promise<ReplicaOptions> | ReplicaOptions;
  /** Duration of the fault; default: 12 s. */
  readonly faultMs?: number;
  /** Resolves when the fault is there. */
  readonly inject: (lab: Lab) => Promise<void>;
  /** Resolves when the fault is over. Background work has ended before. */
  readonly heal?: (lab: Lab) => Promise<void>;
  /** Another tenant causes the fault: the result shows how long calls take meanwhile. */
  readonly fromOthers?: boolean;
  /** Counts Clusters that Cluster API released wrongly, whatever the answers of the calls were. */
  readonly wrongAllowsBesides?: (lab: Lab) => Promise<number>;
}
