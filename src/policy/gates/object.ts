/** A gate on other objects: that enough of them exist, that there are not too many, or that none is left. */

import type { ObjectGateSpec } from "../../api/hook-policy.ts";
import { isObjectName } from "../../lib/dns-names.ts";
import { fieldsOf } from "../../lib/fields.ts";
import { compileExpression, type Expression, expressionAt, type ExpressionField } from "../cel/expression.ts";
import { meter } from "../cel/meter.ts";
import { describeExpression } from "./expression.ts";
import type { GateKind, GateOwner, ObjectReach } from "./gate-kind.ts";
import { compileCount, type Count, describeCounted, judge, provesByMissing } from "./object-count.ts";
import { compilePlaces, findObjects, type PlaceFinder } from "./object-place.ts";
import { apiGroup, type ObjectKind, type ObjectLook, type WatchedObject } from "../watched-objects.ts";
import { type CompiledGate, type GateResult, type ObjectQuery, unevaluable } from "../policy.ts";
import { compileSelector, describeSelector, type LabelMatcher } from "../../api/selector.ts";
import { exhausted } from "../budget.ts";
import { shellQuote } from "../../lib/shell-quote.ts";
import type { Situation, World } from "../world.ts";
import type { PolicyRef } from "../policy-ref.ts";
import { READS_NOTHING, type RequestField } from "../../api/target-version.ts";

interface CompiledObjectGate {
  readonly name: string | undefined;
  readonly namespace: string | undefined;
  readonly selectsNamespaces: boolean;
  readonly kind: ObjectKind;
  readonly places: PlaceFinder;
  /** A HookPolicy reaches only its own namespace. */
  readonly ownNamespaceOnly: boolean;
  readonly nameExpression: Expression | undefined;
  readonly expression: Expression | undefined;
  readonly whole: boolean;
  readonly selects: LabelMatcher;
  readonly count: Count;
  readonly lookSteps: number;
  /** The selector, as `kubectl get -l` takes it; "" selects everything. */
  readonly labels: string;
  /** `expression` as the trace has it. */
  readonly condition: string | undefined;
}

export const objectGate: GateKind<ObjectGateSpec> = {
  compile,
  reads: "NoMark",
  canFail: () => true,
  expressions: expressionsOf,
  looksAt,
  approvesVersion: (spec) => expressionsOf(spec).some(readsVersion),
};

function expressionsOf({ nameExpression, expression }: ObjectGateSpec): readonly ExpressionField[] {
  return [
    ...expressionAt(nameExpression, "objectName", ".nameExpression"),
    ...expressionAt(expression, "object", ".expression"),
  ];
}

function looksAt(spec: unknown): ObjectReach | undefined {
  const { apiVersion, kind, name, namespace, namespaceSelector } = fieldsOf(spec);
  if (typeof apiVersion !== "string" || typeof kind !== "string") return undefined;
  const selectsNamespaces = (namespaceSelector ?? null) !== null;
  return {
    kind: { apiVersion, kind },
    ...(typeof name === "string" && { name }),
    ...(typeof namespace === "string" && !selectsNamespaces && { namespace }),
    selectsNamespaces,
  };
}

function readsVersion({ source, use }: ExpressionField): boolean {
  const { expression } = compileExpression(source, use);
  return VERSION_FIELDS.some((field) => expression?.requestFields.has(field) === true);
}

const VERSION_FIELDS = ["toKubernetesVersion", "targetVersion"] as const;

function compile(name: string, spec: ObjectGateSpec, { policy }: GateOwner): CompiledGate {
  const gate = partsOf(spec, policy);
  if (gate === undefined) {
    const result = unevaluable("InvalidExpression", spec.kind, "an expression does not compile");
    return { name, requestFields: READS_NOTHING, evaluate: () => result };
  }
  const usesNow = gate.expression?.usesNow === true;
  return {
    name,
    requestFields: readBy(gate.nameExpression).union(readBy(gate.expression)),
    demands: [{ kind: gate.kind, whole: gate.whole }],
    ...((gate.selectsNamespaces || (spec.namespace !== undefined && provesByMissing(gate.count))) && {
      readsNamespaces: true,
    }),
    queries: (situation) => queries(gate, situation),
    evaluate: (situation) => ({
      ...withWhole(gate, evaluate(gate, situation)),
      ...(usesNow && { changesAt: "Unknown" }),
    }),
    ...(usesNow && { usesNow, opensAt: () => "Unknown" }),
  };
}

