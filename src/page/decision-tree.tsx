/** Shows what every policy, rule and gate says about an operation, and what it has observed. */

import { type ComponentChildren, Fragment, type VNode } from "preact";
import { useContext } from "preact/hooks";
import { nameOf } from "./held-rows.ts";
import { Connection, CopyButton, Verdict } from "./parts.tsx";
import type { ExplainedGate, ExplainedOperation, ExplainedPolicy, ExplainedTask } from "./wire.ts";

export function DecisionTree({ operation }: { operation: ExplainedOperation }): VNode | null {
  const { policies, rollouts } = operation;
  const relevant = policies.filter(({ matched, rules }) => matched && rules.length > 0);
  const others = policies.filter((policy) => !relevant.includes(policy));
  return (
    <div class="tree">
      {relevant
        .toSorted((a, b) => Number(b.holds) - Number(a.holds))
        .map((policy) => (
          <Policy key={nameOf(policy.policy)} policy={policy} />
        ))}
      {rollouts.map(({ rollout, holds, reason, stage, because, released, mode }) => (
        <details key={rollout} class="policy" open={holds}>
          <summary>
            <Verdict verdict={holds ? "Blocked" : "Allowed"} />
            HookRollout {rollout}
            <span class="soft">
              {[stage, reason, mode === "Audit" ? "Audit: holds nothing" : undefined]
                .filter(Boolean)
                .join(" · ")}
            </span>
          </summary>
          <Texts texts={released === undefined ? because : [...because, `released ${released}`]} />
        </details>
      ))}
      {others.length > 0 && (
        <details class="others">
          <summary>
            {others.length} {others.length === 1 ? "policy is" : "policies are"} not about this operation
          </summary>
          {others.map(({ policy, mismatch = [], matched }) => (
            <div class="policy" key={nameOf(policy)}>
              <span>{nameOf(policy)}</span>
              <Texts texts={matched ? ["no rule on this hook"] : mismatch} />
            </div>
          ))}
        </details>
      )}
    </div>
  );
}

function Texts({ texts }: { texts: readonly string[] }) {
  if (texts.length === 0) return null;
  return (
    <ul class="because">
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}

function Policy({ policy: explained }: { policy: ExplainedPolicy }) {
  const { policy, verdict, mode, overriddenBy, rules, status, holds } = explained;
  return (
    <details class="policy" open={holds || verdict === "WouldBlock"}>
      <summary>
        <Verdict verdict={verdict} />
        {nameOf(policy)}
        {mode === "Audit" && <span class="soft">Audit: holds nothing</span>}
        {overriddenBy !== undefined && <span class="soft">overridden by {overriddenBy}</span>}
      </summary>
      {status !== undefined && status.differences.length > 0 && (
        <p class="differs">
          status differs: {status.differences.join("; ")}
          {status.because !== undefined && ` (${status.because})`}
        </p>
      )}
      {rules.map((rule) => (
        <div class="rule" key={rule.rule}>
          <p>
            <Verdict verdict={rule.verdict} />
            rule <b>{rule.rule}</b>
            <span class="soft">
              {rule.condition === undefined ? rule.reason : `match condition ${rule.condition} is false`}
            </span>
          </p>
          {rule.gates.length === 0 && rule.tasks === undefined && rule.message !== "" && (
            <Texts texts={[rule.message]} />
          )}
          {rule.gates.length > 0 && <Gates gates={rule.gates} />}
          {rule.tasks !== undefined && <Tasks tasks={rule.tasks} />}
        </div>
      ))}
    </details>
  );
}

function Gates({ gates }: { gates: readonly ExplainedGate[] }) {
  return (
    <ul class="gates">
      {gates.map((gate) => (
        <li key={gate.gate}>
          <Gate gate={gate} />
        </li>
      ))}
    </ul>
  );
}

function Gate({ gate: explained }: { gate: ExplainedGate }) {
  const { gate, holds, wanted, observed, remedy, withheld, members = [] } = explained;
  const tone = holds === true ? "free" : "held";
  const word = holds === true ? "is met" : holds === false ? "waits" : "cannot be evaluated";
  return (
    <>
      <p>
        <span class={`mark ${tone}`} aria-hidden="true" />
        gate <b>{gate}</b> <span class={`tone ${tone}`}>{word}</span>
        {members.length > 0 && <span class="soft"> one of {members.length}</span>}
      </p>
      {members.length > 0 ? (
        <Gates gates={members} />
      ) : (
        <Facts
          facts={[
            ["wanted", wanted],
            [holds === undefined ? "because" : "observed", <output>{observed}</output>],
            remedy !== undefined && holds !== true && ["run", <Run command={remedy} />],
            withheld !== undefined && ["no command", withheld],
          ]}
        />
      )}
    </>
  );
}

const DONE: ReadonlySet<ExplainedTask["state"]> = new Set(["NotNeeded", "Succeeded", "Proceeded"]);

function Tasks({ tasks }: { tasks: readonly ExplainedTask[] }) {
  return (
    <ul class="gates">
      {tasks.map(({ task, state, message, observed = message, nextAttempt, commands }) => {
        const tone = DONE.has(state) ? "free" : "held";
        return (
          <li key={task}>
            <p>
              <span class={`mark ${tone}`} aria-hidden="true" />
              task <b>{task}</b> <span class={`tone ${tone}`}>{state}</span>
            </p>
            <Facts
              facts={[
                nextAttempt !== undefined && ["waits for", attemptText(nextAttempt)],
                observed !== "" && ["observed", <output>{observed}</output>],
                ...commands.map((command) => ["run", <Run command={command} />] as const),
              ]}
            />
          </li>
        );
      })}
    </ul>
  );
}

function attemptText({ number, of, at }: NonNullable<ExplainedTask["nextAttempt"]>): string {
  return `attempt ${number} of ${of}, not before ${at}`;
}

function Run({ command }: { command: string }) {
  const text = `${command}${useContext(Connection)}`;
  return (
    <>
      <code>{text}</code> <CopyButton text={text} />
    </>
  );
}

function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren] | false)[] }) {
  const told = facts.filter((fact) => fact !== false);
  return (
    <dl class="facts">
      {told.map(([label, value], index) => (
        <Fragment key={index}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
