/** A Lease without an API server, in a time that stands still unless a test says otherwise. */
import assert from "node:assert/strict";
import { KubeError } from "../../../src/kube/kube-error.ts";
import {
  LeaderElection,
  type LeaderElectionOptions,
  type LeaseSurroundings,
} from "../../../src/kube/leader-election.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { MemoryLogger } from "./fixtures.ts";

export const LEASE = { namespace: "hookpolicy-system", name: "hookpolicy" };

export type Fault = "none" | "refused" | "answer lost";
type Spec = Readonly<Record<string, unknown>>;

/** One Lease as the API server keeps it, and the clock of all that look at it. */
export class LeaseServer {
  /** Never zero, so that nothing works by chance. */
  ms = 1_000_000;
  lease: (KubeObject & { readonly spec: Spec }) | undefined;
  fault: Fault = "none";
  /** What goes by before and after the API server does what it was asked for. */
  readonly latency: [before: number, after: number] = [0, 0];
  writes = 0;
  onTick: () => void = () => undefined;
  #version = 1;

  get spec(): Spec {
    return this.lease?.spec ?? assert.fail("no Lease");
  }

  pass(ms: number): void {
    this.ms += ms;
    this.onTick();
  }

  readonly client: LeaderElectionOptions["client"] = {
    get: async () => this.#serve(() => this.lease ?? refuse(404, "NotFound")),
    create: async (_, value) =>
      this.#serve(() => {
        if (this.lease !== undefined) refuse(409, "AlreadyExists");
        return this.#store(value);
      }),
    mergePatch: async (_, key, patch) =>
      this.#serve(() => {
        assert.deepEqual(key, LEASE);
        const { metadata, spec } = patch as { readonly metadata: object; readonly spec: Spec };
        const old = this.lease ?? refuse(404, "NotFound");
        const { uid, resourceVersion } = old.metadata;
        try {
          assert.deepEqual(metadata, { uid, resourceVersion });
        } catch {
          refuse(409, "Conflict");
        }
        return this.#store({ ...old, spec: { ...old.spec, ...spec } });
      }),
  };

  /** Somebody who is no candidate. */
  edit(change: Spec = {}): void {
    this.#store({ ...this.lease, spec: { ...this.spec, ...change } });
  }

  #store(value: object): KubeObject {
    this.writes += 1;
    const uid = this.lease?.metadata.uid ?? `uid-${this.writes}`;
    const metadata = { ...LEASE, uid, resourceVersion: String(++this.#version) };
    const stored = { spec: {}, ...value, metadata };
    this.lease = stored;
    return stored;
  }

  async #serve(work: () => KubeObject): Promise<KubeObject> {
    const { fault } = this;
    this.pass(this.latency[0]);
    if (fault === "refused") refuse(0, "ConnectionRefused");
    const answer = work();
    this.pass(this.latency[1]);
    if (fault === "answer lost") refuse(0, "ConnectionReset");
    return await Promise.resolve(answer);
  }
}

function refuse(code: number, reason: string): never {
  throw new KubeError(`lease: ${reason}`, { code, reason });
}

export interface Candidate extends LeaderElection {
  readonly log: MemoryLogger;
}

export function candidate(
  server: LeaseServer,
  identity: string,
  options: Partial<LeaderElectionOptions & LeaseSurroundings> = {},
): Candidate {
  const log = new MemoryLogger();
  const election = new LeaderElection({
    client: server.client,
    lease: LEASE,
    identity,
    log,
    now: () => server.ms,
    date: () => new Date(Date.UTC(2026, 10, 21) + server.ms),
    ...options,
  });
  return Object.assign(election, { log });
}
