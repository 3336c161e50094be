/** The policies of one tenant cost as much as they can, beside the Clusters of others that are asked about. */

import type { GateSpec, RuleSpec } from "../../src/api/hook-policy.ts";
import { inParallel } from "../../test/apiserver/operator-lab.ts";
import { createCluster, clusterRef } from "../../test/controlplane/lab.ts";
import { NAMESPACE } from "../../test/controlplane/operator.ts";
import { applyPolicy, policyRef, storePolicy } from "../../test/controlplane/policies.ts";
import { FINALIZER } from "../fleet/clusters.ts";
import { arrangeDefault, type Lab, numbered, OTHER_TEAM } from "./lab.ts";
import type { Scenario } from "./scenario.ts";

const CLUSTERS = 40;
const POLICIES = 30;
const OBJECTS = 2000;

const annotations = Object.fromEntries(numbered(1000, "example.com/a").map((key) => [key, "b"]));

interface Spec {
  readonly rules: readonly RuleSpec[];
}

function spec(count: number, gates: number, gate: (n: string) => Omit<GateSpec, "name">): Spec {
  const rules = numbered(count, "r").map((name): RuleSpec => ({
    name,
    hooks: ["BeforeClusterDelete"],
    until: numbered(gates, "g").map((each) => ({ name: each, ...gate(`${name}-${each}`) })),
  }));
  return { rules };
}

const ALL = "cluster.metadata.annotations";

/** 80 loops within loops. */
const loops = (edit: number): Spec =>
  spec(8, 10, (n) => ({ expression: `${ALL}.all(a, ${ALL}.all(b, a != '${edit}-${n}'))` }));

/** 256 gates over 2,000 objects. */
const objects = spec(16, 16, () => ({
  object: {
    apiVersion: "v1",
    kind: "ConfigMap",
    selector: {},
    expression: "has(object.data) && object.data['a'] == 'b'",
  },
}));

/** 128 expressions over 1.2 MB of variables. */
const variables = spec(16, 8, (n) => ({ expression: `cluster.topology.variables['tier'] == '${n}'` }));

async function arrange(lab: Lab): Promise<void> {
  const { cp } = lab;
  await arrangeDefault(lab);
  const [role, account] = ["reads-configmaps", `${NAMESPACE}:hookpolicy`];
  await cp.kubectl("create", "clusterrole", role, "--verb=get,list,watch", "--resource=configmaps");
  const bound = [`--clusterrole=${role}`, `--serviceaccount=${account}`];
  await cp.kubectl("create", "clusterrolebinding", role, ...bound);
  const tier = "x".repeat(1_200_000);
  await inParallel(numbered(CLUSTERS, "held"), 10, async (name) => {
    const load = name === "held-0" ? { tier } : { annotations };
    await createCluster(cp, { namespace: OTHER_TEAM, name, ...load });
    await cp.patch(clusterRef(OTHER_TEAM, name), { metadata: { finalizers: [FINALIZER] } });
    await cp.delete(clusterRef(OTHER_TEAM, name));
  });
  await inParallel(numbered(OBJECTS, "object"), 20, async (name) => {
    await cp.create({ apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: OTHER_TEAM, name } });
  });
}

export const NEIGHBOURS: Scenario = {
  id: "expensive-policies",
  title: "Expensive policies of another tenant",
  fromOthers: true,
  arrange,
  inject: async (lab) => {
    const { cp } = lab;
    // A policy that the operator refuses would cost nothing.
    for (const [name, policy] of Object.entries({ objects, "variables-0": variables, "loops-0": loops(0) }))
      await applyPolicy(cp, policyRef(OTHER_TEAM, name), policy);
    for (const name of numbered(4, "variables").slice(1))
      await storePolicy(cp, policyRef(OTHER_TEAM, name), variables);
    for (const name of numbered(POLICIES, "loops").slice(1))
      await storePolicy(cp, policyRef(OTHER_TEAM, name), loops(0));
    let edits = 0;
    lab.inBackground(20, async () => {
      edits += 1;
      await cp.patch(policyRef(OTHER_TEAM, `loops-${edits % POLICIES}`), { spec: loops(edits) });
    });
    lab.inBackground(50, async () => {
      const name = `object-${edits % OBJECTS}`;
      const ref = { apiVersion: "v1", kind: "ConfigMap", namespace: OTHER_TEAM, name };
      await cp.patch(ref, { data: { edits: String(edits) } });
    });
  },
};

const HOARDED = 1500;
const ballast = { "example.com/ballast": "x".repeat(255 * 1024) };

/** More than a replica can keep. */
export const HOARDER: Scenario = {
  id: "hoarded-memory",
  title: "Too much of another tenant",
  fromOthers: true,
  inject: async ({ cp }) => {
    await inParallel(numbered(HOARDED, "hoarded"), 8, async (name) => {
      await createCluster(cp, { namespace: OTHER_TEAM, name, annotations: ballast });
    });
  },
};
