/** Gates on an annotation or a label of the Cluster or its Namespace. */

import type { Cluster, Namespace } from "../../api/meta.ts";
import { type Fields, fieldsOf, nonEmptyText } from "../../lib/fields.ts";
import type { HookCall, HookName } from "../../api/runtime-hooks.ts";
import type { MetadataGateSpec, RuleSpec } from "../../api/hook-policy.ts";
import { type CompiledGate, type GateResult, NAMESPACE_UNKNOWN, unevaluable } from "../policy.ts";
import { READS_NOTHING, READS_VERSION, targetVersion } from "../../api/target-version.ts";
import { found as shortForm } from "../../lib/quoted-value.ts";
import { shellQuote } from "../../lib/shell-quote.ts";
import { lookup } from "../../api/selector.ts";
import { OBJECTS_UNCLEAR } from "../strict-reasons.ts";
import { affordComparison, exhausted } from "../budget.ts";
import { clusterKey } from "../../views/cluster.ts";
import type { PolicyKind } from "../policy-ref.ts";
import {
  approveCommand,
  commandToSet,
  type Mark,
  type MarkPlace,
  type MetadataField,
  whyNotSettable,
} from "../mark.ts";
import type { Situation } from "../world.ts";
import type { FieldError } from "../validation/schema.ts";
import type { Contradiction, GateKind, SiblingGate } from "./gate-kind.ts";

interface MetadataGate {
  readonly field: MetadataField;
  readonly spec: MetadataGateSpec;
  readonly of: PolicyKind;
}

export const annotationGate = kindOf("annotation");
export const labelGate = kindOf("label");

function kindOf(field: MetadataField): GateKind<MetadataGateSpec> {
  return {
    compile: (name, spec, { policy }) => compile(name, { field, spec, of: policy.kind }),
    check: (spec, rule) => ({ warnings: [...outlives(spec, rule.hooks), ...uidBeforeCreation(spec, rule)] }),
    contradicts: (spec, earlier) => otherValues(field, spec, earlier),
    reads: (spec) => readsOf(field, fieldsOf(spec)),
    marks: (spec, cluster, call) => marksOf(field, spec, cluster, call),
    canFail: ({ from, valueFrom }) => from === "Namespace" || valueFrom === "TargetVersion",
    approvesVersion: ({ valueFrom }) => valueFrom === "TargetVersion",
  };
}

function readsOf(field: MetadataField, { key, from }: Fields): readonly MarkPlace[] {
  return typeof key === "string" ? [{ on: from === "Namespace" ? from : "Cluster", field, key }] : [];
}

/**
 * An approval that only has to exist also approves the next operation. A Cluster is created only once, so that its own
 * metadata approves no other creation.
 */
function outlives(gate: MetadataGateSpec, hooks: readonly HookName[]): FieldError[] {
  const own = gate.from !== "Namespace";
  const before = hooks.filter(
    (hook) => hook.startsWith("Before") && !(own && hook === "BeforeClusterCreate"),
  );
  if (before.length === 0 || gate.value !== undefined || gate.valueFrom !== undefined) return [];
  const message = `${gate.key} only has to be present, so it stays an approval for whatever comes later. \`valueFrom\` binds it: TargetVersion to one upgrade, ClusterUID to one deletion, ClusterName to one creation`;
  return [{ path: "", id: "unbound-approval", message }];
}

function uidBeforeCreation(
  { valueFrom }: MetadataGateSpec,
  { hooks, admission = "None" }: Pick<RuleSpec, "hooks" | "admission">,
): FieldError[] {
  if (valueFrom !== "ClusterUID" || admission === "None" || !hooks.includes("BeforeClusterCreate")) return [];
  const message =
    "a Cluster gets its uid when it is created, so no new Cluster can carry it, and admission lets none pass by it: use ClusterName";
  return [{ path: ".valueFrom", id: "uid-before-creation", message }];
}

function otherValues(
  field: MetadataField,
  { key, from = "Cluster", value }: MetadataGateSpec,
  earlier: readonly SiblingGate<MetadataGateSpec>[],
): readonly Contradiction[] {
  if (value === undefined) return [];
  return earlier
    .filter(({ spec }) => spec.key === key && (spec.from ?? "Cluster") === from)
    .filter(({ spec }) => spec.value !== undefined && spec.value !== value)
    .map(({ name }) => ({
      path: ".value",
      why: `gate ${name} wants another value of the same ${field}, ${key}`,
    }));
}

function compile(name: string, gate: MetadataGate): CompiledGate {
  return {
    name,
    requestFields: gate.spec.valueFrom === "TargetVersion" ? READS_VERSION : READS_NOTHING,
    evaluate: (situation) => evaluateMetadata(gate, situation),
  };
}

