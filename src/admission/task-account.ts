/**
 * Checks that the author of a policy with tasks may impersonate the ServiceAccount as which they act: who may could do all
 * of it by hand. Every change of such a spec is one: without a gate, or with a wider selector, the same tasks do more.
 */

import { fieldsOf, listOf, nonEmptyText } from "../lib/fields.ts";
import type { AccessFindings } from "./access.ts";
import type { GatedObject } from "./object-gates.ts";
import type { UserInfo } from "./review-validators.ts";
import type { Access, AccessReviewer } from "./review-world.ts";

export interface TaskAccount {
  /** spec.serviceAccountName or spec.serviceAccount */
  readonly path: string;
  readonly namespace: string;
  readonly name: string;
}

/** The account of the policy or, if it has no tasks any more, that of the old one; of specs that may be invalid. */
export function accountOf(policy: GatedObject, old: GatedObject | undefined): TaskAccount | undefined {
  return ownAccountOf(policy) ?? (old && ownAccountOf(old));
}

function ownAccountOf({ kind, metadata, spec }: GatedObject): TaskAccount | undefined {
  const { rules, serviceAccountName, serviceAccount } = fieldsOf(spec);
  if (kind === "HookRollout" || !listOf(rules).some((rule) => (fieldsOf(rule)["tasks"] ?? null) !== null))
    return undefined;
  const [path, namespace, name] =
    kind === "HookPolicy"
      ? ["spec.serviceAccountName", metadata.namespace, serviceAccountName]
      : ["spec.serviceAccount", fieldsOf(serviceAccount)["namespace"], fieldsOf(serviceAccount)["name"]];
  return { path, namespace: nonEmptyText(namespace) ?? "", name: nonEmptyText(name) ?? "" };
}

type Findings = Pick<AccessFindings, "forbidden" | "unknown" | "failure">;

/** Never rejects. */
export async function reviewAccount(
  account: TaskAccount | undefined,
  user: UserInfo,
  reviewer: AccessReviewer,
  signal: AbortSignal,
): Promise<Findings> {
  if (account === undefined) return { forbidden: [], unknown: [] };
  const { path, namespace, name } = account;
  const access: Access = { verb: "impersonate", group: "", resource: "serviceaccounts", namespace, name };
  const who = `user ${JSON.stringify(user.username)}`;
  const what = `ServiceAccount ${JSON.stringify(name)} in the namespace ${JSON.stringify(namespace)}`;
  try {
    if (await reviewer.may(user, access, signal)) return { forbidden: [], unknown: [] };
    const message = `${who} cannot impersonate ${what}: a policy's tasks may act only as whom its author may`;
    return { forbidden: [{ path, message }], unknown: [] };
  } catch (failure) {
    const message = `the API server does not say whether ${who} may impersonate ${what}: try again`;
    return { forbidden: [], unknown: [{ path, message }], failure };
  }
}
