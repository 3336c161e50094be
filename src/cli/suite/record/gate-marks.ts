/** Infers annotations and labels from whether gates were met, because an audit log does not contain them. */

import { fieldsOf, isFields, listOf } from "../../../lib/fields.ts";
import { isMetByMarks, marksOf, membersOf } from "../../../policy/gates/gates.ts";
import type { ClusterCall } from "../../../policy/world.ts";

export interface Mark {
  readonly on: "Cluster" | "Namespace";
  readonly field: "annotations" | "labels";
  readonly key: string;
  /** null: it is absent, or has another value. */
  readonly value: string | null;
}

/** The marks that explain which gates of the rule were met. */
export function marksOfGates(
  rule: unknown,
  gates: readonly { readonly gate: string; readonly holds: boolean | null }[],
  { cluster, call }: ClusterCall,
): Mark[] {
  return gates.flatMap(({ gate: name, holds }) => {
    const spec = listOf(fieldsOf(rule)["until"]).find((each) => fieldsOf(each)["name"] === name);
    if (!isFields(spec) || holds === null) return [];
    return explaining(spec, holds)
      .flatMap((gate) => marksOf(gate, cluster, call))
      .map(({ on, field, key, value }): Mark => {
        const fields = field === "annotation" ? "annotations" : "labels";
        return { on, field: fields, key, value: holds ? value : null };
      });
  });
}

/** If anyOf was met, its first member is taken, because the audit log does not say which of them was. */
function explaining(gate: unknown, holds: boolean): readonly unknown[] {
  const members = membersOf(gate);
  if (!holds) return members;
  return members.every(isMetByMarks) ? members.slice(0, 1) : [];
}
