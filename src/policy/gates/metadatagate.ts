/** Gates on an annotation or a label of the Cluster or its Namespace. */

import type { Cluster, Namespace, ObjectMeta } from "../../api/meta.ts";
import type { HookCall } from "../../api/runtimehooks.ts";
import type { MetadataGateSpec } from "../../api/hookpolicy.ts";
import { type CompiledGate, type GateResult, unevaluable } from "../policy.ts";
import { READS_NOTHING, READS_VERSION, targetVersion } from "../targetversion.ts";
import { found as shortForm } from "../validation/fieldmessage.ts";
import { shellQuote } from "../message.ts";
import { lookup } from "../selector.ts";
import { affordComparison, exhausted } from "../budget.ts";
import type { World } from "../world.ts";

export type MetadataField = "annotation" | "label";

export function metadataGate(name: string, field: MetadataField, spec: MetadataGateSpec): CompiledGate {
  return {
    name,
    requestFields: spec.valueFrom === "TargetVersion" ? READS_VERSION : READS_NOTHING,
    evaluate: (world, call) => evaluateMetadata(field, spec, world, call),
  };
}

function evaluateMetadata(
  field: MetadataField,
  spec: MetadataGateSpec,
  world: World,
  call: HookCall,
): GateResult {
  const target = spec.from === "Namespace" ? world.namespace : world.cluster;
  if (target === undefined) {
    const wanted = `${field} ${spec.key} on the Namespace`;
    return unevaluable("NamespaceUnknown", wanted, "the Namespace is not known");
  }
  const value = wantedValue(field, spec, world.cluster, call);
  const on = describe(target, spec.from);
  if (value === MISSING) {
    return unevaluable("TargetVersionUnknown", `${field} ${spec.key} on ${on}`, "the call names no version");
  }
  const wanted = `${field} ${spec.key}${value === undefined ? "" : `=${shellQuote(value)}`} on ${on}`;
  const found = lookup(target.metadata[field === "label" ? "labels" : "annotations"], spec.key);
  if (!affordComparison(found, value)) return exhausted();
  const observed = describeValue(found);
  if (found !== undefined && (value === undefined || found === value))
    return { holds: true, reason: "Holds", wanted, observed };
  const reason = field === "annotation" ? "WaitingForAnnotation" : "WaitingForLabel";
  const setting = settingOf(field, spec, value);
  const remedy = commandToSet({ ...setting, overwrite: found !== undefined }, target.metadata);
  return { holds: false, reason, wanted, observed, remedy };
}

function settingOf(
  field: MetadataField,
  { from: on = "Cluster", key }: MetadataGateSpec,
  value = field === "label" ? OWN_VALUE : ANY_VALUE,
): Omit<Setting, "overwrite"> {
  return { on, field, key, value };
}

/** Shortened, because every gate keeps a copy. */
function describeValue(value: string | undefined): string {
  return value === undefined ? "absent" : `present: ${shortForm(value)}`;
}

/** The value that commands set if any value is accepted. */
export const ANY_VALUE = "true";
/** A placeholder in commands: only a person knows a suitable value for the label. */
const OWN_VALUE = "VALUE";

export const MISSING = Symbol("missing");

/** `undefined`: any value is accepted. MISSING: the call lacks what the value comes from. */
export function wantedValue(
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
  // A label value cannot hold the "+" of a build version: v1.31.0+k3s1 is written v1.31.0_k3s1.
  return field === "label" ? version.replaceAll("+", "_") : version;
}

function describe(target: Cluster | Namespace, from: MetadataGateSpec["from"]): string {
  const { namespace, name } = target.metadata;
  return from === "Namespace" ? `Namespace ${name}` : `Cluster ${namespace}/${name}`;
}

export interface Setting {
  readonly on: "Cluster" | "Namespace";
  readonly field: MetadataField;
  readonly key: string;
  readonly value: string;
  /** Whether the key has another value now. */
  readonly overwrite: boolean;
}

export function commandToSet(
  { on, field, key, value, overwrite }: Setting,
  { namespace = "", name }: Pick<ObjectMeta, "namespace" | "name">,
): string {
  const words = [
    field === "annotation" ? "annotate" : "label",
    ...(on === "Namespace" ? ["namespace"] : ["clusters.cluster.x-k8s.io", "-n", namespace]),
    name,
    `${key}=${value}`,
    ...(overwrite ? ["--overwrite"] : []),
  ];
  return ["kubectl", ...words].map(shellQuote).join(" ");
}
