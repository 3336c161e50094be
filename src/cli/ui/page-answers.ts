/** Answers the page's requests with the results of other commands. */

import { setImmediate as breathe } from "node:timers/promises";

import { HOOK_NAMES, type HookName } from "../../api/runtime-hooks.ts";
import { servedHooks } from "../../api/hook-catalog.ts";
import { byText } from "../../lib/compare-text.ts";
import { DAY_MS } from "../../lib/duration.ts";
import { fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import { namespacedName } from "../../lib/keys.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import type { Options } from "../../operator/options.ts";
import { timestamp } from "../../lib/instant.ts";
import { viewCluster } from "../../views/cluster.ts";
import type {
  Calendar,
  ClusterRow,
  ClusterExplanation,
  PlanAnswer,
  SimulationReport,
} from "../../page/wire.ts";
import { clusterName, CommandError, hookName, instant, USAGE, version } from "../command.ts";
import { explain } from "../explain/explanation.ts";
import { readExplainable } from "../explain/live-explanation.ts";
import { drawnExplanation } from "../explain/report.ts";
import { spansAhead } from "../explain/spans-ahead.ts";
import { parseFile } from "../files/load.ts";
import type { FileProblem } from "../files/parsed.ts";
import { parseTime, reading } from "../fleet/connection.ts";
import { clusterResource } from "../fleet/live-objects.ts";
import type { OperatorOptions } from "../fleet/operator-options.ts";
import { readHolders } from "../get/holders.ts";
import { planFleet } from "../rollout/fleet-plan.ts";
import { readLivePlanned } from "../rollout/read-planned.ts";
import { planLines, planSvg } from "../rollout/plan-report.ts";
import { prepare, readPresentFleet, warningsOf } from "../simulate/preparation.ts";
import { effectsOf, specLines, totals } from "../simulate/report.ts";
import { simulate } from "../simulate/simulation.ts";
import { PLAIN } from "../terminal/colour.ts";
import type { CommandWords } from "../terminal/printed-command.ts";
import { problemLine } from "../terminal/problem-line.ts";
import { objectProblems } from "../fleet/object-problems.ts";
import { windowCalendar } from "./calendar.ts";
import type { Query } from "./page-server.ts";

export interface PageSource extends OperatorOptions {
  readonly client: KubeClient;
  readonly words: CommandWords;
}

const AHEAD_MS = 14 * DAY_MS;

export async function clusterRows({ client }: PageSource): Promise<readonly ClusterRow[]> {
  const { items } = await client.list(await clusterResource(client), {
    project: (raw): ClusterRow => {
      const { metadata, topology, paused } = viewCluster(raw);
      const phase = textOf(fieldsOf(raw["status"])["phase"]);
      return { cluster: namespacedName(metadata), version: topology?.version ?? "", phase, paused };
    },
  });
  return items.toSorted(byText(({ cluster }) => cluster));
}

/** ?cluster=NAMESPACE/NAME&hook=&at=&toVersion= */
export async function explained(
  { client, options, assumed, words }: PageSource,
  query: Query,
): Promise<ClusterExplanation> {
  const { hook, at, toVersion } = query;
  const wish = await reading(() => ({
    name: clusterName(query["cluster"] ?? ""),
    ...(hook !== undefined && { hook: hookName(hook) }),
    ...(at !== undefined && { at: instant(at) }),
    ...(toVersion !== undefined && { toVersion: version(toVersion) }),
  }));
  const read = await readExplainable(client, wish.name, { wish, options, assumed });
  const explanation = explain(read.fleet, read.options);
  const { now } = read.options;
  const end = new Date(now.getTime() + AHEAD_MS);
  const { at: _, ...present } = read.options;
  return {
    ...drawnExplanation(explanation, words, at !== undefined),
    spans: spansAhead(read.fleet, present, end).map(({ verdict, from, to }) => ({
      verdict,
      from: timestamp(from),
      to: timestamp(to),
    })),
    from: timestamp(now),
    to: timestamp(end),
  };
}

/** ?zone=Europe/Berlin&weeks=-4; without a zone, that of most windows. */
export async function calendar({ client }: PageSource, { zone, weeks = "0" }: Query): Promise<Calendar> {
  if (!/^-?\d{1,3}$/.test(weeks)) throw new CommandError(USAGE, "weeks: a whole number");
  const { objects } = await readHolders(client);
  return windowCalendar(objects, { zone, at: new Date(), weeks: Number(weeks) });
}

/** ?rollout=NAME&duration=40m&toVersion= */
export async function plan(
  { client, words }: PageSource,
  { rollout, duration = "1h", toVersion }: Query,
): Promise<PlanAnswer> {
  const wish = await reading(() => ({
    durationMs: parseTime(duration),
    version: toVersion && version(toVersion),
  }));
  const { rollout: object, fleet } = await readLivePlanned(client, rollout);
  const planned = planFleet(object, fleet, { from: new Date(), ...wish });
  return {
    lines: planLines(planned, wish.durationMs, { colour: PLAIN, ...words }),
    picture: planSvg(planned),
  };
}

/** ?prune=true, with a list of GivenFile. */
export async function simulated(
  { client, options }: PageSource,
  { prune }: Query,
  body: unknown,
): Promise<SimulationReport> {
  const loaded = listOf(body)
    .map(fieldsOf)
    .map(({ name, text }) => parseFile({ name: textOf(name) || "pasted.yaml", named: true }, textOf(text)));
  const sources = loaded.flatMap(({ objects }) => objects);
  const kustomizations = loaded.flatMap((each) => each.kustomizations ?? []);
  const unread = loaded.flatMap(({ problems }) => problems);
  refuse([...unread, ...objectProblems({ objects: sources, kustomizations })]);
  const applied = sources.map(({ object }) => object);
  const now = new Date();
  const present = await readPresentFleet(client, applied);
  const prepared = prepare(sources, present, { options, now, prune: prune === "true" });
  refuse(prepared.problems);
  const { pair } = prepared;
  // Other answers are not delayed.
  const simulation = await simulate(pair, { hooks: hooksOf(options), from: now }, async (done) => {
    if (done % 50 === 0) await breathe();
  });
  return {
    warnings: warningsOf(pair, simulation),
    objects: simulation.specs.map(specLines),
    totals: totals(simulation, { from: now }),
    effects: effectsOf(simulation, { from: now }),
  };
}

function refuse(found: readonly FileProblem[]): void {
  if (found.length > 0) throw new CommandError(USAGE, found.map(problemLine).join("\n"));
}

export function hooksOf({ capiVersion }: Options): readonly HookName[] {
  const served = servedHooks(capiVersion.minor);
  return HOOK_NAMES.filter((hook) => served.advertised.has(hook));
}
