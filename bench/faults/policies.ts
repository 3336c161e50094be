/** Policies, their kind and their namespace change or go while they hold. */

import { inParallel, removeDefinition, HOOK_POLICY_DEFINITION } from "../../test/apiserver/operatorlab.ts";
import { clusterRef } from "../../test/controlplane/lab.ts";
import { installHookPolicy } from "../../test/controlplane/operator.ts";
import { approvalRule, policyRef } from "../../test/controlplane/policies.ts";
import { FINALIZER } from "../fleet/clusters.ts";
import { arrangeDefault, FEW, type Lab, numbered, OTHER_TEAM, POLICY, TEAM } from "./lab.ts";
import type { Scenario } from "./scenario.ts";

/** CEL that the API server takes, and nobody can evaluate. */
const BROKEN = [{ name: "broken", expression: "cluster.metadata.name ==" }];

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

/** The API server takes the broken expression; what cannot be evaluated holds. */
function broken(id: string, title: string, namespace: string, names: readonly string[]): Scenario {
  const setGates = async (lab: Lab, evaluable: "Yes" | "No", until: unknown): Promise<void> => {
    const patch = [{ op: "replace", path: "/spec/rules/0/until", value: until }];
    await lab.change(lab.of(namespace), { evaluable }, async () => {
      await inParallel(names, 10, async (name) => {
        await lab.cp.patch(policyRef(namespace, name), patch, { type: "json" });
      });
    });
  };
  return {
    id,
    title,
    inject: async (lab) => await setGates(lab, "No", BROKEN),
    heal: async (lab) => await setGates(lab, "Yes", approvalRule(lab.hook).until),
  };
}

const invalid = broken("policy-invalid", "Policy made invalid while it holds", TEAM, [POLICY.name]);

const manyNames = numbered(100, "protect");
const manyTitle = "100 policies broken at once; another namespace keeps its own";

const manyBroken: Scenario = {
  ...broken("policies-broken", manyTitle, OTHER_TEAM, manyNames),
  arrange: async (lab) => {
    await arrangeDefault(lab);
    await lab.addSubjects(OTHER_TEAM, FEW);
    await inParallel(manyNames, 10, async (name) => await lab.storePolicy(policyRef(OTHER_TEAM, name)));
  },
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
      await lab.cp.patch(clusterRef(namespace, name), { metadata: { finalizers: [FINALIZER] } });
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
