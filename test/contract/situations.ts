/** What a replica can know and see when it is asked, as far as answers differ. */

import type { RuleSpec } from "../../src/api/hook-policy.ts";
import type { Cluster } from "../../src/api/meta.ts";
import { HOOK_NAMES, type HookName, VERSION_FIELDS } from "../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../src/memory/policy-set.ts";
import { CATALOG } from "../../src/api/hook-catalog.ts";
import type { DecisionSource } from "../../src/hooks/hook-handler.ts";
import { viewCluster } from "../../src/views/cluster.ts";
import { calling, clusterHookPolicy, DELETE, hookPolicy, namespace } from "../unit/builders.ts";
import { storeWith } from "../unit/memory/fixtures.ts";
import { goldenRequest } from "./golden.ts";
import { readerOf, testConfirmer } from "../unit/decisions/confirmer.ts";

const TARGET = "v1.35.0"; // of the golden requests
const waiting = HOOK_NAMES.filter((hook) => CATALOG[hook].blocksSince !== undefined);
const upgrading = waiting.filter((hook) => VERSION_FIELDS[hook].length > 0);

function all([first = "BeforeClusterDelete", ...rest]: readonly HookName[]): RuleSpec["hooks"] {
  return [first, ...rest];
}

const confirmed: RuleSpec = {
  name: "confirmed",
  hooks: all(waiting),
  until: [{ name: "approved", annotation: { key: "hooks.example.com/approved", valueFrom: "ClusterUID" } }],
  message: "ask #platform",
  retryAfterSeconds: 30,
};
const announced: RuleSpec = {
  name: "announced",
  hooks: all(upgrading),
  until: [{ name: "version", label: { key: "hooks.example.com/upgrade-to", valueFrom: "TargetVersion" } }],
};
const seen: RuleSpec = { name: "seen", hooks: all(HOOK_NAMES) };
const zoned: RuleSpec = {
  name: "zoned",
  hooks: all(waiting),
  until: [{ name: "zone", label: { key: "hooks.example.com/zone", from: "Namespace" } }],
};

const selector = { matchLabels: { tier: "production" } };
const protect = (mode: "Enforce" | "Audit"): PolicyObject[] => [
  hookPolicy({ mode, clusterSelector: selector, rules: [confirmed] }),
  clusterHookPolicy({ mode, rules: [announced] }),
];

/** As the informer has it; `resourceVersion` says whether it is older or newer than the copy in a request (1000). */
function knownCluster(resourceVersion: string, approved: boolean): Cluster {
  const body: { cluster: unknown } = JSON.parse(
    goldenRequest("v1beta2", "AfterControlPlaneInitialized").toString(),
  );
  const { metadata, ...rest } = viewCluster(body.cluster);
  const approval = { "hooks.example.com/approved": metadata.uid };
  const version = { "hooks.example.com/upgrade-to": TARGET };
  return {
    ...rest,
    metadata: {
      ...metadata,
      resourceVersion,
      annotations: { ...metadata.annotations, ...(approved && approval) },
      labels: { ...metadata.labels, ...(approved && version) },
    },
  };
}

interface Situation {
  readonly policies: readonly PolicyObject[];
  /** The informer's copy is newer than the request's and approved; default: older and not approved. */
  readonly approved?: boolean;
  readonly namespaceUnknown?: boolean;
  readonly notLoaded?: boolean;
  /** The API server has a policy in another generation than memory. */
  readonly memoryBehind?: boolean;
  readonly broken?: boolean;
  /** What arrives of a body. */
  readonly body?: (whole: Buffer) => Buffer;
}

const SITUATIONS = {
  blocked: { policies: protect("Enforce") },
  allowed: { policies: protect("Enforce"), approved: true },
  observed: { policies: [hookPolicy({ rules: [seen] })] },
  audit: { policies: protect("Audit") },
  "not-evaluable": { policies: [hookPolicy({ rules: [zoned] })], namespaceUnknown: true },
  "not-loaded": { policies: protect("Enforce"), approved: true, notLoaded: true },
  "not-confirmed": { policies: protect("Enforce"), approved: true, memoryBehind: true },
  "internal-error": { policies: protect("Enforce"), approved: true, broken: true },
  undecodable: { policies: [], approved: true, body: (whole) => whole.subarray(0, -1) },
} satisfies Record<string, Situation>;

export type SituationName = keyof typeof SITUATIONS;
export const SITUATION_NAMES = Object.keys(SITUATIONS) as SituationName[];

/** The bytes that a call of this hook brings. */
export function bodyIn(name: SituationName, whole: Buffer): Buffer {
  const { body }: Situation = SITUATIONS[name];
  return body === undefined ? whole : body(whole);
}

export interface Replica {
  readonly source: DecisionSource;
  readonly clock: { now: Date };
}

/** `late`: another replica, which learnt the same in another order and whose clock is ahead. */
export function replicaIn(name: SituationName, { late = false } = {}): Replica {
  const situation: Situation = SITUATIONS[name];
  const { policies, approved = false, namespaceUnknown = false, memoryBehind = false } = situation;
  const cluster = approved ? knownCluster("1001", true) : knownCluster("999", false);
  const { store, clock } = storeWith({
    policies: late ? policies.toReversed() : [...policies],
    clusters: [cluster],
    namespaces: namespaceUnknown ? [] : [namespace()],
    load: situation.notLoaded !== true,
  });
  if (late) clock.now = new Date(clock.now.getTime() + 3_600_000);
  const live = policies.map((policy) => {
    const generation = (policy.metadata.generation ?? 0) + Number(memoryBehind);
    return { ...policy, metadata: { ...policy.metadata, generation } };
  });
  let call = DELETE;
  const reader = readerOf(live, {
    cluster: async (ns, clusterName) => {
      const { metadata } = cluster;
      if (ns !== metadata.namespace || clusterName !== metadata.name) throw new Error("not found");
      return calling(call, cluster);
    },
    reasonOf: () => "NotFound",
  });
  const now = (): Date => clock.now;
  const confirmer = testConfirmer({
    store,
    reader,
    now,
  });
  const source: DecisionSource = {
    loaded: () => store.loaded,
    known: () => undefined,
    mayHaveTasks: () => false,
    storeTasks: async () => await Promise.resolve(false),
    inTurn: (_, decide) => decide(),
    ask: (request, at) => {
      if (situation.broken === true) throw new Error("secret detail");
      return store.decider.ask(request, at);
    },
    validity: (request, decision, at) => store.decider.validity(request, decision, at),
    confirm: (request) => {
      call = request.call;
      return confirmer.confirm(request);
    },
  };
  return { source, clock };
}

/** Whether Cluster API ever waits for the hook. */
export function canWait(hook: HookName): boolean {
  return waiting.includes(hook);
}
