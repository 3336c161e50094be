/** The gates of a rule: each compiles to a function of (world, call, now). */

import type { AnyOfGateSpec, GateSpec } from "../../api/hook-policy.ts";
import { anyOfGate } from "./any-of.ts";
import { expressionGate } from "./expression.ts";
import { metadataGate } from "./metadata.ts";
import { objectGate } from "./object.ts";
import { type CompiledGate, unevaluable } from "../policy.ts";
import { versionGate } from "./version.ts";
import { MAX_ASKS } from "../window/window.ts";
import { windowGate } from "./window.ts";
import type { PolicyRef } from "../policy-ref.ts";
import { READS_NOTHING } from "../target-version.ts";

/**
 * The spec has been validated: exactly one kind is set, and it is not `wait`. `asks`: how often a search in a window may
 * ask its entries.
 */
export function compileGate(spec: GateSpec, policy: PolicyRef, asks = MAX_ASKS): CompiledGate {
  if (spec.anyOf === undefined) return compileSimpleGate(spec, policy, asks);
  const members = spec.anyOf.map((member) => compileSimpleGate(member, policy, asks));
  return anyOfGate(spec.name, members);
}

function compileSimpleGate(spec: AnyOfGateSpec, policy: PolicyRef, asks: number): CompiledGate {
  const { name } = spec;
  if (spec.annotation !== undefined)
    return metadataGate(name, { field: "annotation", spec: spec.annotation, of: policy.kind });
  if (spec.label !== undefined)
    return metadataGate(name, { field: "label", spec: spec.label, of: policy.kind });
  if (spec.expression !== undefined) return expressionGate(name, spec.expression);
  if (spec.window !== undefined) return windowGate(name, spec.window, asks);
  if (spec.version !== undefined) return versionGate(name, spec.version);
  if (spec.object !== undefined) return objectGate(name, spec.object, policy);
  return unknownGate(name);
}

/** A kind that this version does not know makes the rule not evaluable, never more permissive. */
function unknownGate(name: string): CompiledGate {
  const wanted = "a kind of gate that this version of the operator knows";
  const result = unevaluable("UnknownGate", wanted, "none that it knows");
  return { name, requestFields: READS_NOTHING, evaluate: () => result };
}
