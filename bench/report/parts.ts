/** The parts of the bench, and which of their rows docs/benchmarks.md answers with; bench/results/ has all of them. */

import type { PartName } from "../result.ts";

/** The id of a row. "a*" adds up all rows whose ids begin with a. */
export type RowId = string;

/** The figure and the goal of the row follow the text. */
type Answer = readonly [text: string, id: RowId];

interface Part {
  readonly title: string;
  /** The question that a reader has, and the answers. */
  readonly question: string;
  readonly answers: readonly Answer[];
  /** Why goals are missed, in one sentence; shown while some are. */
  readonly why: string;
}

/** In the order of the page. */
export const PARTS: Readonly<Record<PartName, Part>> = {
  scale: {
    title: "Scale",
    question: "Is one replica enough for your fleet?",
    answers: [
      [
        "One replica carries 10,000 Clusters with 100 policies. While Cluster API asks about each of them every 10 s, the replica takes",
        "scale-10000-all-ask-cpu",
      ],
      ["An idle process has resident memory of", "scale-10000-memory-idle"],
      ["10,000 Clusters that Cluster API asks about add", "scale-10000-memory-asked"],
      ["From an approval until the release, p99:", "scale-10000-annotation"],
    ],
    why: "Nearly all of the time from an approval until the release is reads of the API server, which shares two cores with the operator and etcd. With 1,000 Clusters the p99 was 86 ms on a faster machine (8 ms of noise instead of 13), 106 and 112 ms in two runs on machines like this one, and 134 ms in this run.",
  },
  speed: {
    title: "Speed",
    question: "Is the operator as fast as a server that you would write in Go?",
    answers: [
      [
        "Calls of 26 KB with new content, compared with Cluster API's own Go server, which decides nothing:",
        "settings-26k/peer-cpu",
      ],
    ],
    why: "Every call passes one event loop, where TLS, the reading of the body and the write of the answer cost more than the decision; the Go peer uses both cores and decides nothing.",
  },
  rollouts: {
    title: "Rollouts",
    question: "How soon does a HookRollout use a free slot in a large fleet, and what does that cost?",
    answers: [
      [
        "From a free slot of a rollout until the next release, p99, beyond the 10 s after which Cluster API asks again:",
        "rollouts-10000-free-slot",
      ],
      ["Reads of the API server for one release in a rollout, by both replicas:", "rollouts-10000-go-reads"],
    ],
    why: "Cluster API asks about the next Cluster every 10 s; and where no other Cluster changes, memory cannot be proven to be new enough for a claim, which then lists the fleet.",
  },
  admission: {
    title: "Admission",
    question:
      "How much longer do deletions take when rules speak at admission, and are other updates slower?",
    answers: [
      ["A deletion that admission refuses, p99:", "admission-denied"],
      ["Updates of other fields per second, compared with those without the webhook:", "admission-updates"],
    ],
    why: "The API server, its webhook and the client share two cores, and a confirmation adds consistent reads.",
  },
  tasks: {
    title: "Tasks",
    question: "How soon do tasks begin, and what do many of them cost?",
    answers: [
      [
        "From the call that finds nothing else that holds the Cluster to the creation of the Job, p99:",
        "tasks-begin",
      ],
      ["While 1,000 tasks run, the leader takes", "tasks-cpu"],
      ["10,000 HookTasks that have ended add", "tasks-memory"],
    ],
    why: "The API server, etcd and the operator share two cores.",
  },
  faults: {
    title: "Faults",
    question: "Does any fault make the operator release a Cluster wrongly, or leave calls unanswered?",
    answers: [
      ["Clusters that were released wrongly, under all faults together:", "wrong-allows-*"],
      ["Calls that failed when one of two replicas was killed:", "failed-sigkill"],
      [
        "Calls about other namespaces beside one tenant with expensive policies, p99:",
        "held-99-expensive-policies",
      ],
    ],
    why: "A process that is killed loses the calls that it is answering; and an API server on the same two cores slows down everything beside it.",
  },
  hostile: {
    title: "Hostile input",
    question: "What can a hostile client do to the operator and to its other clients?",
    answers: [
      ["Hostile input released held Clusters in", "hostile-wrong-allows"],
      ["Hostile input ended the operator's process", "hostile-crashes"],
    ],
    why: "One event loop answers all in the order in which they come, and the attackers share two cores with it, though at the lowest priority.",
  },
  soak: {
    title: "Soak",
    question: "Does memory grow while Clusters come and go?",
    answers: [["Memory grows with churn by", "soak-rss-slope"]],
    why: "Functions are compiled for as long as they become warm: heap snapshots after 650 and 1,340 Clusters differ by 0.3 MB, nearly all of it compiled code, and have as many objects.",
  },
};

export const isPart = (name: string): name is PartName => Object.hasOwn(PARTS, name);
export const PART_NAMES = Object.keys(PARTS).filter(isPart);
