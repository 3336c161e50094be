/**
 * Compiles a HookPolicy object, valid or not. Total: any stored object gives a policy, which holds rather than
 * releases.
 */

import { isWithin } from "../lib/field-path.ts";
import { isFields, withoutNulls } from "../lib/fields.ts";
import type {
  ClusterHookPolicy,
  DeadlineSpec,
  HookPolicy,
  RuleSpec,
  TaskAccount,
} from "../api/hook-policy.ts";
import type { LabelSelector, ObjectMeta } from "../api/meta.ts";
import type { ServedHooks } from "../api/hook-catalog.ts";
import { HOOK_NAMES, type HookName } from "../api/runtime-hooks.ts";
import { durationOrNever, parseDuration } from "../lib/duration.ts";
import { atOnce, type WorkSteps } from "../lib/work-steps.ts";
import { type CompiledExpression, expressionOrBroken } from "./cel/expression.ts";
import { compileGate } from "./gates/gates.ts";
import { compileWait } from "./gates/wait.ts";
import { describeErrors, MAX_ERRORS } from "./message.ts";
import { CAUSE, type CompiledPolicy, type CompiledRule, type Deadline, RETRY_SECONDS } from "./policy.ts";
import { UNKNOWN_FIELD } from "./strict-reasons.ts";
import { type FieldError, firstOfEachRule, validateInSteps } from "./validation/schema.ts";
import { accountOf, compileTasks, namesAccount } from "./tasks/compile-task.ts";
import { compileSelector, describeSelector } from "../api/selector.ts";
import { sizeErrors } from "./validation/spec-size.ts";
import { checkInSteps, countWindows, ENOUGH_ERRORS, expressionsOf } from "./validation/semantics.ts";
import { isSound, soundRules } from "./validation/sound-parts.ts";
import type { PolicyKind, PolicyRef } from "./policy-ref.ts";
import { describeTooLarge, TOO_LARGE } from "../views/too-large.ts";

/** The rules keep their meaning whatever the API server has stored under these names. */
const NOT_THE_SPEC = ["apiVersion", "kind", "metadata"];

const EVERYTHING: LabelSelector = {};

export function compilePolicy(...args: Parameters<typeof compileInSteps>): CompiledPolicy {
  return atOnce(compileInSteps(...args));
}

/** Never throws. */
export function* compileInSteps(
  kind: PolicyKind,
  object: HookPolicy | ClusterHookPolicy,
  served: ServedHooks,
): WorkSteps<CompiledPolicy> {
  try {
    if (object.tooLarge === true) {
      const problem = describeTooLarge(object.metadata.namespace);
      const errors = [{ path: "spec", message: problem }];
      const known = { ...outlineOf(object.spec), errors, problem, broken: TOO_LARGE };
      return { ...unreadPolicy(kind, object, served, known), tooLarge: true };
    }
    const errors = sizeErrors(object.spec);
    if (errors.length === 0) return yield* compileEachRule(kind, object, served);
    return unreadPolicy(kind, object, served, { ...outlineOf(object.spec), errors });
  } catch (error) {
    // A bug in HookPolicy must neither release an operation nor keep all other policies from being loaded.
    const errors = [{ path: "spec", message: "the operator failed to compile it (InternalError)" }];
    const known = { mode: "Enforce", admission: "Deny", errors } as const;
    return { ...unreadPolicy(kind, object, served, known), [CAUSE]: error };
  }
}

type SpecOutline = Pick<CompiledPolicy, "mode"> & Pick<CompiledRule, "admission" | "problem" | "broken">;

/** What counts of a spec whose rules are not read. A policy that only audits still holds nothing. */
function outlineOf({ mode, rules }: { readonly mode?: unknown; readonly rules?: unknown }): SpecOutline {
  const all = Array.isArray(rules) ? rules.map(admissionOf) : [{ admission: "Deny" } as const];
  const strictest =
    all.find(({ admission }) => admission === "Deny") ?? all.find(({ admission }) => admission);
  return { mode: mode === "Audit" ? "Audit" : "Enforce", ...strictest };
}

/** Holds every Cluster that the policy could select. */
function unreadPolicy(
  kind: PolicyKind,
  { metadata, spec }: HookPolicy | ClusterHookPolicy,
  served: ServedHooks,
  { mode, errors, ...rule }: SpecOutline & Pick<CompiledPolicy, "errors">,
): CompiledPolicy {
  const { uid, generation = 0 } = metadata;
  return {
    ref: refOf(kind, metadata),
    uid,
    generation,
    mode,
    failurePolicy: "Fail",
    selectsCluster: compileSelector(EVERYTHING),
    clusterSelector: "",
    ...(kind === "ClusterHookPolicy" && { selectsNamespace: compileSelector(EVERYTHING) }),
    rules: [{ ...brokenRule({ name: "", hooks: hooksOfBroken(spec, served) }, errors), ...rule }],
    readsStatus: false,
    errors,
    notEnforceable: [],
  };
}

