/**
 * Checks that the author of a policy may do what it makes the operator do: a gate reveals what the operator sees of the objects
 * that it looks at to every reader of the policy, and tasks act as a ServiceAccount. Without this check policies would be an
 * oracle, and a way to the rights of others.
 *
 * - If the API server does not answer, only gates that are new or changed are refused. It has just sent the review, so
 *   a retry helps, and an admitted gate is never checked again.
 * - A kind that is not served has no resource to check. Only users who may list everything in its group can name it,
 *   such as administrators: others could create the gate first and read through it once the kind exists.
 */

import { entryOf } from "../lib/entry-of.ts";
import { outOfReach } from "../policy/gates/object.ts";
import { apiGroup, objectKindKey } from "../policy/watched-objects.ts";
import type { ObjectGate, NeededAccount } from "./needed-rights.ts";
import type { UserInfo } from "./review-validators.ts";
import type { Access, AccessReviewer, KindLocation } from "./review-world.ts";

export interface AccessFinding {
  readonly path: string;
  readonly forbidden?: string;
  /** The API server did not answer, because of `failure`. */
  readonly unknown?: string;
  readonly failure?: unknown;
  readonly warning?: string;
}

export interface AccessRequest {
  readonly gates: readonly ObjectGate[];
  /** Absent: the policy has no tasks. */
  readonly account?: NeededAccount;
  readonly user: UserInfo;
  /** Whether the policy reaches only objects in its own namespace. */
  readonly ownNamespaceOnly: boolean;
}

/** Calls the API server once per kind and right, however many gates need it. Never rejects. */
export async function reviewAccess(
  { gates, account, user, ownNamespaceOnly }: AccessRequest,
  reviewer: AccessReviewer,
  signal: AbortSignal,
): Promise<AccessFinding[]> {
  const who = `user ${JSON.stringify(user.username)}`;
  const locate = once(objectKindKey, (kind: ObjectGate["kind"]) => reviewer.locate(kind, signal));
  const may = once(JSON.stringify, (access: Access) => reviewer.may(user, access, signal));
  const impersonates = async ({ path, namespace, name }: NeededAccount): Promise<AccessFinding> => {
    const access: Access = { verb: "impersonate", group: "", resource: "serviceaccounts", namespace, name };
    const what = `ServiceAccount ${JSON.stringify(name)} in the namespace ${JSON.stringify(namespace)}`;
    const refused = `${who} cannot impersonate ${what}: a policy's tasks may act only as whom its author may`;
    return await orUnknown(path, `${who} may impersonate ${what}`, async () =>
      (await may(access)) ? { path } : { path, forbidden: refused },
    );
  };
  const reads = async (gate: ObjectGate): Promise<AccessFinding> => {
    const { path, kind, selectsNamespaces } = gate;
    return await orUnknown(path, `${who} may read objects of kind ${kind.kind}`, async () => {
      const located = await locate(kind);
      for (const access of accessesOf(gate, located))
        if (!(await may(access))) return { path, forbidden: refusal(who, access, located) };
      const isReached = located.resource?.namespaced !== false;
      const warning =
        (isReached ? undefined : outOfReach(ownNamespaceOnly, selectsNamespaces)) ?? located.problem;
      return { path, ...(warning !== undefined && { warning }) };
    });
  };
  return await Promise.all([...(account === undefined ? [] : [impersonates(account)]), ...gates.map(reads)]);
}

async function orUnknown(
  path: string,
  what: string,
  look: () => Promise<AccessFinding>,
): Promise<AccessFinding> {
  try {
    return await look();
  } catch (failure) {
    return { path, unknown: `the API server does not say whether ${what}: try again`, failure };
  }
}

const NAMESPACES: Access = { verb: "list", group: "", resource: "namespaces" };

/** A gate that selects namespaces reveals which of them have objects of that name, and what labels they have. */
function accessesOf(gate: ObjectGate, { resource }: KindLocation): readonly Access[] {
  if (resource === undefined) return [{ verb: "list", group: apiGroup(gate.kind.apiVersion), resource: "*" }];
  const { group, plural, namespaced } = resource;
  const { name, namespace, selectsNamespaces } = gate;
  if (selectsNamespaces) return [{ verb: "list", group, resource: plural }, NAMESPACES];
  return [
    {
      verb: name === undefined ? "list" : "get",
      group,
      resource: plural,
      ...(namespaced && namespace !== undefined && { namespace }),
      ...(name !== undefined && { name }),
    },
  ];
}

/** Worded like the API server's own refusals. */
function refusal(who: string, access: Access, { resource, problem }: KindLocation): string {
  const { verb, group, namespace, name } = access;
  if (resource === undefined) {
    return `it is unknown whether ${who} may read objects of this kind: ${problem}`;
  }
  const what = `resource ${JSON.stringify(access.resource)} in API group ${JSON.stringify(group)}`;
  const which = name === undefined ? "" : ` named ${JSON.stringify(name)}`;
  const everywhere =
    resource.namespaced && access !== NAMESPACES ? " in all namespaces" : " at the cluster scope";
  const where = namespace === undefined ? everywhere : ` in the namespace ${JSON.stringify(namespace)}`;
  return `${who} cannot ${verb} ${what}${which}${where}: a gate may look only at what its author may read`;
}

function once<A, R>(
  keyOf: (argument: A) => string,
  work: (argument: A) => Promise<R>,
): (argument: A) => Promise<R> {
  const started = new Map<string, Promise<R>>();
  return (argument) => entryOf(started, keyOf(argument), () => work(argument));
}
