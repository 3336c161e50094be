/** The webhook over a world of plain values, called with the bytes that an API server sends. */

import assert from "node:assert/strict";
import { createAdmissionHandler } from "../../../src/admission/review-handler.ts";
import type { Access, AdmissionWorld, KindLocation } from "../../../src/admission/review-world.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { ALL_HOOKS, hookOverride as anyOverride, NOW } from "../builders.ts";
import { MemoryLogger } from "../kube/fixtures.ts";

export const JANE = { username: "jane", uid: "7", groups: ["devs"], extra: { tenant: ["a"] } };
export const BACKUP = { apiVersion: "velero.io/v1", kind: "Backup" };

export interface Answer {
  readonly uid: string;
  readonly allowed: boolean;
  readonly warnings?: readonly string[];
  readonly status?: {
    readonly code: number;
    readonly reason: string;
    readonly message: string;
    readonly details: {
      readonly causes: readonly {
        readonly field: string;
        readonly message: string;
        readonly reason: string;
      }[];
    };
  };
}

export interface Setup {
  /** Anybody may ask. */
  readonly open?: boolean;
  readonly world?: Partial<AdmissionWorld>;
  readonly served?: typeof ALL_HOOKS;
  /** By kind; default: backups.velero.io in namespaces, which the operator can read. */
  readonly located?: (kind: string) => KindLocation | Promise<KindLocation>;
  readonly allowed?: (access: Access) => boolean | Promise<boolean>;
}

export interface Webhook {
  readonly log: MemoryLogger;
  /** The rights that were asked for, and for whom. */
  readonly asked: { readonly user: string; readonly access: Access }[];
  readonly located: string[];
  readonly send: (body: string) => Promise<Answer>;
  readonly create: (object: object) => Promise<Answer>;
  readonly update: (old: object, object: object) => Promise<Answer>;
}

export const BACKUPS: KindLocation = {
  resource: { group: "velero.io", plural: "backups", namespaced: true },
};

export function webhook(given: Setup = {}): Webhook {
  const log = new MemoryLogger();
  const asked: Webhook["asked"] = [];
  const located: string[] = [];
  const settings = { served: given.served ?? ALL_HOOKS, maxOverrideMs: 7 * 86_400_000 };
  const world = {
    loaded: () => true,
    matchesCluster: async () => true,
    cluster: () => undefined,
    policy: () => undefined,
    hasRollout: () => false,
    policiesOf: () => [],
    ...given.world,
  };
  const handle = createAdmissionHandler({
    settings,
    ...(given.open !== true && { world }),
    reviewer: {
      locate: async ({ kind }) => {
        located.push(kind);
        return await (given.located?.(kind) ?? BACKUPS);
      },
      may: async (user, access) => {
        assert.deepEqual(user, JANE);
        asked.push({ user: user.username, access });
        return await (given.allowed?.(access) ?? true);
      },
    },
    log,
    now: () => NOW,
  });
  const send = async (body: string): Promise<Answer> => {
    const review: { apiVersion: string; kind: string; response: Answer } = JSON.parse(
      await handle(Buffer.from(body)),
    );
    assert.deepEqual([review.apiVersion, review.kind], ["admission.k8s.io/v1", "AdmissionReview"]);
    return review.response;
  };
  return {
    log,
    asked,
    located,
    send,
    create: async (object) => await send(JSON.stringify(reviewOf(object))),
    update: async (old, object) =>
      await send(JSON.stringify(reviewOf(object, { operation: "UPDATE", oldObject: old }))),
  };
}

export function reviewOf(object: object, over: object = {}): object {
  const { kind = "", metadata: meta }: { kind?: string; metadata?: { namespace?: string } } = object;
  const request = {
    uid: "review-1",
    kind: { group: "hookpolicy.dev", version: "v1alpha1", kind },
    namespace: meta?.namespace,
    operation: "CREATE",
    userInfo: JANE,
    object,
    oldObject: null,
    dryRun: false,
    ...over,
  };
  return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request };
}

export const hookOverride: typeof anyOverride = (spec, meta) =>
  anyOverride(
    { reason: "incident 42", expiresAt: "2026-11-21T14:00:00Z", ...spec },
    { name: "incident-42", uid: "uid-override", creationTimestamp: "2026-11-21T12:00:00Z", ...meta },
  );

/** The same policy with another spec or metadata. */
export function changed(object: PolicyObject, spec: object, meta: object = {}): PolicyObject {
  const merged = { ...object, spec: { ...object.spec, ...spec }, metadata: { ...object.metadata, ...meta } };
  return merged as PolicyObject;
}
