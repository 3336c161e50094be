/** A gate on other objects: that some exist, or that none does. */

import type { ObjectGateSpec } from "../../api/hookpolicy.ts";
import type { HookCall } from "../../api/runtimehooks.ts";
import { compileExpression, type Expression } from "../cel/expression.ts";
import { quoted } from "./expressiongate.ts";
import type { ObjectKind, WatchedObject } from "../objects.ts";
import { type CompiledGate, type GateResult, type ObjectQuery, unevaluable } from "../policy.ts";
import { compileSelector, type LabelMatcher } from "../selector.ts";
import { afford, exhausted } from "../budget.ts";
import type { World } from "../world.ts";
import type { PolicyRef } from "../policyref.ts";

interface CompiledObjectGate {
  readonly kind: ObjectKind;
  /** Absent: the Cluster's namespace. */
  readonly namespace?: string;
  /** A HookPolicy reaches only its own namespace. */
  readonly ownNamespaceOnly: boolean;
  readonly name?: string;
  readonly nameExpression?: Expression;
  readonly selector?: LabelMatcher;
  readonly expression?: Expression;
  readonly whole: boolean;
  readonly absent: boolean;
  readonly minCount: number;
  readonly lookSteps: number;
  /** What the gate waits for, without names that depend on the Cluster. */
  readonly condition: string;
}

/** The spec has been checked (semantics.ts). */
export function objectGate(name: string, spec: ObjectGateSpec, policy: PolicyRef): CompiledGate {
  const gate = compile(spec, policy);
  if (gate === undefined) {
    const result = unevaluable("InvalidExpression", spec.kind, "an expression does not compile");
    return { name, evaluate: () => result };
  }
  const usesNow = gate.expression?.usesNow === true;
  return {
    name,
    demands: [{ kind: gate.kind, whole: gate.whole }],
    queries: (world, call, now) => {
      const query = locate(gate, { world, call, now });
      return "holds" in query ? [] : [query];
    },
    evaluate: (world, call, now) => ({
      ...evaluate(gate, { world, call, now }),
      ...(usesNow && { changesAt: "Unknown" }),
    }),
    ...(usesNow && { usesNow, opensAt: () => "Unknown" }),
  };
}

function compile(spec: ObjectGateSpec, policy: PolicyRef): CompiledObjectGate | undefined {
  const { apiVersion, kind, namespace, name, minCount = 1 } = spec;
  const nameExpression = compileOptional(spec.nameExpression, "objectName");
  const expression = compileOptional(spec.expression, "object");
  if (nameExpression === "broken" || expression === "broken") return undefined;
  return {
    kind: { apiVersion, kind },
    ...(namespace !== undefined && { namespace }),
    ownNamespaceOnly: policy.kind === "HookPolicy",
    ...(name !== undefined && { name }),
    ...(nameExpression !== undefined && { nameExpression }),
    ...(spec.selector !== undefined && { selector: compileSelector(spec.selector) }),
    ...(expression !== undefined && { expression }),
    whole: expression?.readsWholeObject ?? false,
    absent: spec.absent === true,
    minCount,
    lookSteps: lookStepsOf(spec),
    condition: spec.expression === undefined ? "" : ` with ${quoted(spec.expression)}`,
  };
}

function compileOptional(
  source: string | undefined,
  use: "object" | "objectName",
): Expression | undefined | "broken" {
  return source === undefined ? undefined : (compileExpression(source, use).expression ?? "broken");
}

interface Situation {
  readonly world: World;
  readonly call: HookCall;
  readonly now: Date;
}

/** The cost of checking one object. */
function lookStepsOf({ selector }: ObjectGateSpec): number {
  if (selector === undefined) return 0.1; // a name
  const labels = Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length;
  return 1 + labels / 3;
}

/** Where the objects are, or why that is unknown. */
function locate(gate: CompiledObjectGate, { world, call, now }: Situation): ObjectQuery | GateResult {
  const { cluster, namespace } = world;
  const place = {
    kind: gate.kind,
    whole: gate.whole,
    namespace: gate.namespace ?? cluster.metadata.namespace ?? "",
  };
  if (gate.name !== undefined) return { ...place, name: gate.name };
  if (gate.nameExpression === undefined) return place;
  const result = gate.nameExpression.evaluate({ cluster, namespace, call, now });
  if (result.ok && typeof result.value === "string" && isObjectName(result.value))
    return { ...place, name: result.value };
  const problem = result.ok ? "nameExpression gives no name" : result.problem;
  return unevaluable("ExpressionError", describe(gate, undefined, true), problem);
}

/** For an invalid name, absence proves nothing (apimachinery: IsValidPathSegmentName). */
function isObjectName(name: string): boolean {
  return /^[^/%]{1,253}$/.test(name) && name !== "." && name !== "..";
}

