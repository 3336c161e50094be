/** Policies, their kind and their namespace change or go while they hold. */

import { inParallel, removeDefinition, HOOK_POLICY_DEFINITION } from "../../test/apiserver/operatorlab.ts";
import { installClusterDefinition } from "../../test/controlplane/clusterapi.ts";
import { clusterRef } from "../../test/controlplane/lab.ts";
import { installHookPolicy } from "../../test/controlplane/operator.ts";
import { approvalRule, policyRef } from "../../test/controlplane/policies.ts";
import { COUNTS, FEW, type Lab, OTHER_TEAM, POLICY, TEAM } from "./lab.ts";
import type { Scenario } from "./scenario.ts";

/** CEL that the API server takes, and nobody can evaluate. */
const BROKEN = [{ name: "broken", expression: "cluster.metadata.name ==" }];
const MANY = 100;

/** Before Cluster API's own finalizer goes, the Cluster stays, also when it is deleted. */
const GUARD = ["cluster.cluster.x-k8s.io"];

const deleted: Scenario = {
  id: "policy-deleted",
  title: "Policy deleted and made again, over and over, while it holds deletions",
  hook: "BeforeClusterDelete",
  inject: async (lab) => {
    lab.inBackground(500, async () => {
      await lab.change(lab.subjects, { inForce: "No" }, async () => await removePolicy(lab));
      await lab.change(lab.subjects, { inForce: "Yes" }, async () => await lab.storePolicy());
    });
  },
};

async function removePolicy({ cp }: Lab): Promise<void> {
  await cp.delete(POLICY);
  await cp.waitFor("the policy to be gone", async () => (await cp.find(POLICY)) === undefined);
}

const invalid: Scenario = {
  id: "policy-invalid",
  title: "Policy made invalid while it holds",
  inject: async (lab) => await breakPolicies(lab, TEAM, [POLICY.name]),
  heal: async (lab) => await mendPolicies(lab, TEAM, [POLICY.name]),
};

async function breakPolicies(lab: Lab, namespace: string, names: readonly string[]): Promise<void> {
  await lab.change(
    lab.of(namespace),
    { evaluable: "No" },
    async () => await setGates(lab, namespace, names, BROKEN),
  );
}

async function mendPolicies(lab: Lab, namespace: string, names: readonly string[]): Promise<void> {
  const { until } = approvalRule(lab.hook);
  await lab.change(lab.of(namespace), { evaluable: "Yes" }, async () => {
    await setGates(lab, namespace, names, until);
  });
}

async function setGates(
  lab: Lab,
  namespace: string,
  names: readonly string[],
  until: unknown,
): Promise<void> {
  const patch = [{ op: "replace", path: "/spec/rules/0/until", value: until }];
  await inParallel(
    names,
    10,
    async (name) => await lab.cp.patch(policyRef(namespace, name), patch, { type: "json" }),
  );
}

const manyNames = Array.from({ length: MANY }, (_, n) => `protect-${n}`);

const manyBroken: Scenario = {
  id: "policies-broken",
  title: "100 policies broken at once; another namespace keeps its own",
  arrange: async (lab) => {
    await installClusterDefinition(lab.cp);
    await lab.addSubjects(TEAM, COUNTS);
    await lab.addSubjects(OTHER_TEAM, FEW);
    await lab.storePolicy();
    await inParallel(manyNames, 10, async (name) => await lab.storePolicy(policyRef(OTHER_TEAM, name)));
  },
  inject: async (lab) => await breakPolicies(lab, OTHER_TEAM, manyNames),
  heal: async (lab) => await mendPolicies(lab, OTHER_TEAM, manyNames),
};

/** While the definition is missing nobody knows what holds; once it is back and empty, nothing does. */
const definitionRemoved: Scenario = {
  id: "definition-removed",
  title: "CRD removed and reinstalled",
  inject: async (lab) => {
    await lab.change(lab.subjects, { inForce: "Yes", evaluable: "No" }, async () => {
      await removeDefinition(lab.cp, HOOK_POLICY_DEFINITION);
    });
  },
  heal: async (lab) => {
    await lab.change(
      lab.subjects,
      { inForce: "No", evaluable: "Yes" },
      async () => await installHookPolicy(lab.cp),
    );
    await lab.change(lab.subjects, { inForce: "Yes" }, async () => await lab.storePolicy());
  },
};

/** The namespace controller deletes the policy and the Clusters, in any order. */
const namespaceTerminated: Scenario = {
  id: "namespace-terminated",
  title: "Namespace terminated, with its policy and Clusters",
  hook: "BeforeClusterDelete",
  settle: async (lab) => {
    await inParallel(lab.subjects, 10, async ({ namespace, name }) => {
      await lab.cp.patch(clusterRef(namespace, name), { metadata: { finalizers: GUARD } });
    });
    await lab.cp.waitFor("the policy to guard itself", async () => {
      return ((await lab.cp.get(POLICY)).metadata.finalizers ?? []).length > 0;
    });
  },
  inject: async (lab) => {
    await lab.cp.delete({ apiVersion: "v1", kind: "Namespace", name: TEAM });
    await lab.cp.waitFor("the policy to be deleted", async () => {
      return (await lab.cp.get(POLICY)).metadata.deletionTimestamp !== undefined;
    });
  },
};

export const POLICIES: readonly Scenario[] = [
  deleted,
  invalid,
  manyBroken,
  definitionRemoved,
  namespaceTerminated,
];
