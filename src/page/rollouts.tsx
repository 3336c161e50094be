/** Rollouts: a lane for each stage, in which Clusters move from left to right. */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { since } from "../cli/terminal/age.ts";
import { useAnswer } from "./ask.ts";
import type { Live } from "./live.ts";
import { Empty, Notes } from "./parts.tsx";
import { PlanPicture } from "./plan-picture.tsx";
import { clusterHref } from "./route.ts";
import { dateText, useNow } from "./times.ts";
import type { LaneCluster, PlanReport, RolloutRow, StageRow } from "./wire.ts";

export function RolloutsPage({ live }: { live: Live }): VNode | null {
  const { rollouts, unread } = live.rollouts;
  const now = useNow();
  return (
    <section class="page">
      <div class="filters">
        <h1>Rollouts</h1>
      </div>
      <Notes notes={[unread]} />
      {rollouts.length === 0 && <Empty title={live.isReady ? "There is no HookRollout." : "Reading…"} />}
      {rollouts.map((rollout) => (
        <Rollout key={rollout.name} rollout={rollout} now={now} />
      ))}
    </section>
  );
}

function Rollout({ rollout, now }: { rollout: RolloutRow; now: Date }) {
  const { name, operation, audit, state, isFine, targets, maxConcurrency } = rollout;
  return (
    <article class="operation">
      <h2>
        {name}
        <span class="chip">{operation}</span>
        {audit && <span class="chip">Audit</span>}
        <span class={`tone ${isFine ? "free" : "held"}`}>{state}</span>
      </h2>
      <p class="soft num">at most {maxConcurrency} at a time</p>
      {targets.map(({ version, stages }) => (
        <section key={version} aria-label={version === "" ? name : `To ${version}`}>
          {version !== "" && <h3 class="num">To {version}</h3>}
          <div class="lanes">
            {stages.map((stage) => (
              <Lane key={stage.name} stage={stage} rollout={rollout} target={version} now={now} />
            ))}
          </div>
        </section>
      ))}
      {targets.length === 0 && <p class="soft">No Cluster has asked for this operation yet.</p>}
      <Plan rollout={rollout} now={now} />
    </article>
  );
}

interface LaneProps {
  readonly stage: StageRow;
  readonly rollout: RolloutRow;
  readonly target: string;
  readonly now: Date;
}

function Lane({ stage, rollout, target, now }: LaneProps) {
  const own = (all: readonly LaneCluster[]): readonly LaneCluster[] =>
    all.filter((each) => (each.stage === "" || each.stage === stage.name) && each.target === target);
  const columns = [
    { title: "not asked", tone: "later", count: stage.notAsked, clusters: [] },
    { title: "waiting", tone: "audit", count: stage.waiting, clusters: own(rollout.next) },
    { title: "running", tone: "busy", count: stage.running, clusters: own(rollout.running) },
    { title: "failed", tone: "held", count: stage.failed, clusters: own(rollout.failed) },
    { title: "succeeded", tone: "free", count: stage.succeeded, clusters: [] },
  ];
  return (
    <div class="lane">
      <div class="lanename">
        <b>{stage.name}</b>
        <span class="soft">{stage.state}</span>
      </div>
      {stage.waitsFor.length > 0 && <p class="soft">Waits for {stage.waitsFor.join(", ")}</p>}
      <div class="progress" role="img" aria-label={`${stage.succeeded} of ${stage.members} succeeded`}>
        {columns
          .toReversed()
          .map(({ title, tone, count }) =>
            count === 0 ? null : (
              <i key={title} class={tone} style={{ flexGrow: count }} title={`${count} ${title}`} />
            ),
          )}
      </div>
      <div class="columns">
        {columns.map(({ title, tone, count, clusters }) => (
          <div key={title} class={`column ${count === 0 ? "none" : ""}`}>
            <span class="soft">
              <b class={`num tone ${count === 0 ? "" : tone}`}>{count}</b> {title}
            </span>
            {clusters.map(({ cluster, since: at, reason }) => (
              <a
                key={cluster}
                class={`chip ${tone}`}
                href={clusterHref(cluster)}
                title={`since ${dateText(at)}`}
              >
                {cluster} <span class="num soft">{reason ?? since(at, now)}</span>
              </a>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

function Plan({ rollout, now }: { rollout: RolloutRow; now: Date }) {
  const [duration, setDuration] = useState("");
  const [typed, setTyped] = useState("1h");
  const path = duration === "" ? undefined : "plan";
  const { value, error, isLoading } = useAnswer<PlanReport>(path, {
    rollout: rollout.name,
    duration,
  });
  return (
    <section class="plan" aria-label="Plan">
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          setDuration(typed);
        }}
      >
        <label class="field">
          <span>Each operation takes</span>
          <input size={6} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
        <button type="submit">{duration === "" ? "Show the plan" : "Plan again"}</button>
        {isLoading && duration !== "" && <span class="soft">Computing…</span>}
      </form>
      <Notes notes={[error]} />
      {value !== undefined && duration !== "" && <PlanPicture plan={value} rollout={rollout} now={now} />}
    </section>
  );
}
