/** Runs the steps of a suite: the clock, the changes, the call, and its expectations. */

import { parseDuration } from "../../lib/duration.ts";
import { after, timestamp } from "../../lib/instant.ts";
import { BEGINS } from "../../operations/beginnings.ts";
import type { RawObject } from "../fleet/kinds.ts";
import type { FileProblem } from "../files/parsed.ts";
import { problemAt } from "../fleet/object-problems.ts";
import type { LoadedSuite, Suite } from "./suite.ts";
import { begin, expectsAny, type SuiteWorld } from "./begin.ts";
import { SuiteError, within, withinAsync } from "./suite-error.ts";
import { type StepAnswer, compare, type FieldComparison, compareTimeline } from "./expect.ts";
import { callText, type StepResult, type SuiteResult } from "./result.ts";
import { compareEvents, compareMetric } from "./expect-reports.ts";
import { compareRollout } from "./expect-rollouts.ts";
import { compareTask } from "./expect-tasks.ts";
import type { StepSpec, TimelineSpec } from "./spec.gen.ts";
import type { CallSpec, RequestSpec } from "./spec.ts";
import { target, targetOfCall, targetOfRequest } from "./target.ts";

export async function runSuite(loaded: LoadedSuite): Promise<SuiteResult> {
  const { name, source, suite, problems } = loaded;
  const began = performance.now();
  const result = { name, file: source.file, problems: [], steps: [], seconds: 0 };
  if (suite === undefined) return { ...result, status: "error", problems };
  try {
    const begun = await begin(suite);
    const steps = await runSteps(suite, begun);
    const coverage = begun.session.coverage.policies();
    return { ...result, status: worst(steps), steps, coverage, seconds: secondsSince(began) };
  } catch (error) {
    return { ...result, status: "error", problems: [problemOf(suite, error, "spec")] };
  }
}

function secondsSince(began: number): number {
  return (performance.now() - began) / 1000;
}

function worst(steps: readonly StepResult[]): SuiteResult["status"] {
  if (steps.some(({ status }) => status === "error")) return "error";
  return steps.some(({ status }) => status === "failed") ? "failed" : "passed";
}

function problemOf({ source }: Suite, error: unknown, path: string): FileProblem {
  if (!(error instanceof SuiteError)) throw error;
  const { field, message } = error;
  return problemAt(source, { path: field === "" ? path : `${path}.${field}`, message });
}

async function runSteps(suite: Suite, begun: SuiteWorld): Promise<StepResult[]> {
  const results: StepResult[] = [];
  for (const [index, step] of suite.spec.steps.entries()) {
    const began = performance.now();
    const created = suite.created[index] ?? [];
    // Later steps depend on a step that could not be run.
    const broken = results.some(({ status }) => status === "error");
    const path = `spec.steps[${index}]`;
    const outcome = broken ? SKIPPED : await tryStep(begun, { suite, created }, step, path);
    const { line } = suite.source.position(path);
    const at = timestamp(begun.session.now);
    results.push({
      ...headOf(step, index),
      line,
      at,
      ...outcome,
      seconds: secondsSince(began),
    });
  }
  return results;
}

type Outcome = Omit<StepResult, "name" | "index" | "line" | "call" | "at" | "seconds">;

const SKIPPED: Outcome = { status: "skipped", compared: [] };

function headOf(step: StepSpec, index: number): Pick<StepResult, "name" | "index" | "call"> {
  const call = step.call ?? step.timeline;
  if (call === undefined) return { index, name: step.name ?? `step ${index + 1}` };
  const { cluster } = call;
  const known =
    "admission" in call
      ? { hook: BEGINS[call.admission], cluster, admission: call.admission }
      : { hook: call.hook, cluster };
  return { index, name: step.name ?? callText(known), call: known };
}

