/**
 * Checks that the author of a gate may read the objects that it looks at. A gate reveals what the operator sees of them
 * to every reader of the policy, so without this check policies would be an oracle.
 *
 * - If the API server does not answer, only gates that are new or changed are refused. It has just sent the review, so
 *   a retry helps, and an admitted gate is never checked again.
 * - A kind that is not served has no resource to check. Only users who may list everything in its group can name it,
 *   such as administrators: others could create the gate first and read through it once the kind exists.
 */

import { outOfReach } from "../policy/gates/object.ts";
import { groupOf, objectKindKey } from "../policy/objects.ts";
import type { FieldError } from "../policy/validation/schema.ts";
import type { ObjectGate } from "./object-gates.ts";
import type { UserInfo } from "./review-validators.ts";
import type { Access, AccessReviewer, KindLocation } from "./review-world.ts";

export interface AccessFindings {
  readonly forbidden: readonly FieldError[];
  /** The rights of these gates are unknown, because of `failure`. */
  readonly unknown: readonly FieldError[];
  readonly failure?: unknown;
  readonly warnings: readonly FieldError[];
}

export interface AccessRequest {
  readonly gates: readonly ObjectGate[];
  readonly user: UserInfo;
  /** Whether the policy reaches only objects in its own namespace. */
  readonly ownNamespaceOnly: boolean;
}

/** Calls the API server once per kind and right, however many gates need it. Never rejects. */
export async function reviewAccess(
  { gates, user, ownNamespaceOnly }: AccessRequest,
  reviewer: AccessReviewer,
  signal: AbortSignal,
): Promise<AccessFindings> {
  const locate = once(objectKindKey, (kind: ObjectGate["kind"]) => reviewer.locate(kind, signal));
  const may = once(JSON.stringify, (access: Access) => reviewer.may(user, access, signal));
  const findings = await Promise.all(
    gates.map(async (gate): Promise<Partial<AccessFindings>> => {
      const { path } = gate;
      try {
        const located = await locate(gate.kind);
        for (const access of accessesOf(gate, located))
          if (!(await may(access))) return { forbidden: [{ path, message: refusal(user, access, located) }] };
        const { selectsNamespaces } = gate;
        const isReached = located.resource?.namespaced !== false;
        const problem =
          (isReached ? undefined : outOfReach(ownNamespaceOnly, selectsNamespaces)) ?? located.problem;
        return problem === undefined ? {} : { warnings: [{ path, message: problem }] };
      } catch (failure) {
        const message = `the API server does not say whether user ${JSON.stringify(user.username)} may read objects of kind ${gate.kind.kind}: try again`;
        return { unknown: [{ path, message }], failure };
      }
    }),
  );
  return {
    forbidden: findings.flatMap(({ forbidden = [] }) => forbidden),
    unknown: findings.flatMap(({ unknown = [] }) => unknown),
    warnings: findings.flatMap(({ warnings = [] }) => warnings),
    failure: findings.find(({ unknown }) => unknown !== undefined)?.failure,
  };
}

const NAMESPACES: Access = { verb: "list", group: "", resource: "namespaces" };

/** A gate that selects namespaces reveals which of them have objects of that name, and what labels they have. */
function accessesOf(gate: ObjectGate, { resource }: KindLocation): readonly Access[] {
  if (resource === undefined) return [{ verb: "list", group: groupOf(gate.kind.apiVersion), resource: "*" }];
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
function refusal(user: UserInfo, access: Access, { resource, problem }: KindLocation): string {
  const { verb, group, namespace, name } = access;
  const who = `user ${JSON.stringify(user.username)}`;
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
  return (argument) => {
    const key = keyOf(argument);
    const result = started.get(key) ?? work(argument);
    started.set(key, result);
    return result;
  };
}
