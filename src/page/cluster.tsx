/** Shows the result of `hookpolicy explain` for one Cluster, now or at another time. */

import type { VNode } from "preact";
import { useContext } from "preact/hooks";
import { type PageAnswer, useAnswer } from "./ask.ts";
import { DecisionTree } from "./decision-tree.tsx";
import type { Live } from "./live.ts";
import { ClusterName, Command, Connection, Empty, Notes, Select, setParams, Verdict } from "./parts.tsx";
import type { Params } from "./route.ts";
import { TimeSlider } from "./time-slider.tsx";
import { dateText } from "./times.ts";
import type { ClusterExplanation, ExplainedOperation } from "./wire.ts";

interface Props {
  readonly name: string;
  readonly params: Params;
  readonly live: Live;
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
          <ClusterName cluster={name} />
        </h1>
        <Select
          label="Hook"
          none="what waits now"
          value={hook}
          values={hooks}
          onChange={(next) => setParams({ hook: next })}
        />
      </div>
      <Alarm tornDown={value?.report.tornDown} />
      <Notes notes={[error, value?.report.ownHold, ...(value?.report.notes ?? [])]} />
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

function Alarm({ tornDown }: { tornDown: ClusterExplanation["report"]["tornDown"] }) {
  const connection = useContext(Connection);
  if (tornDown === undefined) return null;
  return (
    <div class="notes alarm" role="alert">
      <strong>ALARM: {tornDown.message}</strong>
      <dl class="steps">
        {tornDown.steps.map(({ command, wanted }) => (
          <div key={command}>
            <dt>run</dt>
            <dd>
              <Command text={`${command}${connection}`} />
              <small class="soft">so that {wanted}</small>
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function Operations({ answer, at }: { answer: PageAnswer<ClusterExplanation>; at: string }) {
  const { value, isLoading } = answer;
  if (value === undefined) return isLoading ? <Empty title="Reading…" /> : null;
  const { operations } = value.report;
  if (operations.length === 0)
    return (
      <Empty title="No operation of this Cluster is held, and none waits for an answer.">
        <p class="soft">Choose a hook above to see what Cluster API would be answered.</p>
      </Empty>
    );
  return (
    <div aria-busy={isLoading}>
      {operations.map((operation, index) => (
        <Operation
          key={operation.hook}
          operation={operation}
          override={value.overrides[index] ?? ""}
          at={at === "" ? "" : value.report.at}
        />
      ))}
    </div>
  );
}

interface OperationProps {
  readonly operation: ExplainedOperation;
  /** The command that overrides the policies. */
  readonly override: string;
  readonly at: string;
}

function Operation({ operation, override, at }: OperationProps) {
  const { hook, targetVersion, verdict, firstAsked, passed, holds, message, admission } = operation;
  return (
    <article class="operation">
      <h2>
        <Verdict verdict={verdict} />
        {hook}
        {targetVersion !== undefined && <span class="num soft"> {targetVersion}</span>}
        {at !== "" && <span class="chip">at {dateText(at)}</span>}
      </h2>
      <p class="soft">
        {askedText(firstAsked, passed)} {admission !== undefined && ADMISSION[admission]}
      </p>
      {holds === true && <p class="said">{message}</p>}
      <Steps operation={operation} override={override} />
      <DecisionTree operation={operation} />
    </article>
  );
}

const ADMISSION = {
  Denied: "The API server would refuse the request.",
  Warned: "The API server would warn about the request.",
  Passed: "The API server would not refuse the request.",
} as const;

function askedText(firstAsked: string | undefined, passed: boolean): string {
  if (firstAsked !== undefined) return `Cluster API has asked since ${dateText(firstAsked)}.`;
  return passed ? "The Cluster has passed this hook already." : "Cluster API does not ask about it now.";
}

function Steps({ operation, override }: Omit<OperationProps, "at">) {
  const connection = useContext(Connection);
  const { steps, holds, earliestRelease } = operation;
  if (holds !== true) return null;
  const commands = steps.filter((step) => step.commands.length > 0);
  return (
    <dl class="steps">
      {commands.map(({ commands: each, wanted, rule, gate }) => (
        <div key={`${rule}/${gate}`}>
          <dt>{gate ?? rule}</dt>
          <dd>
            {each.map((command) => (
              <Command key={command} text={`${command}${connection}`} />
            ))}
            <small class="soft">for {wanted}</small>
          </dd>
        </div>
      ))}
      <div>
        <dt>released</dt>
        <dd class="num">{releaseText(earliestRelease)}</dd>
      </div>
      <div>
        <dt>override</dt>
        <dd>
          <Command text={override} />
        </dd>
      </div>
    </dl>
  );
}

function releaseText(at: string | undefined): string {
  if (at === undefined) return "not by time alone";
  return at === "Unknown" ? "at an unknown time" : `${dateText(at)}, if nothing else changes`;
}
