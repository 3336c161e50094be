/** A recorded suite expects only what it gives: an answer that it does not give again is not expected. */

import type { SuiteResult } from "../result.ts";
import type { StepSpec } from "../spec.ts";
import type { Answered } from "./auditlines.ts";

export interface Unrepeated {
  readonly answer: Answered;
  readonly why: string;
}

export interface Verified {
  readonly steps: readonly StepSpec[];
  readonly unrepeated: readonly Unrepeated[];
}

/** `run`: runs a suite with these steps. */
export async function verify(
  steps: readonly StepSpec[],
  answers: readonly Answered[],
  run: (steps: readonly StepSpec[]) => Promise<SuiteResult>,
): Promise<Verified> {
  let pairs = steps.map((step, index) => ({ step, answer: answers[index] }));
  const unrepeated: Unrepeated[] = [];
  for (;;) {
    const kept = pairs.map(({ step }) => step);
    if (!kept.some(({ expect }) => expect !== undefined)) return { steps: [], unrepeated };
    const result = await run(kept);
    if (result.status === "passed") return { steps: kept, unrepeated };
    const why = new Map(result.steps.map((step) => [step.index, whyNot(step)]));
    const problem = result.problems[0]?.message;
    const before = unrepeated.length;
    pairs = pairs.flatMap(({ step, answer }, index) => {
      const wrong = problem ?? why.get(index);
      if (wrong === undefined) return [{ step, answer }];
      if (answer !== undefined) unrepeated.push({ answer, why: wrong });
      // What it changes, later steps depend on; a step that cannot be run changes nothing.
      const { expect: _, ...rest } = step;
      return result.steps[index]?.status === "failed" ? [{ step: rest, answer: undefined }] : [];
    });
    if (unrepeated.length === before) return { steps: [], unrepeated };
  }
}

function whyNot({ status, compared, problem }: SuiteResult["steps"][number]): string | undefined {
  if (status === "error") return problem?.message ?? "it cannot be run";
  const wrong = compared.filter(({ same }) => !same);
  if (status !== "failed" || wrong.length === 0) return undefined;
  return wrong.map(({ field, expected, actual }) => `${field} ${expected}, but here ${actual}`).join("; ");
}
