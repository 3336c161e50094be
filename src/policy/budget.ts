/** The budget of a decision. HookPolicies of a namespace share one, and each ClusterHookPolicy has its own. */

import { entryOf } from "../lib/entry-of.ts";
import { type Budget, MAX_STEPS, meter, STEPS_EXCEEDED, WORK_STEPS } from "./cel/meter.ts";
import {
  type CompiledGate,
  type CompiledPolicy,
  type CompiledRule,
  type GateResult,
  unevaluable,
} from "./policy.ts";
import type { Window } from "./window/window.ts";
import type { Situation } from "./world.ts";
import type { PolicyRef } from "./policy-ref.ts";
import { BUDGET_EXHAUSTED } from "./strict-reasons.ts";

/** The cost of parsing what memory has of a HookTask, and of its name. */
const RECORD_STEPS = 30;
/** The cost of asking a window's entry for its next start or end. */
const ASK_STEPS = 2;
/** The budget of a forecast, which follows a policy from edge to edge. */
const FORECAST_STEPS = MAX_STEPS / 2;

/** What `work` gives for each policy in one decision, whose budgets are independent of each other. */
export function withinBudgets<T>(
  policies: readonly CompiledPolicy[],
  work: (policy: CompiledPolicy) => T,
): T[] {
  const byOwner = new Map<string, Budget>();
  return meter.decision(() =>
    policies.map((policy) => {
      const { kind, namespace = "", name } = policy.ref;
      const owner = kind === "HookPolicy" ? `/${namespace}` : name;
      return meter.within(
        entryOf(byOwner, owner, () => meter.budget()),
        () => work(policy),
      );
    }),
  );
}

/** A decision of its own, with as many steps as a ClusterHookPolicy. */
export function inOwnDecision<T>(work: () => T): T {
  return meter.decision(() => meter.within(meter.budget(), work));
}

export function withinForecastBudget<T>(work: () => T): T {
  return meter.within(meter.budget(FORECAST_STEPS), work);
}

/** Charges a rule with its waits, in addition to its expressions, objects and windows; false when no steps are left. */
export function affordRule({ waits }: CompiledRule): boolean {
  return meter.afford(WORK_STEPS * (1 + waits.length));
}

/** Charges the HookTasks of a rule before they are read. Each is parsed once, and compared with each task. */
export function affordTasks(tasks: number, records: number): boolean {
  return meter.afford(tasks * (WORK_STEPS + records) + records * RECORD_STEPS);
}

/** Charges a comparison of two texts; texts of different lengths are not read. */
export function affordComparison(a: string | undefined, b: string | undefined): boolean {
  return a?.length !== b?.length || meter.affordText(a?.length ?? 0);
}

/** Charges an hour of a window, once per budget: windows with the same spec are one. */
export function affordWindow(window: Window, now: Date): boolean {
  return meter.affordOnce(window, () => window.asks(now) * ASK_STEPS);
}

/** The only way to evaluate a gate. When the steps run out, the gate is not evaluable, whatever it found before. */
export function evaluateGate(gate: CompiledGate, situation: Situation): GateResult {
  if (!meter.afford(WORK_STEPS)) return exhausted();
  const result = gate.evaluate(situation);
  return meter.exhausted ? exhausted() : result;
}

export function exhausted(): GateResult {
  return unevaluable(BUDGET_EXHAUSTED, "an evaluation within the steps of a decision", STEPS_EXCEEDED);
}

export function describeExhausted({ kind, namespace }: PolicyRef): string {
  const [who, need] =
    kind === "HookPolicy"
      ? [`the HookPolicies of namespace ${namespace} together`, "need"]
      : ["the policy", "needs"];
  return `${who} ${need} more than ${MAX_STEPS} steps for this Cluster: simplify expressions, let object gates look at fewer objects, or split the namespace`;
}
