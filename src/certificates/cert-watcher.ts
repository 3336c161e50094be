/**
 * Follows the serving certificate on disk. The content is polled: a mounted Secret changes by a swap of symbolic links
 * two levels up, which fs.watch on the file does not see.
 */

import { hash } from "node:crypto";
import { join } from "node:path";

import { isMissing } from "../lib/thrown.ts";
import type { Logger } from "../lib/logger.ts";
import { SayOnce } from "../lib/say-once.ts";
import { errorText } from "../lib/error-text.ts";
import type { Lifetime } from "./lifetime.ts";
import { checkPair, type CheckedPair, readPem } from "./pem.ts";
import type { KeyPair } from "../server/tls-server.ts";
import { every } from "../lib/signals.ts";
import type { CertificateFiles } from "./settings.ts";

export interface CertWatcherOptions {
  readonly files: CertificateFiles;
  /** The volume may be empty, and the same pair may arrive from the API server: neither is logged. */
  readonly optional?: boolean;
  readonly log: Logger;
  /** Called with every valid pair after the first; when it throws, the pair counts as invalid. */
  readonly onChange: (pair: CheckedPair) => void;
  readonly now: () => Date;
}

/** kubelet itself needs up to a minute to update a mounted Secret. */
const INTERVAL_MS = 5_000;

export class CertWatcher {
  readonly #options: CertWatcherOptions;
  #current: CheckedPair | undefined;
  readonly #trouble = new SayOnce();

  constructor(options: CertWatcherOptions) {
    this.#options = options;
  }

  /** Validity of the certificate in use; `undefined` before `load`. */
  get validity(): Lifetime | undefined {
    return this.#current;
  }

  /** Throws a one-line Error, because a server that no client can trust must not appear started. */
  async load(): Promise<CheckedPair> {
    const pair = checkedOnDisk(await this.#read(), this.#options);
    this.#current = pair;
    this.#describe("Loaded the serving certificate", pair);
    return pair;
  }

  /** Runs until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await every(INTERVAL_MS, signal, async () => await this.look());
  }

  /** Reads the files once. An invalid pair leaves the old certificate in use. */
  async look(): Promise<void> {
    let content = "";
    try {
      const pair = await this.#read();
      content = fingerprint(pair);
      if (this.#current !== undefined && content === fingerprint(this.#current)) return this.#stillCurrent();
      const checked = checkedOnDisk(pair, this.#options);
      this.#options.onChange(checked);
      this.#current = checked;
      this.#trouble.reset();
      this.#describe("Changed the serving certificate", checked);
    } catch (error) {
      if (this.#options.optional === true && error instanceof Error && isMissing(error.cause)) return;
      this.#trouble.say(`${content} ${errorText(error)}`, () =>
        this.#options.log.warn("Keeping the old serving certificate", { error }),
      );
    }
  }

  #stillCurrent(): void {
    const { log, now } = this.#options;
    const { notAfter } = this.#current ?? {};
    if (notAfter === undefined || notAfter > now()) return this.#trouble.reset();
    this.#trouble.say("expired", () =>
      log.error("The serving certificate has expired, Cluster API refuses it", { notAfter }),
    );
  }

  #describe(message: string, { notBefore, notAfter }: CheckedPair): void {
    const { log, now, optional = false } = this.#options;
    log[optional ? "debug" : "info"](message, { notAfter });
    if (notBefore > now()) log.warn("The serving certificate is not valid yet", { notBefore });
  }

  async #read(): Promise<KeyPair> {
    const { webhookCertDir: dir, webhookCertName, webhookKeyName } = this.#options.files;
    const [cert, key] = await Promise.all([
      readPem(join(dir, webhookCertName), "--webhook-cert-name in --webhook-cert-dir"),
      readPem(join(dir, webhookKeyName), "--webhook-key-name in --webhook-cert-dir"),
    ]);
    return { cert, key };
  }
}

function checkedOnDisk(pair: KeyPair, { files, now }: CertWatcherOptions): CheckedPair {
  try {
    return checkPair(pair, now());
  } catch (cause) {
    const both = `${join(files.webhookCertDir, files.webhookCertName)} and ${files.webhookKeyName}`;
    throw new Error(`cannot use ${both} (--webhook-cert-dir)`, { cause });
  }
}

function fingerprint({ cert, key }: KeyPair): string {
  return hash("sha256", `${cert}\0${key}`, "base64");
}
