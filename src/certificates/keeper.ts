/**
 * Issues, renews and rotates the operator's own certificates in two Secrets. Every replica reads them and serves their
 * content; one replica writes, and each write carries the resourceVersion that it is based on.
 */

import type { X509Certificate } from "node:crypto";

import type { Logger } from "../lib/logger.ts";
import { SayOnce } from "../lib/say-once.ts";
import type { KeyPair } from "../server/tls-server.ts";
import type { Validity } from "./lifetime.ts";
import { parseCertificates } from "./pem.ts";
import { needsLeader, nextStep, type State } from "./rotation.ts";
import { authoritySecretName, takeStep, type Workplace, type WriteAction } from "./rotation-steps.ts";
import { bundleOf, judge, pairOf, type StoredCertificates } from "./stored-certificates.ts";
import { every } from "../lib/signals.ts";

export interface KeeperOptions extends Pick<Workplace, "store" | "secretName" | "names"> {
  /** Names the objects by which callers reach the operator and that do not trust `authority`. */
  readonly distrusting: (authority: X509Certificate, signal: AbortSignal) => Promise<readonly string[]>;
  readonly leading: () => boolean;
  readonly log: Logger;
  readonly now: () => Date;
  /** Called on every look with the stored pair, whichever process wrote it; the pair may be invalid. */
  readonly onPair: (pair: KeyPair) => void;
  /** Called when this process took a step and has read back what it wrote. */
  readonly onStep: (step: Step) => void;
  /** The remedy to log with the error of a failed look. */
  readonly remedyOf: (error: unknown) => string | undefined;
}

/** The result of the last look that completed. */
interface AuthorityTrust {
  readonly fingerprint: string;
  readonly since: Date;
}

export interface Step {
  readonly action: WriteAction;
  /** Unique to each step. */
  readonly id: string;
  readonly text: string;
}

const TEXT: Readonly<Record<WriteAction, string>> = {
  CreateAuthority: "Created a certificate authority",
  ReplaceAuthority: "Replaced the certificate authority",
  CreateServing: "Issued the serving certificate",
  PublishAuthority: "Published the new certificate authority beside the old one",
  IssueLeaf: "Issued a new serving certificate",
  DropOldAuthorities: "Published the certificate authority without the old one",
};

/** More steps than a start from nothing needs; then the loop stops until the next look. */
const MAX_STEPS = 4;

/** Cluster API and the injectors of caBundles take up a change within minutes. */
const LONG_WAIT_MS = 600_000;

const INTERVAL_MS = 10_000;

export class CertificateKeeper {
  readonly #options: KeeperOptions;
  #stored: StoredCertificates = { authority: undefined, serving: undefined };
  #state: State = {};
  #trusted: AuthorityTrust | undefined;
  /** Since when the operator's callers have not trusted the new authority. */
  #waitingSince: Date | undefined;
  readonly #taken: Step[] = [];
  readonly #trouble = new SayOnce();

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** PEM of the authorities to trust; `undefined` before the Secret has been read. */
  get bundle(): string | undefined {
    return this.#stored.serving === undefined ? undefined : bundleOf(this.#stored.serving);
  }

  get authority(): Validity | undefined {
    return this.#state.authority?.certificate;
  }

  /** Uid of the serving certificate's Secret. */
  get uid(): string | undefined {
    return this.#stored.serving?.uid;
  }

