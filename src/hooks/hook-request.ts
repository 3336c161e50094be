/** A hook request as decisions see it. */

import { hash } from "node:crypto";
import { type Fields, fieldsOf, isFields } from "../lib/fields.ts";
import type { Cluster, ClusterTopology } from "../api/meta.ts";
import { type HookCall, type HookName, VERSION_FIELDS } from "../api/runtime-hooks.ts";
import { asRequested, viewCluster } from "../views/cluster.ts";
import { decode } from "../extension/codec.ts";
import { operationOf, type Subject } from "./subject.ts";

export interface HookRequest {
  readonly call: HookCall;
  /** As in the request: without status, in v1beta1 or v1beta2. */
  readonly cluster: Cluster;
}

export interface ReceivedRequest {
  readonly subject: Subject;
  readonly request: HookRequest;
}

/** In characters; longer ones are kept as a digest. */
const MAX_KEPT_SETTINGS = 512;

/** `undefined`: not a request for this hook. Never throws for any text. */
export function decodeRequest(hook: HookName, text: string): ReceivedRequest | undefined {
  const raw = decode(hook, text);
  if (raw === undefined) return undefined;
  const { cluster, settings = {} } = raw;
  const fields = VERSION_FIELDS[hook];
  const versions = Object.fromEntries(fields.map((field) => [field, raw[field]]));
  return {
    subject: {
      clusterUID: cluster.metadata.uid,
      operation: operationOf(cluster.metadata, Object.values(versions)),
      settings: shortened(JSON.stringify(settings)),
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

/** Thousands of settings are kept (last-answers.ts). */
function shortened(text: string): string {
  return text.length <= MAX_KEPT_SETTINGS ? text : hash("sha256", text, "base64");
}
