/** A hook request as decisions see it, and what it is about as texts to compare, which its bytes show without parsing them. */

import { hash } from "node:crypto";
import { type Fields, fieldsOf, isFields } from "../lib/fields.ts";
import type { Cluster, ClusterTopology, ObjectMeta } from "../api/meta.ts";
import { type HookName, VERSION_FIELDS, type VersionField } from "../api/runtime-hooks.ts";
import { asRequested, viewCluster } from "../views/cluster.ts";
import { decode } from "../extension/codec.ts";
import type { ClusterCall } from "../policy/world.ts";
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

export interface ReceivedRequest {
  readonly subject: Subject;
  /** Its Cluster is as in the request: without status, in v1beta1 or v1beta2. */
  readonly request: ClusterCall;
}

/** `undefined`: not a request for this hook. Never throws for any text. */
export function decodeRequest(hook: HookName, text: string): ReceivedRequest | undefined {
  const raw = decode(hook, text);
  if (raw === undefined) return undefined;
  const { cluster, settings = {} } = raw;
  const sent = VERSION_FIELDS[hook].map((field) => [field, raw[field]] as const);
  const versions = Object.fromEntries(sent.filter(([, version]) => version !== ""));
  return {
    subject: {
      clusterUID: cluster.metadata.uid,
      operation: operationOf(cluster.metadata, Object.values(versions)),
      // A digest, because thousands of settings are kept (hook-answer.ts).
      settings: hash("sha256", JSON.stringify(settings), "base64"),
    },
    request: { call: { hook, ...versions, settings }, cluster: viewRequested(cluster) },
  };
}

/** The topology is most of a request, and is decoded when it is read: never for a Cluster that is in memory. */
function viewRequested(raw: Fields): Cluster {
  const { topology, ...spec } = fieldsOf(raw["spec"]);
  const cluster = asRequested(viewCluster({ ...raw, spec }));
  if (!isFields(topology)) return cluster;
  let viewed: ClusterTopology | undefined;
  const get = (): ClusterTopology | undefined => (viewed ??= viewCluster(raw).topology);
  return Object.defineProperty(cluster, "topology", { get, enumerable: true });
}

/** None of the parts contains the separator. */
function operationOf(
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
