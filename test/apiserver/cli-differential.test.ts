/**
 * What the command line makes of the objects of a fleet is what the running operator answers: random policies,
 * Clusters, Namespaces, objects and overrides on a real API server; the test plays Cluster API.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import * as fc from "fast-check";
import type { DecisionRow } from "../../src/api/hook-policy.ts";
import { type Cluster, PENDING_HOOKS_ANNOTATION } from "../../src/api/meta.ts";
import {
  type HookCall,
  type HookName,
  type HookResponse,
  VERSION_FIELDS,
  HOOK_NAMES,
} from "../../src/api/runtime-hooks.ts";
import { Fleet } from "../../src/cli/fleet/fleet.ts";
import { newOperation } from "../../src/operations/operation.ts";
import { isAwaited } from "../../src/operations/hook-lives.ts";
import { servedHooks } from "../../src/api/hook-catalog.ts";
import { decide } from "../../src/policy/decide.ts";
import { afterWords, type Decision, decidingGates, decidingRules } from "../../src/policy/decision.ts";
import { truncate } from "../../src/lib/truncate.ts";
import { policyName } from "../../src/policy/policy-ref.ts";
import { refOf, objectOf } from "../controlplane/client.ts";
import { type ControlPlane } from "../controlplane/control-plane.ts";
import { CLUSTER_API } from "../controlplane/lab-kinds.ts";
import { createCluster, FIRST_VERSION, NEXT_VERSION } from "../controlplane/lab.ts";
import { clusterPolicyRef, overrideRef, policyRef } from "../controlplane/policies.ts";
import { readGrant } from "../controlplane/rights.ts";
import { validPolicy } from "../corpus/arbitraries.ts";
import { clusterMarks, configMaps, overrideSpec, policySpec } from "../corpus/world-arbitraries.ts";
import { FULL } from "../generated.ts";
import { type Lab, startLab } from "./operator-lab.ts";

const SEED = 20_261_121;
const WORLDS = FULL ? 20 : 7;
const CLUSTERS = 4;
/** The indexes of the Clusters that are being upgraded, and deleted. */
const [UPGRADED, DELETED] = [2, 3];
const SERVED = servedHooks(14);
const WEEK_MS = 168 * 3_600_000;

const OWN = "hookpolicy.dev/v1alpha1";
const CLUSTER = { apiVersion: CLUSTER_API, kind: "Cluster" };
const KINDS = [
  { apiVersion: OWN, kind: "HookPolicy" },
  { apiVersion: OWN, kind: "ClusterHookPolicy" },
  { apiVersion: OWN, kind: "HookOverride" },
  CLUSTER,
  { apiVersion: "v1", kind: "Namespace" },
  { apiVersion: "v1", kind: "ConfigMap" },
];

/** Half of the policies have something to say; the others are whatever is valid, looking at ConfigMaps. */
const anyPolicy = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom("HookPolicy", "ClusterHookPolicy"), spec: policySpec }),
  },
  { weight: 1, arbitrary: validPolicy.map(({ kind, spec }) => ({ kind, spec: lookAtConfigMaps(spec) })) },
);
const worlds = fc.record({
  policies: fc.array(anyPolicy, { minLength: 2, maxLength: 6 }),
  clusters: fc.array(clusterMarks, { minLength: CLUSTERS, maxLength: CLUSTERS }),
  namespace: clusterMarks,
  configMaps,
  overrides: fc.array(overrideSpec, { maxLength: 1 }),
});
type RandomWorld = typeof worlds extends fc.Arbitrary<infer T> ? T : never;
const randomWorlds = fc.sample(worlds, { numRuns: WORLDS, seed: SEED });
/** Chance seldom makes a rule without `until` that no other policy holds against. */
const observed = randomWorlds.slice(0, 1).map((world) => ({
  ...world,
  policies: [{ kind: "HookPolicy" as const, spec: { rules: [{ name: "watch", hooks: [...HOOK_NAMES] }] } }],
}));

/** The kinds that arbitrary gates name are not installed. */
function lookAtConfigMaps<T>(spec: T): T {
  return JSON.parse(
    JSON.stringify(spec).replaceAll(
      /"apiVersion":"[^"]*","kind":"[^"]*"/g,
      '"apiVersion":"v1","kind":"ConfigMap"',
    ),
  ) as T;
}

