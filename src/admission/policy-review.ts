/** Errors and warnings about a HookPolicy, ClusterHookPolicy or HookRollout, beyond its CRD. */

import type { ClusterHookPolicy, HookPolicy, HookRollout, RuleSpec } from "../api/hook-policy.ts";
import { listOf } from "../lib/fields.ts";
import { compilePolicy } from "../policy/compile.ts";
import { acceptWarnings } from "../policy/validation/accepted.ts";
import type { ServedHooks } from "../api/hook-catalog.ts";
import { type FieldError, isWithin, validatePolicy } from "../policy/validation/schema.ts";
import { checkRollout } from "../policy/validation/rollout-semantics.ts";
import { checkRules, ENOUGH_ERRORS } from "../policy/validation/semantics.ts";
import type { AdmissionWorld, Selection } from "./review-world.ts";

type Policy = HookPolicy | ClusterHookPolicy;

export interface PolicyFindings {
  readonly errors: readonly FieldError[];
  readonly warnings: readonly FieldError[];
  /** Absent: the policy also applies to future Clusters. */
  readonly selection?: Selection;
}

/** `old`: the version that the update would replace. */
export function checkPolicy(policy: Policy, old: Policy | undefined, served: ServedHooks): PolicyFindings {
  const schemaErrors = specErrors(policy);
  const { errors, warnings } = checkRules(rulesOf(policy), schemaErrors, {
    served,
    max: ENOUGH_ERRORS,
    mode: policy.spec.mode,
    owner: {
      kind: policy.kind,
      ...(policy.metadata.namespace !== undefined && { namespace: policy.metadata.namespace }),
    },
  });
  const known =
    old === undefined || errors.length === 0 ? [] : checkRules(rulesOf(old), specErrors(old)).errors;
  return findings(policy, schemaErrors, ratchet(errors, known), [
    ...compilePolicy(policy.kind, policy, served).notEnforceable,
    ...acceptWarnings(policy.metadata.annotations, rulesOf(policy), warnings).left,
  ]);
}

/** `old`: the version that the update would replace. */
export function checkNewRollout(rollout: HookRollout, old: HookRollout | undefined): PolicyFindings {
  const schemaErrors = specErrors(rollout);
  const { errors, warnings } = checkRollout(rollout.spec, schemaErrors);
  const known =
    old === undefined || errors.length === 0 ? [] : checkRollout(old.spec, specErrors(old)).errors;
  const { metadata, spec } = rollout;
  const { left } = acceptWarnings(metadata.annotations, listOf(spec.stages), warnings, "stages");
  return findings(rollout, schemaErrors, ratchet(errors, known), left);
}

function findings(
  object: Policy | HookRollout,
  schemaErrors: readonly FieldError[],
  { introduced, kept }: Ratchet,
  warnings: readonly FieldError[],
): PolicyFindings {
  return {
    errors: introduced,
    warnings: [...notEvaluable([...schemaErrors, ...kept]), ...warnings],
    ...selectionOf(object, schemaErrors),
  };
}

/** The CRD has admitted these errors, so it belongs to another version of HookPolicy than this operator. */
function notEvaluable(errors: readonly FieldError[]): FieldError[] {
  return errors.map(({ path, message }) => ({ path, message: `not evaluable: ${message}` }));
}

function specErrors(policy: Policy | HookRollout): FieldError[] {
  return validatePolicy(policy.kind, policy).filter(({ path }) => isWithin(path, "spec"));
}

function rulesOf({ spec }: Policy): readonly RuleSpec[] {
  const rules: unknown = Object.hasOwn(spec, "rules") ? spec.rules : undefined;
  return Array.isArray(rules) ? rules : [];
}

interface Ratchet {
  readonly introduced: readonly FieldError[];
  readonly kept: readonly FieldError[];
}

/**
 * An invalid policy may be changed as long as no error is added, or else a user could not repair or add one rule
 * before all of them are valid. Errors may move within lists.
 */
function ratchet(errors: readonly FieldError[], known: readonly FieldError[]): Ratchet {
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
  { kind, metadata, spec }: Policy | HookRollout,
  errors: readonly FieldError[],
): { selection?: Selection } {
  const selectors: Partial<Pick<ClusterHookPolicy["spec"], (typeof SELECTORS)[number]>> = spec;
  const field = SELECTORS.find((name) => Object.keys(selectors[name] ?? {}).length > 0);
  const broken = errors.some(({ path }) => SELECTORS.some((name) => isWithin(path, `spec.${name}`)));
  if (field === undefined || broken) return {};
  const { clusterSelector, namespaceSelector } = selectors;
  const own = kind === "HookPolicy";
  return {
    selection: {
      field,
      ...(own && { namespace: metadata.namespace ?? "" }),
      ...(!own && namespaceSelector !== undefined && { namespaceSelector }),
      ...(clusterSelector !== undefined && { clusterSelector }),
    },
  };
}

export async function selectsNothing(selection: Selection, world: AdmissionWorld): Promise<FieldError[]> {
  if (!world.loaded() || (await world.matchesCluster(selection))) return [];
  const where = selection.namespace === undefined ? "in any namespace" : "in this namespace";
  return [{ path: `spec.${selection.field}`, message: `matches no Cluster ${where} at present` }];
}
