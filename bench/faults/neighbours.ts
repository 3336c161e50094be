/** A tenant whose policies cost as much as they can, beside the Clusters of others that are asked about. */

import { inParallel } from "../../test/apiserver/operatorlab.ts";
import { createCluster, clusterRef } from "../../test/controlplane/lab.ts";
import { NAMESPACE } from "../../test/controlplane/operator.ts";
import { policyRef, storePolicy } from "../../test/controlplane/policies.ts";
import { FINALIZER } from "../fleet/clusters.ts";
import { arrangeDefault, type Lab, numbered, OTHER_TEAM } from "./lab.ts";
import type { Scenario } from "./scenario.ts";

const DELETE = "BeforeClusterDelete";
const CLUSTERS = 40;
const POLICIES = 20;
const OBJECTS = 2000;
const EDIT_MS = 20;
const CHANGE_MS = 50;

const annotations = Object.fromEntries(numbered(1000, "example.com/a").map((key) => [key, "b"]));

function rules(count: number, gates: number, gate: (n: string) => object): object[] {
  return numbered(count, "r").map((name) => ({
    name,
    hooks: [DELETE],
    until: numbered(gates, "g").map((each) => ({ name: each, ...gate(`${name}-${each}`) })),
  }));
}

const ALL = "cluster.metadata.annotations";

/** 120 loops within loops. */
const loops = (edit: number): object => ({
  rules: rules(8, 15, (n) => ({ expression: `${ALL}.all(a, ${ALL}.all(b, a != '${edit}-${n}'))` })),
});

/** 256 gates over 2,000 objects. */
const objects = {
  rules: rules(16, 16, () => ({
    object: {
      apiVersion: "v1",
      kind: "ConfigMap",
      selector: {},
      expression: "has(object.data) && object.data['a'] == 'b'",
    },
  })),
};

/** 256 that read variables; there are two of these. */
const variables = {
  rules: rules(16, 16, (n) => ({ expression: `cluster.topology.variables['tier'] == '${n}'` })),
};

async function arrange(lab: Lab): Promise<void> {
  const { cp } = lab;
  await arrangeDefault(lab);
  const [role, account] = ["reads-configmaps", `${NAMESPACE}:hookpolicy`];
  await cp.kubectl("create", "clusterrole", role, "--verb=get,list,watch", "--resource=configmaps");
  const bound = [`--clusterrole=${role}`, `--serviceaccount=${account}`];
  await cp.kubectl("create", "clusterrolebinding", role, ...bound);
  const tier = "x".repeat(1_200_000);
  await inParallel(numbered(CLUSTERS, "held"), 10, async (name) => {
    await createCluster(cp, {
      namespace: OTHER_TEAM,
      name,
      ...(name === "held-0" ? { tier } : { annotations }),
    });
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
    const store = async (name: string, spec: object): Promise<unknown> =>
      await storePolicy(cp, policyRef(OTHER_TEAM, name), spec);
    await store("objects", objects);
    for (const name of ["variables-1", "variables-2"]) await store(name, variables);
    for (const name of numbered(POLICIES, "loops")) await store(name, loops(0));
    let edits = 0;
    lab.inBackground(EDIT_MS, async () => {
      edits += 1;
      await cp.patch(policyRef(OTHER_TEAM, `loops-${edits % POLICIES}`), { spec: loops(edits) });
    });
    lab.inBackground(CHANGE_MS, async () => {
      const name = `object-${edits % OBJECTS}`;
      const ref = { apiVersion: "v1", kind: "ConfigMap", namespace: OTHER_TEAM, name };
      await cp.patch(ref, { data: { edits: String(edits) } });
    });
  },
};
