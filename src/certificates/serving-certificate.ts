/** Provides the serving certificate: from files that another controller writes, or from the operator's own Secrets. */

import { SayOnce } from "../lib/logger.ts";
import type { Lifetime } from "./lifetime.ts";
import { CertificateKeeper, type KeeperOptions } from "./keeper.ts";
import { pause } from "../lib/signals.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { isForbidden } from "../kube/kube-error.ts";
import { type CheckedPair, checkPair } from "./pem.ts";
import type { KeyPair } from "../server/tls-server.ts";
import { FollowedFile } from "./followed-file.ts";
import { authoritiesIn, readServingPair } from "./serving-files.ts";
import { ownWebhooks } from "./ca-bundle.ts";
import type { CertificateSettings } from "./settings.ts";
import { SecretStore } from "./secret-store.ts";
import { distrusting } from "./trust.ts";

export interface ServingOptions extends Pick<KeeperOptions, "leading" | "log" | "now" | "onStep"> {
  readonly options: Omit<CertificateSettings, "clients" | "admissionClients" | "namespace">;
  readonly client: Pick<KubeClient, "get" | "list" | "getPath" | "create" | "mergePatch">;
  /** The operator's namespace. */
  readonly namespace: string;
  /** Called with each new pair; new connections use it. */
  readonly onChange: (pair: KeyPair) => void;
}

export interface ServingCertificate {
  /** Returns the pair to start with; rejects with a one-line Error when none is available. */
  load(signal: AbortSignal): Promise<KeyPair>;
  /** Runs until `signal` aborts; never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** PEM of the authorities that clients should trust; `undefined`: unknown. */
  authorities(): string | undefined | Promise<string | undefined>;
  /** By name. */
  certificates(): Readonly<Record<string, Lifetime | undefined>>;
  /** Uid of the Secret that holds the certificate, where it is known. */
  secretUid(): string | undefined;
}

/** A starting Pod may have to wait for the network; after this time a restart shows more than a longer wait. */
const FIRST_PAIR_BUDGET_MS = 30_000;
const FIRST_PAIR_INTERVAL_MS = 1_000;

export function createServing(options: ServingOptions): ServingCertificate {
  return options.options.certManagement === "Self" ? new OwnCertificates(options) : filesOf(options);
}

function filesOf(serving: ServingOptions): ServingCertificate {
  const { options: files, log, now, onChange } = serving;
  const read = async (): Promise<CheckedPair> => await readServingPair(files, now());
  const file = new FollowedFile({ what: "serving certificate", read, onChange, log });
  return {
    load: async () => await file.load(),
    run: async (signal) => await file.run(signal),
    authorities: async () => await authoritiesIn(files.webhookCertDir),
    certificates: () => ({ serving: file.current }),
    secretUid: () => undefined,
  };
}

/**
 * Starts from the mounted Secret without the API server; on the very first start the volume is empty. Later only the Secret in
 * the API server counts, because the volume lags behind.
 */
class OwnCertificates implements ServingCertificate {
  readonly #options: ServingOptions;
  readonly #keeper: CertificateKeeper;
  #current: CheckedPair | undefined;
  /** Whether load() has returned a pair; only later pairs are reported. */
  #loaded = false;
  readonly #trouble = new SayOnce();

  constructor(serving: ServingOptions) {
    const { options, client, namespace, leading, log, now, onStep } = serving;
    const service = { namespace, name: options.webhookServiceName };
    const host = `${service.name}.${namespace}.svc`;
    const names = [host, `${host}.cluster.local`] as const;
    const webhooks = ownWebhooks(options.webhookConfiguration);
    this.#options = serving;
    this.#keeper = new CertificateKeeper({
      store: new SecretStore(client, namespace),
      distrusting: async (authority, signal) =>
        await distrusting({ client, service, names, webhooks }, authority, signal),
      secretName: options.webhookSecretName,
      names,
      // A replica without a certificate cannot wait for a leader, which may have none either.
      leading: () => this.#current === undefined || leading(),
      log,
      now,
      onPair: (pair) => this.#stored(pair),
      onStep,
      remedyOf,
    });
  }

  async load(signal: AbortSignal): Promise<KeyPair> {
    const { options, log, now } = this.#options;
    try {
      this.#current = await readServingPair(options, now());
      log.info("Loaded the serving certificate", { notAfter: this.#current.notAfter });
    } catch (error) {
      log.info("No serving certificate in files, asking the API server", { error });
    }
    const pair = this.#current ?? (await this.#first(signal));
    this.#loaded = true;
    return pair;
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#keeper.run(signal);
  }

  authorities(): string | undefined {
    return this.#keeper.bundle;
  }

  certificates(): ReturnType<ServingCertificate["certificates"]> {
    return { serving: this.#current, authority: this.#keeper.authority };
  }

  secretUid(): string | undefined {
    return this.#keeper.uid;
  }

  async #first(signal: AbortSignal): Promise<KeyPair> {
    const end = performance.now() + FIRST_PAIR_BUDGET_MS;
    for (;;) {
      const failure = await this.#keeper.look(signal).catch((error: unknown) => error);
      if (this.#current !== undefined) return this.#current;
      if (signal.aborted || performance.now() >= end) throw noCertificate(failure);
      await pause(FIRST_PAIR_INTERVAL_MS, signal);
    }
  }

  #stored(pair: KeyPair): void {
    const { log, now, onChange } = this.#options;
    if (this.#current?.cert === pair.cert && this.#current.key === pair.key) return;
    try {
      const checked = checkPair(pair, now());
      if (this.#loaded) {
        onChange(checked);
        log.info("Changed the serving certificate", { notAfter: checked.notAfter });
      }
      this.#current = checked;
      this.#trouble.reset();
    } catch (error) {
      // The keeper replaces an invalid pair of its own, and leaves a pair of another controller alone.
      this.#trouble.warn(log, "Not serving the certificate of the Secret", { error });
    }
  }
}

function noCertificate(cause: unknown): Error {
  const message = "no serving certificate to start with (--cert-management=Self)";
  return new Error([message, remedyOf(cause)].filter(Boolean).join("; "), { cause });
}

function remedyOf(error: unknown): string | undefined {
  if (!isForbidden(error)) return undefined;
  return "apply the Role and the ClusterRole hookpolicy of the manifests, or run with --cert-management=Files";
}
