import type { Goal, Plot, Row, Table } from "../result.ts";
import { median, quantile, rounded } from "./figures.ts";
import { policiesPerCluster } from "./fleet.ts";
import type { Measured } from "./measure.ts";

/** Of the resident memory over an idle process, in MB. */
function memoryGoal(clusters: number): Goal | undefined {
  if (clusters === 1000) return { is: "at most", value: 40 };
  return clusters === 10_000 ? { is: "at most", value: 250 } : undefined;
}

export function tableOf(measured: Measured): Table {
  const { clusters, policies } = measured.size;
  const rows = [
    ...startRows(measured),
    ...memoryRows(measured),
    ...changeRows(measured),
    ...editRows(measured),
    ...restRows(measured),
  ];
  return {
    title: `${clusters.toLocaleString("en")} Clusters, ${policies} policies`,
    rows: rows.map((row) => ({ ...row, id: `scale-${clusters}-${row.id}` })),
  };
}

function startRows({ starts }: Measured): Row[] {
  const seconds = (of: "list" | "loaded" | "held"): number =>
    rounded(median(starts.map((start) => start[of])) / 1000, 2);
  return [
    {
      id: "start",
      work: "start until every call is decided, against the bare LIST of the same objects",
      goal: { is: "at most", value: 1.5 },
      samples: starts.map(({ list, loaded }) => rounded(loaded / list, 2)),
      unit: "× bare LIST",
      note: `${seconds("loaded")} s; LIST ${seconds("list")} s; every Cluster's decision in the metrics after ${seconds("held")} s`,
    },
  ];
}

function memoryRows({ size, idle, loaded, asked }: Measured): Row[] {
  const goal = memoryGoal(size.clusters);
  const over = (memory: typeof loaded, of: "asIs" | "collected"): number[] => [
    rounded(memory[of] - idle[of]),
  ];
  const note = (memory: typeof loaded, of: "asIs" | "collected"): string =>
    `${rounded(memory[of], 0)} MB; idle ${rounded(idle[of], 0)} MB`;
  const row = (id: string, work: string, memory: typeof loaded): Row[] => [
    {
      id,
      work: `resident memory over the idle process, ${work}`,
      goal,
      samples: over(memory, "collected"),
      unit: "MB",
      note: `${note(memory, "collected")}, both after garbage collection`,
    },
    {
      id: `${id}-as-is`,
      work: `the same with the garbage that is there, ${work}`,
      goal: undefined,
      samples: over(memory, "asIs"),
      unit: "MB",
      note: note(memory, "asIs"),
    },
  ];
  return [...row("memory-loaded", "loaded", loaded), ...row("memory-asked", "all have asked", asked)];
}

function changeRows({ approvals }: Measured): Row[] {
  const all = approvals.flat();
  return [
    {
      id: "annotation",
      work: "annotation set → answer changes, p99",
      goal: { is: "below", value: 100 },
      samples: approvals.map((round) => rounded(quantile(round, 0.99))),
      unit: "ms",
      note: `p50 ${rounded(median(all))} ms, ${all.length} changes`,
    },
  ];
}

function editRows({ edits }: Measured): Row[] {
  const samples = (of: "answered" | "status" | "decided" | "blocked"): number[] =>
    edits.map((edit) => rounded(edit[of]));
  const second = { is: "below", value: 1000 } as const;
  return [
    {
      id: "edit-answers",
      work: "ClusterHookPolicy edited → no call gets the old answer",
      goal: second,
      samples: samples("answered"),
      unit: "ms",
    },
    {
      id: "edit-decided",
      work: "ClusterHookPolicy edited → decided for all Clusters",
      goal: { is: "at most", value: 1000 },
      samples: samples("decided"),
      unit: "ms",
      note: "upper bound of the bucket in the operator's own histogram",
    },
    {
      id: "edit-status",
      work: "ClusterHookPolicy edited → status of the new generation",
      goal: undefined,
      samples: samples("status"),
      unit: "ms",
    },
    {
      id: "edit-p99",
      work: "answers meanwhile, p99 at 100 calls/s",
      goal: { is: "below", value: 20 },
      samples: edits.map(({ calls }) => rounded(quantile(calls, 0.99))),
      unit: "ms",
      note: `slowest ${rounded(Math.max(...edits.flatMap(({ calls }) => calls)))} ms`,
    },
    {
      id: "edit-event-loop",
      work: "longest that the event loop is busy meanwhile",
      goal: { is: "at most", value: 50 },
      samples: samples("blocked"),
      unit: "ms",
      note: "slowest of health checks that follow one another",
    },
  ];
}

function restRows({ size, load, statusBytes, writesAtRest }: Measured): Row[] {
  const rate = size.clusters / 10;
  return [
    {
      id: "status-size",
      work: `status of the policy that holds all ${size.clusters.toLocaleString("en")} Clusters`,
      goal: { is: "at most", value: 64 },
      samples: [rounded(statusBytes / 1024)],
      unit: "KiB",
    },
    {
      id: "writes-at-rest",
      work: `writes at rest in ${Math.round(size.restSeconds / 60)} minutes`,
      goal: { is: "exactly", value: 0 },
      samples: [writesAtRest],
      unit: "writes",
      note: `the first ${size.loadSeconds} s with all Clusters asking`,
    },
    {
      id: "all-ask-cpu",
      work: `all Clusters ask every 10 s (${rate} calls/s of 26 KB)`,
      goal: { is: "at most", value: 50 },
      samples: [rounded((100 * load.operatorCpuSeconds) / load.seconds)],
      unit: "% of a core",
      note: `p50 ${rounded(load.p50)} ms, p99 ${rounded(load.p99)} ms`,
    },
  ];
}

export function plotsOf(measured: readonly Measured[]): Plot[] {
  const points = (value: (each: Measured) => number): [number, number][] =>
    measured.map((each) => [each.size.clusters, rounded(value(each))]);
  const x = { title: "Clusters" };
  return [
    {
      file: "scale-memory",
      title: "Resident memory over the idle process",
      x,
      y: { title: "MB" },
      series: [
        { name: "loaded", points: points(({ loaded, idle }) => loaded.collected - idle.collected) },
        { name: "all have asked", points: points(({ asked, idle }) => asked.collected - idle.collected) },
      ],
    },
    {
      file: "scale-start",
      title: "Start",
      x,
      y: { title: "seconds" },
      series: [
        { name: "bare LIST", points: points(({ starts }) => median(starts.map(({ list }) => list)) / 1000) },
        {
          name: "every call is decided",
          points: points(({ starts }) => median(starts.map(({ loaded }) => loaded)) / 1000),
        },
      ],
    },
  ];
}

export function notesOf(measured: readonly Measured[]): string[] {
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
