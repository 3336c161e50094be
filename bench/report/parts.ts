/** The parts of the bench, and which of their rows docs/benchmarks.md shows; docs/benchmarks/ has all of them. */

import type { PartName } from "../result.ts";

export interface Part {
  readonly title: string;
  /** The ids of the rows that stand for the part, as they are shown; one that ends in * adds up the rows that begin so. */
  readonly key: readonly string[];
  /** Why goals are missed, in one sentence; shown while some are. */
  readonly why: string;
}

/** In the order of the page. */
export const PARTS: Readonly<Record<PartName, Part>> = {
  speed: {
    title: "Speed",
    key: [
      "fresh-26k/peer-cpu",
      "same-26k/peer",
      "fresh-1k/peer-cpu",
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
    why: "Most of the time to a release is the API server's own for two consistent lists; the idle process and V8's young space take the memory that does not grow with the fleet.",
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

export const PART_NAMES: readonly PartName[] = [
  "speed",
  "scale",
  "rollouts",
  "admission",
  "faults",
  "hostile",
  "soak",
];

export interface Question {
  readonly question: string;
  /** The row that answers it. */
  readonly id: string;
}

/** What a reader wants to know before anything else. */
export const QUESTIONS: readonly Question[] = [
  { question: "Memory of a replica with 10,000 Clusters and 100 policies", id: "scale-10000-memory-asked" },
  { question: "CPU while all of them ask every 10 s", id: "scale-10000-all-ask-cpu" },
  { question: "From an approval to the release, p99", id: "scale-10000-annotation" },
  { question: "Start until every Cluster is decided", id: "scale-10000-start" },
  { question: "API writes at rest", id: "scale-10000-writes-at-rest" },
  {
    question: "Calls of 26 KB with new content, beside Cluster API's own Go server",
    id: "fresh-26k/peer-cpu",
  },
  { question: "From a free slot of a rollout to the next release, p99", id: "rollouts-10000-free-slot" },
  { question: "A deletion that admission refuses, p99", id: "admission-denied" },
  { question: "Calls that fail when a replica is killed under load", id: "failed-sigkill" },
  {
    question: "Calls about other namespaces beside one expensive tenant, p99",
    id: "held-99-expensive-policies",
  },
  { question: "Growth of memory with churn", id: "soak-rss-slope" },
];
