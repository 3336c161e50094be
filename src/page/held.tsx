/** Every held operation: why, since when, until when, and the command that releases it. */

import type { VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { since, until } from "../lib/age.ts";
import { CHOICES, clustersIn, emptyText, filterHeld, heldText, policyTitle, valuesOf } from "./held-rows.ts";
import type { LiveFleet } from "./live.ts";
import { LongList } from "./long-list.tsx";
import { ClusterLabel, copyText, CopyButton, Empty, Notes, Search, Select, setParams } from "./parts.tsx";
import { clusterHref, type Params } from "./route.ts";
import { dateText, useNow } from "./times.ts";
import type { HeldRow } from "./wire.ts";

const ROW_HEIGHTS = { wide: 64, narrow: 180 };

export function HeldPage({ live, params }: { live: LiveFleet; params: Params }): VNode | null {
  const now = useNow();
  const shown = useMemo(() => filterHeld(live.rows, params), [live.rows, params]);
  const [told, tell] = useTold();
  return (
    <section class="page fill">
      <Filters live={live} params={params} shown={shown} />
      <Notes notes={[...live.notes, ...live.unread]} />
      {shown.length > 0 && (
        <div class="listhead heldgrid" aria-hidden="true">
          <span>Cluster and hook</span>
          <span>Why</span>
          <span>Held for</span>
          <span>Release</span>
          <span />
        </div>
      )}
      {shown.length === 0 ? (
        <Empty title={emptyText(live)} />
      ) : (
        <LongList
          items={shown}
          label="Held operations"
          rowHeights={ROW_HEIGHTS}
          keyOf={({ policy, clusterUID, hook }) => JSON.stringify([policy, clusterUID, hook])}
          row={(row) => <Row row={row} now={now} />}
          onKey={(row, key) => pressed(row, key, tell)}
        />
      )}
      <p class="told" role="status">
        {told}
      </p>
    </section>
  );
}

function pressed({ cluster, command }: HeldRow, key: string, tell: (text: string) => void): void {
  if (key === "Enter") location.hash = clusterHref(cluster);
  if (key !== "c") return;
  if (command === undefined)
    tell(`There is no command for ${cluster}: press Enter to see what it waits for.`);
  else void copyText(command).then(() => tell("Copied"));
}

const TOLD_MS = 4_000;

/** A text that goes away by itself. */
function useTold(): readonly [string, (text: string) => void] {
  const [told, setTold] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setTold(""), TOLD_MS);
    return () => clearTimeout(timer);
  }, [told]);
  return [told, setTold];
}

function Filters({
  live: { rows, omits },
  params,
  shown,
}: {
  live: LiveFleet;
  params: Params;
  shown: readonly HeldRow[];
}) {
  return (
    <div class="filters" role="search">
      <h1>
        {heldText(shown, omits)}
        {shown.length === rows.length ? "" : <small> of {clustersIn(rows)}</small>}
      </h1>
      {CHOICES.map(({ label, name, of }) => (
        <Select
          key={name}
          label={label}
          none="all"
          value={params[name] ?? ""}
          values={valuesOf(rows, of)}
          onChange={(value) => setParams({ [name]: value })}
        />
      ))}
      <Search value={params["q"] ?? ""} onChange={(q) => setParams({ q })} />
    </div>
  );
}

function Row({ row, now }: { row: HeldRow; now: Date }) {
  const { cluster, hook, targetVersion, policy, rule, gate, firstAsked, earliestRelease, tornDown } = row;
  const message = tornDown?.message ?? row.message;
  return (
    <div
      class={`heldgrid ${tornDown !== undefined ? "torn" : row.verdict === "NotEvaluable" ? "unknown" : ""}`}
    >
      <div class="who">
        <a href={clusterHref(cluster)} tabIndex={-1}>
          <ClusterLabel cluster={cluster} />
        </a>
        <span class="soft">
          {hook}
          {targetVersion !== undefined && ` → ${targetVersion}`}
        </span>
      </div>
      <div class="why" title={message}>
        <span>{message}</span>
        <span class="soft">
          {policyTitle(policy)} · {gate === undefined ? rule : `${rule}/${gate}`} ·{" "}
          {tornDown?.reason ?? row.reason}
        </span>
      </div>
      <time class="num" dateTime={firstAsked} title={`since ${dateText(firstAsked)}`}>
        {since(firstAsked, now)}
      </time>
      <span
        class="num"
        title={earliestRelease === undefined ? "not by time alone" : dateText(earliestRelease)}
      >
        {until(earliestRelease, now)}
      </span>
      <span class="act">
        {row.command === undefined ? null : (
          <CopyButton text={row.command} label={row.approvable ? "Copy approve" : "Copy command"} />
        )}
      </span>
    </div>
  );
}
