/** Keeps Cluster API's ExtensionConfigs in memory, which show whether Cluster API calls the hooks of policies. */

import { isDeepStrictEqual } from "node:util";
import type { Logger } from "../lib/logger.ts";
import type { StoredNamespace } from "../api/meta.ts";
import { labelsOfNamespace } from "../api/selector.ts";
import type { Lister, NotCalled } from "../memory/memory.ts";
import { pause } from "../lib/signals.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { Informer } from "../kube/informer.ts";
import { extensionConfigs } from "../kube/extension-configs.ts";
import type { InformerTuning } from "../kube/recovery.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import {
  isOurs,
  misplaced,
  NOT_INSTALLED,
  hooksNotCalled,
  notCalled,
  type OperatorPlace,
  type Registration,
  selectsNamespace,
  viewRegistration,
} from "./registration.ts";

const KNOWN_POLL_MS = 50;
/** Cluster API discovers an extension within seconds of its registration, unless it runs without its Runtime SDK. */
const DISCOVERY_MS = 60_000;

export interface RegistrationsOptions {
  readonly client: Pick<KubeClient, "getPath" | "list" | "watch">;
  readonly namespaces: Pick<Lister<StoredNamespace>, "get">;
  readonly place: OperatorPlace;
  readonly log: Logger;
  /** The result of notCalled() may have changed. */
  readonly onChange: () => void;
  readonly tuning?: Partial<InformerTuning>;
}

export class Registrations {
  readonly informer: Informer<Registration>;
  readonly #options: RegistrationsOptions;

  constructor(options: RegistrationsOptions) {
    const { client, log, onChange, tuning } = options;
    this.#options = options;
    this.informer = new Informer<Registration>({
      client,
      resource: async (signal) => await extensionConfigs(client, signal),
      project: viewRegistration,
      onChange: ({ old, new: object }) => {
        if (!saysTheSame(old, object)) onChange();
      },
      log,
      ...(tuning !== undefined && { tuning }),
    });
  }

  /** A change of this state is a reason to check again, as is onChange. */
  get state(): "Unknown" | "NotServed" | "Forbidden" | "Known" {
    return this.informer.refusal ?? (this.informer.synced() ? "Known" : "Unknown");
  }

  /**
   * "Unknown" until the first list, until a new ExtensionConfig is discovered, and where a selector decides that Cluster API
   * may not have taken over, or the labels of the Namespace are unknown; `undefined` also if the operator may not read
   * ExtensionConfigs.
   */
  readonly notCalled = (policy: CompiledPolicy): NotCalled => {
    const labels = this.#labelsOf(policy.ref.namespace ?? "");
    return this.#uncalled((ours) => notCalled(policy, ours, labels));
  };

  /** As notCalled(), in any namespace. */
  readonly hookNotCalled = (hook: HookName): NotCalled =>
    this.#uncalled((ours) => hooksNotCalled([hook], ours));

  #uncalled(by: (ours: readonly Registration[]) => NotCalled): NotCalled {
    switch (this.state) {
      case "Unknown":
        return "Unknown";
      case "Forbidden":
        return undefined;
      case "NotServed":
        return by([]) && NOT_INSTALLED;
      case "Known":
        return this.awaitsDiscovery() ? "Unknown" : by(this.#ours());
    }
  }

  /** Whether Cluster API has not looked yet at what was registered a moment ago. A change of it is a reason to check again. */
  awaitsDiscovery(): boolean {
    const ours = this.#ours();
    return ours.length > 0 && ours.every(isNew);
  }

  /** Whether Cluster API's last discovery has failed: then its calls may fail, too. `undefined`: not known. */
  readonly discoveryFailed = (): boolean | undefined =>
    this.state === "Known" ? this.#ours().some(({ discovered }) => discovered === "False") : undefined;

  /** See misplaced(); `undefined` also while the ExtensionConfigs are not known. */
  misplaced(): string | undefined {
    return this.state === "Known" ? misplaced(this.#ours(), this.#options.place) : undefined;
  }

  /** The settings that Cluster API sends about Clusters of the namespace; none if matching ExtensionConfigs differ. */
  readonly settings = (namespace: string): Registration["settings"] => {
    const labels = this.#labelsOf(namespace);
    const ours = this.#ours().map((each) => ({ each, selected: selectsNamespace(each, labels) }));
    if (ours.some(({ selected }) => selected === "unknown")) return undefined;
    const [first, ...others] = ours.flatMap(({ each, selected }) => (selected === "yes" ? each : []));
    if (first === undefined) return undefined;
    const { settings = {} } = first;
    return others.every((other) => isDeepStrictEqual(other.settings ?? {}, settings)) ? settings : undefined;
  };

  /** Resolves when the registrations are known, when they cannot be known, or when `signal` aborts. */
  async whenKnown(signal: AbortSignal): Promise<void> {
    while (this.state === "Unknown" && !signal.aborted) await pause(KNOWN_POLL_MS, signal);
  }

  #labelsOf(namespace: string): ReturnType<typeof labelsOfNamespace> {
    return labelsOfNamespace(this.#options.namespaces.get(namespace));
  }

  #ours(): Registration[] {
    return this.informer.list().filter((each) => isOurs(each, this.#options.place.serviceName));
  }
}

function isNew({ discovered, metadata }: Registration): boolean {
  const age = Date.now() - Date.parse(metadata.creationTimestamp ?? "");
  return discovered === undefined && age < DISCOVERY_MS;
}

/** Cluster API rediscovers every ten minutes and writes the status when something has changed. */
function saysTheSame(a: Registration | undefined, b: Registration | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  const { metadata: _a, ...restA } = a;
  const { metadata: _b, ...restB } = b;
  return isDeepStrictEqual(restA, restB);
}
