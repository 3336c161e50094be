/** A whole fleet: how long it takes to load, what it takes to keep, and how soon a change is known of everywhere. */

import { policiesPerCluster } from "../fleet/fleet.ts";
import { median, quantile, rounded } from "../measure/statistics.ts";
import { type Progress, QUICK, resultOf } from "../part.ts";
import { atMost, below, NONE, row } from "../report/rows.ts";
import type { PartResult, Row, Table } from "../result.ts";
import type { Edit } from "./edits.ts";
import { type Measured, measureSize, type ScaleSize } from "./measure.ts";
import type { Resident } from "./memory.ts";
import type { Start } from "./startup.ts";

const ROUNDS = {
  startRounds: 3,
  editRounds: 5,
  approvalRounds: 2,
  approvalsPerRound: 150,
  loadSeconds: 60,
  restSeconds: 600,
} as const;

const FULL: readonly ScaleSize[] = [
  { ...ROUNDS, clusters: 1000, policies: 50, restSeconds: 120 },
  { ...ROUNDS, clusters: 10_000, policies: 100 },
];

const SKETCH: readonly ScaleSize[] = [
  {
    clusters: 200,
    policies: 10,
    startRounds: 2,
    editRounds: 2,
    approvalRounds: 1,
    approvalsPerRound: 20,
    loadSeconds: 10,
    restSeconds: 20,
  },
];

export async function runScale(progress: Progress): Promise<PartResult> {
  const measured: Measured[] = [];
  for (const size of QUICK ? SKETCH : FULL) {
    const name = `${size.clusters} Clusters, ${size.policies} policies`;
    measured.push(await measureSize(size, (line) => progress(`${name}: ${line}`)));
  }
  return resultOf("scale", {
    versions: { "kube-apiserver": measured[0]?.kubeVersion ?? "unknown" },
    tables: measured.map(tableOf),
    notes: notesOf(measured),
  });
}

/** Of the resident memory over an idle process, in MB, by Clusters. */
const MEMORY_GOALS: ReadonlyMap<number, number> = new Map([
  [1000, 40],
  [10_000, 200],
]);

function tableOf(measured: Measured): Table {
  const { clusters, policies } = measured.size;
  const rows = [
    ...startRows(measured),
    ...memoryRows(measured),
    ...changeRows(measured),
    ...editRows(measured),
    ...restRows(measured),
  ].map((each) => ({ ...each, id: `scale-${clusters}-${each.id}` }));
  return {
    title: `${clusters.toLocaleString("en")} Clusters, ${policies} policies`,
    rows: [...rows, measured.noise.row(`scale-${clusters}`)],
  };
}

function startRows({ starts }: Measured): Row[] {
  const seconds = (of: keyof Start): number => rounded(median(starts.map((start) => start[of])) / 1000, 2);
  return [
    row(
      "start",
      "start until every call is decided, against the bare LIST of the same objects",
      starts.map(({ list, loaded }) => rounded(loaded / list, 2)),
      {
        unit: "× bare LIST",
        goal: atMost(1.3),
        note: `${seconds("loaded")} s; LIST ${seconds("list")} s; every Cluster's decision in the metrics after ${seconds("held")} s`,
      },
    ),
  ];
}

function memoryRows({ size, idle, loaded, asked }: Measured): Row[] {
  const limit = MEMORY_GOALS.get(size.clusters);
  const over = (id: string, work: string, memory: Resident): Row[] => [
    row(id, `resident memory over the idle process, ${work}`, rounded(memory.collected - idle.collected), {
      unit: "MB",
      goal: limit === undefined ? undefined : atMost(limit),
      note: `${rounded(memory.collected, 0)} MB; idle ${rounded(idle.collected, 0)} MB, both after garbage collection`,
    }),
    row(`${id}-as-is`, `the same with the garbage that is there, ${work}`, rounded(memory.asIs - idle.asIs), {
      unit: "MB",
      note: `${rounded(memory.asIs, 0)} MB; idle ${rounded(idle.asIs, 0)} MB`,
    }),
  ];
  return [
    row(
      "memory-idle",
      "resident memory of the idle process, after garbage collection",
      rounded(idle.collected),
      {
        unit: "MB",
        goal: below(90),
      },
    ),
    ...over("memory-loaded", "loaded", loaded),
    ...over("memory-asked", "all have asked", asked),
  ];
}