  /** Runs until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await every(INTERVAL_MS, signal, async () => {
      await this.look(signal).catch((error: unknown) => this.#warnOnce(error, signal));
    });
  }

  /** Takes the steps that are due; rejects when the API server refuses one. */
  async look(signal: AbortSignal): Promise<void> {
    for (let step = 0; step < MAX_STEPS; step++) {
      await this.#gather(signal);
      if (this.#isForeign()) return;
      const action = nextStep(this.#state, this.#options.now());
      if (action === "None" || action === "AwaitTrust") {
        if (action === "None") this.#trouble.reset();
        return;
      }
      if (needsLeader(action) && !this.#options.leading()) return;
      await this.#take(action, signal);
    }
  }

  async #gather(signal: AbortSignal): Promise<void> {
    const { store, secretName, names, now, onPair, onStep } = this.#options;
    const trustedBefore = this.#trusted;
    this.#trusted = undefined;
    const [authority, serving] = await Promise.all([
      store.read(authoritySecretName(secretName), signal),
      store.read(secretName, signal),
    ]);
    this.#stored = { authority, serving };
    if (serving !== undefined) onPair(pairOf(serving));
    for (const step of this.#taken.splice(0)) onStep(step);
    const state = judge(this.#stored, names, now());
    this.#trusted = await this.#trust(state, trustedBefore, signal);
    this.#state = { ...state, ...(this.#trusted !== undefined && { trustedSince: this.#trusted.since }) };
  }

  /** Kept in memory only. A new leader looks for itself, which can only make the wait longer. */
  async #trust(
    state: State,
    before: AuthorityTrust | undefined,
    signal: AbortSignal,
  ): Promise<AuthorityTrust | undefined> {
    const { leading, now } = this.#options;
    const certificate = this.#authorityInUse();
    const waits = certificate !== undefined && nextStep(state, now()) === "AwaitTrust";
    if (!waits || !leading()) {
      this.#waitingSince = undefined;
      return undefined;
    }
    const distrusting = await this.#options.distrusting(certificate, signal);
    if (distrusting.length > 0) {
      this.#sayWaiting(distrusting);
      return undefined;
    }
    this.#waitingSince = undefined;
    const fingerprint = certificate.fingerprint256;
    return before?.fingerprint === fingerprint ? before : { fingerprint, since: now() };
  }

  /** Warns of a long wait only, because every rotation waits for a while. */
  #sayWaiting(waitingFor: readonly string[]): void {
    const { log, now } = this.#options;
    const message = "Waiting until the new certificate authority is trusted";
    if (this.#waitingSince === undefined) log.info(message, { waitingFor });
    this.#waitingSince ??= now();
    if (now().getTime() - this.#waitingSince.getTime() < LONG_WAIT_MS) return;
    this.#sayOnce(message, {
      waitingFor,
      remedy: "put ca.crt of the serving certificate's Secret into their caBundle, or delete them",
    });
  }

  #authorityInUse(): X509Certificate | undefined {
    const { authority } = this.#stored;
    return authority === undefined ? undefined : parseCertificates(pairOf(authority).cert)[0];
  }

  #isForeign(): boolean {
    const { authority, serving } = this.#stored;
    const { secretName } = this.#options;
    const foreign = [
      ...(authority?.ours === false ? [authoritySecretName(secretName)] : []),
      ...(serving?.ours === false ? [secretName] : []),
    ];
    if (foreign.length === 0) return false;
    this.#sayOnce("Leaving the certificates alone, HookPolicy did not create them", {
      secrets: foreign,
      remedy:
        "delete these Secrets to have HookPolicy issue its certificates, or run with --cert-management=Files",
    });
    return true;
  }

  async #take(action: WriteAction, signal: AbortSignal): Promise<void> {
    const { secretName, log, now } = this.#options;
    if (!(await takeStep(action, { ...this.#options, stored: this.#stored, now: now(), signal }))) return;
    this.#trouble.reset();
    log.info(TEXT[action], { secret: secretName });
    this.#taken.push({ action, id: now().toISOString(), text: TEXT[action] });
  }

  #sayOnce(message: string, fields: Readonly<Record<string, unknown>>): void {
    this.#trouble.say(`${message} ${JSON.stringify(fields)}`, () => this.#options.log.warn(message, fields));
  }

  #warnOnce(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    const remedy = this.#options.remedyOf(error);
    this.#sayOnce("Cannot look after the certificates", {
      error: String(error),
      ...(remedy !== undefined && { remedy }),
    });
  }
}
