/** Draws what has happened in a rollout and its plan from now on: a bar for each Cluster in the lane of its stage. */

import type { VNode } from "preact";
import { dateText, percent } from "./times.ts";
import type { LaneCluster, PlanReport, RolloutRow } from "./wire.ts";

interface Bar {
  readonly cluster: string;
  readonly from: number;
  readonly to: number;
  readonly kind: "busy" | "held" | "planned" | "needs";
  readonly text: string;
}

interface Props {
  readonly plan: PlanReport;
  readonly rollout: RolloutRow;
  readonly now: Date;
}

const MAX_BARS = 60;

export function PlanPicture({ plan, rollout, now }: Props): VNode | null {
  const lanes = plan.stages.map(({ name }) => ({ name, bars: barsOf(name, plan, rollout, now) }));
  const all = lanes.flatMap(({ bars }) => bars);
  const from = Math.min(now.getTime(), ...all.map((bar) => bar.from));
  const to = Math.max(now.getTime() + 1, ...all.map((bar) => bar.to));
  const place = (at: number): string => percent(at, { from, to });
  const needy = plan.clusters.filter(({ needsAction }) => needsAction).length;
  return (
    <>
      <p class="num">
        From now on, if every operation takes so long and none fails, the last Cluster is done at{" "}
        <b>{dateText(new Date(to))}</b>.
        {needy > 0 && ` ${needy} must be released by an action first; the plan assumes that.`}
        {[...plan.impossible, ...plan.doubts].map((text) => ` ${text}`)}
        {plan.stages.flatMap(({ name, waitsFor }) =>
          waitsFor.map(
            (each) =>
              ` Stage ${name} waits for ${each.namespace}/${each.name} (${each.message ?? each.reason}): no time is known.`,
          ),
        )}
        {plan.later.length > 0 && ` After that: ${plan.later.join(", ")}.`}
        {plan.never.length > 0 && ` Never: ${plan.never.join(", ")}.`}
      </p>
      <div class="planpicture">
        {lanes.map(({ name, bars }) => (
          <div class="planlane" key={name}>
            <span>{name}</span>
            <div class="planbars">
              {bars.slice(0, MAX_BARS).map((bar) => (
                <i
                  key={`${bar.kind}${bar.cluster}`}
                  class={bar.kind}
                  role="img"
                  aria-label={bar.text}
                  title={bar.text}
                  style={{ marginLeft: place(bar.from), width: place(from + bar.to - bar.from) }}
                />
              ))}
              {bars.length > MAX_BARS && <small class="soft">and {bars.length - MAX_BARS} more</small>}
              <i class="today" style={{ left: place(now.getTime()) }} />
            </div>
          </div>
        ))}
        <div class="planlane">
          <span />
          <div class="ends num soft">
            <span>{dateText(new Date(from))}</span>
            <span>{dateText(new Date(to))}</span>
          </div>
        </div>
      </div>
      <p class="legend">
        <i class="bar busy" /> running <i class="bar held" /> failed <i class="bar planned" /> planned{" "}
        <i class="bar needs" /> planned, after an approval <i class="today" /> now
      </p>
    </>
  );
}

function barsOf(stage: string, plan: PlanReport, rollout: RolloutRow, now: Date): readonly Bar[] {
  const happened = (kind: "busy" | "held", all: readonly LaneCluster[]): readonly Bar[] =>
    all
      .filter((each) => each.stage === stage || each.stage === "")
      .map(({ cluster, since, reason }) => ({
        cluster,
        from: Date.parse(since),
        to: now.getTime(),
        kind,
        text: `${cluster}: ${kind === "busy" ? "running" : `failed (${reason})`} since ${dateText(since)}`,
      }));
  const running = new Set(rollout.running.map(({ cluster }) => cluster));
  const planned = plan.clusters
    .filter((each) => each.stage === stage && !running.has(`${each.namespace}/${each.name}`))
    .map(({ namespace, name, begins, ends, needsAction }): Bar => {
      const cluster = `${namespace}/${name}`;
      return {
        cluster,
        from: Date.parse(begins),
        to: Date.parse(ends),
        kind: needsAction ? "needs" : "planned",
        text: `${cluster}: planned ${dateText(begins)} to ${dateText(ends)}${needsAction ? ", after an approval" : ""}`,
      };
    });
  return [...happened("held", rollout.failed), ...happened("busy", rollout.running), ...planned];
}
