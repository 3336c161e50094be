/**
 * The operator's own certificates, in two Secrets: issues, renews and rotates them. Every replica reads the Secrets and serves
 * their content; one replica writes, and each write carries the resourceVersion that it is based on.
 */

import type { X509Certificate } from "node:crypto";
import { isForbidden } from "../kube/kube-error.ts";
import { SayOnce } from "../lib/logger.ts";
import { pause } from "../lib/signals.ts";
import { createAuthority, issueLeaf } from "./issue.ts";
import { type Lifetime, lifetimeOf } from "./lifetime.ts";
import { type CheckedPair, checkPair, parseCertificates } from "./pem.ts";
import {
  type Action,
  needsLeader,
  nextAction,
  type StoredCertificates,
  usableAuthority,
} from "./rotation.ts";
import { bundleOf, dataOf, pairOf, readSecret, type StoredSecret, writeSecret } from "./secrets.ts";
import { readServingPair } from "./serving-files.ts";
import { distrusting } from "./trust.ts";
import type { CertificateWorld } from "./world.ts";

/** An action that writes a Secret. */
export type WriteAction = Exclude<Action, "None" | "AwaitTrust">;

const TEXT: Readonly<Record<WriteAction, string>> = {
  CreateAuthority: "Created a certificate authority",
  ReplaceAuthority: "Replaced the certificate authority",
  CreateServing: "Issued the serving certificate",
  PublishAuthority: "Published the new certificate authority beside the old one",
  IssueLeaf: "Issued a new serving certificate",
  DropOldAuthorities: "Published the certificate authority without the old one",
};

/** More steps than a start from nothing needs; then the loop stops until the next call. */
const MAX_STEPS = 4;

/** A starting Pod may have to wait for the network; after this time a restart shows more than a longer wait. */
const FIRST_PAIR_BUDGET_MS = 30_000;
const FIRST_PAIR_INTERVAL_MS = 1_000;

const REMEDY =
  "apply the Role and the ClusterRole hookpolicy of the manifests, or run with --cert-management=Files";

export class OwnCertificates {
  readonly #world: CertificateWorld;
  readonly #onStep: (action: WriteAction, text: string) => void;
  readonly #keys: Readonly<Record<keyof StoredCertificates, { namespace: string; name: string }>>;
  #stored: StoredCertificates = { authority: undefined, serving: undefined };
  /** The stored authority, if it can sign. */
  #authority: X509Certificate | undefined;
  /** When this process first saw every caller trust that authority; a new leader looks for itself, which can only make the wait longer. */
  #trustedSince: Date | undefined;
  /** The last pair that could be served. A replica without one cannot wait for a leader, which may have none either. */
  #pair: CheckedPair | undefined;
  readonly #trouble = new SayOnce();

  /** `onStep`: called when this process has taken a step. */
  constructor(world: CertificateWorld, onStep: (action: WriteAction, text: string) => void) {
    const { namespace, settings } = world;
    const name = settings.webhookSecretName;
    this.#world = world;
    this.#onStep = onStep;
    this.#keys = { serving: { namespace, name }, authority: { namespace, name: `${name}-ca` } };
  }

  /** PEM of the authorities to trust; `undefined` before the Secret has been read. */
  get bundle(): string | undefined {
    return this.#stored.serving && bundleOf(this.#stored.serving);
  }

  get authority(): Lifetime | undefined {
    return this.#authority && lifetimeOf(this.#authority);
  }

  /** Uid of the serving certificate's Secret. */
  get uid(): string | undefined {
    return this.#stored.serving?.uid;
  }

