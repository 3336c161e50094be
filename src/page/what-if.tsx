/** Shows what a policy file would change in the live fleet; nothing is stored. */

import { Fragment, type VNode } from "preact";
import { useState } from "preact/hooks";
import { counted } from "../lib/counted.ts";
import { shellQuote } from "../lib/shell-quote.ts";
import { fetchJson, failureText, urlOf } from "./ask.ts";
import { Empty, Notes } from "./parts.tsx";
import { clusterHref } from "./route.ts";
import type { About, GivenFile, SimulatedEffect, SimulationReport } from "./wire.ts";

interface Given extends GivenFile {
  /** Its text is no longer that of the user's file. */
  readonly edited?: true;
}

const TYPED: readonly Given[] = [{ name: "", text: "" }];

function isBlank(files: readonly Given[]): boolean {
  return files.every(({ text }) => text.trim() === "");
}

type Result =
  | { readonly state: "none" }
  | { readonly state: "busy" }
  | { readonly state: "done"; readonly value: SimulationReport }
  | { readonly state: "failed"; readonly error: string };

export function WhatIfPage({ program, connection }: Pick<About, "program" | "connection">): VNode | null {
  const [files, setFiles] = useState(TYPED);
  const [prune, setPrune] = useState(false);
  const [result, setResult] = useState<Result>({ state: "none" });
  const simulate = (wanted: readonly Given[], pruned = prune): void => {
    setFiles(wanted);
    if (isBlank(wanted)) return setResult({ state: "none" });
    setResult({ state: "busy" });
    fetchJson<SimulationReport>(urlOf("simulate", pruned ? { prune: "true" } : {}), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(wanted),
    })
      .then((value) => setResult({ state: "done", value }))
      .catch((error: unknown) => setResult({ state: "failed", error: failureText(error) }));
  };
  const words = files.map(({ name, edited }) => `-f ${name === "" || edited ? "FILE" : shellQuote(name)}`);
  return (
    <section class="page">
      <div class="filters">
        <h1>What if</h1>
      </div>
      <DropZone files={files} onFiles={simulate} onText={setFiles} />
      <div class="filters">
        <button type="button" class="primary" disabled={isBlank(files)} onClick={() => simulate(files)}>
          Simulate
        </button>
        <label class="check">
          <input
            type="checkbox"
            checked={prune}
            onChange={(event) => {
              setPrune(event.currentTarget.checked);
              simulate(files, event.currentTarget.checked);
            }}
          />
          policies that are not in the file are deleted
        </label>
        <span class="check soft">
          Nothing is written. The same as: {program} simulate {words.join(" ")}
          {prune && " --prune"}
          {connection}
        </span>
      </div>
      <Outcome result={result} />
    </section>
  );
}

interface DropProps {
  readonly files: readonly Given[];
  readonly onFiles: (files: readonly Given[]) => void;
  readonly onText: (files: readonly Given[]) => void;
}

function DropZone({ files, onFiles, onText }: DropProps) {
  const [over, setOver] = useState(false);
  const take = async (dropped: FileList | null | undefined): Promise<void> => {
    const all = [...(dropped ?? [])];
    if (all.length === 0) return;
    onFiles(await Promise.all(all.map(async (file) => ({ name: file.name, text: await file.text() }))));
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
      {files.map((file, index) => (
        <label key={`${index} ${file.name}`} class="field">
          <span>{file.name === "" ? "Policies as YAML" : file.name}</span>
          <textarea
            rows={file.text === "" ? 4 : 12}
            spellcheck={false}
            placeholder={"apiVersion: hookpolicy.dev/v1alpha1\nkind: HookPolicy\n…"}
            value={file.text}
            onInput={(event) =>
              onText(files.with(index, { ...file, text: event.currentTarget.value, edited: true }))
            }
          />
        </label>
      ))}
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
  const { warnings, objects, totals, effects } = result.value;
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
      {effects.length === 0 && (
        <Empty title={objects.length === 0 ? "Nothing changes." : "Nothing changes for these Clusters."} />
      )}
      {effects.map((effect) => (
        <Effect key={JSON.stringify({ ...effect, clusters: undefined })} effect={effect} />
      ))}
    </div>
  );
}

const MAX_NAMED = 200;

function Effect({ effect: { title, tone, hook, facts, clusters } }: { effect: SimulatedEffect }) {
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
