/**
 * Issues, renews and rotates the operator's own certificates in two Secrets. Every replica reads them and serves their
 * content; one replica writes, and each write carries the resourceVersion that it is based on.
 */

import type { X509Certificate } from "node:crypto";

import { type Logger, SayOnce } from "../lib/logger.ts";
import type { KeyPair } from "../server/tls-server.ts";
import type { Validity } from "./lifetime.ts";
import { parseCertificates } from "./pem.ts";
import { type Action, needsLeader, nextStep, type State } from "./rotation.ts";
import { createAuthority, issueLeaf } from "./issue.ts";
import type { SecretStore } from "./secret-store.ts";
import { bundleOf, dataOf, judge, pairOf, type StoredCertificates } from "./stored-certificates.ts";
import { every } from "../lib/signals.ts";

export interface KeeperOptions {
  readonly store: Pick<SecretStore, "read" | "write">;
  /** The Secret of the serving certificate; the Secret of its authority is beside it. */
  readonly secretName: string;
  /** DNS names of the serving certificate. */
  readonly names: readonly [string, ...string[]];
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

/** An action that writes a Secret. */
type WriteAction = Exclude<Action, "None" | "AwaitTrust">;

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

const INTERVAL_MS = 10_000;

export class CertificateKeeper {
  readonly #options: KeeperOptions;
  #stored: StoredCertificates = { authority: undefined, serving: undefined };
  #state: State = {};
  #trusted: AuthorityTrust | undefined;
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
    if (certificate === undefined || nextStep(state, now()) !== "AwaitTrust" || !leading()) return undefined;
    const waitingFor = await this.#options.distrusting(certificate, signal);
    if (waitingFor.length > 0) {
      // Never to delete them: without its ExtensionConfig, Cluster API does not call, and nothing is held.
      const remedy =
        "nothing, if this ends within ten minutes; else put ca.crt of the serving certificate's Secret into their caBundle";
      this.#trouble.warn(this.#options.log, "Waiting until the new certificate authority is trusted", {
        waitingFor,
        remedy,
      });
      return undefined;
    }
    const fingerprint = certificate.fingerprint256;
    return before?.fingerprint === fingerprint ? before : { fingerprint, since: now() };
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
    this.#trouble.warn(this.#options.log, "Leaving the certificates alone, HookPolicy did not create them", {
      secrets: foreign,
      remedy:
        "delete these Secrets to have HookPolicy issue its certificates, or run with --cert-management=Files",
    });
    return true;
  }

  async #take(action: WriteAction, signal: AbortSignal): Promise<void> {
    const { secretName, log, now } = this.#options;
    if (!(await this.#write(action, signal))) return;
    this.#trouble.reset();
    log.info(TEXT[action], { secret: secretName });
    this.#taken.push({ action, id: now().toISOString(), text: TEXT[action] });
  }

  /** Creates the certificates that the step needs, and writes one Secret. False: another client has changed it meanwhile. */
  async #write(action: WriteAction, signal: AbortSignal): Promise<boolean> {
    const { store, secretName, names, now } = this.#options;
    const { authority, serving } = this.#stored;
    if (action === "CreateAuthority" || action === "ReplaceAuthority") {
      const data = dataOf(await createAuthority(now()));
      return await store.write(authoritySecretName(secretName), authority, data, signal);
    }
    if (authority === undefined) throw new Error("there is no certificate authority");
    const signing = pairOf(authority);
    const published = serving === undefined ? [] : parseCertificates(bundleOf(serving));
    const own = parseCertificates(signing.cert).slice(0, 1);
    // The new authority first, then those before it.
    const bundle = action === "DropOldAuthorities" ? own : [...own, ...published];
    const issues = action === "CreateServing" || action === "IssueLeaf";
    if (!issues && serving === undefined) throw new Error("there is no serving certificate");
    const pair = issues || serving === undefined ? await issueLeaf(signing, names, now()) : pairOf(serving);
    return await store.write(secretName, serving, dataOf(pair, bundle), signal);
  }

  #warnOnce(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return;
    const remedy = this.#options.remedyOf(error);
    this.#trouble.warn(this.#options.log, "Cannot look after the certificates", {
      error: String(error),
      ...(remedy !== undefined && { remedy }),
    });
  }
}

export function authoritySecretName(secretName: string): string {
  return `${secretName}-ca`;
}
