/** Shows the result of `hookpolicy explain` for one Cluster, now or at another time. */

import type { VNode } from "preact";
import { type PageAnswer, useAnswer } from "./ask.ts";
import { Details, Trees } from "./drawing.tsx";
import type { LiveFleet } from "./live.ts";
import { ClusterLabel, Command, Empty, Notes, Select, setParams, VerdictLabel } from "./parts.tsx";
import type { Params } from "./route.ts";
import { TimeSlider } from "./time-slider.tsx";
import { dateText } from "./times.ts";
import type { ClusterExplanation, DrawnOperation } from "./wire.ts";

interface Props {
  readonly name: string;
  readonly params: Params;
  readonly live: LiveFleet;
  readonly hooks: readonly string[];
}

export function ClusterPage({ name, params, live, hooks }: Props): VNode | null {
  const { hook = "", at = "" } = params;
  const rows = live.rows.filter(({ cluster }) => cluster === name);
  const answer = useAnswer<ClusterExplanation>("explain", { cluster: name, hook, at }, JSON.stringify(rows));
  const { value, error } = answer;
  return (
    <section class="page">
      <div class="filters">
        <h1>
          <ClusterLabel cluster={name} />
        </h1>
        <Select
          label="Hook"
          none="what waits now"
          value={hook}
          values={hooks}
          onChange={(next) => setParams({ hook: next })}
        />
      </div>
      {value?.alarm !== undefined && (
        <div class="notes alarm" role="alert">
          <strong>{value.alarm.text}</strong>
          <Details {...value.alarm} />
        </div>
      )}
      <Notes notes={[error, ...(value?.notes ?? [])]} />
      {value !== undefined && (
        <TimeSlider
          from={new Date(value.from)}
          to={new Date(value.to)}
          at={at === "" ? undefined : new Date(at)}
          spans={value.spans}
          onChange={(next) => setParams({ at: next?.toISOString() ?? "" })}
        />
      )}
      <Operations answer={answer} at={at} />
    </section>
  );
}

function Operations({ answer, at }: { answer: PageAnswer<ClusterExplanation>; at: string }) {
  const { value, isLoading } = answer;
  if (value === undefined) return isLoading ? <Empty title="Reading…" /> : null;
  const { operations, waitsForNothing } = value;
  if (waitsForNothing)
    return (
      <Empty title="No operation of this Cluster is held, and none waits for an answer.">
        <p class="soft">Choose a hook above to see what Cluster API would be answered.</p>
      </Empty>
    );
  return (
    <div aria-busy={isLoading}>
      {operations.map((operation) => (
        <Operation key={operation.hook} operation={operation} at={at} />
      ))}
    </div>
  );
}

function Operation({ operation, at }: { operation: DrawnOperation; at: string }) {
  const { verdict, subject, details, override, branches } = operation;
  return (
    <article class="operation">
      <h2>
        <VerdictLabel verdict={verdict} />
        {subject}
        {at !== "" && <span class="chip">at {dateText(at)}</span>}
      </h2>
      <Details details={details} />
      {override !== undefined && (
        <p class="soft">
          if it cannot wait: <Command text={override} />
        </p>
      )}
      <Trees branches={branches} />
    </article>
  );
}
