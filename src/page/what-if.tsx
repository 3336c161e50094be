/** Shows what a policy file would change in the live fleet; nothing is stored. */

import { Fragment, type VNode } from "preact";
import { useState } from "preact/hooks";
import { counted } from "../lib/counted.ts";
import { fetchJson, messageOf, urlOf } from "./ask.ts";
import { Empty, Notes } from "./parts.tsx";
import { clusterHref } from "./route.ts";
import type { SimulationReport } from "./wire.ts";

interface Policies {
  readonly name: string;
  readonly text: string;
}

type Result =
  | { readonly state: "none" }
  | { readonly state: "busy" }
  | { readonly state: "done"; readonly value: SimulationReport }
  | { readonly state: "failed"; readonly error: string };

export function WhatIfPage({ program }: { program: string }): VNode | null {
  const [policies, setPolicies] = useState<Policies>({ name: "", text: "" });
  const [prune, setPrune] = useState(false);
  const [result, setResult] = useState<Result>({ state: "none" });
  const simulate = (wanted: Policies, pruned = prune): void => {
    setPolicies(wanted);
    if (wanted.text.trim() === "") return setResult({ state: "none" });
    setResult({ state: "busy" });
    const file = wanted.name === "" ? "pasted.yaml" : wanted.name;
    const url = urlOf("simulate", { file, ...(pruned && { prune: "true" }) });
    fetchJson<SimulationReport>(url, {
      method: "POST",
      headers: { "content-type": "application/yaml" },
      body: wanted.text,
    })
      .then((value) => setResult({ state: "done", value }))
      .catch((error: unknown) => setResult({ state: "failed", error: messageOf(error) }));
  };
  return (
    <section class="page">
      <div class="filters">
        <h1>What if</h1>
      </div>
      <DropZone policies={policies} onPolicies={simulate} onText={setPolicies} />
      <div class="filters">
        <button
          type="button"
          class="primary"
          disabled={policies.text.trim() === ""}
          onClick={() => simulate(policies)}
        >
          Simulate
        </button>
        <label class="check">
          <input
            type="checkbox"
            checked={prune}
            onChange={(event) => {
              setPrune(event.currentTarget.checked);
              simulate(policies, event.currentTarget.checked);
            }}
          />
          policies that are not in the file are deleted
        </label>
        <span class="check soft">
          Nothing is written. The same as: {program} simulate -f{" "}
          {policies.name.replaceAll(", ", " -f ") || "FILE"}
        </span>
      </div>
      <Outcome result={result} />
    </section>
  );
}

interface DropProps {
  readonly policies: Policies;
  readonly onPolicies: (policies: Policies) => void;
  readonly onText: (policies: Policies) => void;
}

function DropZone({ policies, onPolicies, onText }: DropProps) {
  const [over, setOver] = useState(false);
  const take = async (files: FileList | null | undefined): Promise<void> => {
    const all = [...(files ?? [])];
    if (all.length === 0) return;
    const texts = await Promise.all(all.map(async (file) => await file.text()));
    onPolicies({ name: all.map(({ name }) => name).join(", "), text: texts.join("\n---\n") });
  };
  return (
    <div
      class={`drop ${over ? "over" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void take(event.dataTransfer?.files);
      }}
    >
      <label class="field">
        <span>Drop policy files here, choose them, or write one</span>
        <input
          type="file"
          multiple
          accept=".yaml,.yml,.json"
          onChange={(event) => void take(event.currentTarget.files)}
        />
      </label>
      <textarea
        aria-label="Policies as YAML"
        rows={policies.text === "" ? 4 : 12}
        spellcheck={false}
        placeholder={"apiVersion: hookpolicy.dev/v1alpha1\nkind: HookPolicy\n…"}
        value={policies.text}
        onInput={(event) => onText({ ...policies, text: event.currentTarget.value })}
      />
    </div>
  );
}

function Outcome({ result }: { result: Result }) {
  if (result.state === "none") return <Empty title="The difference that the file would make appears here." />;
  if (result.state === "busy") return <Empty title="Simulating…" />;
  if (result.state === "failed")
    return (
      <div class="problems" role="alert">
        <b>The file cannot be simulated</b>
        <pre>{result.error}</pre>
      </div>
    );
  const { warnings, objects, totals, groups, tasks } = result.value;
  return (
    <div aria-live="polite">
      {totals.map((line) => (
        <p key={line} class="num">
          {line}
        </p>
      ))}
      <Notes notes={warnings} />
      {objects.map((lines) => (
        <pre key={lines[0]}>{lines.join("\n")}</pre>
      ))}
      {groups.length === 0 && tasks.length === 0 && (
        <Empty title={objects.length === 0 ? "Nothing changes." : "Nothing changes for these Clusters."} />
      )}
      {groups.map((group) => (
        <Group key={JSON.stringify([group.change, group.hook, group.before, group.after])} group={group} />
      ))}
      {tasks.map((task) => (
        <Task
          key={JSON.stringify([task.hook, task.policy, task.rule, task.task, task.problem])}
          task={task}
        />
      ))}
    </div>
  );
}

const TONES: Readonly<Record<string, string>> = {
  "newly-blocked": "held",
  "newly-allowed": "audit",
  "changed-reason": "busy",
  unknown: "audit",
};
const MAX_NAMED = 200;

function Group({ group }: { group: SimulationReport["groups"][number] }) {
  const { change, before, after } = group;
  return (
    <Effect
      of={group}
      tone={TONES[change] ?? ""}
      title={change.replace("-", " ")}
      facts={[
        ["before", before],
        ["after", after],
      ]}
    />
  );
}

function Task({ task }: { task: SimulationReport["tasks"][number] }) {
  const { policy, rule, mode, deed, problem } = task;
  const does =
    deed === undefined
      ? `nothing, and the rule holds: ${problem}`
      : `${deed}, once nothing else holds the operation`;
  return (
    <Effect
      of={task}
      tone={deed === undefined ? "held" : "busy"}
      title={`task ${task.task}`}
      facts={[
        ["of", `${policy} ${rule}`],
        ["does", mode === "Audit" ? "nothing, in mode Audit" : does],
      ]}
    />
  );
}

interface EffectProps {
  readonly of: { readonly hook: string; readonly clusters: readonly string[] };
  readonly tone: string;
  readonly title: string;
  readonly facts: readonly (readonly [string, string])[];
}

function Effect({ of: { hook, clusters }, tone, title, facts }: EffectProps) {
  return (
    <details class="policy" open={clusters.length <= 20}>
      <summary>
        <span class={`verdict ${tone}`}>{title}</span>
        {hook}
        <span class="num soft">{counted(clusters.length, "Cluster")}</span>
      </summary>
      <dl class="facts">
        {facts.map(([label, value]) => (
          <Fragment key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
        <dt>Clusters</dt>
        <dd class="names">
          {clusters.slice(0, MAX_NAMED).map((cluster) => (
            <a key={cluster} class="chip" href={clusterHref(cluster)}>
              {cluster}
            </a>
          ))}
          {clusters.length > MAX_NAMED && <span class="soft">and {clusters.length - MAX_NAMED} more</span>}
        </dd>
      </dl>
    </details>
  );
}
