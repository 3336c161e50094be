/** What a request is about, in texts to compare: from what it says, or seen in its bytes without parsing them. */

import type { ObjectMeta } from "../api/meta.ts";
import { type HookName, VERSION_FIELDS, type VersionField } from "../api/runtimehooks.ts";
import type { WholeBody } from "../server/wholebody.ts";

export interface Subject {
  readonly clusterUID: string;
  /**
   * The same for every request with this Cluster, hook and versions. The version of the Cluster does not count: a Cluster
   * in memory is decided from memory, and no answer about another is repeated.
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
  return [namespace, name, uid, ...versions].join("/");
}

/** In bytes. Cluster API writes the settings and the metadata first, and the versions last. */
const SEEN_BYTES = 2 * 1024;
const METADATA = '"metadata":';
/** The fields in Go's order (k8s.io/apimachinery, ObjectMeta). In a text of JSON these quotes would be escaped. */
const NAMES =
  / ?\{"name": ?"([^"\\/]+)", ?(?:"generateName": ?"[^"\\]*", ?)?"namespace": ?"([^"\\/]+)", ?"uid": ?"([^"\\/]+)"/y;

/**
 * What a request says that it is about, if it has the form in which Cluster API writes it. The rest may be anything: only
 * good for an answer that holds, and is the same whatever the rest says.
 */
export function seenSubject(hook: HookName, body: WholeBody): Subject | undefined {
  const [name, namespace, uid] = seenNames(body.head(SEEN_BYTES));
  if (name === undefined || namespace === undefined || uid === undefined) return undefined;
  const versions = seenVersions(VERSION_FIELDS[hook], body);
  return versions && { clusterUID: uid, operation: operationOf({ namespace, name, uid }, versions) };
}

/** The first ones: only texts come before them, but the variables after them may hold any object. */
function seenNames(head: string): readonly (string | undefined)[] {
  const at = head.indexOf(METADATA);
  NAMES.lastIndex = at + METADATA.length;
  return at < 0 ? [] : (NAMES.exec(head)?.slice(1) ?? []);
}

/** The last ones: within the Cluster, variables may have fields of the same names. */
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
