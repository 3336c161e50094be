/** Decodes reviews of Clusters: a deletion, a creation, or a change. */

import { Ajv } from "ajv";

import { isFields } from "../api/fields.ts";
import { type Cluster, CLUSTER_API_GROUP } from "../api/meta.ts";
import type { Change } from "../operations/attempt.ts";
import { viewCluster } from "../policy/cluster.ts";
import { MAX_REVIEW_BYTES } from "./reviewsize.ts";

export interface ClusterReview {
  readonly uid: string;
  readonly username: string;
  /** The API server stores nothing, whatever the answer. */
  readonly dryRun: boolean;
  readonly change: Change;
}

interface RawReview {
  readonly request: {
    readonly uid: string;
    readonly kind: { readonly group: string; readonly kind: string };
    readonly subResource?: string;
    readonly operation: "CREATE" | "UPDATE" | "DELETE";
    readonly userInfo: { readonly username?: string };
    readonly dryRun?: boolean;
    readonly object?: unknown;
    readonly oldObject?: unknown;
  };
}

const TEXT = { type: "string" } as const;

const isReview = new Ajv({ allErrors: false, strict: true, validateSchema: false }).compile<RawReview>({
  type: "object",
  required: ["request"],
  properties: {
    request: {
      type: "object",
      required: ["uid", "kind", "operation", "userInfo"],
      properties: {
        uid: { type: "string", minLength: 1, maxLength: 128 },
        kind: {
          type: "object",
          required: ["group", "kind"],
          properties: { group: { const: CLUSTER_API_GROUP }, kind: { const: "Cluster" } },
        },
        subResource: { const: "" },
        operation: { enum: ["CREATE", "UPDATE", "DELETE"] },
        userInfo: { type: "object", properties: { username: TEXT } },
        dryRun: { type: "boolean" },
      },
    },
  },
});

/**
 * `undefined`: not a review of a Cluster, or one that lacks an object which its operation has. The API server takes the
 * answer to such a review for a failed call, and refuses the request. Never throws for any bytes.
 */
export function decodeClusterReview(body: Buffer): ClusterReview | undefined {
  const raw = body.length > MAX_REVIEW_BYTES ? undefined : parseJson(body);
  if (!isReview(raw)) return undefined;
  const { uid, operation, userInfo, dryRun = false, object, oldObject } = raw.request;
  const change = changeOf(operation, viewed(oldObject), viewed(object));
  return change && { uid, username: userInfo.username ?? "", dryRun, change };
}

function changeOf(
  operation: RawReview["request"]["operation"],
  before: Cluster | undefined,
  after: Cluster | undefined,
): Change | undefined {
  if (operation === "CREATE") return after && { after };
  if (operation === "DELETE") return before && { before };
  return before && after && { before, after };
}

/** Without a name or a namespace no policy would match it. */
function viewed(object: unknown): Cluster | undefined {
  if (!isFields(object)) return undefined;
  const cluster = viewCluster(object);
  const { name, namespace } = cluster.metadata;
  return name === "" || namespace === undefined ? undefined : cluster;
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}
