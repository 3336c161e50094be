/** Makes mutants of the policies of suites: valid policies that differ from the original by one small change. */

import { fieldsOf, isFields } from "../../../lib/fields.ts";
import type { ServedHooks } from "../../../api/hook-catalog.ts";
import { compilePolicy } from "../../../policy/compile.ts";
import { policyName } from "../../../policy/policy-ref.ts";
import { policyKind, type RawObject, viewPolicy } from "../../fleet/kinds.ts";
import type { FilePlace, Suite } from "../suite.ts";
import { pathBelow, valueAt } from "../../../lib/field-path.ts";
import { type Edit, editsOf } from "./edits.ts";

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
}

export interface MutatedPolicy {
  readonly mutant: Mutant;
  readonly object: RawObject;
  /** The text of the policy as it was. The same policy in several suites is changed in all of them. */
  readonly text: string;
  readonly suites: readonly Suite[];
}

/** `hasTime`: for another mutant. */
export function mutatedPolicies(
  suites: readonly Suite[],
  served: ServedHooks,
  hasTime: () => boolean,
): MutatedPolicy[] {
  const uses = suites.flatMap((suite) => {
    const policies = [suite.objects, ...suite.created].flat().filter((object) => policyKind(object));
    const distinct = new Map(policies.map((policy) => [JSON.stringify(policy), policy]));
    return [...distinct].map(([text, policy]) => ({ text, policy, suite }));
  });
  return [...Map.groupBy(uses, ({ text }) => text)].flatMap(([text, same]) => {
    const users = same.map(({ suite }) => suite);
    return same.slice(0, 1).flatMap(({ policy, suite }) => {
      const mutants = mutantsOf(policy, suite.places.get(policy), { served, hasTime });
      return mutants.map((each) => ({ ...each, text, suites: users })).toArray();
    });
  });
}

/** Leaves out edits that make no valid policy, or the same as an earlier edit. */
function* mutantsOf(
  policy: RawObject,
  place: FilePlace | undefined,
  { served, hasTime }: { readonly served: ServedHooks; readonly hasTime: () => boolean },
): IteratorObject<Pick<MutatedPolicy, "mutant" | "object">, undefined> {
  const kind = policyKind(policy);
  const { spec } = policy;
  if (kind === undefined || !isFields(spec)) return;
  const seen = new Set([JSON.stringify(spec)]);
  const { ref } = compilePolicy(kind, viewPolicy(kind, policy), served);
  for (const edit of inTime(editsOf(spec), hasTime)) {
    const object = fieldsOf(withEdit(policy, edit));
    if (seen.size === seen.add(JSON.stringify(object["spec"])).size) continue;
    // The API server would refuse an invalid policy, so it cannot be a mistake that goes unnoticed.
    const { errors, notEnforceable } = compilePolicy(kind, viewPolicy(kind, object), served);
    if (errors.length + notEnforceable.length > 0) continue;
    const path = edit.path.reduce<string>(pathBelow, "");
    const before = valueAt(policy, edit.path);
    const mutant = {
      policy: policyName(ref),
      file: place?.file ?? "-",
      ...(place?.position(path) ?? { line: 1, column: 1 }),
      path,
      ...(before !== undefined && { before: JSON.stringify(before) }),
      ...(edit.to !== undefined && { after: JSON.stringify(edit.to) }),
    };
    yield { mutant, object };
  }
}

/** The first edit comes always: without any mutant, nothing would show that some are left. */
function* inTime(edits: Iterable<Edit>, hasTime: () => boolean): IteratorObject<Edit, undefined> {
  for (const edit of edits) {
    yield edit;
    if (!hasTime()) return;
  }
}

export function withEdit(value: unknown, { path: [key, ...rest], to }: Edit): unknown {
  if (key === undefined) return to;
  const isRemoved = rest.length === 0 && to === undefined;
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    return isRemoved
      ? items.filter((_, index) => index !== key)
      : items.map((item, index) => (index === key ? withEdit(item, { path: rest, to }) : item));
  }
  const fields = new Map(Object.entries(isFields(value) ? value : {}));
  if (isRemoved) fields.delete(String(key));
  else fields.set(String(key), withEdit(fields.get(String(key)), { path: rest, to }));
  return Object.fromEntries(fields);
}