/** Hooks that are asked in the presence of Cluster API's own mark; the operator knows by it that they still are. */
const MARKED: readonly HookName[] = [
  "AfterControlPlaneInitialized",
  "AfterControlPlaneUpgrade",
  "BeforeWorkersUpgrade",
  "AfterWorkersUpgrade",
  "AfterClusterUpgrade",
];
const UPGRADING = { [PENDING_HOOKS_ANNOTATION]: MARKED.join(",") };

/** What Cluster API could ask about it: one that is being deleted, one that is being upgraded, or another. */
function hooksOf({ metadata: { annotations = {}, deletionTimestamp } }: Cluster): readonly HookName[] {
  if (deletionTimestamp !== undefined) return ["BeforeClusterDelete"];
  return annotations[PENDING_HOOKS_ANNOTATION] === undefined
    ? ["BeforeClusterCreate", "BeforeClusterUpgrade"]
    : MARKED;
}

/** As Cluster API would call. */
function callOf(hook: HookName): HookCall {
  const versions = VERSION_FIELDS[hook].map((field) => [
    field,
    field === "fromKubernetesVersion" ? FIRST_VERSION : NEXT_VERSION,
  ]);
  return { hook, ...Object.fromEntries(versions) };
}

/** The operations that Cluster API has written into a Cluster's condition, as held. */
type HeldClusters = Set<string>;

function nameOf({ metadata: { namespace, name } }: Cluster, hook: HookName): string {
  return `${namespace}/${name} ${hook}`;
}

