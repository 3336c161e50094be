/** The requests that Cluster API sends about Clusters that exist. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { KubeObject } from "../../test/controlplane/client.ts";

/** The load generator counts in these digits (bench/load/connection.go). */
const COUNTER = "000000000000";
const ANNOTATION = "bench.hookpolicy.dev/counter";
const SETTINGS = '"settings": {"foo": "bar"}';

/** The size of a BeforeClusterDelete request: about a Cluster without variables, and about one with many. */
export type Size = "1k" | "26k";

/** Requests that Cluster API 1.14 has sent. */
export const GOLDEN: Readonly<Record<Size, string>> = { "1k": golden("1k"), "26k": golden("26k") };

function golden(size: Size): string {
  return readFileSync(join(import.meta.dirname, `../bodies/before-cluster-delete-${size}.json`), "utf8");
}

export const BARE_BYTES = GOLDEN["1k"].length;
export const COMMON_BYTES = GOLDEN["26k"].length;

/**
 * The golden request with this Cluster's metadata and as many topology variables as fit into `bytes`. The counter is a
 * setting (`newSettings`) or an annotation.
 */
export function requestAbout(
  { metadata }: KubeObject,
  bytes: number = COMMON_BYTES,
  newSettings = false,
): string {
  const model = GOLDEN[bytes > BARE_BYTES ? "26k" : "1k"];
  const annotations = { ...metadata.annotations, ...(!newSettings && { [ANNOTATION]: COUNTER }) };
  const own = JSON.stringify({ ...asSent(metadata), annotations });
  const begin = model.indexOf('{"name": "c2"');
  const end = model.indexOf(', "spec": {');
  const head = model.slice(0, begin);
  const settings = newSettings ? SETTINGS.replace('"bar"', JSON.stringify(COUNTER)) : SETTINGS;
  const request = head.replace(SETTINGS, settings) + own + model.slice(end);
  return bytes > BARE_BYTES ? withVariables(request, bytes) : request;
}

/** The API server sorts the fields; Cluster API begins with the names, and sends no managedFields. */
function asSent({ name, namespace, uid, ...rest }: KubeObject["metadata"]): object {
  return { name, namespace, uid, ...rest, managedFields: undefined };
}

const LIST_BEGIN = '"variables": [';
const LIST_END = "]}}}}";

function withVariables(request: string, bytes: number): string {
  const begin = request.indexOf(LIST_BEGIN) + LIST_BEGIN.length;
  const first = request.slice(begin, request.indexOf('{"name": "var1"'));
  const head = request.slice(0, begin);
  const count = Math.max(1, Math.round((bytes - head.length - LIST_END.length) / first.length));
  const variables = Array.from({ length: count }, (_, index) => first.replace("var0", `var${index}`));
  return head + variables.join("").replace(/, $/, "") + LIST_END;
}

/** A request about the whole Cluster, without status and managedFields; `more` has the other fields of the hook. */
export function requestOf({ status: _, ...cluster }: KubeObject, more: object): string {
  return JSON.stringify({
    apiVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1",
    ...more,
    cluster: { ...cluster, metadata: asSent(cluster.metadata) },
  });
}
