/** What a decision may cost: all HookPolicies of a namespace together, and each ClusterHookPolicy for itself. */

import type { HookCall } from "../api/runtimehooks.ts";
import { type Budget, MAX_STEPS, meter, STEPS_EXCEEDED } from "./cel/meter.ts";
import { type CompiledGate, type GateResult, unevaluable } from "./policy.ts";
import type { Window } from "./window/window.ts";
import type { World } from "./world.ts";
import type { PolicyRef } from "./policyref.ts";

/** The reason of a rule that holds whatever its failurePolicy: what data can bring about is no reason to release. */
export const BUDGET_EXHAUSTED = "BudgetExhausted";

/** What a rule, or a gate, costs beside its expressions, objects and windows. */
const RULE_STEPS = 10;
const GATE_STEPS = 10;
/** An entry of a window that is asked for its next start or end. */
const ASK_STEPS = 2;
/** A forecast follows a policy from edge to edge. */
const FORECAST_STEPS = MAX_STEPS / 2;

/** The budgets of one decision. They do not depend on one another. */
export class Budgets {
  readonly #byOwner = new Map<string, Budget>();

  of({ kind, namespace = "", name }: PolicyRef): Budget {
    const owner = kind === "HookPolicy" ? `/${namespace}` : name;
    const budget = this.#byOwner.get(owner) ?? meter.budget();
    this.#byOwner.set(owner, budget);
    return budget;
  }
}

export function within<T>(budget: Budget, work: () => T): T {
  return meter.within(budget, work);
}

/** What one decision reads twice is unpacked once. */
export function inOneDecision<T>(work: () => T): T {
  return meter.decision(work);
}

export function withinForecastBudget<T>(work: () => T): T {
  return meter.within(meter.budget(FORECAST_STEPS), work);
}

/** No steps are left, so that no rule and no gate is evaluated any more. */
export function isUsedUp(): boolean {
  return meter.exhausted;
}

/** Whether there are steps left for a rule. */
export function affordRule(): boolean {
  return meter.afford(RULE_STEPS);
}

/** Whether there are steps left for that many objects, labels, entries … that a gate looks at. */
export function afford(steps: number): boolean {
  return meter.afford(steps);
}

/** Whether there are steps left to compare two texts: of different lengths, they are not read. */
export function affordComparison(a: string | undefined, b: string | undefined): boolean {
  return a?.length !== b?.length || meter.affordText(a?.length ?? 0);
}

/** What an hour of a window costs, once for each budget: windows of one spec are one. */
export function affordWindow(window: Window, now: Date): boolean {
  return meter.affordOnce(window, () => window.asks(now) * ASK_STEPS);
}

/** The one way to evaluate a gate. Steps that run out make it not evaluable, whatever it has seen before. */
export function lookAt(gate: CompiledGate, world: World, call: HookCall, now: Date): GateResult {
  if (!meter.afford(GATE_STEPS)) return exhausted();
  const result = gate.evaluate(world, call, now);
  return meter.exhausted ? exhausted() : result;
}

export function exhausted(): GateResult {
  return unevaluable(BUDGET_EXHAUSTED, "an evaluation within the steps of a decision", STEPS_EXCEEDED);
}

/** What is too much, and what to do. */
export function describeExhausted({ kind, namespace }: PolicyRef): string {
  const [who, need] =
    kind === "HookPolicy"
      ? [`the HookPolicies of namespace ${namespace} together`, "need"]
      : ["the policy", "needs"];
  return `${who} ${need} more than ${MAX_STEPS} steps for this Cluster: simplify expressions, let object gates look at fewer objects, or split the namespace`;
}