async function tryStep(
  world: SuiteWorld,
  { suite, created }: { readonly suite: Suite; readonly created: readonly RawObject[] },
  step: StepSpec,
  path: string,
): Promise<Outcome> {
  try {
    await moveClock(world, step);
    await changeObjects(world, step, created);
    const answered = await answer(world, step.call);
    const { expect } = step;
    const { fleet } = world.session.objects;
    const compared = [
      ...(answered && expect ? within("expect", () => compare(expect, answered, fleet)) : []),
      ...(step.timeline ? checkTimeline(world, step.timeline) : []),
      ...checkReports(world, step),
    ];
    const isRight = compared.every(({ same }) => same);
    const status = !expectsAny(step) ? "done" : isRight ? "passed" : "failed";
    return { status, compared, ...answered };
  } catch (error) {
    return { status: "error", compared: [], problem: problemOf(suite, error, path) };
  }
}

async function moveClock({ session, rollouts }: SuiteWorld, { at, advance }: StepSpec): Promise<void> {
  const to = at === undefined ? after(session.now, parseDuration(advance ?? "") ?? 0) : new Date(at);
  if (at !== undefined && advance !== undefined) {
    throw new SuiteError("`at` and `advance` both move the clock: one of them is enough", "advance");
  }
  if (to < session.now) throw new SuiteError(`the clock is at ${timestamp(session.now)} already`, "at");
  await withinAsync(at === undefined ? "advance" : "at", async () => await rollouts.advanceTo(to));
}

async function changeObjects(
  { session, rollouts, tasks }: SuiteWorld,
  { patch = [], delete: deleted = [], retry = [], completed = [], failed = [] }: StepSpec,
  created: readonly RawObject[],
): Promise<void> {
  const { objects, now } = session;
  within("create", () => objects.create(created, now));
  within("patch", () => objects.patch(patch));
  within("delete", () => objects.delete(deleted));
  for (const [index, name] of retry.entries()) within(`retry[${index}]`, () => tasks.retry(name));
  session.objectsChanged();
  await rollouts.settle();
  if (completed.length > 0) await withinAsync("completed", async () => await rollouts.end(completed, true));
  if (failed.length > 0) await withinAsync("failed", async () => await rollouts.end(failed, false));
}

async function answer(world: SuiteWorld, call: StepSpec["call"]): Promise<StepAnswer | undefined> {
  if (call === undefined) return undefined;
  return await withinAsync("call", async () =>
    "admission" in call ? admit(world, call) : await ask(world, call),
  );
}

async function ask({ session, rollouts }: SuiteWorld, spec: CallSpec): Promise<StepAnswer> {
  const { cluster, call } = targetOfCall(session, spec);
  return { decision: await rollouts.ask(cluster, call) };
}

function admit({ session }: SuiteWorld, spec: RequestSpec): StepAnswer {
  const { decision, ...admission } = session.admit(targetOfRequest(session, spec));
  return { decision, admission };
}

function checkTimeline(
  { session, rollouts }: SuiteWorld,
  timeline: TimelineSpec,
): readonly FieldComparison[] {
  const { cluster, call: asked } = within("timeline", () => target(session, timeline));
  if (rollouts.selectedOperation(cluster, asked) !== undefined)
    throw new SuiteError(
      `a HookRollout speaks about ${asked.hook} of ${timeline.cluster}, and a timeline foresees no slots: use \`call\``,
      "timeline.cluster",
    );
  const to = new Date(timeline.to);
  if (to <= session.now) {
    throw new SuiteError(`the clock is at ${timestamp(session.now)} already`, "timeline.to");
  }
  const spans = within("timeline", () => session.timeline(cluster, asked, to));
  return compareTimeline(timeline.expect, spans, session.now, to);
}

/** Takes the Events of this step even if it expects none, so that the next step does not get them. */
function checkReports(world: SuiteWorld, step: StepSpec): FieldComparison[] {
  const { events, metrics = [], rollouts = [], tasks = [] } = step;
  const caused = world.session.reported.takeEvents();
  return [
    ...compareEach("rollouts", rollouts, (spec) => compareRollout(spec, world)),
    ...compareEach("tasks", tasks, (spec) => compareTask(spec, world)),
    ...(events === undefined ? [] : compareEvents(events, caused)),
    ...compareEach("metrics", metrics, (spec) => compareMetric(spec, world)),
  ];
}

function compareEach<T>(
  field: string,
  specs: readonly T[],
  compareOne: (spec: T) => FieldComparison[],
): FieldComparison[] {
  return specs.flatMap((spec, index) => within(`${field}[${index}]`, () => compareOne(spec)));
}
