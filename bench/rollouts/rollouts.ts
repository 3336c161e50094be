/** A HookRollout over a whole fleet: how soon a free slot is taken, what that costs, and what it costs to wait. */

import { median, quantile, rounded } from "../measure/statistics.ts";
import { type Progress, QUICK, resultOf } from "../part.ts";
import { atMost, below, NONE, row } from "../report/rows.ts";
import type { PartResult, Row, Table } from "../result.ts";
import { RETRY_SECONDS } from "./fleet.ts";
import { type Measured, measureRollout, type RolloutSize } from "./measure.ts";

const FULL: RolloutSize = {
  clusters: 10_000,
  slots: 200,
  ends: 100,
  endsPerSecond: 1,
  loadSeconds: 60,
  restSeconds: 60,
};

const SKETCH: RolloutSize = {
  clusters: 200,
  slots: 20,
  ends: 10,
  endsPerSecond: 1,
  loadSeconds: 10,
  restSeconds: 10,
};

export async function runRollouts(progress: Progress): Promise<PartResult> {
  const measured = await measureRollout(QUICK ? SKETCH : FULL, progress);
  return resultOf("rollouts", {
    versions: { "kube-apiserver": measured.kubeVersion },
    tables: [tableOf(measured)],
    notes: notesOf(measured),
  });
}

function tableOf(measured: Measured): Table {
  const { clusters, slots } = measured.size;
  const rows = [...slotRows(measured), ...goRows(measured), ...waitRows(measured), ...restRows(measured)];
  return {
    title: `${clusters.toLocaleString("en")} Clusters, maxConcurrency ${slots}`,
    rows: [
      ...rows.map((each) => ({ ...each, id: `rollouts-${clusters}-${each.id}` })),
      measured.noise.row("rollouts"),
    ],
  };
}

function slotRows({ turnover: { freeFor, fillSeconds }, size }: Measured): Row[] {
  const [p50, p99] = [median(freeFor) / 1000, quantile(freeFor, 0.99) / 1000];
  return [
    row(
      "free-slot",
      `an upgrade has ended → the next one is released, p99, beyond the ${RETRY_SECONDS} s after which Cluster API asks again`,
      rounded(Math.max(0, p99 - RETRY_SECONDS), 2),
      {
        unit: "s",
        goal: below(2),
        note: `in all p50 ${rounded(p50, 2)} s, p99 ${rounded(p99, 2)} s; ${freeFor.length} slots, ${size.endsPerSecond} per second`,
      },
    ),
    row("fill", `the first call → all ${size.slots} slots are taken`, rounded(fillSeconds), { unit: "s" }),
  ];
}

function goRows({ turnover: { goMs, cost } }: Measured): Row[] {
  const each = (of: number, digits = 1): number => rounded(of / goMs.length, digits);
  return [
    row("go-ms", "one go: the answer to its call, p50", rounded(median(goMs), 0), {
      unit: "ms",
      note: `p99 ${rounded(quantile(goMs, 0.99), 0)} ms`,
    }),
    row("go-reads", "one go: reads of the API server, by both replicas", each(cost.reads), {
      unit: "requests",
      note: `pages of lists count each; ${each(cost.rolloutWrites)} writes of the status`,
    }),
    row("go-bytes", "one go: what these reads answer", each(cost.megabytes, 2), { unit: "MB" }),
  ];
}

const share = (of: number, digits = 1): number => rounded(100 * of, digits);

function waitRows({ turnover, load, size }: Measured): Row[] {
  const { heldMs, unanswered, blockedMs, cost } = turnover;
  const others = (size.clusters - size.slots).toLocaleString("en");
  return [
    row(
      "waiting-cpu",
      `the ${others} others at most wait, and ask every ${RETRY_SECONDS} s: the replica that is called`,
      share(load.cpu.called),
      {
        unit: "% of a core",
        goal: atMost(50),
        note: `the leader ${share(load.cpu.leader)} %; ${load.calls} calls of 26 KB in ${rounded(load.seconds, 0)} s, p50 ${rounded(load.p50)} ms, p99 ${rounded(load.p99)} ms`,
      },
    ),
    row("turnover-cpu", "the same while upgrades end and begin", share(cost.cpu.called), {
      unit: "% of a core",
      note: `the leader ${share(cost.cpu.leader)} %`,
    }),
    row("held-ms", "answers that hold meanwhile, p99", rounded(quantile(heldMs, 0.99)), {
      unit: "ms",
      note: `p50 ${rounded(median(heldMs))} ms, ${heldMs.length} calls; ${unanswered} calls had no answer within 10 s`,
    }),
    row(
      "blocked",
      "the longest that the event loop is busy meanwhile, in the replica that is called",
      rounded(blockedMs.called),
      { unit: "ms", note: `in the leader ${rounded(blockedMs.leader)} ms` },
    ),
  ];
}

function restRows({ rest, statusBytes, size }: Measured): Row[] {
  return [
    row("status", "size of the status, with every slot taken", rounded(statusBytes / 1024), {
      unit: "KiB",
      goal: atMost(256),
    }),
    row("rest-writes", `writes of the status in ${size.restSeconds} s of rest`, rest.rolloutWrites, {
      unit: "writes",
      goal: NONE,
      note: `${rest.reads} reads`,
    }),
    row("rest-cpu", "at rest: the leader", share(rest.cpu.leader, 2), {
      unit: "% of a core",
      note: `the other replica ${share(rest.cpu.called, 2)} %`,
    }),
  ];
}

function notesOf({ size }: Measured): string[] {
  return [
    `Two replicas; all calls go to the one that does not lead, as they do where Cluster API keeps its connections. Each Cluster is asked about again after as many seconds as the answer says, with 26 KB; a stand-in for Cluster API sets and removes the marks. The rollout has two stages and a spread over ten regions.`,
    `Slots become free ${size.endsPerSecond} per second, one by one, from the API server's answer to the removal of the mark. The Cluster that is next asks every ${RETRY_SECONDS} s, so half of that passes on average, and all of it at worst.`,
    `Reads and bytes are the API server's own counts of GET and LIST for policies, rollouts, Clusters and Namespaces while upgrades ended, divided by the number of gos: the reads of gos that were not confirmed and those that give slots back are in them. A go reads one Cluster to learn the present resourceVersion, and lists the metadata of every Cluster only where memory does not reach that version within 0.4 s: such lists are nearly all of the bytes.`,
    "The driver, etcd, kube-apiserver and both replicas share the machine, also with work that is not part of the bench. CPU time is the process's own, and says more than the milliseconds.",
  ];
}
