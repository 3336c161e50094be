/** The parts of the bench, and which of their rows docs/benchmarks.md shows; docs/benchmarks/ has all of them. */

import type { PartName } from "../result.ts";

/** The id of a row. "a*": all that begin so, added up. */
export type RowId = string;

interface Part {
  readonly title: string;
  /** The rows that stand for the part, as they are shown. */
  readonly key: readonly RowId[];
  /** Why goals are missed, in one sentence; shown while some are. */
  readonly why: string;
}

/** In the order of the page. */
export const PARTS: Readonly<Record<PartName, Part>> = {
  speed: {
    title: "Speed",
    key: [
      "settings-26k/peer",
      "same-26k/peer",
      "settings-1k/peer",
      "same-1k/peer",
      "reconnect/peer-cpu",
      "open/server-p99",
    ],
    why: "Every call passes one event loop, where TLS, the reading of the body and the write of the answer cost more than the decision; the Go peer uses both cores and decides nothing.",
  },
  scale: {
    title: "Scale",
    key: [
      "scale-10000-start",
      "scale-10000-memory-asked",
      "scale-10000-all-ask-cpu",
      "scale-10000-annotation",
      "scale-10000-edit-p99",
      "scale-10000-status-size",
      "scale-10000-writes-at-rest",
    ],
    why: "Most of the time to a release is the API server's own for a consistent list; the idle process and V8's young space take the memory that does not grow with the fleet.",
  },
  rollouts: {
    title: "Rollouts",
    key: [
      "rollouts-10000-free-slot",
      "rollouts-10000-go-reads",
      "rollouts-10000-go-bytes",
      "rollouts-10000-go-ms",
      "rollouts-10000-waiting-cpu",
      "rollouts-10000-status",
      "rollouts-10000-rest-writes",
    ],
    why: "The Cluster that is next asks every 10 s; and where no other Cluster changes, memory cannot be proven to be new enough for a claim, which then lists the fleet.",
  },
  admission: {
    title: "Admission",
    key: [
      "admission-denied",
      "admission-confirmed",
      "admission-bare",
      "admission-none",
      "admission-reviews",
      "admission-updates",
    ],
    why: "The API server, its webhook and the client share two cores, and a confirmation adds consistent reads.",
  },
  faults: {
    title: "Faults",
    key: [
      "wrong-allows-*",
      "failed-sigkill",
      "failed-out-of-memory",
      "failed-rolling-restart",
      "held-99-expensive-policies",
      "held-100-expensive-policies",
      "bare-99-expensive-policies",
      "stretch-expensive-policies",
    ],
    why: "A process that is killed takes the calls with it that it is answering; and an API server on the same two cores slows down everything beside it.",
  },
  hostile: {
    title: "Hostile input",
    key: [
      "hostile-mutated",
      "hostile-invalid",
      "hostile-wrong-allows",
      "hostile-crashes",
      "hostile-failed",
      "hostile-p99-oversized",
    ],
    why: "One event loop answers all, and the attackers run on the same two cores: other clients wait longer, and none of their calls failed.",
  },
  soak: {
    title: "Soak",
    key: ["soak-wrong-allows", "soak-failed-calls", "soak-heap-slope", "soak-rss-slope"],
    why: "An hour is too short to tell the growth of the first minutes from a leak; the last half hour shows none.",
  },
};

interface Answer {
  /** What a reader wants to know before anything else; the row's figure and goal follow. */
  readonly text: string;
  readonly id: RowId;
  readonly withNote?: boolean;
}

export const ANSWERS: readonly Answer[] = [
  {
    text: "One replica carries 10,000 Clusters with 100 policies. While all of them ask every 10 s, it takes",
    id: "scale-10000-all-ask-cpu",
  },
  { text: "Its memory, above that of an idle process, is", id: "scale-10000-memory-asked", withNote: true },
  { text: "From an approval until the release, p99:", id: "scale-10000-annotation" },
  {
    text: "Calls of 26 KB with new content, beside Cluster API's own Go server, which decides nothing:",
    id: "settings-26k/peer-cpu",
  },
  {
    text: "From a free slot of a rollout until the next release, p99, beyond the 10 s after which Cluster API asks again:",
    id: "rollouts-10000-free-slot",
  },
  { text: "A deletion that admission refuses, p99:", id: "admission-denied" },
  { text: "Clusters that were released wrongly, under all faults together:", id: "wrong-allows-*" },
  {
    text: "Calls about other namespaces beside one tenant with expensive policies, p99:",
    id: "held-99-expensive-policies",
  },
  { text: "Memory grows with churn by", id: "soak-rss-slope" },
];

/** Rows that earlier results have, and that other rows tell in their notes. */
export const TOLD_ELSEWHERE = /^right-again-/;
