/** Draws what has happened in a rollout and its plan from now on: a bar for each Cluster in the lane of its stage. */

import type { VNode } from "preact";
import type { HookRollout, HookRolloutStatus, RolloutFailure } from "../api/hook-policy.ts";
import { dateText, percent } from "./times.ts";
import type { PlanAnswer, PlanReport } from "./wire.ts";

/** A Cluster that the status of a rollout names. */
export interface NamedCluster {
  readonly cluster: string;
  readonly stage: string;
  readonly target: string;
  readonly since: string;
  readonly reason?: string;
}

export function clustersOf({
  status,
}: HookRollout): Readonly<Record<"next" | "running" | "failed", readonly NamedCluster[]>> {
  const { next = [], running = [], failed = [] }: HookRolloutStatus = status ?? {};
  return {
    next: next.map((each) => named(each, each.since)),
    running: running.map((each) => named(each, each.claimedAt)),
    failed: failed.map((each) => ({ ...named(each, each.time), reason: each.reason })),
  };
}

function named(
  {
    namespace,
    name,
    stage = "",
    target = "",
  }: Pick<RolloutFailure, "namespace" | "name" | "stage" | "target">,
  since: string,
): NamedCluster {
  return { cluster: `${namespace}/${name}`, stage, target, since };
}

interface Bar {
  readonly cluster: string;
  readonly from: number;
  readonly to: number;
  readonly kind: "busy" | "held" | "planned" | "needs";
  readonly text: string;
}

interface Props {
  readonly plan: PlanAnswer;
  readonly rollout: HookRollout;
  readonly now: Date;
}

const MAX_BARS = 60;

export function PlanPicture({ plan: { plan, lines }, rollout, now }: Props): VNode | null {
  const lanes = plan.stages.map(({ name }) => ({ name, bars: barsOf(name, plan, rollout, now) }));
  const all = lanes.flatMap(({ bars }) => bars);
  const from = Math.min(now.getTime(), ...all.map((bar) => bar.from));
  const to = Math.max(now.getTime() + 1, ...all.map((bar) => bar.to));
  const place = (at: number): string => percent(at, { from, to });
  return (
    <>
      <pre>{lines.join("\n")}</pre>
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

function barsOf(stage: string, plan: PlanReport, rollout: HookRollout, now: Date): readonly Bar[] {
  const { running, failed } = clustersOf(rollout);
  const happened = (kind: "busy" | "held", all: readonly NamedCluster[]): readonly Bar[] =>
    all
      .filter((each) => each.stage === stage || each.stage === "")
      .map(({ cluster, since, reason }) => ({
        cluster,
        from: Date.parse(since),
        to: now.getTime(),
        kind,
        text: `${cluster}: ${kind === "busy" ? "running" : `failed (${reason})`} since ${dateText(since)}`,
      }));
  const busy = new Set(running.map(({ cluster }) => cluster));
  const planned = plan.clusters
    .filter((each) => each.stage === stage && !busy.has(`${each.namespace}/${each.name}`))
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
  return [...happened("held", failed), ...happened("busy", running), ...planned];
}
