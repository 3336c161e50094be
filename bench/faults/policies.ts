/** Policies, their kind and their namespace change or are deleted while they hold Clusters. */

import { inParallel, removeDefinition, HOOK_POLICY_DEFINITION } from "../../test/apiserver/operator-lab.ts";
import { clusterRef } from "../../test/controlplane/lab.ts";
import { installHookPolicy } from "../../test/controlplane/operator.ts";
import { approvalRule, policyRef } from "../../test/controlplane/policies.ts";
import { FINALIZER } from "../fleet/clusters.ts";
import { arrangeDefault, FEW, type Lab, numbered, OTHER_TEAM, POLICY, TEAM } from "./lab.ts";
import type { Scenario } from "./scenario.ts";

/** The API server accepts this CEL expression, and the operator cannot evaluate it. */
const BROKEN = [{ name: "broken", expression: "cluster.metadata.name ==" }];
const MANY = numbered(100, "protect");

async function removePolicy({ cp }: Lab): Promise<void> {
  await cp.delete(POLICY);
  await cp.waitFor("the policy to be gone", async () => (await cp.find(POLICY)) === undefined);
}

/** So that they stay when they are deleted. */
async function keepSubjects({ cp, subjects }: Lab): Promise<void> {
  await inParallel(subjects, 10, async ({ namespace, name }) => {
    await cp.patch(clusterRef(namespace, name), { metadata: { finalizers: [FINALIZER] } });
  });
}

function breaking(namespace: string, names: readonly string[]): Pick<Scenario, "inject" | "heal"> {
  const setGates = async (lab: Lab, evaluable: "Yes" | "No", value: unknown): Promise<void> => {
    const patch = [{ op: "replace", path: "/spec/rules/0/until", value }];
    await lab.change(lab.of(namespace), { evaluable }, async () => {
      await inParallel(names, 10, async (name) => {
        await lab.cp.patch(policyRef(namespace, name), patch, { type: "json" });
      });
    });
  };
  return {
    inject: (lab) => setGates(lab, "No", BROKEN),
    heal: (lab) => setGates(lab, "Yes", approvalRule(lab.hook).until),
  };
}

export const POLICIES: readonly Scenario[] = [
  {
    id: "policy-deleted",
    title: "Policy deleted and made again, over and over, while it holds deletions",
    hook: "BeforeClusterDelete",
    arrange: async (lab) => {
      await arrangeDefault(lab);
      await keepSubjects(lab);
      await inParallel(lab.subjects, 10, async ({ namespace, name }) => {
        await lab.cp.delete(clusterRef(namespace, name));
      });
      await lab.readAgain();
    },
    inject: async (lab) => {
      lab.inBackground(500, async () => {
        await lab.change(lab.subjects, { inForce: "No" }, async () => await removePolicy(lab));
        await lab.change(lab.subjects, { inForce: "Yes" }, async () => await lab.storePolicy());
      });
    },
  },
  {
    id: "policy-invalid",
    title: "Policy made invalid while it holds",
    ...breaking(TEAM, [POLICY.name]),
  },
  {
    id: "policies-broken",
    title: "100 policies broken at once; another namespace keeps its own",
    arrange: async (lab) => {
      await arrangeDefault(lab);
      await lab.addSubjects(OTHER_TEAM, FEW);
      await inParallel(MANY, 10, async (name) => await lab.storePolicy(policyRef(OTHER_TEAM, name)));
    },
    ...breaking(OTHER_TEAM, MANY),
  },
  {
    // Without the definition it is unknown what holds; once the definition is back and no policy is, nothing holds.
    id: "definition-removed",
    title: "CRD removed and reinstalled",
    inject: async (lab) => {
      await lab.change(lab.subjects, { inForce: "Yes", evaluable: "No" }, async () => {
        await removeDefinition(lab.cp, HOOK_POLICY_DEFINITION);
      });
    },
    heal: async (lab) => {
      await lab.change(lab.subjects, { inForce: "No", evaluable: "Yes" }, async () => {
        await installHookPolicy(lab.cp);
      });
      await lab.change(lab.subjects, { inForce: "Yes" }, async () => await lab.storePolicy());
    },
  },
  {
    // The namespace controller deletes the policy and the Clusters, in any order.
    id: "namespace-terminated",
    title: "Namespace terminated, with its policy and Clusters",
    hook: "BeforeClusterDelete",
    settle: async (lab) => {
      await keepSubjects(lab);
      await lab.cp.waitFor("the policy's finalizer", async () => {
        return ((await lab.cp.get(POLICY)).metadata.finalizers ?? []).length > 0;
      });
    },
    inject: async (lab) => {
      await lab.cp.delete({ apiVersion: "v1", kind: "Namespace", name: TEAM });
      await lab.cp.waitFor("the policy to be deleted", async () => {
        return (await lab.cp.get(POLICY)).metadata.deletionTimestamp !== undefined;
      });
    },
  },
];
