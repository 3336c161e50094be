/** Infers annotations and labels from whether gates held, because an audit log does not contain them. */

import { fieldsOf, isFields, listOf } from "../../../lib/fields.ts";
import type { GateSpec, MetadataGateSpec } from "../../../api/hook-policy.ts";
import { ANY_VALUE, MISSING, wantedValue } from "../../../policy/gates/metadata.ts";
import type { MetadataField } from "../../../policy/settable.ts";
import type { ClusterCall } from "../../../policy/world.ts";

export interface Mark {
  readonly on: "Cluster" | "Namespace";
  readonly field: "annotations" | "labels";
  readonly key: string;
  /** null: it is absent, or has another value. */
  readonly value: string | null;
}

/** The marks that explain which gates of the rule held. */
export function marksOf(
  rule: unknown,
  gates: readonly { readonly gate: string; readonly holds: boolean | null }[],
  { cluster, call }: ClusterCall,
): Mark[] {
  return gates.flatMap(({ gate: name, holds }) => {
    const spec = listOf(fieldsOf(rule)["until"]).find((each) => fieldsOf(each)["name"] === name);
    if (!isFields(spec) || holds === null) return [];
    return metadataGates(spec, holds).flatMap(([field, wanted]) => {
      const value = wantedValue(field, wanted, cluster, call);
      if (value === MISSING) return [];
      const mark: Mark = {
        on: wanted.from ?? "Cluster",
        field: field === "annotation" ? "annotations" : "labels",
        key: wanted.key,
        value: holds ? (value ?? ANY_VALUE) : null,
      };
      return [mark];
    });
  });
}

type MetadataGate = readonly [field: MetadataField, spec: MetadataGateSpec];

/** If anyOf held, its first alternative is taken, because the audit log does not say which of them held. */
function metadataGates(gate: Partial<GateSpec>, holds: boolean): MetadataGate[] {
  const { annotation, label, anyOf = [] } = gate;
  const own: MetadataGate[] = [
    ...(annotation === undefined ? [] : [["annotation", annotation] as const]),
    ...(label === undefined ? [] : [["label", label] as const]),
  ];
  const alternatives = anyOf.flatMap((each) => metadataGates(each, holds));
  const onlyMarks = alternatives.length === anyOf.length;
  return [...own, ...(holds ? (onlyMarks ? alternatives.slice(0, 1) : []) : alternatives)];
}
