/** Rollouts: a lane for each stage, in which Clusters move from left to right. */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { HookRollout, RolloutStageStatus, RolloutTarget } from "../api/hook-policy.ts";
import { clustersOf, type NamedCluster } from "./named-clusters.ts";
import { stageState, waitsForText } from "./stage-text.ts";
import { since } from "../lib/age.ts";
import { useAnswer } from "./ask.ts";
import type { LiveFleet } from "./live.ts";
import { Empty, Notes } from "./parts.tsx";
import { clusterHref } from "./route.ts";
import { dateText, useNow } from "./times.ts";
import type { PlanAnswer, RolloutRow } from "./wire.ts";

export function RolloutsPage({ live }: { live: LiveFleet }): VNode | null {
  const { rollouts, unread } = live;
  const now = useNow();
  return (
    <section class="page">
      <div class="filters">
        <h1>Rollouts</h1>
      </div>
      <Notes notes={unread} />
      {rollouts.length === 0 && <Empty title={live.isReady ? "There is no HookRollout." : "Reading…"} />}
      {rollouts.map((rollout) => (
        <Rollout key={rollout.object.metadata.name} rollout={rollout} now={now} />
      ))}
    </section>
  );
}

function Rollout({ rollout: { object, state }, now }: { rollout: RolloutRow; now: Date }) {
  const { metadata, spec, status } = object;
  const { name } = metadata;
  const targets = status?.targets ?? [];
  return (
    <article class="operation">
      <h2>
        {name}
        <span class="chip">{spec.operation}</span>
        {spec.mode === "Audit" && <span class="chip">Audit</span>}
        <span class={`tone ${state === "in force" ? "free" : "held"}`}>{state}</span>
      </h2>
      <p class="soft num">at most {spec.maxConcurrency ?? 1} at a time</p>
      {targets.map((target) => (
        <Target key={target.version} rollout={object} target={target} now={now} />
      ))}
      {targets.length === 0 && <p class="soft">No Cluster has asked for this operation yet.</p>}
      <Plan name={name} />
    </article>
  );
}

interface TargetProps {
  readonly rollout: HookRollout;
  readonly target: RolloutTarget;
  readonly now: Date;
}

function Target({ rollout, target: { version, stages }, now }: TargetProps) {
  const { metadata, spec } = rollout;
  return (
    <section aria-label={version === undefined ? metadata.name : `To ${version}`}>
      {version !== undefined && <h3 class="num">To {version}</h3>}
      <div class="lanes">
        {stages.map((stage, index) => {
          const state = stageState(stages, index, spec.stages);
          return <Lane key={stage.name} {...{ rollout, stage, state, now }} target={version ?? ""} />;
        })}
      </div>
    </section>
  );
}

interface LaneProps {
  readonly rollout: HookRollout;
  readonly stage: RolloutStageStatus;
  readonly state: string;
  readonly target: string;
  readonly now: Date;
}

function Lane({ rollout, stage, state, target, now }: LaneProps) {
  const waits = waitsForText(stage);
  const { next, running, failed } = clustersOf(rollout);
  const own = (all: readonly NamedCluster[]): readonly NamedCluster[] =>
    all.filter((each) => (each.stage === "" || each.stage === stage.name) && each.target === target);
  const columns = [
    { title: "not asked", tone: "later", count: stage.notAsked, clusters: [] },
    { title: "waiting", tone: "audit", count: stage.waiting, clusters: own(next) },
    { title: "running", tone: "busy", count: stage.running, clusters: own(running) },
    { title: "failed", tone: "held", count: stage.failed, clusters: own(failed) },
    { title: "succeeded", tone: "free", count: stage.succeeded, clusters: [] },
  ];
  return (
    <div class="lane">
      <div class="lanename">
        <b>{stage.name}</b>
        <span class="soft">{state}</span>
      </div>
      {waits !== undefined && <p class="soft">{waits}</p>}
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

function Plan({ name }: { name: string }) {
  const [duration, setDuration] = useState("");
  const [typed, setTyped] = useState("1h");
  const path = duration === "" ? undefined : "plan";
  const { value, error, isLoading } = useAnswer<PlanAnswer>(path, { rollout: name, duration });
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
      {value !== undefined && duration !== "" && (
        <>
          <pre>{value.lines.join("\n")}</pre>
          <img
            alt="A bar for each Cluster, from its beginning to its end, below its stage"
            src={`data:image/svg+xml,${encodeURIComponent(value.picture)}`}
          />
          <p class="soft">
            Each bar's name and times: <code>rollout plan {name} -o json</code>
          </p>
        </>
      )}
    </section>
  );
}
