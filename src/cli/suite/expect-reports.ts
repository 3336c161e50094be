/** Compares the Events and metrics that a step expects with those that the operator would report. */

import { namespacedName } from "../../lib/keys.ts";
import { RE2JS } from "@bufbuild/re2";
import { didYouMean } from "../../lib/did-you-mean.ts";
import { checkNames } from "./check-names.ts";
import { type FieldComparison, comparedText, NONE } from "./expect.ts";
import type { SuiteWorld } from "./begin.ts";
import type { ReportedEvent } from "./suite-reports.ts";
import type { EventSpec, MetricSpec } from "./spec.gen.ts";
import { METRIC_LABELS } from "./spec.ts";
import { SuiteError } from "./suite-error.ts";

/** The Events of each named reason must be exactly the listed ones; an empty list means none at all. */
export function compareEvents(
  expected: readonly EventSpec[],
  actual: readonly ReportedEvent[],
): FieldComparison[] {
  const reasons = new Set<string>(expected.map(({ reason }) => reason));
  const left = actual.filter(({ reason }) => expected.length === 0 || reasons.has(reason));
  const rows = expected.map((spec) => ({ spec, event: take(left, (event) => isMeant(spec, event)) }));
  const compared = rows.map(({ spec, event }) =>
    row(describeSpec(spec), event === undefined ? NONE : describeEvent(event), event !== undefined),
  );
  return [...compared, ...left.map((event) => row(NONE, describeEvent(event), false))];
}

function take(left: ReportedEvent[], isWanted: (event: ReportedEvent) => boolean): ReportedEvent | undefined {
  const index = left.findIndex(isWanted);
  return index < 0 ? undefined : left.splice(index, 1)[0];
}

function row(expected: string, actual: string, same: boolean): FieldComparison {
  return { field: "events", expected, actual, same };
}

function isMeant({ reason, about, message }: EventSpec, event: ReportedEvent): boolean {
  return (
    reason === event.reason &&
    (about === undefined || about === aboutOf(event)) &&
    (message === undefined || RE2JS.compile(message).test(event.note))
  );
}

function describeSpec({ reason, about, message }: EventSpec): string {
  const parts = [reason, about, message === undefined ? undefined : `/${message}/`];
  return parts.filter((part) => part !== undefined).join(" ");
}

function describeEvent(event: ReportedEvent): string {
  return `${event.reason} ${aboutOf(event)}: ${event.note}`;
}

function aboutOf({ regarding }: ReportedEvent): string {
  return `${regarding.kind} ${namespacedName(regarding)}`;
}

/** Adds up the series that have these labels. Throws for a label that the metric does not have. */
export function compareMetric(
  { name, labels = {}, value }: MetricSpec,
  { session, rollouts }: SuiteWorld,
): FieldComparison[] {
  for (const label of Object.keys(labels)) checkLabel(name, label);
  checkNames(labels, session.objects.fleet);
  const samples = session.reported.samples(name, rollouts.all(), session.now);
  const wanted = Object.entries(labels);
  const meant = samples.filter((sample) => wanted.every(([label, text]) => sample.labels[label] === text));
  const sum = meant.reduce((total, sample) => total + sample.value, 0);
  const shown = wanted.map(([label, text]) => `${label}=${JSON.stringify(text)}`);
  const field = `metrics ${name}${shown.length === 0 ? "" : `{${shown.join(",")}}`}`;
  return comparedText(field, String(value), String(sum));
}

function checkLabel(name: MetricSpec["name"], label: string): void {
  const known: readonly string[] = METRIC_LABELS[name];
  if (known.includes(label)) return;
  const hint = didYouMean(label, known) || `; it has ${known.join(", ")}`;
  throw new SuiteError(`${name} has no label ${JSON.stringify(label)}${hint}`, "labels");
}
