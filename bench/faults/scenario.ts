import type { HookName } from "../../src/api/runtime-hooks.ts";
import type { ControlPlaneOptions } from "../../test/controlplane/control-plane.ts";
import type { Lab, ReplicaOptions } from "./lab.ts";

type Step = (lab: Lab) => Promise<unknown> | void;

/** One fault under load, on a control plane of its own. */
export interface Scenario {
  /** Ends the ids of the scenario's rows. */
  readonly id: string;
  readonly title: string;
  /** Default: BeforeClusterUpgrade. */
  readonly hook?: HookName;
  readonly controlPlane?: ControlPlaneOptions;
  /** Runs before the replicas start; default: Clusters and a policy in one namespace. */
  readonly arrange?: Step;
  /** Runs once the replicas are ready. */
  readonly settle?: Step;
  readonly replica?: (lab: Lab, index: number) => Promise<ReplicaOptions> | ReplicaOptions;
  /** Duration of the fault; default: 12 s. */
  readonly faultMs?: number;
  /** Resolves when the fault is there. */
  readonly inject: Step;
  /** Resolves when the fault is over. Background work has ended before. */
  readonly heal?: Step;
  /** Another tenant causes the fault: the result shows how long calls take meanwhile. */
  readonly fromOthers?: boolean;
  /** Counts Clusters that Cluster API released wrongly, whatever the answers of the calls were. */
  readonly wrongAllowsBesides?: (lab: Lab) => Promise<number>;
}
