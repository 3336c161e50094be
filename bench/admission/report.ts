import type { Row, Table } from "../result.ts";
import { median, quantile, rounded } from "../scale/figures.ts";
import type { Measured, Round } from "./measure.ts";

export function tableOf({ rounds, size }: Measured): Table {
  const p99 = (of: (round: Round) => readonly number[]): number[] =>
    rounds.map((round) => rounded(quantile(of(round), 0.99), 2));
  const p50 = (of: (round: Round) => readonly number[]): string =>
    `p50 ${rounded(median(rounds.flatMap(of)), 2)} ms`;
  const ms = (id: string, work: string, of: (round: Round) => readonly number[], limit?: number): Row => ({
    id: `admission-${id}`,
    work,
    goal: limit === undefined ? undefined : { is: "below", value: limit },
    samples: p99(of),
    unit: "ms",
    note: p50(of),
  });
  return {
    title: `Deletions of ${size.clusters.toLocaleString("en")} Clusters, and ${size.updates.toLocaleString("en")} updates of other fields`,
    rows: [
      ms("none", "a deletion (dry run) without webhook, p99", ({ none }) => none),
      ms("bare", "refused by a server that only parses the review, p99", ({ bare }) => bare),
      ms("denied", "refused by the operator, from the Cluster alone, p99", ({ denied }) => denied, 10),
      ms("confirmed", "confirmed with the API server, and passed, p99", ({ confirmed }) => confirmed, 120),
      ms("parallel", "the same, 16 at a time, p99", ({ parallel }) => parallel),
      {
        id: "admission-reviews",
        work: "reviews that the operator gets of the updates",
        goal: { is: "exactly", value: 0 },
        samples: rounds.map(({ reviews }) => reviews),
        unit: "reviews",
      },
      {
        id: "admission-updates",
        work: "updates per second with the webhook, beside those without",
        goal: undefined,
        samples: rounds.map((round) => rounded(round.updatesWith / round.updatesWithout, 2)),
        unit: "× without",
        note: `${rounded(median(rounds.map(({ updatesWith }) => updatesWith)), 0)} with it, ${rounded(median(rounds.map(({ updatesWithout }) => updatesWithout)), 0)} without`,
      },
    ],
  };
}

export function notesOf({ size }: Measured): string[] {
  return [
    `One kube-apiserver, one etcd, one replica. Each figure is the whole request, from the client to the API server, its webhook and back, ${size.requests.toLocaleString("en")} requests in a round, one after the other unless it says otherwise. Deletions are dry runs, which the webhook decides in the same way, so that the Clusters stay; half of the Clusters are approved.`,
    "The rows without the operator are the reference on the same machine in the same round: what lies between them and the operator's is its share.",
    "The updates set an annotation, 16 at a time, as fast as the API server stores them. Its matchConditions leave them out, so they reach the operator by its watch alone, as without the webhook.",
  ];
}
