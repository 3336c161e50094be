/** What the parts of the controller share. */

import type { ApiServerAdapter } from "../adapters/api-server.ts";
import type { EventText } from "../api/event-text.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import type { Logger } from "../lib/logger.ts";
import type { StoreOptions } from "../memory/memory.ts";
import type { ObjectInformers } from "../objects/object-informers.ts";
import type { OperatorPlace } from "../registration/registration.ts";
import type { EventRecorder } from "../report/event-recorder.ts";
import type { Metrics } from "../report/metrics.ts";

export interface ControllerOptions extends Pick<StoreOptions, "served" | "maxOverrideMs"> {
  readonly client: KubeClient;
  /** Acts as the ServiceAccounts of tasks, on connections of its own, so that what tasks do delays nothing else. */
  readonly taskClient: KubeClient;
  /** Whether this replica runs the tasks that only one should run. */
  readonly leading: () => boolean;
  readonly place: OperatorPlace;
  readonly metrics: Metrics;
  readonly events: Pick<EventRecorder, "record">;
  readonly log: Logger;
}

export interface Shared
  extends ControllerOptions, Pick<StoreOptions, "clusters" | "namespaces" | "onDemands" | "now"> {
  readonly api: ApiServerAdapter;
  readonly objects: ObjectInformers;
  readonly onEvent: (event: EventText) => void;
}