function partsOf(spec: ObjectGateSpec, policy: PolicyRef): CompiledObjectGate | undefined {
  const { apiVersion, kind, selector = {} } = spec;
  const ownNamespaceOnly = policy.kind === "HookPolicy";
  // The CRD has no such field. A HookPolicy must not reach other namespaces even if the API server stores it.
  if (ownNamespaceOnly && spec.namespaceSelector !== undefined) return undefined;
  const nameExpression = compileOptional(spec.nameExpression, "objectName");
  const expression = compileOptional(spec.expression, "object");
  if (nameExpression === "broken" || expression === "broken") return undefined;
  return {
    name: spec.name,
    namespace: spec.namespace,
    selectsNamespaces: spec.namespaceSelector !== undefined,
    kind: { apiVersion, kind },
    places: compilePlaces(spec),
    ownNamespaceOnly,
    nameExpression,
    expression,
    whole: expression?.readsWholeObject ?? false,
    selects: compileSelector(selector),
    count: compileCount(spec),
    lookSteps: lookStepsOf(spec),
    labels: describeSelector(selector),
    condition: spec.expression && describeExpression(spec.expression).wantedInFull,
  };
}

function readBy(expression: Expression | undefined): ReadonlySet<RequestField> {
  return expression?.requestFields ?? READS_NOTHING;
}

function compileOptional(
  source: string | undefined,
  use: "object" | "objectName",
): Expression | undefined | "broken" {
  return source === undefined ? undefined : (compileExpression(source, use).expression ?? "broken");
}

/** The cost of checking one object. */
function lookStepsOf({ selector }: ObjectGateSpec): number {
  if (selector === undefined) return 0.1; // a name
  const labels = Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length;
  return 1 + labels / 3;
}

/** The objects to read before a release; none if the gate is not evaluable. */
function queries(gate: CompiledObjectGate, situation: Situation): readonly ObjectQuery[] {
  const name = nameOf(gate, situation);
  if (isResult(name)) return [];
  const place = gate.places.find(situation.world, "");
  if (isResult(place)) return [];
  const { kind, whole } = gate;
  const named = name === undefined ? {} : { name };
  return place.namespaces.map((namespace) => ({ kind, whole, namespace, ...named }));
}

/** `undefined`: objects of any name. */
function nameOf(
  gate: CompiledObjectGate,
  { world: { cluster, namespace }, call, now }: Situation,
): string | undefined | GateResult {
  if (gate.nameExpression === undefined) return gate.name;
  const result = gate.nameExpression.evaluate({ cluster, namespace, call, now });
  // For an invalid name, absence proves nothing.
  if (result.ok && isObjectName(result.value)) return result.value;
  const problem = result.ok ? "nameExpression gives no name" : result.problem;
  return unevaluable("ExpressionError", describe(gate, undefined, ""), problem);
}

/** What has no result yet is a name, or where to look. */
function isResult(found: object | string | undefined): found is GateResult {
  return typeof found === "object" && "met" in found;
}

function evaluate(gate: CompiledObjectGate, situation: Situation): GateResult {
  const name = nameOf(gate, situation);
  if (isResult(name)) return name;
  const found = look(gate, name, situation.world);
  if (isResult(found)) return found;
  const { wanted, objects } = found;
  if (!meter.afford(Math.ceil(objects.length * gate.lookSteps))) return exhausted();
  const wants = wanting(gate, name);
  const candidates = objects.filter(({ metadata }) => wants(metadata));
  const result = judge(gate.count, candidates, wanted, (object) => fulfils(gate, object, situation));
  return result.met === false
    ? { ...result, look: commandsToLook(gate, name, found, result.reason) }
    : result;
}

function wanting({ selects }: CompiledObjectGate, name: string | undefined): ObjectLook["wants"] {
  return (metadata) => (name === undefined ? selects(metadata.labels) : metadata.name === name);
}

