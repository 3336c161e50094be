/** What a request is about, as texts to compare: from the decoded request, or from its bytes without parsing them. */

import type { ObjectMeta } from "../api/meta.ts";
import { type HookName, VERSION_FIELDS, type VersionField } from "../api/runtime-hooks.ts";
import type { WholeBody } from "../server/bodies.ts";

export interface Subject {
  readonly clusterUID: string;
  /**
   * The same for every request with this Cluster, hook and versions. The Cluster's resourceVersion does not count: only
   * answers about Clusters in memory are repeated, and these are decided from memory.
   */
  readonly operation: string;
  /** The same for every request with these settings. Absent: they were not read. */
  readonly settings?: string;
}

/** None of the parts contains the separator. */
export function operationOf(
  { namespace, name, uid }: Pick<ObjectMeta, "namespace" | "name" | "uid">,
  versions: readonly unknown[],
): string {
  return [namespace ?? "", name, uid, ...versions].join("/");
}

/** In bytes. Cluster API writes the settings and the metadata first, and the versions last. */
const SEEN_BYTES = 2 * 1024;
const METADATA = '"metadata":';
/** The fields in Go's order (k8s.io/apimachinery, ObjectMeta). Inside a JSON string these quotes would be escaped. */
const NAMES =
  / ?\{"name": ?"([^"\\/]+)", ?(?:"generateName": ?"[^"\\]*", ?)?"namespace": ?"([^"\\/]+)", ?"uid": ?"([^"\\/]+)"/y;

/**
 * The subject of a request in the form in which Cluster API writes it. The rest of the body may be anything, so this is only
 * enough for an answer that holds and does not depend on the rest.
 */
export function seenSubject(hook: HookName, body: WholeBody): Subject | undefined {
  const [, name, namespace, uid] = seenNames(body.head(SEEN_BYTES)) ?? [];
  if (name === undefined || namespace === undefined || uid === undefined) return undefined;
  const versions = seenVersions(VERSION_FIELDS[hook], body);
  return versions && { clusterUID: uid, operation: operationOf({ namespace, name, uid }, versions) };
}

/** Takes the first names. Only strings come before them, but variables after them may contain any object. */
function seenNames(head: string): RegExpExecArray | null {
  const at = head.indexOf(METADATA);
  NAMES.lastIndex = at + METADATA.length;
  return at < 0 ? null : NAMES.exec(head);
}

/** Takes the last versions, because the Cluster's variables may have fields of the same names. */
function seenVersions(fields: readonly VersionField[], body: WholeBody): readonly string[] | undefined {
  const [first] = fields;
  if (first === undefined) return [];
  const tail = body.tail(SEEN_BYTES);
  const pattern = PATTERNS.get(fields);
  if (pattern === undefined) return undefined;
  pattern.lastIndex = tail.lastIndexOf(`"${first}":`);
  return pattern.lastIndex < 0 ? undefined : pattern.exec(tail)?.slice(1);
}

const PATTERNS = new Map<readonly VersionField[], RegExp>(
  Object.values(VERSION_FIELDS).map((fields) => [
    fields,
    new RegExp(fields.map((field) => `"${field}": ?"([^"\\\\/]+)"`).join(", ?"), "y"),
  ]),
);
