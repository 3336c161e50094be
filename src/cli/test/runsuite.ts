/** Runs the steps of a suite: the clock, the changes, the call, and its expectations. */

import type { Decision } from "../../policy/decision.ts";
import { parseDuration } from "../../policy/duration.ts";
import { after, timestamp } from "../../policy/instant.ts";
import type { RawObject } from "../fleet/kinds.ts";
import type { LoadedSuite, Suite } from "./suite.ts";
import { begin } from "./begin.ts";
import { SuiteError, within } from "./suiteerror.ts";
import { compare, type Compared, compareTimeline } from "./expect.ts";
import { secondsSince, type StepResult, type SuiteProblem, type SuiteResult } from "./result.ts";
import type { Session } from "./session.ts";
import { compareEvents, compareMetric } from "./expectreports.ts";
import type { StepSpec, TimelineSpec } from "./spec.ts";
import { target, targetOfCall } from "./target.ts";

export function runSuite(loaded: LoadedSuite): SuiteResult {
  const began = performance.now();
  return { ...resultOf(loaded), seconds: secondsSince(began) };
}

function resultOf(loaded: LoadedSuite): Omit<SuiteResult, "seconds"> {
  const { name, source, suite, errors, problems } = loaded;
  const result = { name, file: source.file };
  if (suite === undefined) {
    const own = errors.map(({ path, message }) => problemAt(loaded, path, message));
    return { ...result, status: "error", problems: [...own, ...problems], steps: [] };
  }
  try {
    const session = begin(suite);
    const steps = runSteps(suite, session);
    const coverage = session.coverage.policies();
    return { ...result, status: worst(steps), problems: [], steps, coverage };
  } catch (error) {
    return { ...result, status: "error", problems: [problemOf(suite, error, "spec")], steps: [] };
  }
}

function worst(steps: readonly StepResult[]): SuiteResult["status"] {
  if (steps.some(({ status }) => status === "error")) return "error";
  return steps.some(({ status }) => status === "failed") ? "failed" : "passed";
}

function problemOf(suite: Suite, error: unknown, path: string): SuiteProblem {
  if (!(error instanceof SuiteError)) throw error;
  return problemAt(suite, error.field === "" ? path : `${path}.${error.field}`, error.message);
}

function problemAt({ source }: Pick<Suite, "source">, path: string, message: string): SuiteProblem {
  return {
    file: source.file,
    ...source.position(path),
    message: path === "" ? message : `${path}: ${message}`,
  };
}

function runSteps(suite: Suite, session: Session): StepResult[] {
  const results: StepResult[] = [];
  for (const [index, step] of suite.spec.steps.entries()) {
    const began = performance.now();
    const created = suite.created[index] ?? [];
    // The steps after one that could not be run depend on it.
    const broken = results.some(({ status }) => status === "error");
    const path = `spec.steps[${index}]`;
    const outcome = broken ? SKIPPED : tryStep({ suite, session, created }, step, path);
    const { line } = suite.source.position(path);
    const at = timestamp(session.now);
    results.push({ ...headOf(step, index), line, at, ...outcome, seconds: secondsSince(began) });
  }
  return results;
}

type Outcome = Omit<StepResult, "name" | "index" | "line" | "call" | "at" | "seconds">;

const SKIPPED: Outcome = { status: "skipped", compared: [] };

function headOf(step: StepSpec, index: number): Pick<StepResult, "name" | "index" | "call"> {
  const call = step.call ?? step.timeline;
  if (call === undefined) return { index, name: step.name ?? `step ${index + 1}` };
  const { hook, cluster } = call;
  return { index, name: step.name ?? `${hook} ${cluster}`, call: { hook, cluster } };
}

interface Running {
  readonly suite: Suite;
  readonly session: Session;
  readonly created: readonly RawObject[];
}

function tryStep({ suite, session, created }: Running, step: StepSpec, path: string): Outcome {
  try {
    moveClock(session, step);
    changeWorld(session, step, created);
    const outcome =
      step.timeline === undefined ? checkCall(session, step) : checkTimeline(session, step.timeline);
    return withReports(outcome, step, checkReports(session, step));
  } catch (error) {
    return { status: "error", compared: [], problem: problemOf(suite, error, path) };
  }
}

function moveClock(session: Session, { at, advance }: StepSpec): void {
  const to = at === undefined ? after(session.now, parseDuration(advance ?? "") ?? 0) : new Date(at);
  if (at !== undefined && advance !== undefined) {
    throw new SuiteError("`at` and `advance` both move the clock: one of them is enough", "advance");
  }
  if (to < session.now) throw new SuiteError(`the clock is at ${timestamp(session.now)} already`, "at");
  session.advanceTo(to);
}

function changeWorld(session: Session, step: StepSpec, created: readonly RawObject[]): void {
  const { world, now } = session;
  within("create", () => world.create(created, now));
  within("patch", () => world.patch(step.patch ?? []));
  within("delete", () => world.delete(step.delete ?? []));
  session.worldChanged();
}

function checkCall(session: Session, { call: spec, expect }: StepSpec): Outcome {
  if (spec === undefined) return { status: "done", compared: [] };
  const asked = within("call", () => targetOfCall(session, spec));
  const decision = session.ask(asked.cluster, asked.call);
  if (expect === undefined) return { status: "done", compared: [], decision };
  const policies = session.world.fleet.policies.map(({ compiled }) => compiled);
  return judged(
    within("expect", () => compare(expect, decision, policies)),
    decision,
  );
}

function checkTimeline(session: Session, timeline: TimelineSpec): Outcome {
  const { cluster, call: asked } = within("timeline", () => target(session, timeline));
  const to = new Date(timeline.to);
  if (to <= session.now) {
    throw new SuiteError(`the clock is at ${timestamp(session.now)} already`, "timeline.to");
  }
  const spans = within("timeline", () => session.timeline(cluster, asked, to));
  return judged(compareTimeline(timeline.expect, spans, session.now, to));
}

/** Events are of one step, whether it expects some or not. */
function checkReports({ reported, world }: Session, { events, metrics = [] }: StepSpec): Compared[] {
  if (reported === undefined) return [];
  const caused = reported.takeEvents();
  const policies = world.fleet.policies.map(({ compiled }) => compiled);
  return [
    ...(events === undefined ? [] : compareEvents(events, caused)),
    ...metrics.map((metric, index) =>
      within(`metrics[${index}]`, () => compareMetric(metric, reported.samples(metric.name), policies)),
    ),
  ];
}

function withReports(
  outcome: Outcome,
  { events, metrics }: StepSpec,
  compared: readonly Compared[],
): Outcome {
  if (events === undefined && metrics === undefined) return outcome;
  const all = [...outcome.compared, ...compared];
  return { ...outcome, ...judged(all, outcome.decision) };
}

function judged(compared: readonly Compared[], decision?: Decision): Outcome {
  const status = compared.every(({ same }) => same) ? "passed" : "failed";
  return { status, compared, ...(decision !== undefined && { decision }) };
}
