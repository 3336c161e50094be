import type { HookName } from "../../src/api/runtimehooks.ts";
import type { ControlPlaneOptions } from "../../test/controlplane/controlplane.ts";
import type { Lab } from "./lab.ts";
import type { ReplicaOptions } from "./replica.ts";

/** One fault under load, on a control plane of its own. */
export interface Scenario {
  /** Stable, of the result's rows. */
  readonly id: string;
  /** As readers of the results call it. */
  readonly title: string;
  /** Default: BeforeClusterUpgrade. */
  readonly hook?: HookName;
  readonly controlPlane?: ControlPlaneOptions;
  /** Default: Clusters and a policy in one namespace; before the replicas start. */
  readonly arrange?: (lab: Lab) => Promise<void>;
  /** After the replicas are ready. */
  readonly settle?: (lab: Lab) => Promise<void>;
  /** How the replica of that number is started. */
  readonly replica?: (lab: Lab, index: number) => Promise<ReplicaOptions> | ReplicaOptions;
  /** How long the fault lasts; default 12 s. */
  readonly faultMs?: number;
  /** Resolves when the fault is there. */
  readonly inject: (lab: Lab) => Promise<void>;
  /** Resolves when the fault is over; what runs in the background has ended before. */
  readonly heal?: (lab: Lab) => Promise<void>;
  /** Others cause it: how long calls took meanwhile is what they felt of it. */
  readonly fromOthers?: boolean;
  /** What else must not have happened, besides wrong answers: how often it has. */
  readonly wrongAllowsBesides?: (lab: Lab) => Promise<number>;
}