function refOf(kind: PolicyKind, { name, namespace }: ObjectMeta): PolicyRef {
  return { kind, name, ...(kind === "HookPolicy" && namespace !== undefined && { namespace }) };
}

function* compileEachRule(
  kind: PolicyKind,
  object: HookPolicy | ClusterHookPolicy,
  served: ServedHooks,
): WorkSteps<CompiledPolicy> {
  const schemaErrors = firstOfEachRule(
    (yield* validateInSteps(kind, object, MAX_ERRORS)).filter(
      ({ path }) => !NOT_THE_SPEC.some((part) => isWithin(path, part)),
    ),
    MAX_ERRORS,
  );
  const spec: Partial<ClusterHookPolicy["spec"]> = isFields(object.spec) ? withoutNulls(object.spec) : {};
  const { uid, generation = 0 } = object.metadata;
  const ref = refOf(kind, object.metadata);
  const rules = Array.isArray(spec.rules) ? spec.rules : [];
  const made: CompiledExpression[] = [];
  const semantics = yield* checkInSteps(rules, schemaErrors, { max: ENOUGH_ERRORS, owner: ref, made });
  const errors = firstOfEachRule([...schemaErrors, ...semantics.errors], MAX_ERRORS);
  const { asks } = countWindows(soundRules(rules, schemaErrors).map(({ rule }) => rule));
  const outside = errors.filter(({ path }) => !path.startsWith("spec.rules["));
  const account = outside.length === 0 ? accountOf(spec, ref) : undefined;
  const ifBroken = hooksOfBroken(spec, served);
  const compiled = yield* compileRules(rules, { ref, errors, asks, served, ifBroken, account, made });
  const selector = (field: "clusterSelector" | "namespaceSelector"): LabelSelector =>
    isSound(`spec.${field}`, errors) ? (spec[field] ?? EVERYTHING) : EVERYTHING;
  return {
    ref,
    uid,
    generation,
    mode: spec.mode === "Audit" && !errors.some(({ path }) => path === "spec.mode") ? "Audit" : "Enforce",
    failurePolicy: spec.failurePolicy === "Ignore" ? "Ignore" : "Fail",
    selectsCluster: compileSelector(selector("clusterSelector")),
    clusterSelector: describeSelector(selector("clusterSelector")),
    ...(kind === "ClusterHookPolicy" && { selectsNamespace: compileSelector(selector("namespaceSelector")) }),
    rules: compiled,
    ...(account !== undefined && compiled.some(({ tasks }) => tasks.length > 0) && { account }),
    readsStatus: rules.some(
      (rule, index) => problemsOf(index, errors).length === 0 && expressionsOf(rule, "").length > 0,
    ),
    errors,
    notEnforceable: errors.length > 0 ? [] : notEnforceable(rules, served),
  };
}

function brokenRule(
  known: Pick<CompiledRule, "name" | "hooks" | "admission">,
  errors: readonly FieldError[],
): CompiledRule {
  return {
    ...known,
    matchConditions: [],
    gates: [],
    waits: [],
    tasks: [],
    retryAfterSeconds: RETRY_SECONDS,
    problem: describeErrors(errors),
    // The policy may be of a newer version, in which this is what holds.
    ...(errors.some(({ unknown }) => unknown === true) && { broken: UNKNOWN_FIELD }),
  };
}

/** A spec whose rules cannot be read one by one holds every hook. */
function* compileRules(rules: readonly RuleSpec[], context: CompileContext): WorkSteps<CompiledRule[]> {
  const { errors, ifBroken: hooks } = context;
  const compiled: CompiledRule[] = [];
  for (const [index, rule] of rules.entries()) {
    yield;
    compiled.push(compileRule(rule, index, context));
  }
  const whole = { name: "", hooks, admission: "Deny" } as const;
  return rules.length === 0 && errors.length > 0 ? [brokenRule(whole, errors)] : compiled;
}

/** A value that this version does not know means Deny. */
function admissionOf(spec: unknown): Pick<CompiledRule, "admission"> {
  const value: unknown = isFields(spec) ? spec["admission"] : undefined;
  if (value === undefined || value === null || value === "None") return {};
  return { admission: value === "Warn" ? "Warn" : "Deny" };
}

