/** The webhook of Clusters: what a refusal and a confirmed passage take, and that other updates do not reach the operator. */

import { median, quantile, rounded } from "../measure/statistics.ts";
import { type Progress, QUICK, resultOf } from "../part.ts";
import { below, NONE, row } from "../report/rows.ts";
import type { PartResult, Row, Table } from "../result.ts";
import { type AdmissionSize, measureAdmission, type Measured, type Round } from "./measure.ts";

const FULL: AdmissionSize = { clusters: 1000, requests: 1000, updates: 30_000, rounds: 3 };
const SKETCH: AdmissionSize = { clusters: 50, requests: 50, updates: 1000, rounds: 1 };

export async function runAdmission(progress: Progress): Promise<PartResult> {
  const measured = await measureAdmission(QUICK ? SKETCH : FULL, progress);
  return resultOf("admission", {
    versions: { "kube-apiserver": measured.kubeVersion },
    tables: [tableOf(measured)],
    notes: notesOf(measured),
  });
}

type Times = "none" | "bare" | "denied" | "confirmed" | "parallel";

function tableOf({ rounds, size, noise }: Measured): Table {
  const ms = (of: Times, work: string, limit?: number): Row => {
    const p99 = rounds.map((round) => rounded(quantile(round[of], 0.99), 2));
    const p50 = rounded(median(rounds.flatMap((round) => round[of])), 2);
    const goal = limit === undefined ? undefined : below(limit);
    return row(`admission-${of}`, `${work}, p99`, p99, { unit: "ms", goal, note: `p50 ${p50} ms` });
  };
  const perSecond = (of: "updatesWith" | "updatesWithout"): number =>
    rounded(median(rounds.map((round: Round) => round[of])), 0);
  return {
    title: `Deletions of ${size.clusters.toLocaleString("en")} Clusters, and ${size.updates.toLocaleString("en")} updates of other fields`,
    rows: [
      ms("none", "a deletion (dry run) without webhook"),
      ms("bare", "refused by a server that only parses the review"),
      ms("denied", "refused by the operator, from the Cluster alone", 10),
      ms("confirmed", "confirmed with the API server, and passed", 120),
      ms("parallel", "the same, 16 at a time"),
      row(
        "admission-reviews",
        "reviews that the operator gets of the updates",
        rounds.map(({ reviews }) => reviews),
        { unit: "reviews", goal: NONE },
      ),
      row(
        "admission-updates",
        "updates per second with the webhook, beside those without",
        rounds.map((round) => rounded(round.updatesWith / round.updatesWithout, 2)),
        {
          unit: "× without",
          note: `${perSecond("updatesWith")} with it, ${perSecond("updatesWithout")} without`,
        },
      ),
      noise.row("admission"),
    ],
  };
}

function notesOf({ size }: Measured): string[] {
  return [
    `One kube-apiserver, one etcd, one replica. Each figure is the whole request, from the client to the API server, its webhook and back, ${size.requests.toLocaleString("en")} requests in a round, one after the other unless it says otherwise. Deletions are dry runs, which the webhook decides in the same way, so that the Clusters stay; half of the Clusters are approved.`,
    "The rows without the operator are the reference on the same machine in the same round: what lies between them and the operator's is its share.",
    "The updates set an annotation, 16 at a time, as fast as the API server stores them. Its matchConditions leave them out, so they reach the operator by its watch alone, as without the webhook.",
  ];
}
