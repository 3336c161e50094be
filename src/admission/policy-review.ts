/** Errors and warnings about a HookPolicy, ClusterHookPolicy or HookRollout, beyond its CRD. */

import { isWithin } from "../lib/field-path.ts";
import type { ClusterHookPolicy, HookRollout, RuleSpec } from "../api/hook-policy.ts";
import { compileSelector } from "../api/selector.ts";
import { listOf } from "../lib/fields.ts";
import { compilePolicy } from "../policy/compile.ts";
import { acceptWarnings } from "../policy/validation/accepted.ts";
import type { ServedHooks } from "../api/hook-catalog.ts";
import { type FieldError, validatePolicy } from "../policy/validation/schema.ts";
import { checkRollout } from "../policy/validation/rollout-semantics.ts";
import { checkRules, ENOUGH_ERRORS } from "../policy/validation/semantics.ts";
import type { GatedObject } from "./needed-rights.ts";
import type { AdmissionWorld, Selection } from "./review-world.ts";

export interface PolicyFindings {
  readonly errors: readonly FieldError[];
  readonly warnings: readonly FieldError[];
  /** Absent: the policy also applies to future Clusters. */
  readonly selection?: Selection;
}

/** `old`: the version that the update would replace, of the same kind. */
export function checkPolicy(
  object: GatedObject,
  old: GatedObject | undefined,
  served: ServedHooks,
): PolicyFindings {
  const schemaErrors = specErrors(object);
  const { errors, warnings } = checkSpec(object, schemaErrors, served);
  const known = old === undefined || errors.length === 0 ? [] : checkSpec(old, specErrors(old)).errors;
  const { introduced, kept } = ratchet(errors, known);
  return {
    errors: introduced,
    warnings: [...notEvaluable([...schemaErrors, ...kept]), ...warnings],
    ...selectionOf(object, schemaErrors),
  };
}

/** Without `served`, all errors, and the warnings do not matter. */
function checkSpec(
  object: GatedObject,
  schemaErrors: readonly FieldError[],
  served?: ServedHooks,
): Pick<PolicyFindings, "errors" | "warnings"> {
  const { annotations, namespace } = object.metadata;
  if (object.kind === "HookRollout") {
    const { errors, warnings } = checkRollout(object.spec, schemaErrors);
    const { left } = acceptWarnings(annotations, listOf(object.spec.stages), warnings, "stages");
    return { errors, warnings: left };
  }
  const rules = rulesOf(object);
  if (served === undefined) return checkRules(rules, schemaErrors);
  const { kind, spec } = object;
  const owner = { kind, ...(namespace !== undefined && { namespace }) };
  const checks = { max: ENOUGH_ERRORS, mode: spec.mode, owner };
  const { errors, warnings } = checkRules(rules, schemaErrors, checks);
  const { left } = acceptWarnings(annotations, rules, warnings);
  return { errors, warnings: [...compilePolicy(kind, object, served).notEnforceable, ...left] };
}

/** The CRD has admitted these errors, so it belongs to another version of HookPolicy than this operator. */
function notEvaluable(errors: readonly FieldError[]): FieldError[] {
  return errors.map(({ path, message }) => ({ path, message: `not evaluable: ${message}` }));
}

function specErrors(policy: GatedObject): FieldError[] {
  return validatePolicy(policy.kind, policy).filter(({ path }) => isWithin(path, "spec"));
}

function rulesOf({ spec }: Exclude<GatedObject, HookRollout>): readonly RuleSpec[] {
  const rules: unknown = Object.hasOwn(spec, "rules") ? spec.rules : undefined;
  return Array.isArray(rules) ? rules : [];
}

/**
 * An invalid policy may be changed as long as no error is added, or else a user could not repair or add one rule
 * before all of them are valid. Errors may move within lists.
 */
function ratchet(
  errors: readonly FieldError[],
  known: readonly FieldError[],
): Record<"introduced" | "kept", FieldError[]> {
  const left = known.map(signature);
  const kept = errors.filter((error) => {
    const index = left.indexOf(signature(error));
    return index >= 0 && left.splice(index, 1).length > 0;
  });
  return { introduced: errors.filter((error) => !kept.includes(error)), kept };
}

function signature({ path, message }: FieldError): string {
  return `${path.replaceAll(/\[\d+\]/g, "[]")}: ${message}`;
}

const SELECTORS = ["clusterSelector", "namespaceSelector"] as const;

function selectionOf(
  { kind, metadata, spec }: GatedObject,
  errors: readonly FieldError[],
): { selection?: Selection } {
  const selectors: Partial<Pick<ClusterHookPolicy["spec"], (typeof SELECTORS)[number]>> = spec;
  const field = SELECTORS.find((name) => Object.keys(selectors[name] ?? {}).length > 0);
  const broken = errors.some(({ path }) => SELECTORS.some((name) => isWithin(path, `spec.${name}`)));
  if (field === undefined || broken) return {};
  const selectsCluster = compileSelector(selectors.clusterSelector);
  const { namespace = "", name } = metadata;
  if (kind === "HookPolicy") return { selection: { field, ref: { kind, namespace, name }, selectsCluster } };
  const selectsNamespace = compileSelector(selectors.namespaceSelector);
  return { selection: { field, ref: { kind: "ClusterHookPolicy", name }, selectsCluster, selectsNamespace } };
}

export async function selectsNothing(selection: Selection, world: AdmissionWorld): Promise<FieldError[]> {
  if (!world.loaded() || (await world.matchesCluster(selection))) return [];
  const where = selection.ref.namespace === undefined ? "in any namespace" : "in this namespace";
  return [{ path: `spec.${selection.field}`, message: `matches no Cluster ${where} at present` }];
}
