/** Makes mutants of the policies of suites: valid policies that differ from the original by one small change. */

import { isFields } from "../../../lib/fields.ts";
import type { ServedHooks } from "../../../api/hook-catalog.ts";
import { compilePolicy } from "../../../policy/compile.ts";
import { type PolicyKind, policyName } from "../../../policy/policy-ref.ts";
import { policyKind, type RawObject, viewPolicy } from "../../fleet/kinds.ts";
import type { FilePlace, Suite } from "../suite.ts";
import { valueAt } from "../../validate/value-at.ts";
import { type Edit, editsOf, type Path } from "./edits.ts";

export interface Mutant {
  /** HookPolicy team-a/protect */
  readonly policy: string;
  /** The place of the changed field. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly path: string;
  /** JSON; absent: there was no such field. */
  readonly before?: string;
  /** JSON; absent: the field was removed. */
  readonly after?: string;
  readonly object: RawObject;
}

/** A policy, the suites that use it, and its small changes. */
export interface MutatedPolicy {
  /** The text of the policy. The same policy in several suites is changed in all of them. */
  readonly text: string;
  readonly suites: readonly Suite[];
  readonly edits: readonly Edit[];
  /** `undefined`: the edit makes no valid policy, or the same as an earlier edit. */
  readonly mutantOf: (edit: Edit) => Mutant | undefined;
}

export function mutatedPolicies(suites: readonly Suite[], served: ServedHooks): MutatedPolicy[] {
  const users = new Map<string, { readonly policy: RawObject; readonly suites: Suite[] }>();
  for (const suite of suites) {
    const policies = [suite.objects, ...suite.created].flat().filter((object) => policyKind(object));
    for (const [text, policy] of new Map(policies.map((each) => [JSON.stringify(each), each]))) {
      const user = users.get(text) ?? { policy, suites: [] };
      user.suites.push(suite);
      users.set(text, user);
    }
  }
  return [...users].flatMap(([text, { policy, suites: own }]) => {
    const kind = policyKind(policy);
    const { spec } = policy;
    if (kind === undefined || !isFields(spec)) return [];
    const place = own[0]?.places.get(policy);
    return [
      { text, suites: own, edits: [...editsOf(spec)], mutantOf: mutating(kind, policy, place, served) },
    ];
  });
}

function mutating(
  kind: PolicyKind,
  policy: RawObject,
  place: FilePlace | undefined,
  served: ServedHooks,
): MutatedPolicy["mutantOf"] {
  const seen = new Set([JSON.stringify(policy["spec"])]);
  const { ref } = compilePolicy(kind, viewPolicy(kind, policy), served);
  return (edit) => {
    const object = edited(policy, edit);
    if (!isFields(object)) return undefined;
    const text = JSON.stringify(object["spec"]);
    if (seen.size === seen.add(text).size) return undefined;
    // The API server would refuse an invalid policy, so it cannot be a mistake that goes unnoticed.
    const { errors, notEnforceable } = compilePolicy(kind, viewPolicy(kind, object), served);
    if (errors.length + notEnforceable.length > 0) return undefined;
    const path = pathText(edit.path);
    const before = valueAt(policy, edit.path);
    return {
      policy: policyName(ref),
      file: place?.file ?? "-",
      ...(place?.position(path) ?? { line: 1, column: 1 }),
      path,
      ...(before !== undefined && { before: JSON.stringify(before) }),
      ...(edit.to !== undefined && { after: JSON.stringify(edit.to) }),
      object,
    };
  };
}

/** spec.rules[0].until[1], as the API server writes it. */
export function pathText(path: Path): string {
  return path
    .map((key) => {
      if (typeof key === "number") return `[${key}]`;
      return /^[A-Za-z]\w*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
    })
    .join("")
    .replace(/^\./, "");
}

export function edited(value: unknown, { path: [key, ...rest], to }: Edit): unknown {
  if (key === undefined) return to;
  const isRemoved = rest.length === 0 && to === undefined;
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    return isRemoved
      ? items.filter((_, index) => index !== key)
      : items.map((item, index) => (index === key ? edited(item, { path: rest, to }) : item));
  }
  const fields = new Map(Object.entries(isFields(value) ? value : {}));
  if (isRemoved) fields.delete(String(key));
  else fields.set(String(key), edited(fields.get(String(key)), { path: rest, to }));
  return Object.fromEntries(fields);
}
