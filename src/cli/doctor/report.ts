/** The checks in order, and their output. */

import { counted } from "../../lib/counted.ts";
import type { Colour } from "../terminal/colour.ts";
import {
  type Check,
  type Evidence,
  type Finding,
  ok,
  type Problem,
  type Settings,
  type State,
  STATES,
  worse,
} from "./doctor.ts";
import { admission } from "./check-admission.ts";
import * as bypasses from "./check-bypasses.ts";
import { foreground } from "./check-foreground.ts";
import { references } from "./check-references.ts";
import { tasks } from "./check-tasks.ts";
import * as certificate from "./check-certificate.ts";
import * as coverage from "./check-coverage.ts";
import * as policies from "./check-policies.ts";
import * as install from "./check-install.ts";
import * as rollout from "./check-rollouts.ts";
import * as registration from "./check-registration.ts";
import { tableLines } from "../terminal/table.ts";

type Examine = (evidence: Evidence, settings: Settings, surveyed: coverage.CoverageSurvey) => Finding;

/** Checks come after those that they depend on. */
const CHECKS: Readonly<Record<string, Examine>> = {
  "API server": ({ serverVersion }) => ok(`Kubernetes ${serverVersion}`),
  CRDs: install.definitions,
  operator: install.operator,
  "Cluster API": install.clusterApi,
  "feature gates": install.featureGates,
  ExtensionConfig: registration.registered,
  discovery: registration.discovered,
  handlers: registration.hooks,
  namespaces: registration.namespaces,
  certificate: certificate.trust,
  webhook: certificate.webhook,
  admission,
  foreground,
  references: (evidence, _, surveyed) => references(evidence, surveyed),
  policies: (evidence, _, surveyed) => policies.ready(evidence, surveyed),
  calls: (evidence, _, surveyed) => policies.called(evidence, surveyed),
  effect: (evidence, _, surveyed) => coverage.effective(evidence, surveyed),
  topology: (evidence, _, surveyed) => coverage.topology(evidence, surveyed),
  "ok-to-delete": (evidence, _, surveyed) => bypasses.okToDelete(evidence, surveyed),
  "unsafe marks": (evidence, _, surveyed) => bypasses.unsafe(evidence, surveyed),
  coverage: (evidence, _, surveyed) => coverage.unmatched(evidence, surveyed),
  "owned objects": (evidence, _, surveyed) => policies.owned(evidence, surveyed),
  overrides: (evidence, settings, surveyed) => policies.overrides(evidence, surveyed, settings),
  rollouts: (evidence, _, surveyed) => rollout.rollouts(evidence, surveyed),
  "rollout Clusters": (evidence, _, surveyed) => rollout.rolloutClusters(evidence, surveyed),
  grants: coverage.grants,
  tasks,
};

export function examine(evidence: Evidence, settings: Settings): Check[] {
  const surveyed = coverage.survey(evidence, settings);
  return Object.entries(CHECKS).map(([name, look]) => ({ name, ...look(evidence, settings, surveyed) }));
}

function problemRows({ detail, remedy }: Partial<Problem>): string[][] {
  return [...(detail === undefined ? [] : [["", "", detail]]), ["", "", `→ ${remedy ?? ""}`]];
}

/** Schema: schemas/output/doctor.json. */
export function doctorJson(checks: readonly Check[]): object {
  return { state: checks.toSorted(worse)[0]?.state ?? "ok", checks };
}

export function doctorLines(checks: readonly Check[], colour: Colour): string[] {
  const paint: Readonly<Record<State, (text: string) => string>> = {
    ok: colour.green,
    warning: colour.yellow,
    error: colour.red,
    unknown: colour.dim,
  };
  const rows = checks.flatMap(({ name, state, detail, remedy, problems }) => [
    [paint[state](state), name, detail],
    ...(problems ?? (remedy === undefined ? [] : [{ remedy }])).flatMap(problemRows),
  ]);
  const counts = STATES.map(
    (state) => [state, checks.filter((each) => each.state === state).length] as const,
  );
  const summary = counts
    .filter(([, number]) => number > 0)
    .map(([state, number]) =>
      state === "error" || state === "warning" ? counted(number, state) : `${number} ${state}`,
    );
  return [...tableLines(["STATE", "CHECK", "FOUND"], rows), "", summary.join(", ")];
}
