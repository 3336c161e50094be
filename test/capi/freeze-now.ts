/** docs/recipes/freeze-now.md. */

import type { HookName } from "../../src/api/runtime-hooks.ts";
import type { Ref } from "../controlplane/client.ts";
import { deleteCluster, waitUntilGone } from "../controlplane/lab.ts";
import { clusterPolicyRef } from "../controlplane/policies.ts";
import type { Recipe } from "./recipe-fleet.ts";

/** Holds deletions in both namespaces, until one is exempt and then the policy is gone. */
export async function frozenUntilDeleted(
  page: Recipe,
  exempt: Recipe,
  held: (policy: Ref, cluster: Ref, hook: HookName, reason: string) => Promise<void>,
): Promise<void> {
  const [cluster, other] = [await page.running(), await exempt.running()];
  const isHeld = async (each: Ref): Promise<void> =>
    await held(clusterPolicyRef("freeze-now"), each, "BeforeClusterDelete", "WaitingForLabel");
  const gone = async ({ namespace = "", name }: Ref): Promise<void> =>
    await waitUntilGone(page.cp, namespace, name);
  await page.write("freeze-now.yaml", page.yaml("freeze-now"));
  await page.type("kubectl apply");
  await page.type("kubectl wait");
  for (const each of [cluster, other]) {
    await deleteCluster(page.cp, each.namespace ?? "", each.name);
    await isHeld(each);
  }
  await exempt.type("kubectl label namespace");
  await gone(other);
  await isHeld(cluster);
  await page.type("kubectl delete clusterhookpolicy");
  await gone(cluster);
}