  /**
   * The pair to start with. That of the mounted Secret needs no API server, but the volume lags behind, and is empty on the very
   * first start. Rejects with a one-line Error when there is none.
   */
  async first(signal: AbortSignal): Promise<CheckedPair> {
    const { settings, log, now } = this.#world;
    try {
      return (this.#pair = await readServingPair(settings, now()));
    } catch (error) {
      log.info("No serving certificate in files, asking the API server", { error });
    }
    const end = performance.now() + FIRST_PAIR_BUDGET_MS;
    for (;;) {
      const cause: unknown = await this.advance(signal).catch((error: unknown) => error);
      if (this.#pair !== undefined) return this.#pair;
      const remedy = isForbidden(cause) ? `; ${REMEDY}` : "";
      const message = `no serving certificate to start with (--cert-management=Self)${remedy}`;
      if (signal.aborted || performance.now() >= end) throw new Error(message, { cause });
      await pause(FIRST_PAIR_INTERVAL_MS, signal);
    }
  }

  /** The stored pair, whichever process wrote it, after the steps that are due. Rejects if it cannot be served. */
  async currentPair(signal: AbortSignal): Promise<CheckedPair> {
    await this.advance(signal).catch((error: unknown) => {
      if (signal.aborted) return;
      const fields = { error: String(error), ...(isForbidden(error) && { remedy: REMEDY }) };
      this.#trouble.warn(this.#world.log, "Cannot look after the certificates", fields);
    });
    const { serving } = this.#stored;
    if (serving === undefined)
      throw new Error("the Secret of the serving certificate is not there, or was not read yet");
    return this.#checked(serving);
  }

  #checked(serving: StoredSecret): CheckedPair {
    return (this.#pair = checkPair(pairOf(serving), this.#world.now()));
  }

  /** Takes the steps that are due; rejects when the API server refuses one. */
  async advance(signal: AbortSignal): Promise<void> {
    for (let step = 0; step < MAX_STEPS; step++) {
      const action = await this.#gather(signal);
      if (this.#isForeign()) return;
      if (action === "None" || action === "AwaitTrust") {
        if (action === "None") this.#trouble.reset();
        return;
      }
      if (needsLeader(action) && !this.#leads()) return;
      await this.#take(action, signal);
    }
  }

  /** Reads what is stored, and decides what to do. */
  async #gather(signal: AbortSignal): Promise<Action> {
    const { client, names, now } = this.#world;
    const trustedBefore = this.#trustedSince;
    this.#trustedSince = undefined;
    const [authority, serving] = await Promise.all([
      readSecret(client, this.#keys.authority, signal),
      readSecret(client, this.#keys.serving, signal),
    ]);
    this.#stored = { authority, serving };
    try {
      if (serving !== undefined) this.#checked(serving);
    } catch {
      // Replaced by the next step, and currentPair() says why it is not served.
    }
    const signing = authority && usableAuthority(authority, now());
    const next = (): Action =>
      nextAction(this.#stored, names, { now: now(), trustedSince: this.#trustedSince });
    let action = next();
    if (signing && this.#leads() && action === "AwaitTrust" && (await this.#isTrusted(signing, signal))) {
      const isKnown = this.#authority?.fingerprint256 === signing.fingerprint256;
      this.#trustedSince = (isKnown ? trustedBefore : undefined) ?? now();
      action = next();
    }
    this.#authority = signing;
    return action;
  }

  #leads(): boolean {
    return this.#pair === undefined || this.#world.leading();
  }

  /** Whether every caller trusts it. */
  async #isTrusted(authority: X509Certificate, signal: AbortSignal): Promise<boolean> {
    const waitingFor = await distrusting(this.#world, authority, signal);
    if (waitingFor.length === 0) return true;
    // Never to delete them: without its ExtensionConfig, Cluster API does not call, and nothing is held.
    const remedy =
      "nothing, if this ends within ten minutes; else put ca.crt of the serving certificate's Secret into their caBundle";
    const message = "Waiting until the new certificate authority is trusted";
    this.#trouble.warn(this.#world.log, message, { waitingFor, remedy });
    return false;
  }

  #isForeign(): boolean {
    const secrets = (["authority", "serving"] as const)
      .filter((which) => this.#stored[which]?.ours === false)
      .map((which) => this.#keys[which].name);
    if (secrets.length === 0) return false;
    this.#trouble.warn(this.#world.log, "Leaving the certificates alone, HookPolicy did not create them", {
      secrets,
      remedy:
        "delete these Secrets to have HookPolicy issue its certificates, or run with --cert-management=Files",
    });
    return true;
  }

  /** Writes one Secret, unless another client has changed it meanwhile. */
  async #take(action: WriteAction, signal: AbortSignal): Promise<void> {
    const { client, log, now } = this.#world;
    const which = action === "CreateAuthority" || action === "ReplaceAuthority" ? "authority" : "serving";
    const read = this.#stored[which];
    const data =
      which === "authority" ? dataOf(await createAuthority(now())) : await this.#servingData(action);
    const written = await writeSecret(client, this.#keys[which], { read, data }, signal);
    if (written === undefined) return;
    this.#stored = { ...this.#stored, [which]: written };
    this.#trouble.reset();
    log.info(TEXT[action], { secret: this.#keys.serving.name });
    this.#onStep(action, TEXT[action]);
  }

  async #servingData(action: WriteAction): Promise<Readonly<Record<string, string>>> {
    const { names, now } = this.#world;
    const { authority, serving } = this.#stored;
    const own = this.#authority;
    if (authority === undefined || own === undefined) throw new Error("there is no certificate authority");
    const published = serving === undefined ? [] : parseCertificates(bundleOf(serving));
    // The new authority first, then those before it.
    const bundle = action === "DropOldAuthorities" ? [own] : [own, ...published];
    const issues = serving === undefined || action === "IssueLeaf";
    const pair = issues ? await issueLeaf(pairOf(authority), names, now()) : pairOf(serving);
    return dataOf(pair, bundle);
  }
}
