import type { Row, Table } from "../result.ts";
import { median, quantile, rounded } from "../scale/figures.ts";
import { RETRY_SECONDS } from "./fleet.ts";
import type { Measured } from "./measure.ts";

export function tableOf(measured: Measured): Table {
  const { clusters, slots } = measured.size;
  const rows = [...slotRows(measured), ...goRows(measured), ...waitRows(measured), ...restRows(measured)];
  return {
    title: `${clusters.toLocaleString("en")} Clusters, maxConcurrency ${slots}`,
    rows: rows.map((row) => ({ ...row, id: `rollouts-${clusters}-${row.id}` })),
  };
}

function slotRows({ freeFor, size, fillSeconds }: Measured): Row[] {
  const beyond = quantile(freeFor, 0.99) / 1000 - RETRY_SECONDS;
  return [
    {
      id: "free-slot",
      work: `an upgrade has ended → the next one is released, p99, beyond the ${RETRY_SECONDS} s after which Cluster API asks again`,
      goal: { is: "below", value: 2 },
      samples: [rounded(Math.max(0, beyond), 2)],
      unit: "s",
      note: `in all p50 ${rounded(median(freeFor) / 1000, 2)} s, p99 ${rounded(quantile(freeFor, 0.99) / 1000, 2)} s; ${freeFor.length} slots, ${size.endsPerSecond} per second`,
    },
    {
      id: "fill",
      work: `the first call → all ${size.slots} slots are taken`,
      goal: undefined,
      samples: [rounded(fillSeconds, 1)],
      unit: "s",
    },
  ];
}

function goRows({ goMs, turnover }: Measured): Row[] {
  const { gos, reads, megabytes, writes } = turnover;
  return [
    {
      id: "go-ms",
      work: "one go: the answer to its call, p50",
      goal: undefined,
      samples: [rounded(median(goMs), 0)],
      unit: "ms",
      note: `p99 ${rounded(quantile(goMs, 0.99), 0)} ms`,
    },
    {
      id: "go-reads",
      work: "one go: reads of the API server, by both replicas",
      goal: undefined,
      samples: [rounded(reads / gos)],
      unit: "requests",
      note: `pages of lists count each; ${rounded(writes / gos)} writes of the status`,
    },
    {
      id: "go-bytes",
      work: "one go: what these reads answer",
      goal: undefined,
      samples: [rounded(megabytes / gos, 2)],
      unit: "MB",
    },
  ];
}

const share = (of: number): number => rounded(100 * of);

function waitRows({ heldMs, unanswered, load, size, blockedMs, turnover }: Measured): Row[] {
  return [
    {
      id: "waiting-cpu",
      work: `the ${(size.clusters - size.slots).toLocaleString("en")} others at most wait, and ask every ${RETRY_SECONDS} s: the replica that is called`,
      goal: { is: "at most", value: 50 },
      samples: [share(load.cpu.called)],
      unit: "% of a core",
      note: `the leader ${share(load.cpu.leader)} %; ${load.calls} calls of 26 KB in ${rounded(load.seconds, 0)} s, p50 ${rounded(load.p50)} ms, p99 ${rounded(load.p99)} ms`,
    },
    {
      id: "turnover-cpu",
      work: "the same while upgrades end and begin",
      goal: undefined,
      samples: [share(turnover.cpu.called)],
      unit: "% of a core",
      note: `the leader ${share(turnover.cpu.leader)} %`,
    },
    {
      id: "held-ms",
      work: "answers that hold meanwhile, p99",
      goal: undefined,
      samples: [rounded(quantile(heldMs, 0.99))],
      unit: "ms",
      note: `p50 ${rounded(median(heldMs))} ms, ${heldMs.length} calls; ${unanswered} calls had no answer within 10 s`,
    },
    {
      id: "blocked",
      work: "the longest that the event loop is busy meanwhile, in the replica that is called",
      goal: undefined,
      samples: [rounded(blockedMs.called)],
      unit: "ms",
      note: `in the leader ${rounded(blockedMs.leader)} ms`,
    },
  ];
}

function restRows({ rest, statusBytes, size }: Measured): Row[] {
  return [
    {
      id: "status",
      work: "size of the status, with every slot taken",
      goal: { is: "at most", value: 256 },
      samples: [rounded(statusBytes / 1024)],
      unit: "KiB",
    },
    {
      id: "rest-writes",
      work: `writes of the status in ${size.restSeconds} s of rest`,
      goal: { is: "exactly", value: 0 },
      samples: [rest.writes],
      unit: "writes",
      note: `${rest.reads} reads`,
    },
    {
      id: "rest-cpu",
      work: "at rest: the leader",
      goal: undefined,
      samples: [rounded(100 * rest.cpu.leader, 2)],
      unit: "% of a core",
      note: `the other replica ${rounded(100 * rest.cpu.called, 2)} %`,
    },
  ];
}

export function notesOf({ size, loadAverages }: Measured): string[] {
  const { turnover, load, rest } = loadAverages;
  return [
    `Two replicas; all calls go to the one that does not lead, as they do where Cluster API keeps its connections. Each Cluster is asked about again after as many seconds as the answer says, with 26 KB; a stand-in for Cluster API sets and removes the marks. The rollout has two stages and a spread over ten regions.`,
    `Slots become free ${size.endsPerSecond} per second, one by one, from the API server's answer to the removal of the mark. The Cluster that is next asks every ${RETRY_SECONDS} s, so half of that passes on average, and all of it at worst.`,
    `Reads and bytes are the API server's own counts of GET and LIST for policies, rollouts, Clusters and Namespaces while upgrades ended, divided by the number of gos: the reads of gos that were not confirmed and those that give slots back are in them. A go reads one Cluster to learn the present resourceVersion, and lists the metadata of every Cluster only where memory does not reach that version within 0.4 s: such lists are nearly all of the bytes.`,
    `The driver, etcd, kube-apiserver and both replicas share the two cores, also with work that is not part of the bench: the load average was ${rounded(turnover)} while upgrades ended, ${rounded(load)} while all asked, and ${rounded(rest)} at rest. CPU time is the process's own, and says more than the milliseconds.`,
  ];
}
