/** docs/recipes/two-people.md, with what its ValidatingAdmissionPolicy refuses. */

import assert from "node:assert/strict";
import type { Recipe } from "./recipe-fleet.ts";

const FIRST = "hooks.example.com/first-approval";
const SECOND = "hooks.example.com/second-approval";
const APPROVERS = "platform-approvers";

/** Neither Anna, who gives the first approval, nor a user outside the group can give the second; then Bert does. */
export async function approvedByTwo(page: Recipe, stillHeld: () => Promise<void>): Promise<void> {
  await page.shows("kubectl get clusterhookpolicy");
  const annotate = ["annotate", "clusters.cluster.x-k8s.io", "-n", page.namespace, "prod-1", "--overwrite"];
  await page.refusedWhenTried(...annotate, `${FIRST}=anna`);
  const administrator = page.as({ name: "carl", group: "system:masters" });
  await administrator.isRefused('first-approval="', /only the group platform-approvers may approve/);
  const anna = page.as({ name: "anna", group: APPROVERS });
  const explained = await anna.type("hookpolicy explain");
  assert.match(
    explained,
    /^Blocked: BeforeClusterDelete .*\n +note +one of platform-approvers writes their own user name .* and another person second-approval\n.*one of platform-approvers writes first-approval/,
  );
  assert.doesNotMatch(explained, /you may not/);
  await anna.type('first-approval="');
  await anna.shows("second-approval=anna");
  await anna.isRefused('second-approval="', /one person cannot give both approvals/);
  for (const forged of [[`${SECOND}=bert`], [`${FIRST}=bert`, `${SECOND}=anna`]]) {
    const tried = page.cp.kubectl(...annotate, ...forged, "--as=anna", `--as-group=${APPROVERS}`);
    await assert.rejects(tried, /an approval is the user name of who gives it: anna/);
  }
  await stillHeld();
  await page.as({ name: "bert", group: APPROVERS }).type('second-approval="');
}
