/** Where the serving certificate comes from: files that somebody else writes, or our own Secrets. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import type { Logger } from "../api/logger.ts";
import type { Watched } from "./expiry.ts";
import { CertificateKeeper, type Step } from "./keeper.ts";
import type { KubeClient } from "../kube/kubeclient.ts";
import { isForbidden } from "../kube/kubeerror.ts";
import { type CheckedPair, checkPair } from "./keypair.ts";
import type { KeyPair } from "../server/tls.ts";
import { CertWatcher, type CertWatcherOptions } from "./certwatcher.ts";
import { errorText } from "../log/errortext.ts";
import { validatingWebhookTarget } from "./cabundle.ts";
import type { CertificateSettings } from "./settings.ts";
import { createSecretStore } from "./secretstore.ts";
import { createTrustReader } from "./trust.ts";

export interface ServingOptions {
  readonly options: Omit<CertificateSettings, "clients" | "admissionClients" | "namespace">;
  readonly client: Pick<KubeClient, "get" | "list" | "getPath" | "create" | "mergePatch">;
  /** The operator's own. */
  readonly namespace: string;
  readonly leading: () => boolean;
  readonly log: Logger;
  readonly now: () => Date;
  /** Another pair is to be served to new connections. */
  readonly onChange: (pair: KeyPair) => void;
  readonly onStep: (step: Step) => void;
  /** How often files and Secrets are looked at; default: each has its own. */
  readonly intervalMs?: number;
}

export interface Serving {
  /** The pair to begin with; rejects with an Error of one line when there is none to be had. */
  load(signal: AbortSignal): Promise<KeyPair>;
  /** Until `signal` aborts; never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** PEM of the authorities that our clients should trust; `undefined`: nobody has said. */
  authorities(): string | undefined | Promise<string | undefined>;
  certificates(): Watched[];
  /** Of the Secret that it comes from, where that is known. */
  secretUid(): string | undefined;
}

/** The start of a Pod may have to wait for the network; after that a restart tells more than a wait. */
const FIRST_PAIR_BUDGET_MS = 30_000;
const FIRST_PAIR_INTERVAL_MS = 1_000;

export function createServing(options: ServingOptions): Serving {
  return options.options.certManagement === "Self" ? new OwnCertificates(options) : filesOf(options);
}

function filesOf(serving: ServingOptions): Serving {
  const { options, log, now, onChange } = serving;
  const watcher = new CertWatcher({ ...placeOf(serving), log, now, onChange });
  return {
    load: async () => await watcher.load(),
    run: async (signal) => await watcher.run(signal),
    authorities: authorityFile(options.webhookCertDir),
    certificates: () => watched("serving", watcher.validity),
    secretUid: () => undefined,
  };
}

function placeOf({
  options,
  intervalMs,
}: ServingOptions): Pick<CertWatcherOptions, "dir" | "certName" | "keyName" | "intervalMs"> {
  const { webhookCertDir: dir, webhookCertName: certName, webhookKeyName: keyName } = options;
  return { dir, certName, keyName, ...(intervalMs !== undefined && { intervalMs }) };
}

/** Reads ca.crt; `undefined` where there is no such file. */
export function authorityFile(dir: string): () => Promise<string | undefined> {
  return async () => {
    try {
      return await readFile(join(dir, "ca.crt"), "utf8");
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
  };
}

/**
 * Starts from the mounted Secret when there is one, without any API server; on the very first start the volume is
 * empty. What the API server has is the newest; the volume follows it within a minute or so.
 */
class OwnCertificates implements Serving {
  readonly #options: ServingOptions;
  readonly #keeper: CertificateKeeper;
  readonly #watcher: CertWatcher;
  #current: CheckedPair | undefined;
  /** Somebody serves it; before, there is nobody to tell of another one. */
  #loaded = false;
  #refused = "";

  constructor(serving: ServingOptions) {
    const { options, client, namespace, leading, log, now, onStep, intervalMs } = serving;
    const service = { namespace, name: options.webhookServiceName };
    const host = `${service.name}.${namespace}.svc`;
    const names = [host, `${host}.cluster.local`] as const;
    const webhooks = validatingWebhookTarget(options.webhookConfiguration);
    this.#options = serving;
    this.#keeper = new CertificateKeeper({
      store: createSecretStore(client, namespace),
      trust: createTrustReader({ client, service, names, webhooks }),
      secretName: options.webhookSecretName,
      names,
      // Who has nothing to serve cannot wait for a leader, which perhaps has not either.
      leading: () => this.#current === undefined || leading(),
      log,
      now,
      onPair: (pair) => this.#stored(pair),
      onStep,
      remedyOf,
      ...(intervalMs !== undefined && { intervalMs }),
    });
    this.#watcher = new CertWatcher({
      ...placeOf(serving),
      optional: true,
      log,
      now,
      onChange: (pair) => this.#mounted(pair),
    });
  }

  async load(signal: AbortSignal): Promise<KeyPair> {
    const pair = (await this.#fromVolume()) ?? (await this.#first(signal));
    this.#loaded = true;
    return pair;
  }

  async #fromVolume(): Promise<KeyPair | undefined> {
    const { log, now } = this.#options;
    try {
      this.#current = checkPair(await this.#watcher.load(), now());
      log.info("Loaded the serving certificate", { notAfter: this.#current.notAfter });
    } catch (error) {
      log.info("No serving certificate in files, asking the API server", { error });
    }
    return this.#current;
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#keeper.run(signal), this.#watcher.run(signal)]);
  }

  authorities(): string | undefined {
    return this.#keeper.bundle;
  }

  certificates(): Watched[] {
    return [...watched("serving", this.#current), ...watched("authority", this.#keeper.authority)];
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
      await sleep(FIRST_PAIR_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  #stored(pair: KeyPair): void {
    if (this.#current?.cert === pair.cert && this.#current.key === pair.key) return;
    try {
      this.#take(checkPair(pair, this.#options.now()));
      this.#refused = "";
    } catch (error) {
      // One of ours is issued anew; somebody else's is theirs to repair.
      const refused = errorText(error);
      if (refused !== this.#refused)
        this.#options.log.warn("Not serving the certificate of the Secret", { error });
      this.#refused = refused;
    }
  }

  /** Older than what the API server gave, it is the volume that lags behind. */
  #mounted(pair: KeyPair): void {
    const checked = checkPair(pair, this.#options.now());
    if (this.#current === undefined || checked.notBefore > this.#current.notBefore) this.#take(checked);
  }

  #take(pair: CheckedPair): void {
    if (this.#loaded) {
      this.#options.onChange(pair);
      this.#options.log.info("Changed the serving certificate", { notAfter: pair.notAfter });
    }
    this.#current = pair;
  }
}

function noCertificate(cause: unknown): Error {
  const remedy = remedyOf(cause);
  return new Error(
    `no serving certificate to begin with (--cert-management=Self)${remedy === undefined ? "" : `; ${remedy}`}`,
    { cause },
  );
}

function remedyOf(error: unknown): string | undefined {
  if (!isForbidden(error)) return undefined;
  return "apply the Role and the ClusterRole hookpolicy of the manifests, or run with --cert-management=Files";
}

export function watched(name: string, validity: Omit<Watched, "name"> | undefined): Watched[] {
  if (validity === undefined) return [];
  const { notBefore, notAfter } = validity;
  return [{ name, notBefore, notAfter }];
}