describe("the command line's answers are the operator's", () => {
  let lab: Lab;
  let cp: ControlPlane;
  const seen = new Set<string>();
  before(async () => {
    lab = await startLab();
    cp = lab.cp;
    await cp.apply(readGrant("configmaps"));
    await lab.start({ flags: { "log-level": "debug" } });
  });
  after(async () => await lab?.stop());

  /** Everything that the command line would find in files or on the API server. */
  const readFleet = async (): Promise<Fleet> => {
    const lists = await Promise.all(KINDS.map(async (kind) => await cp.list(kind)));
    const options = { served: SERVED, maxOverrideMs: WEEK_MS, now: new Date(), complete: true };
    return new Fleet(lists.flat(), options);
  };

  const create = async (world: RandomWorld, namespace: string): Promise<void> => {
    await cp.apply(objectOf({ apiVersion: "v1", kind: "Namespace", name: namespace, ...world.namespace }));
    for (const [index, marks] of world.clusters.entries()) {
      const annotations = { ...marks.annotations, ...(index === UPGRADED && UPGRADING) };
      const cluster = { namespace, name: `c${index}`, version: NEXT_VERSION, ...marks, annotations };
      await createCluster(cp, cluster);
    }
    const deleted = { ...CLUSTER, namespace, name: `c${DELETED}` };
    await cp.patch(deleted, { metadata: { finalizers: ["example.com/keeps-it"] } });
    await cp.delete(deleted);
    for (const { name, labels: own, data } of world.configMaps) {
      await cp.create(
        objectOf({ apiVersion: "v1", kind: "ConfigMap", namespace, name, labels: own }, { data }),
      );
    }
    for (const { cluster, ...spec } of world.overrides) {
      const clusterRef = { namespace, name: cluster };
      const expiresAt = new Date(Date.now() + WEEK_MS / 2).toISOString();
      const override = overrideRef(`${namespace}-${cluster}`);
      await cp.create(objectOf(override, { spec: { ...spec, clusterRef, expiresAt } }));
    }
    for (const [index, { kind, spec }] of world.policies.entries()) {
      const { namespaceSelector: _, ...own } = spec as Record<string, unknown>;
      const name = `${namespace}-p${index}`;
      const fleetWide = kind === "ClusterHookPolicy";
      const policy = fleetWide ? clusterPolicyRef(name) : policyRef(namespace, name);
      await cp.create(objectOf(policy, { spec: fleetWide ? spec : own }));
    }
  };

  /** Every policy, object and override is in the operator's memory. */
  const untilLoaded = async (): Promise<void> => {
    await cp.waitFor("the operator to know every policy", async () => {
      const policies = (await Promise.all(KINDS.slice(0, 2).map(async (kind) => await cp.list(kind)))).flat();
      return policies.every(({ metadata, status }) => status?.observedGeneration === metadata.generation);
    });
  };

  const requestOf = async (cluster: Cluster, call: HookCall): Promise<object> => {
    const { hook: _, ...versions } = call;
    const { cluster: raw } = (await lab.requestFor(
      cluster.metadata.namespace ?? "",
      cluster.metadata.name,
    )) as {
      readonly cluster: object;
    };
    return { cluster: raw, ...versions };
  };

  /** The operator looked at the clock some time between the two: one of these instants. */
  const decisionsBetween = (
    fleet: Fleet,
    cluster: Cluster,
    call: HookCall,
    [from, to]: [number, number],
  ): Decision[] => {
    const policies = fleet.policiesFor(cluster);
    const known = fleet.pendingOperations(cluster).find((ask) => ask.call.hook === call.hook);
    return Array.from({ length: to - from + 1 }, (_, ms) => {
      const now = new Date(from + ms);
      return decide(policies, fleet.world(cluster, newOperation(call, cluster, now, known)), call, now);
    });
  };

  /** One call; what was answered, when, and the verdict that the log has of it. */
  const ask = async (
    cluster: Cluster,
    call: HookCall,
  ): Promise<{ response: HookResponse; span: [number, number] }> => {
    const request = await requestOf(cluster, call);
    return await cp.waitFor("an answer that was confirmed in time, or needs no confirmation", async () => {
      const from = Date.now();
      const response = await lab.operator.ask(call.hook, request);
      const span: [number, number] = [from, Date.now()];
      return response.message?.startsWith("HookPolicy could not confirm") !== true && { response, span };
    });
  };

  const answerOf = ({ holds, retryAfterSeconds, message }: Decision): unknown[] =>
    holds ? ["Success", retryAfterSeconds, message] : ["Success", 0, ""];

  const compareAll = async (namespace: string, times: number, held: HeldClusters): Promise<void> => {
    const fleet = await readFleet();
    const clusters = fleet.clusters().filter(({ metadata }) => metadata.namespace === namespace);
    assert.equal(clusters.length, CLUSTERS);
    for (const cluster of clusters) {
      const key = `${namespace}/${cluster.metadata.name}`;
      const verdicts = new Map<HookName, readonly string[]>();
      for (const hook of hooksOf(cluster)) {
        const { response, span } = await ask(cluster, callOf(hook));
        if ((response.retryAfterSeconds ?? 0) > 0 && hook !== "BeforeClusterDelete")
          held.add(nameOf(cluster, hook));
        const expected = decisionsBetween(fleet, cluster, callOf(hook), span);
        verdicts.set(
          hook,
          expected.map(({ verdict }) => verdict),
        );
        if (SERVED.blocking.has(hook)) assertOneOf(response, expected.map(answerOf), `${hook} of ${key}`);
      }
      await compareVerdicts(key, verdicts, times);
    }
    await compareRows(namespace, held);
  };

  const assertOneOf = (response: HookResponse, expected: readonly unknown[], what: string): void => {
    const { status, retryAfterSeconds = 0, message = "" } = response;
    const actual = [status, retryAfterSeconds, message];
    if (!expected.some((each) => isSame(each, actual))) assert.deepEqual(actual, expected[0], what);
  };

  /** The log has a line for each call, the last one of which counts. */
  const compareVerdicts = async (
    key: string,
    verdicts: ReadonlyMap<HookName, readonly string[]>,
    times: number,
  ): Promise<void> => {
    const lines = await cp.waitFor(`every answer about ${key} to be logged`, async () => {
      const found = lab.operator.lines().filter((line) => line["cluster"] === key && "verdict" in line);
      return await Promise.resolve(found.length >= verdicts.size * times && found);
    });
    for (const [hook, expected] of verdicts) {
      const line = lines.findLast(({ msg }) => msg.startsWith(`${hook} is called`));
      const actual = String(line?.["verdict"]);
      seen.add(actual);
      if (!expected.includes(actual)) assert.equal(actual, expected[0], `${hook} of ${key}`);
    }
  };

  type Row = Pick<DecisionRow, "verdict" | "rule" | "reason" | "message"> & {
    readonly gate?: string | undefined;
  };

  /** What each policy's status says of each operation that it holds: the rule, the gate, and the reason. */
  const compareRows = async (namespace: string, held: HeldClusters): Promise<void> => {
    let [expected, actual]: [unknown, unknown] = [undefined, undefined];
    const agree = async (): Promise<boolean> => {
      const fleet = await readFleet();
      const clusters = fleet.clusters().filter(({ metadata }) => metadata.namespace === namespace);
      expected = Object.fromEntries(clusters.flatMap((cluster) => expectedRows(fleet, cluster, held)));
      actual = Object.fromEntries(
        fleet.policies.flatMap(({ compiled, status }) =>
          (status.decisions ?? [])
            .filter((row) => row.namespace === namespace)
            .map(({ cluster, hook, verdict, rule, gate, reason, message }) => [
              `${policyName(compiled.ref)} ${cluster} ${hook}`,
              { verdict, rule, gate, reason, message },
            ]),
        ),
      );
      return isSame(expected, actual);
    };
    await cp.waitFor(`the statuses about ${namespace} to agree`, agree).catch(() => undefined);
    assert.deepEqual(actual, expected);
  };

  const expectedRows = (fleet: Fleet, cluster: Cluster, held: HeldClusters): [string, Row][] =>
    [...SERVED.blocking]
      // The operator remembers only what the Cluster itself shows, and has shown before.
      .filter((hook) => isAwaited(hook, cluster, SERVED) || held.has(nameOf(cluster, hook)))
      .flatMap((hook) => {
        const now = Date.now();
        const [decision] = decisionsBetween(fleet, cluster, callOf(hook), [now, now]);
        return (decision?.trace ?? []).flatMap((policy): [string, Row][] => {
          const [finding] = decidingRules({
            verdict: policy.verdict,
            holds: policy.holds,
            retryAfterSeconds: 0,
            message: "",
            trace: [policy],
          });
          if (finding === undefined || policy.verdict === "Allowed" || policy.verdict === "Observed")
            return [];
          const { rule, reason, message } = finding.rule;
          const gate = decidingGates(finding)[0]?.gate;
          const row = {
            verdict: policy.verdict,
            rule,
            gate,
            reason,
            message: truncate(afterWords(finding.rule, message), 256),
          };
          return [[`${policyName(policy.policy)} ${cluster.metadata.name} ${hook}`, row]];
        });
      });

  /** Rows about Clusters of other worlds could crowd out those of the next. */
  const cleanUp = async (): Promise<void> => {
    for (const kind of KINDS.slice(0, 4)) {
      for (const object of await cp.list(kind)) {
        if (object.metadata.deletionTimestamp === undefined) await cp.delete(refOf(object));
        else await cp.patch(refOf(object), { metadata: { finalizers: null } });
      }
    }
    await cp.waitFor(
      "the policies to be gone",
      async () =>
        (await Promise.all(KINDS.slice(0, 2).map(async (kind) => await cp.list(kind)))).flat().length === 0,
    );
  };

  for (const [index, world] of [...randomWorlds, ...observed].entries()) {
    test(`in random world ${index}, also when asked again`, async (t) => {
      const namespace = `world-${index}`;
      t.after(cleanUp);
      await create(world, namespace);
      await untilLoaded();
      const held: HeldClusters = new Set();
      await compareAll(namespace, 1, held);
      // The second time, the command line has what the statuses tell: since when rules wait.
      await compareAll(namespace, 2, held);
    });
  }

  test("the random worlds gave every verdict", () => {
    const all = ["Allowed", "Blocked", "NotEvaluable", "Observed", "WouldBlock"];
    assert.deepEqual([...seen].toSorted(), all);
  });
});

function isSame(a: unknown, b: unknown): boolean {
  try {
    assert.deepEqual(a, b);
    return true;
  } catch {
    return false;
  }
}
