/** What may happen to a HookRollout that is explored, a limited number of times. */

export type Event =
  | "a replica is killed"
  | "leadership moves"
  | "an answer is lost"
  | "a go is vetoed"
  | "Cluster API gives up"
  | "a minute passes"
  | "four minutes pass"
  | "an hour passes"
  | "a soak passes"
  | "a clock is ahead";
