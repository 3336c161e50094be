/**
 * Keeps the caBundle by which the API server trusts the serving certificate equal to the authorities of that
 * certificate. Does nothing without authorities or without a target, and leaves a caBundle alone that another
 * controller injects.
 */

import type { X509Certificate } from "node:crypto";
import { SayOnce } from "../lib/logger.ts";
import { LOOK_MS } from "./followed.ts";
import { BACKDATED_MS } from "./lifetime.ts";
import { parseCertificates } from "./pem.ts";
import { VALIDATING_WEBHOOKS } from "../kube/resources.ts";
import { isConflict, isForbidden, unlessNotFound } from "../kube/kube-error.ts";
import { type KubeObject, resourceName } from "../kube/resource.ts";
import { every } from "../lib/signals.ts";
import type { CertificateWorld } from "./world.ts";

/** Prefix of the annotations by which cert-manager's injector manages an object's caBundle. */
const INJECTED_BY = "cert-manager.io/inject-";

interface Webhook {
  readonly clientConfig?: {
    /** Base64 of PEM; absent: not set yet. */
    readonly caBundle?: string;
  };
}

export class CaBundleKeeper {
  readonly #world: CertificateWorld;
  readonly #authorities: () => string | undefined | Promise<string | undefined>;
  readonly #trouble = new SayOnce();

  /** `authorities`: PEM of those to trust; `undefined`: there are none. */
  constructor(world: CertificateWorld, authorities: () => string | undefined | Promise<string | undefined>) {
    this.#world = world;
    this.#authorities = authorities;
  }

  /**
   * Runs until `signal` aborts; never rejects. The pauses are short, because the API server refuses every request of a Cluster
   * while the webhook of Clusters, which fails closed, has just been installed and has no caBundle.
   */
  async run(signal: AbortSignal): Promise<void> {
    await every(LOOK_MS, signal, async () => await this.look(signal));
  }

  /** Looks once at the authorities and the webhooks. */
  async look(signal: AbortSignal): Promise<void> {
    if (!this.#world.leading()) return;
    try {
      const pem = await this.#authorities();
      if (pem === undefined) return;
      const wanted = parseCertificates(pem);
      if (wanted.length === 0) throw new Error("ca.crt beside the serving certificate holds no certificate");
      for (const name of this.#world.webhooks) await this.#keep(name, { pem, wanted }, signal);
      this.#trouble.reset();
    } catch (error) {
      if (!signal.aborted) this.#warnOnce(error);
    }
  }

  async #keep(name: string, { pem, wanted }: Authorities, signal: AbortSignal): Promise<void> {
    const { client, settings, log, now } = this.#world;
    const object = await unlessNotFound(client.get(VALIDATING_WEBHOOKS, { name }, { signal }));
    if (object === undefined || isInjected(object)) return;
    // Another replica may have written authorities that a mounted volume does not show yet.
    const at = { lagging: settings.certManagement === "Files", now: now() };
    const caBundle = Buffer.from(pem).toString("base64");
    const webhooks = webhooksOf(object);
    const updated = webhooks.map((webhook) =>
      isOutdated(webhook, wanted, at)
        ? { ...webhook, clientConfig: { ...webhook.clientConfig, caBundle } }
        : webhook,
    );
    if (updated.every((webhook, index) => webhook === webhooks[index])) return;
    const { uid, resourceVersion } = object.metadata;
    const patch = { metadata: { uid, resourceVersion }, webhooks: updated };
    await client.mergePatch(VALIDATING_WEBHOOKS, { name }, patch, { signal });
    const to = `${resourceName(VALIDATING_WEBHOOKS)} ${name}`;
    log.info("Wrote the certificate authority of the serving certificate", { to });
  }

  /** A conflict means that another replica was quicker; the next look shows its result. */
  #warnOnce(error: unknown): void {
    if (isConflict(error)) return;
    const remedy = "grant get and patch, or write the caBundle yourself";
    const fields = { error, ...(isForbidden(error) && { remedy }) };
    this.#trouble.warn(this.#world.log, "Cannot keep the caBundle of webhooks current", fields);
  }
}

interface Authorities {
  readonly pem: string;
  readonly wanted: readonly X509Certificate[];
}

/**
 * The newest authority wins: a replica whose volume is not updated yet must not put back an old one. An authority that
 * has expired, or that was issued by a clock that was ahead, does not count. A replica that is not lagging adds a
 * missing authority whatever its age: a backup may have been restored.
 */
function isOutdated(
  { clientConfig: { caBundle = "" } = {} }: Webhook,
  wanted: readonly X509Certificate[],
  { lagging, now }: { readonly lagging: boolean; readonly now: Date },
): boolean {
  const current = parseCertificates(Buffer.from(caBundle, "base64").toString("utf8"));
  if (fingerprints(current) === fingerprints(wanted)) return false;
  const tolerated = new Date(now.getTime() + BACKDATED_MS);
  const valid = current.filter(
    ({ validFromDate, validToDate }) => validFromDate <= tolerated && validToDate > now,
  );
  if (newest(valid) <= newest(wanted)) return true;
  const known = new Set(current.map(({ fingerprint256 }) => fingerprint256));
  return !lagging && !wanted.every(({ fingerprint256 }) => known.has(fingerprint256));
}

function fingerprints(certificates: readonly X509Certificate[]): string {
  return certificates.map(({ fingerprint256 }) => fingerprint256).join(" ");
}

function newest(certificates: readonly X509Certificate[]): number {
  return Math.max(-Infinity, ...certificates.map(({ validFromDate }) => validFromDate.getTime()));
}

function isInjected({ metadata: { annotations = {} } }: KubeObject): boolean {
  return Object.keys(annotations).some((key) => key.startsWith(INJECTED_BY));
}

/** Of a webhook configuration. */
export function webhooksOf(object: KubeObject): readonly Webhook[] {
  const webhooks: unknown = "webhooks" in object ? object.webhooks : undefined;
  return Array.isArray(webhooks) ? webhooks : [];
}
