/** The HookTasks of a fleet, as decide() reads them. */

import { fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import { viewMetadata } from "../../views/cluster.ts";
import { readerOf, type TaskReader, type TaskRecord } from "../../policy/tasks/task-record.ts";
import { recordsOf } from "../../tasks/stored-task.ts";
import { isHookTask, policyKind, type RawObject } from "./kinds.ts";

export function taskReader(objects: readonly RawObject[]): TaskReader {
  return readerOf(objects.filter(isHookTask).flatMap(recordIn));
}

/** None if the object has no spec, which a file can leave out. */
function recordIn(raw: RawObject): readonly TaskRecord[] {
  const { policyRef, clusterRef } = fieldsOf(raw["spec"]);
  if (policyRef === undefined || clusterRef === undefined) return [];
  return recordsOf([{ ...raw, metadata: viewMetadata(raw["metadata"]) }]);
}

/** Where the HookTasks of these policies are: in the namespaces of their ServiceAccounts. */
export function taskNamespaces(objects: readonly RawObject[]): readonly string[] {
  const found = objects.filter(hasTasks).map((policy) => {
    const { serviceAccount } = fieldsOf(policy["spec"]);
    return policyKind(policy) === "HookPolicy"
      ? (viewMetadata(policy["metadata"]).namespace ?? "")
      : textOf(fieldsOf(serviceAccount)["namespace"]);
  });
  return [...new Set(found)].filter((name) => name !== "");
}

export function hasTasks(object: RawObject): boolean {
  return (
    policyKind(object) !== undefined &&
    listOf(fieldsOf(object["spec"])["rules"]).some((rule) => listOf(fieldsOf(rule)["tasks"]).length > 0)
  );
}