function evaluateMetadata(gate: MetadataGate, situation: Situation): GateResult {
  const { field, spec } = gate;
  const { world, call } = situation;
  const target = spec.from === "Namespace" ? world.namespace : world.cluster;
  if (target === undefined || target.tooLarge === true) {
    const wanted = `${field} ${spec.key} on the Namespace`;
    return unevaluable(NAMESPACE_UNKNOWN, wanted, "the Namespace is not known");
  }
  const value = wantedValue(field, spec, world.cluster, call);
  const on = describe(target, spec.from);
  if (value === MISSING) {
    return unevaluable("TargetVersionUnknown", `${field} ${spec.key} on ${on}`, "the call names no version");
  }
  const wanted = `${field} ${spec.key}${value === undefined ? "" : `=${shellQuote(value)}`} on ${on}`;
  const found = valueOn(target, field, spec.key);
  if (!affordComparison(found, value)) return exhausted();
  // Shortened, because every gate keeps a copy.
  const observed = found === undefined ? "absent" : `present: ${shortForm(found)}`;
  if (found !== undefined && (value === undefined || found === value))
    return { met: true, reason: "Holds", wanted, observed };
  if (isLeftOpen(spec, found, world.cluster))
    return unevaluable(OBJECTS_UNCLEAR, wanted, `${observed}; ${UID_UNKNOWN}`);
  return { ...waiting(field), wanted, observed, ...remedyFor(gate, value, situation, target) };
}

function waiting(field: MetadataField): Pick<GateResult, "met" | "reason"> {
  return { met: false, reason: field === "annotation" ? "WaitingForAnnotation" : "WaitingForLabel" };
}

const UID_UNKNOWN = "the files do not say the Cluster's uid: write its metadata.uid";

function isLeftOpen(
  { valueFrom }: MetadataGateSpec,
  found: string | undefined,
  { uidUnknown }: Cluster,
): boolean {
  return valueFrom === "ClusterUID" && uidUnknown === true && nonEmptyText(found) !== undefined;
}

function valueOn({ metadata }: Cluster | Namespace, field: MetadataField, key: string): string | undefined {
  return lookup(metadata[field === "label" ? "labels" : "annotations"], key);
}

function remedyFor(
  { field, spec: { key, from: on = "Cluster" }, of }: MetadataGate,
  wanted: string | undefined,
  { world: { cluster, readers }, call }: Situation,
  target: Cluster | Namespace,
): Pick<GateResult, "remedy" | "withheld"> {
  const mark: Mark = { on, field, key, value: wanted ?? ANY_VALUE };
  const withheld = whyNotSettable(mark, of, readers)?.why;
  if (withheld !== undefined) return { withheld };
  // Not everything that selects by labels is known here: approve looks.
  if (of === "HookPolicy" && mark.field === "label" && readers?.complete !== true)
    return { remedy: approveCommand(clusterKey(cluster), call.hook) };
  const value = wanted ?? (field === "label" ? OWN_VALUE : ANY_VALUE);
  const overwrite = valueOn(target, field, key) !== undefined;
  return { remedy: commandToSet({ ...mark, value, overwrite }, target.metadata) };
}

function marksOf(
  field: MetadataField,
  spec: MetadataGateSpec,
  cluster: Cluster,
  call: HookCall,
): readonly Mark[] {
  const value = wantedValue(field, spec, cluster, call);
  return value === MISSING
    ? []
    : [{ on: spec.from ?? "Cluster", field, key: spec.key, value: value ?? ANY_VALUE }];
}

/** The value that commands set if any value is accepted. */
const ANY_VALUE = "true";
/** A placeholder in commands, because only a person knows a suitable value for the label. */
const OWN_VALUE = "VALUE";

const MISSING = Symbol("missing");

/** `undefined`: any value is accepted. MISSING: the call lacks what the value comes from. */
function wantedValue(
  field: MetadataField,
  spec: MetadataGateSpec,
  cluster: Cluster,
  call: HookCall,
): string | undefined | typeof MISSING {
  if (spec.valueFrom === undefined) return spec.value;
  switch (spec.valueFrom) {
    case "ClusterName":
      return cluster.metadata.name;
    case "ClusterUID":
      return cluster.metadata.uid;
    case "TargetVersion":
      return wantedVersion(field, call);
    default:
      // A value that this version does not know must not mean "any value".
      return MISSING;
  }
}

function wantedVersion(field: MetadataField, call: HookCall): string | typeof MISSING {
  const version = targetVersion(call);
  if (version === undefined) return MISSING;
  // A label value cannot contain the "+" of a build version: v1.31.0+k3s1 is written v1.31.0_k3s1.
  return field === "label" ? version.replaceAll("+", "_") : version;
}

function describe(target: Cluster | Namespace, from: MetadataGateSpec["from"]): string {
  const { namespace, name } = target.metadata;
  return from === "Namespace" ? `Namespace ${name}` : `Cluster ${namespace}/${name}`;
}
