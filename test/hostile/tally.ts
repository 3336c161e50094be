const MAX_PROBLEMS = 20;

/** What was sent, and what became of it. */
export class Tally {
  sent = 0;
  /** With a valid answer of the path: for a hook, one that Cluster API can read. */
  answered = 0;
  /** With 400, 404 or a connection that ends. */
  refused = 0;
  /** With anything else. */
  invalid = 0;
  /** With a go, for a Cluster that a policy holds. */
  wrongAllows = 0;
  /** The first of what is invalid or wrongly allowed, with what it takes to see it again. */
  readonly problems: string[] = [];

  answer(): void {
    this.sent += 1;
    this.answered += 1;
  }

  refusal(): void {
    this.sent += 1;
    this.refused += 1;
  }

  wrong(kind: "invalid" | "wrongAllows", problem: string): void {
    this.sent += 1;
    this[kind] += 1;
    if (this.problems.length < MAX_PROBLEMS) this.problems.push(problem);
  }
}
