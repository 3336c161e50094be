/**
 * Elects the replica that runs the tasks that only one replica should run: client-go's leader election over a Lease,
 * with its terms. A leader that cannot renew steps down and becomes a candidate; the process continues, because
 * answering calls needs no leader.
 *
 * Clocks are never compared: the age of a renewal is measured by a monotonic clock from when this process saw the
 * change. Two leaders at once require a replica that pauses between leading() and its write for longer than leaseMs -
 * renewMs; as with client-go, a leader's writes must therefore carry the resourceVersion that it read.
 */

import { isDeepStrictEqual } from "node:util";
import { type Fields, fieldsOf, nonEmptyText } from "../lib/fields.ts";
import { type Logger, SayOnce } from "../lib/logger.ts";
import { unless } from "../lib/thrown.ts";
import type { KubeClient } from "./kube-client.ts";
import { withDeadline } from "./deadline.ts";
import { pause } from "../lib/signals.ts";
import { isAlreadyExists, isConflict, isForbidden, isNotFound, unlessNotFound } from "./kube-error.ts";
import { type KubeObject, microTime, type ObjectKey } from "./resource.ts";
import { LEASES } from "./resources.ts";

export interface LeaderElectionOptions {
  readonly client: Pick<KubeClient, "get" | "create" | "mergePatch">;
  readonly lease: ObjectKey & { readonly namespace: string };
  /** Identifies this process, and changes when its container restarts. */
  readonly identity: string;
  readonly log: Logger;
}

/** Only tests set the others. */
export interface LeaseSurroundings {
  readonly tuning: Partial<LeaseTuning>;
  /** Milliseconds of a clock that never jumps. */
  readonly now: () => number;
  /** For who reads the Lease: the command line compares it with the API server's clock. */
  readonly date: () => Date;
  readonly random: () => number;
}

export interface LeaseTuning {
  /** Other candidates take a Lease that they have not seen renewed for this long. */
  readonly leaseMs: number;
  /** A leader that could not renew for this long stops leading. */
  readonly renewMs: number;
  readonly retryMs: number;
}

/** The defaults of client-go. */
export const DEFAULT_LEASE_TUNING: LeaseTuning = { leaseMs: 15_000, renewMs: 10_000, retryMs: 2_000 };

interface ObservedLease {
  readonly object: KubeObject;
  /** As it was read. Any client that may write the Lease can leave fields out. */
  readonly spec: Fields;
  /** When this process first saw this spec. */
  readonly since: number;
}

const JITTER = 1.2; // client-go's JitterFactor: candidates must not try at the same moment

export class LeaderElection {
  readonly #options: LeaderElectionOptions & LeaseSurroundings;
  readonly #tuning: LeaseTuning;
  #observed: ObservedLease | undefined;
  /** When the last successful renewal was sent; undefined: this process does not hold the Lease. */
  #renewedAt: number | undefined;
  #saidLeading = false;
  readonly #trouble = new SayOnce();

