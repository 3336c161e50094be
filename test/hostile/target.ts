/** What is attacked: the shipped operator with the memory that the Deployment gives it, and Clusters that are all held. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { HOOK_NAMES, type HookName } from "../../src/api/runtime-hooks.ts";
import { ADMISSION_PATH } from "../../src/admission/review-handler.ts";
import {
  CLUSTER_VERSIONS,
  discoveryPath,
  goldenDiscoveryRequest,
  goldenRequest,
  pathOf,
} from "../contract/golden.ts";
import { canWait } from "../contract/situations.ts";
import { installClusterDefinition } from "../controlplane/cluster-api.ts";
import type { KubeObject } from "../controlplane/client.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { installHookPolicy, type Operator } from "../controlplane/operator.ts";
import { startShipped } from "../controlplane/shipped.ts";
import { validCorpus } from "../corpus/corpus.ts";
import { applyPolicy, clusterPolicyRef, policyRef } from "../controlplane/policies.ts";
import { reviewOf } from "../unit/admission/reviews.ts";
import type { Route } from "./verdict.ts";

/** A request that is right. */
export interface Seed {
  readonly route: Route;
  readonly body: Buffer;
}

export interface Target {
  readonly cp: ControlPlane;
  readonly operator: Operator;
  readonly port: number;
  readonly admissionPort: number;
  readonly ca: string;
  readonly seeds: readonly Seed[];
  /** In the bodies of seeds, and what stands there as the Cluster's own. */
  readonly uids: ReadonlyMap<string, string>;
}

const HELD = HOOK_NAMES.filter(canWait);
const UPGRADES = HELD.filter((hook) => /Upgrade/.test(hook));
const BODIES = join(import.meta.dirname, "../../bench/bodies");

/** Nobody gives this approval here. */
export const HOLDING = {
  name: "confirmed",
  hooks: HELD,
  until: [{ name: "approved", annotation: { key: "hooks.example.com/approved", valueFrom: "ClusterUID" } }],
  retryAfterSeconds: 30,
};

/** Holds by the label, and looks at all of a request that an expression can see. */
const ANNOUNCED = {
  name: "announced",
  hooks: UPGRADES,
  until: [
    { name: "version", label: { key: "hooks.example.com/upgrade-to", valueFrom: "TargetVersion" } },
    { name: "different", expression: "cluster.topology.variables != request.settings" },
    {
      name: "plain",
      expression: "cluster.metadata.annotations.all(key, key.matches('^[ -~]*$'))",
    },
  ],
};

export async function startTarget(): Promise<Target> {
  const cp = await startControlPlane();
  try {
    await installHookPolicy(cp);
    await installClusterDefinition(cp);
    const uids = await createClusters(cp);
    const operator = await startShipped(cp);
    await applyPolicy(cp, policyRef("team-a", "protect"), {
      clusterSelector: { matchLabels: { tier: "production" } },
      rules: [HOLDING],
    });
    await applyPolicy(cp, policyRef("ns-lifecycle-hooks", "protect"), { rules: [HOLDING] });
    await applyPolicy(cp, clusterPolicyRef("announced"), { namespaceSelector: {}, rules: [ANNOUNCED] });
    const { webhook: port, admission: admissionPort } = operator.ports;
    return { cp, operator, port, admissionPort, ca: cp.authority.certificate, seeds: seedsWith(uids), uids };
  } catch (error) {
    await cp.stop();
    throw error;
  }
}

interface RawRequest {
  readonly cluster: KubeObject;
}

/** Those that the seeds are about; the uids there, with the ones that the API server has given instead. */
async function createClusters(cp: ControlPlane): Promise<Map<string, string>> {
  const requests = [goldenRequest("v1beta2", "BeforeClusterCreate"), benchBody("26k")];
  const uids = new Map<string, string>();
  for (const request of requests) {
    const { cluster }: RawRequest = JSON.parse(request.toString());
    const { name, namespace = "", uid = "", labels = {}, annotations = {} } = cluster.metadata;
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    const created = await cp.create({ ...cluster, metadata: { name, namespace, labels, annotations } });
    uids.set(uid, created.metadata.uid ?? "");
  }
  return uids;
}

function benchBody(size: "1k" | "26k"): Buffer {
  return readFileSync(join(BODIES, `before-cluster-delete-${size}.json`));
}

function routeOf(hook: HookName): Route {
  return { kind: "hook", hook, path: pathOf(hook) };
}

function seedsWith(uids: ReadonlyMap<string, string>): Seed[] {
  const golden = CLUSTER_VERSIONS.flatMap((version) =>
    HOOK_NAMES.map((hook) => ({ route: routeOf(hook), body: goldenRequest(version, hook) })),
  );
  const bench = (["1k", "26k"] as const).map((size) => ({
    route: routeOf("BeforeClusterDelete"),
    body: benchBody(size),
  }));
  const discovery: Seed = {
    route: { kind: "discovery", path: discoveryPath() },
    body: goldenDiscoveryRequest(),
  };
  const some = validCorpus().filter((_, index) => index % 4 === 0); // or most requests would be reviews
  const reviews = some.map(({ object }): Seed => ({
    route: { kind: "admission", path: ADMISSION_PATH },
    body: Buffer.from(JSON.stringify(reviewOf(object))),
  }));
  return [...golden, ...bench, discovery, ...reviews].map((seed) => ({
    ...seed,
    body: withUids(seed.body, uids),
  }));
}

/** In place: both are as long as a UUID is. */
export function withUids(body: Buffer, uids: ReadonlyMap<string, string>): Buffer {
  for (const [before, now] of uids) {
    for (let at = body.indexOf(before); at >= 0; at = body.indexOf(before, at)) body.write(now, at, "latin1");
  }
  return body;
}

/** Where the route is served; a path that is none, on the hook port. */
export function portOf({ port, admissionPort }: Target, route: Route | undefined): number {
  return route?.kind === "admission" ? admissionPort : port;
}

/** The seed of a hook about a Cluster that is held: with the fewest bytes, or with the variables of a large one. */
export function seedOf({ seeds }: Target, hook: HookName, size: "small" | "large" = "small"): Seed {
  const own = seeds.filter(({ route }) => route.kind === "hook" && route.hook === hook);
  const [smallest, ...others] = own.toSorted((a, b) => a.body.length - b.body.length);
  const found = size === "small" ? smallest : (others.at(-1) ?? smallest);
  if (found === undefined) throw new Error(`no seed for ${hook}`);
  return found;
}
