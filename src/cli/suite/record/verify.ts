/** Runs a recorded suite, and drops the expectations that it does not fulfil. */

import type { StepResult, SuiteResult } from "../result.ts";
import type { ExpectSpec, StepSpec } from "../spec.gen.ts";
import type { RecordedAnswer } from "./audit-lines.ts";
import type { RecordedStep } from "./recording.ts";

export interface Verification {
  readonly steps: readonly StepSpec[];
  readonly unrepeated: readonly { readonly answer: RecordedAnswer; readonly why: string }[];
}

/** `run`: runs a suite with these steps. `problemOf`: why no suite can expect this, such as a missing policy. */
export async function verify(
  recorded: readonly RecordedStep[],
  run: (steps: readonly StepSpec[]) => Promise<SuiteResult>,
  problemOf: (expect: ExpectSpec) => string | undefined,
): Promise<Verification> {
  const unrepeated: { answer: RecordedAnswer; why: string }[] = [];
  // The step stays without its expectation, because later steps depend on its changes.
  const giveUp = ({ step, answer }: RecordedStep, why: string): RecordedStep => {
    if (answer !== undefined) unrepeated.push({ answer, why });
    const { expect: _, ...rest } = step;
    return { step: rest };
  };
  let left = recorded.map((each) => {
    const problem = each.step.expect && problemOf(each.step.expect);
    return problem === undefined ? each : giveUp(each, problem);
  });
  while (left.some(({ answer }) => answer !== undefined)) {
    const steps = left.map(({ step }) => step);
    const result = await run(steps);
    if (result.status === "passed") return { steps, unrepeated };
    const [problem] = result.problems;
    const broken = result.steps.find(({ status }) => status === "error");
    left = left.flatMap((each, index): RecordedStep[] => {
      const failure = result.steps[index];
      if (problem !== undefined) return [giveUp(each, problem.message)];
      if (failure?.status === "failed") return [giveUp(each, whyFailed(failure))];
      if (broken === undefined || !isLike(each.step, broken)) return [each];
      const { call, ...step } = giveUp(each, broken.problem?.message ?? "it cannot be run").step;
      // The changes of a request's step show what gates looked at. A call goes with its step.
      return call !== undefined && "admission" in call ? [{ step }] : [];
    });
  }
  return { steps: [], unrepeated };
}

/** A call that is impossible once stays so, but a request may be possible at another time. */
function isLike({ name, call }: StepSpec, broken: StepResult): boolean {
  if (call === undefined || "admission" in call) return name === broken.name;
  return call.hook === broken.call?.hook && call.cluster === broken.call.cluster;
}

function whyFailed({ compared, decision }: StepResult): string {
  const wrong = compared.filter(({ same }) => !same);
  const text = wrong
    .map(({ field, expected, actual }) => `${field} ${expected}, but here ${actual}`)
    .join("; ");
  return decision?.verdict === "NotEvaluable" ? `${text}: ${decision.message}` : text;
}