function changeRows({ approvals }: Measured): Row[] {
  const all = approvals.flat();
  return [
    row(
      "annotation",
      "annotation set → answer changes, p99",
      approvals.map((round) => rounded(quantile(round, 0.99))),
      { unit: "ms", goal: below(120), note: `p50 ${rounded(median(all))} ms, ${all.length} changes` },
    ),
  ];
}

function editRows({ edits }: Measured): Row[] {
  const samples = (of: Exclude<keyof Edit, "calls">): number[] => edits.map((edit) => rounded(edit[of]));
  const p99 = edits.map(({ calls }) => rounded(quantile(calls, 0.99)));
  const slowest = rounded(Math.max(...edits.flatMap(({ calls }) => calls)));
  const unit = "ms";
  return [
    row("edit-answers", "ClusterHookPolicy edited → no call gets the old answer", samples("answered"), {
      unit,
      goal: below(1000),
    }),
    row("edit-decided", "ClusterHookPolicy edited → decided for all Clusters", samples("decided"), {
      unit,
      goal: atMost(1000),
      note: "upper bound of the bucket in the operator's own histogram",
    }),
    row("edit-status", "ClusterHookPolicy edited → status of the new generation", samples("status"), {
      unit,
    }),
    row("edit-p99", "answers meanwhile, p99 at 100 calls/s", p99, {
      unit,
      goal: below(20),
      note: `slowest ${slowest} ms`,
    }),
    row("edit-event-loop", "longest that the event loop is busy meanwhile", samples("blocked"), {
      unit,
      goal: atMost(25),
      note: "slowest of health checks that follow one another",
    }),
  ];
}

function restRows({ size, load, statusBytes, writesAtRest }: Measured): Row[] {
  const { clusters, restSeconds, loadSeconds } = size;
  return [
    row(
      "status-size",
      `status of the policy that holds all ${clusters.toLocaleString("en")} Clusters`,
      rounded(statusBytes / 1024),
      { unit: "KiB", goal: atMost(64) },
    ),
    row("writes-at-rest", `writes at rest in ${Math.round(restSeconds / 60)} minutes`, writesAtRest, {
      unit: "writes",
      goal: NONE,
      note: `the first ${loadSeconds} s with all Clusters asking`,
    }),
    row(
      "all-ask-cpu",
      `all Clusters ask every 10 s (${clusters / 10} calls/s of 26 KB)`,
      rounded((100 * load.operatorCpuSeconds) / load.seconds),
      {
        unit: "% of a core",
        goal: atMost(50),
        note: `p50 ${rounded(load.p50)} ms, p99 ${rounded(load.p99)} ms`,
      },
    ),
  ];
}

function notesOf(measured: readonly Measured[]): string[] {
  const perCluster = measured.map(({ size }) => `${rounded(policiesPerCluster(size))} of ${size.policies}`);
  return [
    `Every Cluster has topology variables of 26 KB, is being deleted and is held: the worst case. Each is matched by ${perCluster.join(" and ")} policies (in equal parts annotation, window and CEL gates), one of which matches all.`,
    "Start: from the spawn of the process, one after the other in each round; the bare LIST is a bundled program with the operator's own client that lists Clusters, policies, overrides and Namespaces side by side, parses them and drops them. Its end is the last page, the operator's end the log line that says that everything is loaded.",
    "Resident memory is VmRSS of the process; for a collection the inspector is told to collect garbage, and the idle process has the inspector, too.",
    "An approval is a PATCH of the Cluster; the time runs from the API server's answer until a call is answered with a go, which includes the read that confirms it. Calls follow one another on one connection. Most of it is the API server's: since Kubernetes 1.31 a consistent LIST comes from its watch cache, which first has to hear from etcd that it is up to date, and it asks for that every 100 ms (58 ms on average after a write anywhere, seen with an empty LIST; a GET takes 8 ms). A go takes two of these one after the other, around the read of the Cluster (it was three); one alone could not tell whether a policy has moved meanwhile.",
    "After an edit, Clusters are decided in steps of 15 ms, and calls are answered in between; calls about Clusters that are not decided yet are decided when they come. The driver, the API server and etcd share the two cores with the operator, which the slowest calls show.",
    "Memory: the idle process has done nothing yet. Compiled code, V8's space for short-lived objects (3 × 16 MB) and what the lists leave in malloc come with the first work, whatever the number of Clusters; from 1,000 to 10,000 Clusters it grows by 18 KB for each. (The variables alone took 23 KB of each before they were packed.)",
  ];
}
