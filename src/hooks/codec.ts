/** Decodes hook requests and encodes responses. */

import { hash } from "node:crypto";
import type { ValidateFunction } from "ajv";
import { type Fields, fieldsOf, isFields, parseJson } from "../lib/fields.ts";
import type { Cluster, ClusterTopology } from "../api/meta.ts";
import {
  HOOKS_GROUP_VERSION,
  type HookCall,
  type HookName,
  type HookResponse,
  VERSION_FIELDS,
  type VersionField,
} from "../api/runtime-hooks.ts";
import { asRequested, viewCluster } from "../policy/cluster.ts";
import { isRequest, isUpgradedRequest, isUpgradeRequest, type RawRequest } from "./request-validators.ts";
import { operationOf, type Subject } from "./subject.ts";

export interface HookRequest {
  readonly call: HookCall;
  /** As in the request: without status, in v1beta1 or v1beta2. */
  readonly cluster: Cluster;
}

/** A valid request; each part is decoded when it is first read. */
export interface ReceivedRequest {
  readonly subject: Subject;
  read(): HookRequest;
}

/** In characters. */
const MAX_SETTINGS = 64 * 1024;
/** In characters; longer ones are kept as a digest. */
const MAX_KEPT_SETTINGS = 512;

/** Hooks with the same version fields share a validator. */
const VALIDATORS = new Map<readonly VersionField[], ValidateFunction<RawRequest>>([
  [VERSION_FIELDS.BeforeClusterDelete, isRequest],
  [VERSION_FIELDS.BeforeClusterUpgrade, isUpgradeRequest],
  [VERSION_FIELDS.AfterClusterUpgrade, isUpgradedRequest],
]);

/** `undefined`: not a request for this hook. Never throws for any text. */
export function decodeRequest(hook: HookName, text: string): ReceivedRequest | undefined {
  const raw = parseJson(text);
  const validate = VALIDATORS.get(VERSION_FIELDS[hook]);
  if (validate === undefined || !validate(raw)) return undefined;
  const { settings = {} } = raw;
  if (Object.entries(settings).join("").length > MAX_SETTINGS) return undefined;
  const fields = VERSION_FIELDS[hook];
  const { metadata } = raw.cluster;
  const versions = fields.map((field) => raw[field]);
  return {
    subject: {
      clusterUID: metadata.uid,
      operation: operationOf(metadata, versions),
      settings: shortened(JSON.stringify(settings)),
    },
    read: () => {
      const ofCall = Object.fromEntries(fields.map((field, index) => [field, versions[index]]));
      return { call: { hook, ...ofCall, settings }, cluster: viewRequested(raw.cluster) };
    },
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

/** Thousands of settings are kept (replays.ts). */
function shortened(text: string): string {
  return text.length <= MAX_KEPT_SETTINGS ? text : hash("sha256", text, "base64");
}

export interface Answer {
  readonly status: "Success" | "Failure";
  /** 0: Cluster API proceeds. */
  readonly retryAfterSeconds: number;
  readonly message: string;
}

/** `waits`: the hook's response type has retryAfterSeconds in this Cluster API version. */
export function encodeResponse(
  hook: HookName,
  { status, retryAfterSeconds, message }: Answer,
  waits: boolean,
): string {
  const response: HookResponse = {
    apiVersion: HOOKS_GROUP_VERSION,
    kind: `${hook}Response`,
    status,
    ...(message !== "" && { message }),
    ...(waits && { retryAfterSeconds: Number.isSafeInteger(retryAfterSeconds) ? retryAfterSeconds : 5 }),
  };
  return JSON.stringify(response);
}

/** Why a call is not decided. */
export type Failure = "undecodable" | "too-large" | "unauthenticated";

/** Static texts: Cluster API writes them into a condition, which must not repeat the content of a request. */
const FAILURES: Readonly<Record<Failure, (hook: HookName) => string>> = {
  undecodable: (hook) => `the request is not a valid ${hook}Request`,
  "too-large": () =>
    "the request is larger than HookPolicy takes: more than 4 MiB, or more than 32768 values (variables and their fields, labels, annotations)",
  // The operator's log names the client.
  unauthenticated: () =>
    "the call has no client certificate that HookPolicy accepts (its flags --client-ca-file and --client-cn, Cluster API's --runtime-extension-client-cert-file)",
};

export function failureResponse(hook: HookName, why: Failure, waits: boolean): string {
  return encodeResponse(
    hook,
    { status: "Failure", retryAfterSeconds: 0, message: FAILURES[why](hook) },
    waits,
  );
}
