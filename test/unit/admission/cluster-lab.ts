/** Reviews of Clusters, decided by the real store and the real confirmation. */

import {
  type AdmissionRequest,
  type ClusterDecisions,
  createClusterHandler,
} from "../../../src/admission/cluster-handler.ts";
import type { AdmissionOutcome } from "../../../src/admission/review.ts";
import type { HookPolicySpec, RuleSpec } from "../../../src/api/hook-policy.ts";
import type { LiveReader } from "../../../src/decisions/live-reads.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { hookPolicy, NOW, rule } from "../builders.ts";
import { storeWith } from "../memory/fixtures.ts";
import { readerOf, testConfirmer } from "../decisions/confirmer.ts";

export interface Setup {
  readonly policies?: readonly PolicyObject[];
  readonly reader?: Partial<LiveReader>;
  readonly decisions?: Partial<ClusterDecisions>;
}

interface ReviewResponse {
  readonly allowed: boolean;
  readonly uid: string;
  readonly status?: { readonly code: number; readonly reason: string; readonly message: string };
  readonly warnings?: readonly string[];
}

interface Lab {
  readonly ask: (review: object) => Promise<ReviewResponse>;
  readonly reads: string[];
  readonly outcomes: AdmissionOutcome[];
}

export const deny = (over: Partial<RuleSpec> = {}, spec: Partial<HookPolicySpec> = {}): PolicyObject =>
  hookPolicy({ rules: [rule({ admission: "Deny", ...over })], ...spec });

export function lab({ policies = [deny()], reader = {}, decisions = {} }: Setup = {}): Lab {
  const reads: string[] = [];
  const outcomes: AdmissionOutcome[] = [];
  const { store } = storeWith({ policies: [...policies] });
  const live = readerOf(policies, { reasonOf: () => "ApiServerUnavailable", ...reader });
  const counting = new Proxy(live, {
    get: (target, name, self) => {
      reads.push(String(name));
      return Reflect.get(target, name, self);
    },
  });
  const now = (): Date => NOW;
  const confirmer = testConfirmer({ store, reader: counting, now });
  const handle = createClusterHandler({
    authenticated: true,
    source: {
      loaded: () => true,
      inTurn: (_request, decide) => decide(),
      refusal: (request, at) => store.decider.refusal(request, at),
      confirmRequest: async (request: AdmissionRequest) => await confirmer.confirm(request),
      warnings: (request, at) => store.decider.warnings(request, at),
      ...decisions,
    },
    recorder: {
      decided: (_review, _attempt, outcome) => outcomes.push(outcome),
      unconcerned: () => undefined,
      undecodable: () => undefined,
      failed: () => undefined,
    },
    now,
  });
  return {
    ask: async (body) => {
      const { response } = JSON.parse(await handle(Buffer.from(JSON.stringify(body))));
      return response;
    },
    reads,
    outcomes,
  };
}

export interface RawCluster {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly version?: string;
  readonly uid?: string;
}

/** In v1beta1, without status. */
export function raw({ annotations = {}, version = "v1.34.0", uid = "uid-prod-1" }: RawCluster = {}): object {
  return {
    apiVersion: "cluster.x-k8s.io/v1beta1",
    kind: "Cluster",
    metadata: { name: "prod-1", namespace: "team-a", uid, resourceVersion: "100", annotations },
    spec: { topology: { class: "lab", version } },
  };
}

export function review(
  operation: string,
  objects: {
    readonly namespace?: string;
    readonly object?: object | null;
    readonly oldObject?: object;
    readonly options?: object | null;
  },
): object {
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "review-1",
      kind: { group: "cluster.x-k8s.io", version: "v1beta1", kind: "Cluster" },
      operation,
      userInfo: { username: "jane" },
      namespace: "team-a",
      object: null,
      oldObject: null,
      ...objects,
    },
  };
}
