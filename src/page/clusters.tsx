/** Every Cluster that the user may see. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { counted } from "../lib/counted.ts";
import { useAnswer } from "./ask.ts";
import { wordSearch } from "./held-rows.ts";
import type { LiveFleet } from "./live.ts";
import { LongList } from "./long-list.tsx";
import { ClusterLabel, Empty, Notes, Search, Select, setParams } from "./parts.tsx";
import { clusterHref, type Params } from "./route.ts";
import type { ClusterRow } from "./wire.ts";

const ROW_HEIGHTS = { wide: 44, narrow: 64 };

export function ClustersPage({ live, params }: { live: LiveFleet; params: Params }): VNode | null {
  const { value: clusters = [], error, isLoading } = useAnswer<readonly ClusterRow[]>("clusters", {});
  const held = useMemo(() => Map.groupBy(live.rows, ({ cluster }) => cluster), [live.rows]);
  const { q = "", state = "" } = params;
  const shown = useMemo(() => {
    const isMeant = wordSearch(q);
    return clusters.filter(
      ({ cluster, version }) =>
        isMeant(`${cluster} ${version}`) && (state === "" || held.has(cluster) === (state === "held")),
    );
  }, [clusters, held, q, state]);
  return (
    <section class="page fill">
      <div class="filters" role="search">
        <h1>
          {counted(shown.length, "Cluster")}
          {shown.length === clusters.length ? "" : <small> of {clusters.length}</small>}
        </h1>
        <Select
          label="State"
          none="all"
          value={state}
          values={["held", "not held"]}
          onChange={(value) => setParams({ state: value })}
        />
        <Search value={q} onChange={(value) => setParams({ q: value })} />
      </div>
      <Notes notes={[error]} />
      {shown.length === 0 ? (
        <Empty title={isLoading ? "Reading…" : "No Cluster matches."} />
      ) : (
        <LongList
          items={shown}
          label="Clusters"
          rowHeights={ROW_HEIGHTS}
          keyOf={({ cluster }) => cluster}
          row={(row) => <Row row={row} hooks={held.get(row.cluster)?.map(({ hook }) => hook) ?? []} />}
          onKey={({ cluster }, key) => {
            if (key === "Enter") location.hash = clusterHref(cluster);
          }}
        />
      )}
    </section>
  );
}

function Row({ row, hooks }: { row: ClusterRow; hooks: readonly string[] }) {
  return (
    <div class="clustergrid">
      <a href={clusterHref(row.cluster)} tabIndex={-1}>
        <ClusterLabel cluster={row.cluster} />
      </a>
      <span class="num soft">{row.version}</span>
      <span class="soft">{row.paused ? "paused" : row.phase}</span>
      <span>
        {[...new Set(hooks)].map((hook) => (
          <span key={hook} class="verdict held">
            {hook}
          </span>
        ))}
      </span>
    </div>
  );
}