  constructor(options: LeaderElectionOptions & Partial<LeaseSurroundings>) {
    this.#options = {
      tuning: {},
      now: () => performance.now(),
      date: () => new Date(),
      random: Math.random,
      ...options,
    };
    this.#tuning = { ...DEFAULT_LEASE_TUNING, ...options.tuning };
  }

  /** True only while no other replica can be leading. Work that needs a leader checks this before each write. */
  leading(): boolean {
    return this.#renewedAt !== undefined && this.#options.now() - this.#renewedAt < this.#tuning.renewMs;
  }

  /** The holder at the last read; undefined: none, or not read yet. */
  get holder(): string | undefined {
    return nonEmptyText(this.#observed?.spec["holderIdentity"]);
  }

  /** Runs until `signal` aborts, then releases the Lease. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { retryMs } = this.#tuning;
    while (!signal.aborted) {
      await this.attempt(); // not aborted, because a renewal that is stored nevertheless could not be released
      await pause(this.leading() ? retryMs : retryMs * (1 + JITTER * this.#options.random()), signal);
    }
    await this.release();
  }

  /** Tries once to acquire or renew the Lease. */
  async attempt(): Promise<void> {
    try {
      await this.#tryAcquireOrRenew();
      this.#trouble.reset();
    } catch (error) {
      this.#warnOnce(error);
    }
    this.#report();
  }

  /** Releases the Lease, so that other candidates need not wait until it expires. */
  async release(): Promise<void> {
    this.#renewedAt = undefined;
    try {
      // A renewal that took too long may have been stored nevertheless; the first try is then a conflict.
      for (let tries = 0; tries < 2 && this.#isMine(); tries++) {
        if (await this.#giveBack()) return;
        await this.#read();
      }
    } catch (error) {
      this.#options.log.warn("Cannot release the lease, it expires by itself", { error });
    }
  }

  async #giveBack(): Promise<boolean> {
    if (this.#observed === undefined) return true;
    const now = microTime(this.#options.date());
    const spec = { holderIdentity: "", leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
    const written = await unless(isConflict, this.#write(this.#observed.object, spec));
    if (written === undefined) return false;
    this.#observe(written);
    this.#options.log.info("Released the lease");
    return true;
  }

  async #tryAcquireOrRenew(): Promise<void> {
    const sentAt = this.#options.now();
    // As in client-go, no read comes first. A conflict shows that another client has written.
    const known = this.leading() ? this.#observed : undefined;
    const observed = known ?? (await this.#read());
    if (observed !== undefined && this.#isTaken(observed)) {
      this.#renewedAt = undefined;
      return;
    }
    const written = await this.#take(observed);
    if (written === undefined) {
      // Another client wrote first. A leader stays leader until its time is over or the next read shows another holder.
      await this.#read();
      if (!this.#isMine()) this.#renewedAt = undefined;
      return;
    }
    this.#observe(written);
    this.#renewedAt = sentAt;
  }

  async #read(): Promise<ObservedLease | undefined> {
    const { client, lease } = this.#options;
    const get = this.#inTime("get the lease", (signal) => client.get(LEASES, lease, { signal }));
    this.#observe(await unlessNotFound(get));
    return this.#observed;
  }

  /** In half of the renewal time, so that there is time for a second try. */
  async #inTime<T>(attempt: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return await withDeadline(attempt, { timeoutMs: this.#tuning.renewMs / 2 }, work);
  }

  /** Another process holds the Lease and may still consider itself the leader. */
  #isTaken({ spec, since }: ObservedLease): boolean {
    if (this.holder === undefined || this.#isMine()) return false;
    const { leaseDurationSeconds: seconds } = spec;
    const leaseMs = typeof seconds === "number" ? seconds * 1000 : this.#tuning.leaseMs;
    return this.#options.now() - since < leaseMs;
  }

  #isMine(): boolean {
    return this.holder === this.#options.identity;
  }

  /** `undefined`: another client wrote first. */
  async #take(observed: ObservedLease | undefined): Promise<KubeObject | undefined> {
    const { client, lease } = this.#options;
    const { group, version, kind } = LEASES;
    const spec = this.#specAfter(observed?.spec);
    const value = { apiVersion: `${group}/${version}`, kind, metadata: lease, spec };
    try {
      return observed === undefined
        ? await this.#inTime("create the lease", (signal) => client.create(LEASES, value, { signal }))
        : await this.#write(observed.object, spec);
    } catch (error) {
      // The Lease was deleted meanwhile; the next attempt creates it.
      if (isNotFound(error)) this.#observed = undefined;
      if (isConflict(error) || isAlreadyExists(error)) return undefined;
      throw error;
    }
  }

  /** The fields of a LeaseSpec after this process has acquired or renewed the Lease. */
  #specAfter(old: Fields | undefined): Fields {
    const renewTime = microTime(this.#options.date());
    const leaseDurationSeconds = Math.ceil(this.#tuning.leaseMs / 1000);
    const acquireTime = nonEmptyText(old?.["acquireTime"]) ?? renewTime;
    const leaseTransitions = old?.["leaseTransitions"];
    const transitions = typeof leaseTransitions === "number" ? leaseTransitions : 0;
    const spec = { holderIdentity: this.#options.identity, leaseDurationSeconds, renewTime };
    if (old !== undefined && this.#isMine()) return { ...spec, acquireTime, leaseTransitions: transitions };
    return { ...spec, acquireTime: renewTime, leaseTransitions: old === undefined ? 0 : transitions + 1 };
  }

  #observe(object: KubeObject | undefined): void {
    if (object === undefined) {
      this.#observed = undefined;
      return;
    }
    const spec = fieldsOf(object.spec);
    const old = this.#observed;
    const isSame = old !== undefined && isDeepStrictEqual(old.spec, spec);
    this.#observed = { object, spec, since: isSame ? old.since : this.#options.now() };
  }

  async #write({ metadata }: KubeObject, spec: Fields): Promise<KubeObject> {
    const { client, lease } = this.#options;
    const { uid, resourceVersion } = metadata;
    const patch = { metadata: { uid, resourceVersion }, spec };
    return await this.#inTime("patch the lease", (signal) =>
      client.mergePatch(LEASES, lease, patch, { signal }),
    );
  }

  #report(): void {
    const { log, identity } = this.#options;
    const isLeading = this.leading();
    if (isLeading === this.#saidLeading) return;
    this.#saidLeading = isLeading;
    if (isLeading) log.info("Leading: runs the tasks that only one replica should run", { identity });
    else log.warn("Not leading any more", { identity, holder: this.holder });
  }

  #warnOnce(error: unknown): void {
    const { namespace } = this.#options.lease;
    const remedy = `grant get, create and patch on leases.coordination.k8s.io in namespace ${namespace}`;
    const fields = { error, ...(isForbidden(error) && { remedy }) };
    this.#trouble.warn(this.#options.log, "Cannot get or renew the lease", fields);
  }
}
