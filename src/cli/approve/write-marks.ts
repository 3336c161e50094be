/** Writes exactly what was approved. */

import type { ObjectMeta } from "../../api/meta.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { unless } from "../../lib/thrown.ts";
import { isReplaced } from "../../kube/kube-error.ts";
import { NAMESPACES } from "../../kube/resources.ts";
import { CommandError, FAILED } from "../command.ts";
import { clusterResource } from "../fleet/live-objects.ts";
import { placeOf } from "../../policy/mark.ts";
import { targetVersion } from "../../api/target-version.ts";
import { type ApprovalPlan, FIELDS, type ApprovedMark, type ApprovableOperation } from "./approval.ts";
import { markText } from "./report.ts";

export interface MarkWriter {
  /** Reads the present state and plans again. */
  readonly look: () => Promise<ApprovalPlan>;
  /** False: the object has changed, and nothing was set. */
  readonly set: (
    on: ApprovedMark["on"],
    target: ObjectMeta,
    marks: readonly ApprovedMark[],
  ) => Promise<boolean>;
  readonly say: (line: string) => void;
}

/** Cluster API writes Clusters all the time. As long as the plan is the same, it needs no new confirmation. */
const MAX_WRITES = 10;

/** Reads again before each write, because a prompt can stay open for hours, and only the shown plan is confirmed. */
export async function writeMarks(shown: ApprovalPlan, { look, set, say }: MarkWriter): Promise<void> {
  const done = new Set<string>();
  for (let writes = 0; writes < MAX_WRITES; writes += 1) {
    const seen = await look();
    if (!doesNoMore(seen, shown, done)) {
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

/** Whether `seen` would set and release nothing beyond `shown`. `set`: places that are already written. */
export function doesNoMore(seen: ApprovalPlan, shown: ApprovalPlan, set: ReadonlySet<string>): boolean {
  const marks = new Set(shown.marks.map((mark) => JSON.stringify(mark)));
  const operations = new Set([...shown.operations, ...shown.alsoReleases].map(identityOf));
  const future = new Set(
    shown.alsoReleases.filter(({ pending }) => pending === undefined).map(({ call }) => call.hook),
  );
  return (
    seen.cluster.metadata.uid === shown.cluster.metadata.uid &&
    seen.marks.every((mark) => set.has(placeOf(mark)) || marks.has(JSON.stringify(mark))) &&
    [...seen.operations, ...seen.alsoReleases].every(
      (operation) => operations.has(identityOf(operation)) || future.has(operation.call.hook),
    )
  );
}

function identityOf({ call }: ApprovableOperation): string {
  return [call.hook, targetVersion(call)].join(" ");
}

/** Patches this object as it was read; false: the object has changed, and nothing was set. */
export async function setMarks(
  client: KubeClient,
  on: ApprovedMark["on"],
  { namespace, name, uid, resourceVersion }: ObjectMeta,
  marks: readonly ApprovedMark[],
): Promise<boolean> {
  const resource = on === "Namespace" ? NAMESPACES : await clusterResource(client);
  const metadata: Record<string, unknown> = { uid, resourceVersion };
  for (const [field, plural] of Object.entries(FIELDS)) {
    const values = marks.filter((mark) => mark.field === field).map(({ key, value }) => [key, value]);
    if (values.length > 0) metadata[plural] = Object.fromEntries(values);
  }
  const key = { name, ...(namespace !== undefined && { namespace }) };
  const patched = client.mergePatch(resource, key, { metadata });
  return (await unless(isReplaced, patched)) !== undefined;
}
