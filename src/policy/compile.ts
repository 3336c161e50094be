/** From a HookPolicy object, valid or not, to a CompiledPolicy. Total: whatever is stored, the result holds rather than lets go. */

import type { ClusterHookPolicy, HookPolicy, RuleSpec } from "../api/hookpolicy.ts";
import { HOOK_NAMES, type HookName } from "../api/runtimehooks.ts";
import { compileGate } from "./gates.ts";
import type { CompiledPolicy, CompiledRule, PolicyKind } from "./policy.ts";
import { type FieldError, isWithin, validatePolicy } from "./schema.ts";
import { compileSelector, type LabelMatcher } from "./selector.ts";

/** Which hooks this process serves, and which of them can hold an operation: fixed by `--capi-version`. */
export interface ServedHooks {
  readonly capiVersion: string;
  readonly advertised: ReadonlySet<HookName>;
  readonly blocking: ReadonlySet<HookName>;
}

export const DEFAULT_RETRY_AFTER_SECONDS = 10;

/** Whatever the API server has stored under these names, the rules mean what they say. */
const NOT_THE_SPEC = ["apiVersion", "kind", "metadata"];

const everything: LabelMatcher = () => true;

export function compilePolicy(
  kind: PolicyKind,
  object: HookPolicy | ClusterHookPolicy,
  served: ServedHooks,
): CompiledPolicy {
  const errors = validatePolicy(kind, object).filter(
    ({ path }) => !NOT_THE_SPEC.some((part) => isWithin(path, part)),
  );
  const spec: Partial<ClusterHookPolicy["spec"]> = isRecord(object.spec) ? object.spec : {};
  const { name, namespace, uid, generation } = object.metadata;
  const rules = Array.isArray(spec.rules) ? spec.rules : [];
  const selector = (field: "clusterSelector" | "namespaceSelector"): LabelMatcher =>
    errors.some(({ path }) => isWithin(path, `spec.${field}`) || isWithin(`spec.${field}`, path))
      ? everything
      : compileSelector(spec[field]);
  return {
    ref: { kind, name, ...(kind === "HookPolicy" && namespace !== undefined && { namespace }) },
    uid,
    generation: generation ?? 0,
    mode: spec.mode === "Audit" && !errors.some(({ path }) => path === "spec.mode") ? "Audit" : "Enforce",
    failurePolicy: spec.failurePolicy === "Ignore" ? "Ignore" : "Fail",
    selectsCluster: selector("clusterSelector"),
    ...(kind === "ClusterHookPolicy" && { selectsNamespace: selector("namespaceSelector") }),
    rules:
      rules.length === 0
        ? brokenRules(errors, served)
        : rules.map((rule, index) => compileRule(rule, index, errors, served)),
    errors,
    notEnforceable: errors.length > 0 ? [] : notEnforceable(rules, served),
  };
}

/** A spec whose rules cannot even be told apart holds every hook. */
function brokenRules(errors: readonly FieldError[], { blocking }: ServedHooks): CompiledRule[] {
  if (errors.length === 0) return [];
  const retryAfterSeconds = DEFAULT_RETRY_AFTER_SECONDS;
  return [{ name: "", hooks: blocking, gates: [], retryAfterSeconds, problem: describeErrors(errors) }];
}

/** An error outside of spec.rules concerns every rule: it may have been meant to narrow them, or to widen. */
function compileRule(
  spec: RuleSpec,
  index: number,
  errors: readonly FieldError[],
  served: ServedHooks,
): CompiledRule {
  const path = `spec.rules[${index}]`;
  const mine = errors.filter((error) => isWithin(error.path, path) || !error.path.startsWith("spec.rules["));
  if (mine.length > 0) {
    return {
      name: isRecord(spec) && typeof spec.name === "string" ? spec.name : "",
      hooks: new Set(hooksOf(spec).filter((hook) => served.blocking.has(hook))),
      gates: [],
      retryAfterSeconds: DEFAULT_RETRY_AFTER_SECONDS,
      problem: describeErrors(mine),
    };
  }
  const gates = (spec.until ?? []).map(compileGate);
  const hooks = gates.length > 0 ? served.blocking : served.advertised;
  return {
    name: spec.name,
    hooks: new Set(spec.hooks.filter((hook) => hooks.has(hook))),
    gates,
    retryAfterSeconds: spec.retryAfterSeconds ?? DEFAULT_RETRY_AFTER_SECONDS,
    ...(spec.message !== undefined && { message: spec.message }),
  };
}

/**
 * The hooks that a broken rule names; all of them where it names none. A name that this version does not know
 * is a hook that it does not serve: the CRD lets no misspelt one pass.
 */
function hooksOf(spec: unknown): readonly HookName[] {
  const hooks: unknown = isRecord(spec) ? spec["hooks"] : undefined;
  if (!Array.isArray(hooks) || hooks.length === 0) return HOOK_NAMES;
  return HOOK_NAMES.filter((hook) => hooks.includes(hook));
}

function notEnforceable(rules: readonly RuleSpec[], served: ServedHooks): FieldError[] {
  return rules.flatMap((rule, r) =>
    rule.hooks.flatMap((hook, h) => {
      const path = `spec.rules[${r}].hooks[${h}]`;
      if (!served.advertised.has(hook)) {
        return [
          { path, message: `Cluster API ${served.capiVersion} does not call ${hook} (--capi-version)` },
        ];
      }
      if (rule.until !== undefined && !served.blocking.has(hook)) {
        return [
          {
            path,
            message: `Cluster API ${served.capiVersion} does not wait for ${hook}, so \`until\` cannot hold it`,
          },
        ];
      }
      return [];
    }),
  );
}

export function describeErrors(errors: readonly FieldError[]): string {
  return errors.map(({ path, message }) => `${path}: ${message}`).join("; ");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