interface CompileContext {
  readonly ref: PolicyRef;
  readonly errors: readonly FieldError[];
  /** How often each window may ask its entries. */
  readonly asks: number;
  readonly served: ServedHooks;
  /** The hooks of a rule that is not understood, if it names them. */
  readonly ifBroken: ReadonlySet<HookName>;
  readonly account: TaskAccount | undefined;
  /** Only so that it is not forgotten. */
  readonly made: readonly CompiledExpression[];
}

/** An error outside of spec.rules affects every rule, because the field may have been meant to narrow or widen all of them. */
function problemsOf(index: number, errors: readonly FieldError[]): readonly FieldError[] {
  const path = `spec.rules[${index}]`;
  return errors.filter((error) => isWithin(error.path, path) || !error.path.startsWith("spec.rules["));
}

function compileRule(
  spec: RuleSpec,
  index: number,
  { ref, errors, asks, served, ifBroken, account }: CompileContext,
): CompiledRule {
  const mine = problemsOf(index, errors);
  if (mine.length > 0) {
    const name = isFields(spec) && typeof spec.name === "string" ? spec.name : "";
    const hooks = new Set(hooksOf(spec).filter((hook) => ifBroken.has(hook)));
    return brokenRule({ name, hooks, ...admissionOf(spec) }, mine);
  }
  const { until = [], tasks, deadline, message } = spec;
  const observed = tasks === undefined ? served.advertised : heldOrInitialized(served);
  const hooks = until.length > 0 ? served.blocking : observed;
  return {
    name: spec.name,
    hooks: new Set(spec.hooks.filter((hook) => hooks.has(hook))),
    ...admissionOf(spec),
    matchConditions: (spec.matchConditions ?? []).map((each) => {
      return { name: each.name, expression: expressionOrBroken(each.expression, "matchCondition") };
    }),
    gates: until.filter(({ wait }) => wait === undefined).map((gate) => compileGate(gate, ref, asks)),
    waits: until.flatMap(({ name, wait, message: said }) =>
      wait === undefined ? [] : [compileWait(name, wait, said)],
    ),
    tasks: compileTasks(tasks ?? [], account),
    retryAfterSeconds: spec.retryAfterSeconds ?? RETRY_SECONDS,
    ...(deadline !== undefined && { deadline: compileDeadline(deadline) }),
    ...(message !== undefined && { message }),
  };
}

/** Those that it can hold, and those at which it may have tasks. */
function hooksOfBroken(spec: unknown, served: ServedHooks): ReadonlySet<HookName> {
  return namesAccount(spec) ? heldOrInitialized(served) : served.blocking;
}

/** Where tasks begin: nothing waits for those at AfterControlPlaneInitialized. */
function heldOrInitialized({ blocking, advertised }: ServedHooks): ReadonlySet<HookName> {
  return advertised.has("AfterControlPlaneInitialized")
    ? new Set([...blocking, "AfterControlPlaneInitialized"])
    : blocking;
}

function compileDeadline({ after, onExpiry, warnBefore }: DeadlineSpec): Deadline {
  const warnBeforeMs = warnBefore === undefined ? undefined : parseDuration(warnBefore);
  return { afterMs: durationOrNever(after), onExpiry, ...(warnBeforeMs !== undefined && { warnBeforeMs }) };
}

/**
 * The hooks that a broken rule names, or all of them if it names none. A name that this version does not know is a hook
 * that it does not serve: the CRD admits no misspelt name.
 */
function hooksOf(spec: unknown): readonly HookName[] {
  const hooks: unknown = isFields(spec) ? spec["hooks"] : undefined;
  if (!Array.isArray(hooks) || hooks.length === 0) return HOOK_NAMES;
  return HOOK_NAMES.filter((hook) => hooks.includes(hook));
}

export function notEnforceable(rules: readonly RuleSpec[], served: ServedHooks): readonly FieldError[] {
  const capi = `Cluster API ${served.capiVersion}`;
  return rules.flatMap((rule, r) =>
    rule.hooks.flatMap((hook, h) => {
      const path = `spec.rules[${r}].hooks[${h}]`;
      if (!served.advertised.has(hook))
        return [{ path, message: `${capi} does not call ${hook} (--capi-version)` }];
      const holding = rule.until !== undefined ? "until" : rule.tasks !== undefined ? "tasks" : undefined;
      const isNoWait =
        served.blocking.has(hook) || (holding === "tasks" && hook === "AfterControlPlaneInitialized");
      if (holding === undefined || isNoWait) return [];
      return [{ path, message: `${capi} does not wait for ${hook}, so \`${holding}\` cannot hold it` }];
    }),
  );
}
