/** The results of suites, from which the reports are made. */

import type { HookName } from "../../api/runtime-hooks.ts";
import type { FileProblem } from "../files/parsed.ts";
import type { Operation } from "../../operations/beginnings.ts";
import type { PolicyCoverage } from "./coverage.ts";
import type { StepAnswer, FieldComparison } from "./expect.ts";

export interface SuiteResult {
  readonly name: string;
  readonly file: string;
  /** error: the suite could not be run, or not to its end. */
  readonly status: "passed" | "failed" | "error";
  /** The reasons why no step was run. */
  readonly problems: readonly FileProblem[];
  readonly steps: readonly StepResult[];
  /** Set for a file that could not be read; it may contain suites. */
  readonly unreadable?: true;
  /** The results that its calls, timelines and waits have seen; absent: it could not be run. */
  readonly coverage?: readonly PolicyCoverage[];
  /** How long the suite took; not in JSON. */
  readonly seconds: number;
}

/** Without an answer if the step makes no call, or if it is a timeline. */
export interface StepResult extends Partial<StepAnswer> {
  readonly index: number;
  readonly name: string;
  /** 1-based, in the suite's file. */
  readonly line: number;
  /** The time of the suite's clock. */
  readonly at: string;
  readonly call?: StepCall;
  /** done: nothing was expected. skipped: an earlier step could not be run. */
  readonly status: "passed" | "failed" | "error" | "done" | "skipped";
  readonly compared: readonly FieldComparison[];
  readonly problem?: FileProblem;
  /** How long the step took; not in JSON. */
  readonly seconds: number;
}

interface StepCall {
  readonly hook: HookName;
  readonly cluster: string;
  /** Set for a request to the API server, which is judged by the rules on this hook. */
  readonly admission?: Operation | undefined;
}

export function callText({ hook, cluster, admission }: StepCall): string {
  return admission === undefined ? `${hook} ${cluster}` : `admission: ${admission} ${cluster}`;
}

/** The steps that reports count and show as cases: those that expect something. */
export function casesOf({ steps }: SuiteResult): readonly StepResult[] {
  return steps.filter(({ status }) => status !== "done");
}

export interface Totals {
  readonly suites: number;
  readonly passed: number;
  readonly failed: number;
  readonly errors: number;
  readonly skipped: number;
}

/** Counts the cases; a suite that could not be run, and a file that could not be read, are one error each. */
export function totalsOf(results: readonly SuiteResult[]): Totals {
  const cases = results.flatMap(casesOf);
  const count = (status: StepResult["status"]): number =>
    cases.filter((step) => step.status === status).length;
  const broken = results.filter(({ problems }) => problems.length > 0).length;
  return {
    suites: results.filter(({ unreadable }) => unreadable !== true).length,
    passed: count("passed"),
    failed: count("failed"),
    errors: count("error") + broken,
    skipped: count("skipped"),
  };
}
