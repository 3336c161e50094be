/** What the parts of the operator's certificates share. */

import type { KubeClient } from "../kube/kube-client.ts";
import { ownNamespace } from "../kube/own-namespace.ts";
import type { Logger } from "../lib/logger.ts";
import type { CertificateSettings } from "./settings.ts";

export interface Surroundings {
  readonly settings: CertificateSettings;
  readonly client: Pick<KubeClient, "get" | "list" | "getPath" | "create" | "mergePatch">;
  readonly leading: () => boolean;
  readonly log: Logger;
  readonly now: () => Date;
}

export interface CertificateWorld extends Surroundings {
  /** The operator's namespace. */
  readonly namespace: string;
  /** The DNS names of the operator's Service. */
  readonly names: readonly [string, ...string[]];
  /** The ValidatingWebhookConfigurations of policies and of Clusters; neither needs to be installed. */
  readonly webhooks: readonly string[];
}

export function certificateWorld(surroundings: Surroundings): CertificateWorld {
  const { settings } = surroundings;
  const { webhookServiceName, webhookConfiguration: name } = settings;
  const namespace = ownNamespace(settings);
  const host = `${webhookServiceName}.${namespace}.svc`;
  const names = [host, `${host}.cluster.local`] as const;
  return { ...surroundings, namespace, names, webhooks: [name, `${name}-clusters`] };
}
