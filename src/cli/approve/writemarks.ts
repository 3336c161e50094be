/** Writes what was approved, and nothing that was not. */

import { type ApprovalPlan, isWithin, type Mark, placeOf } from "./approval.ts";
import { markText } from "./report.ts";
import { CommandError, FAILED } from "../command.ts";
import type { ObjectMeta } from "../../api/meta.ts";

export interface Writing {
  /** As it is now. */
  readonly look: () => Promise<ApprovalPlan>;
  /** False: the object is not that any more, and nothing was set. */
  readonly set: (on: Mark["on"], target: ObjectMeta, marks: readonly Mark[]) => Promise<boolean>;
  readonly say: (line: string) => void;
}

/** Cluster API writes Clusters all the time: as long as the same is approved, nobody needs to be asked again. */
const MAX_WRITES = 10;

/** Looks again before each write: a prompt can stand for hours, and only what was shown is confirmed. */
export async function writeMarks(shown: ApprovalPlan, { look, set, say }: Writing): Promise<void> {
  const done = new Set<string>();
  for (let writes = 0; writes < MAX_WRITES; writes += 1) {
    const seen = await look();
    if (!isWithin(seen, shown, done)) {
      throw new CommandError(FAILED, "what holds the Cluster has changed meanwhile: look at it again");
    }
    const left = seen.marks.filter((mark) => !done.has(placeOf(mark)));
    const [first] = left;
    if (first === undefined) return;
    const marks = left.filter(({ on }) => on === first.on);
    const target = first.on === "Cluster" ? seen.cluster : seen.namespace;
    if (target === undefined || !(await set(first.on, target.metadata, marks))) continue;
    for (const mark of marks) {
      done.add(placeOf(mark));
      say(`set ${markText(mark, seen)}`);
    }
  }
  throw new CommandError(FAILED, "the Cluster changes all the time: try again");
}
