/** Checks the fields of an AdmissionReview that are read; the specs have schemas of their own. */

import { CLUSTER_API_GROUP } from "../api/meta.ts";
import { compiler } from "../policy/validation/ajv.ts";

/** authentication.k8s.io/v1 UserInfo: the user who sends the request. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

interface RawReview {
  readonly request: {
    readonly uid: string;
    readonly kind: { readonly group: string; readonly kind: string };
    readonly subResource?: string;
    readonly namespace?: string;
    readonly operation: string;
    readonly userInfo: UserInfo;
    readonly object?: unknown;
    readonly oldObject?: unknown;
  };
}

export interface RawClusterReview {
  readonly request: {
    readonly uid: string;
    readonly operation: "CREATE" | "UPDATE" | "DELETE";
    readonly userInfo: { readonly username?: string };
    readonly dryRun?: boolean;
    readonly object?: unknown;
    readonly oldObject?: unknown;
    readonly options?: unknown;
  };
}

const STRING = { type: "string" } as const;
const STRINGS = { type: "array", items: STRING } as const;
const REVIEW_UID = { type: "string", minLength: 1, maxLength: 128 } as const;
const REQUIRED = ["uid", "kind", "operation", "userInfo"];

export const ajv = compiler({ allErrors: false, strictRequired: false });

export const isReview = ajv.compile<RawReview>({
  $id: "isReview",
  ...object({
    request: object(
      {
        uid: REVIEW_UID,
        kind: object({ group: STRING, kind: STRING }),
        subResource: STRING,
        namespace: STRING,
        operation: STRING,
        userInfo: object(
          {
            username: STRING,
            uid: STRING,
            groups: STRINGS,
            extra: { type: "object", additionalProperties: STRINGS },
          },
          ["username"],
        ),
      },
      REQUIRED,
    ),
  }),
});

export const isClusterReview = ajv.compile<RawClusterReview>({
  $id: "isClusterReview",
  ...object({
    request: object(
      {
        uid: REVIEW_UID,
        kind: object({ group: { const: CLUSTER_API_GROUP }, kind: { const: "Cluster" } }),
        subResource: { const: "" },
        operation: { enum: ["CREATE", "UPDATE", "DELETE"] },
        userInfo: object({ username: STRING }, []),
        dryRun: { type: "boolean" },
      },
      REQUIRED,
    ),
  }),
});

export const isStored = ajv.compile<{ readonly kind: string }>({
  $id: "isStored",
  ...object({
    kind: STRING,
    metadata: object(
      {
        name: { type: "string", maxLength: 253 },
        namespace: { type: "string", maxLength: 63 },
        deletionTimestamp: STRING,
      },
      ["name"],
    ),
    spec: { type: "object" },
  }),
});

function object(properties: object, required: readonly string[] = Object.keys(properties)): object {
  return { type: "object", properties, required };
}