function evaluate(gate: CompiledObjectGate, situation: Situation): GateResult {
  const query = locate(gate, situation);
  if ("holds" in query) return query;
  const { world, now } = situation;
  const found = world.objects.find(gate.kind, query.namespace);
  const wanted = describe(gate, query, !found.ok || found.namespaced);
  if (!found.ok) return unevaluable(found.reason, wanted, found.message);
  if (gate.ownNamespaceOnly && !found.namespaced) {
    return unevaluable(
      "ObjectOutOfReach",
      wanted,
      "the kind is cluster-scoped, which needs a ClusterHookPolicy",
    );
  }
  if (gate.absent && found.namespaced && query.namespace === world.cluster.metadata.namespace) {
    const doubt = doubtAbsence(world, wanted);
    if (doubt !== undefined) return doubt;
  }
  const { length } = found.objects;
  if (!afford(Math.ceil(length * gate.lookSteps))) return exhausted();
  const candidates = found.objects.filter((object) => isMeant(gate, query, object));
  return gate.absent
    ? judgeAbsence(gate, candidates, { wanted, world, now })
    : judgePresence(gate, candidates, { wanted, world, now });
}

/** Whether a namespace exists and is not being deleted is known only for the Cluster's own. */
function doubtAbsence({ namespace }: World, wanted: string): GateResult | undefined {
  if (namespace === undefined) {
    return unevaluable("NamespaceUnknown", wanted, "the Namespace is not known");
  }
  if (namespace.metadata.deletionTimestamp === undefined) return undefined;
  const observed = "its namespace is being deleted, so missing objects prove nothing";
  return { holds: false, reason: "NamespaceTerminating", wanted, observed };
}

function isMeant(
  { selector }: CompiledObjectGate,
  { name }: ObjectQuery,
  { metadata }: WatchedObject,
): boolean {
  if (name !== undefined) return metadata.name === name;
  return selector === undefined || selector(metadata.labels);
}

interface Judging {
  readonly wanted: string;
  readonly world: World;
  readonly now: Date;
}

/** A text: why the expression is not evaluable for this object. */
function fulfils(
  { expression }: CompiledObjectGate,
  object: WatchedObject,
  { world, now }: Judging,
): boolean | string {
  if (expression === undefined) return true;
  const raw = object.raw ?? (expression.readsWholeObject ? undefined : { metadata: object.metadata });
  if (raw === undefined) return "its fields are not known";
  const result = expression.evaluate({
    cluster: world.cluster,
    object: raw,
    objectMetadata: object.metadata,
    now,
  });
  return result.ok ? result.value === true : result.problem;
}

/** An object that is being deleted does not count as present. */
function judgePresence(
  gate: CompiledObjectGate,
  objects: readonly WatchedObject[],
  judging: Judging,
): GateResult {
  const results = objects
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map((object) => fulfils(gate, object, judging));
  const count = results.filter((result) => result === true).length;
  const problems = results.filter((result) => typeof result === "string");
  const { wanted } = judging;
  const observed = `${count} of ${results.length}`;
  if (count >= gate.minCount) return { holds: true, reason: "Holds", wanted, observed };
  if (count + problems.length >= gate.minCount)
    return unevaluable("ExpressionError", wanted, describeProblems(problems));
  return { holds: false, reason: "WaitingForObject", wanted, observed };
}

/** An object that is being deleted still exists. */
function judgeAbsence(
  gate: CompiledObjectGate,
  objects: readonly WatchedObject[],
  judging: Judging,
): GateResult {
  const results = objects.map((object) => fulfils(gate, object, judging));
  const { wanted } = judging;
  const count = results.filter((result) => result === true).length;
  if (count > 0) return { holds: false, reason: "WaitingForAbsence", wanted, observed: `${count} left` };
  const problems = results.filter((result) => typeof result === "string");
  if (problems.length > 0) return unevaluable("ExpressionError", wanted, describeProblems(problems));
  return { holds: true, reason: "Holds", wanted, observed: "none left" };
}

/** The same text on every replica, whatever the order of the objects. */
function describeProblems(problems: readonly string[]): string {
  const [first = ""] = problems.toSorted();
  return `the expression cannot be evaluated for an object: ${first}`;
}

function describe(gate: CompiledObjectGate, query: ObjectQuery | undefined, namespaced: boolean): string {
  const { apiVersion, kind } = gate.kind;
  const group = apiVersion.includes("/") ? `.${apiVersion.split("/")[0]}` : "";
  const named = query?.name === undefined ? "" : ` ${query.name}`;
  const where = query === undefined || !namespaced ? "" : ` in namespace ${query.namespace}`;
  const many = gate.minCount > 1 ? `${gate.minCount} × ` : "";
  const what = `${many}${kind}${group}${named}${where}${gate.condition}`;
  return gate.absent ? `no ${what} to be left` : what;
}