/** The objects that exist, and whether the user may create what is missing. */
function commandsToLook(
  { kind, labels, selectsNamespaces }: CompiledObjectGate,
  name: string | undefined,
  { namespaces }: LookResult,
  reason: string,
): readonly string[] {
  const resource = shellQuote(`${kind.kind.toLowerCase()}${groupSuffix(kind.apiVersion)}`);
  const [namespace, ...others] = namespaces;
  const isWide = selectsNamespaces && (namespace === undefined || others.length > 0);
  const place = isWide ? " -A" : namespace === undefined ? "" : ` -n ${shellQuote(namespace)}`;
  const search = labels === "" ? "" : ` -l ${shellQuote(labels)}`;
  // kubectl gets no name across all namespaces.
  const named = isWide
    ? ` --field-selector ${shellQuote(`metadata.name=${name}`)}`
    : ` ${shellQuote(name ?? "")}`;
  const object = name === undefined ? search : named;
  return [
    `kubectl get ${resource}${place}${object}`,
    ...(reason === "WaitingForObject" ? [`kubectl auth can-i create ${resource}${place}`] : []),
  ];
}

/** What messages say instead of the expression. */
const ITS_EXPRESSION = " for which its expression is true";

function withWhole({ condition }: CompiledObjectGate, result: GateResult): GateResult {
  if (condition === undefined) return result;
  return { ...result, wantedInFull: result.wanted.replace(ITS_EXPRESSION, () => ` with ${condition}`) };
}

interface LookResult {
  readonly wanted: string;
  readonly objects: readonly WatchedObject[];
  /** Where they are; none for a cluster-scoped kind. */
  readonly namespaces: readonly string[];
}

/** The objects in the gate's reach, or why they are unknown or prove nothing. */
function look(gate: CompiledObjectGate, name: string | undefined, world: World): GateResult | LookResult {
  const place = gate.places.find(world, describe(gate, name, gate.places.where));
  if (isResult(place)) return place;
  const found = findObjects(world, gate.kind, place.namespaces, {
    wants: wanting(gate, name),
    name,
    whole: gate.whole,
    namespace: gate.namespace,
    missesInNamespaces: gate.selectsNamespaces && provesByMissing(gate.count),
  });
  const wanted = describe(gate, name, found.ok && !found.namespaced ? "" : place.where);
  if (!found.ok) {
    const { reason, message, grant } = found;
    return { ...unevaluable(reason, wanted, message), ...(grant !== undefined && { look: [grant] }) };
  }
  if (found.namespaced) {
    const doubt = provesByMissing(gate.count) ? place.doubt : undefined;
    return doubt === undefined
      ? { wanted, objects: found.objects, namespaces: place.namespaces }
      : { ...doubt, wanted };
  }
  const problem = outOfReach(gate.ownNamespaceOnly, gate.selectsNamespaces);
  if (problem !== undefined) return unevaluable("ObjectOutOfReach", wanted, problem);
  return { wanted, objects: found.objects, namespaces: [] };
}

/** Why the gate cannot look at objects of a cluster-scoped kind. */
export function outOfReach(ownNamespaceOnly: boolean, selectsNamespaces: boolean): string | undefined {
  if (ownNamespaceOnly) return "the kind is cluster-scoped, which needs a ClusterHookPolicy";
  return selectsNamespaces ? "the kind is cluster-scoped: remove namespaceSelector" : undefined;
}

/** A text: why the expression is not evaluable for this object. */
function fulfils(
  { expression }: CompiledObjectGate,
  { raw, metadata }: WatchedObject,
  { world: { cluster }, call, now }: Situation,
): boolean | string {
  if (expression === undefined) return true;
  if (raw === undefined && expression.readsWholeObject) return "its fields are not known";
  const object = raw ?? { metadata };
  const result = expression.evaluate({ cluster, call, object, objectMetadata: metadata, now });
  return result.ok ? result.value === true : result.problem;
}

/** As in "Backup.velero.io". */
function groupSuffix(apiVersion: string): string {
  const group = apiGroup(apiVersion);
  return group === "" ? "" : `.${group}`;
}

function describe(gate: CompiledObjectGate, name: string | undefined, where: string): string {
  const { apiVersion, kind } = gate.kind;
  const group = groupSuffix(apiVersion);
  const labelled = gate.labels === "" ? "" : ` with ${gate.labels}`;
  const named = name === undefined ? labelled : ` ${name}`;
  const place = where === "" ? "" : ` in ${where}`;
  const condition = gate.condition === undefined ? "" : ITS_EXPRESSION;
  return describeCounted(gate.count, `${kind}${group}${named}${place}${condition}`);
}
