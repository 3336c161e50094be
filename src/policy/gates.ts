/** The gates of a rule: each compiles to a function of (world, call, now). */

import type { Cluster, Namespace } from "../api/meta.ts";
import type { HookCall } from "../api/runtimehooks.ts";
import type { GateSpec, MetadataGateSpec } from "../api/hookpolicy.ts";
import type { CompiledGate, GateResult } from "./policy.ts";
import { shellQuote } from "./message.ts";
import { lookup } from "./selector.ts";
import type { World } from "./world.ts";

/** The spec has been validated: exactly one kind is set. */
export function compileGate(spec: GateSpec): CompiledGate {
  if (spec.annotation !== undefined) return metadataGate(spec.name, "annotation", spec.annotation);
  if (spec.label !== undefined) return metadataGate(spec.name, "label", spec.label);
  return unknownGate(spec.name);
}

/** A kind that this version does not know makes the rule not evaluable, never more permissive. */
function unknownGate(name: string): CompiledGate {
  const result: GateResult = {
    holds: undefined,
    reason: "UnknownGate",
    wanted: "a kind of gate that this version of the operator knows",
    observed: "none of annotation, label",
  };
  return { name, evaluate: () => result };
}

type MetadataField = "annotation" | "label";

function metadataGate(name: string, field: MetadataField, spec: MetadataGateSpec): CompiledGate {
  return { name, evaluate: (world, call) => evaluateMetadata(field, spec, world, call) };
}

function evaluateMetadata(
  field: MetadataField,
  spec: MetadataGateSpec,
  world: World,
  call: HookCall,
): GateResult {
  const target = spec.from === "Namespace" ? world.namespace : world.cluster;
  const reason = field === "annotation" ? "WaitingForAnnotation" : "WaitingForLabel";
  if (target === undefined) {
    return notEvaluable(
      "NamespaceUnknown",
      `${field} ${spec.key} on the Namespace`,
      "the Namespace is not known",
    );
  }
  const value = wantedValue(field, spec, world.cluster, call);
  const on = describe(target, spec.from);
  if (value === MISSING) {
    return notEvaluable("TargetVersionUnknown", `${field} ${spec.key} on ${on}`, "the call names no version");
  }
  const wanted = `${field} ${spec.key}${value === undefined ? "" : `=${shellQuote(value)}`} on ${on}`;
  const found = lookup(target.metadata[field === "label" ? "labels" : "annotations"], spec.key);
  const holds = found !== undefined && (value === undefined || found === value);
  return {
    holds,
    reason: holds ? "Holds" : reason,
    wanted,
    observed: found === undefined ? "absent" : `present: ${JSON.stringify(found)}`,
    ...(!holds && { remedy: remedy(field, spec, target, { value, overwrite: found !== undefined }) }),
  };
}

function notEvaluable(reason: string, wanted: string, observed: string): GateResult {
  return { holds: undefined, reason, wanted, observed };
}

const MISSING = Symbol("missing");

/** `undefined`: any value will do. MISSING: the value comes from something that this call does not have. */
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
  // A label value cannot hold the "+" of a build version: v1.31.0+k3s1 is written v1.31.0_k3s1.
  return field === "label" ? version.replaceAll("+", "_") : version;
}

/** The version that a call is about: to…, else kubernetesVersion. */
export function targetVersion(call: HookCall): string | undefined {
  return call.toKubernetesVersion ?? call.kubernetesVersion;
}

function describe(target: Cluster | Namespace, from: MetadataGateSpec["from"]): string {
  const { namespace, name } = target.metadata;
  return from === "Namespace" ? `Namespace ${name}` : `Cluster ${namespace}/${name}`;
}

function remedy(
  field: MetadataField,
  spec: MetadataGateSpec,
  target: Cluster | Namespace,
  { value, overwrite }: { readonly value: string | undefined; readonly overwrite: boolean },
): string {
  const { namespace, name } = target.metadata;
  const verb = field === "annotation" ? "annotate" : "label";
  const object =
    spec.from === "Namespace" ? `namespace ${name}` : `clusters.cluster.x-k8s.io -n ${namespace} ${name}`;
  const pair = shellQuote(`${spec.key}=${value ?? "true"}`);
  return `kubectl ${verb} ${object} ${pair}${overwrite ? " --overwrite" : ""}`;
}
