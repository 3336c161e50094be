import assert from "node:assert/strict";
import { test } from "node:test";
import {
  KubeError,
  fromStatus,
  fromTransport,
  isAborted,
  isConflict,
  isFieldManagerConflict,
  isForbidden,
  isGone,
  isNotFound,
  isRightMissing,
  isRuntimeSDKOff,
  isThrottled,
  isUnknownField,
  isUnreachable,
} from "../../../src/kube/kube-error.ts";

const PREDICATES = {
  isNotFound,
  isConflict,
  isFieldManagerConflict,
  isGone,
  isForbidden,
  isRightMissing,
  isUnknownField,
  isRuntimeSDKOff,
  isThrottled,
  isUnreachable,
  isAborted,
};
type Predicate = keyof typeof PREDICATES;

const meanings: Record<string, { error: unknown; is: Predicate[] }> = {
  "404 is not found": { error: fromStatus("get x", 404, { reason: "NotFound" }), is: ["isNotFound"] },
  "409 Conflict is a conflict": {
    error: fromStatus("update x", 409, { reason: "Conflict" }),
    is: ["isConflict"],
  },
  "409 of a server-side apply is no conflict": {
    error: fromStatus("apply x", 409, {
      reason: "Conflict",
      details: { causes: [{ reason: "FieldManagerConflict", field: ".data" }] },
    }),
    is: ["isFieldManagerConflict"],
  },
  "409 AlreadyExists is no conflict": {
    error: fromStatus("create x", 409, { reason: "AlreadyExists" }),
    is: [],
  },
  "410 is gone": { error: fromStatus("watch x", 410, ""), is: ["isGone"] },
  "reason Expired is gone": { error: fromStatus("watch x", 500, { reason: "Expired" }), is: ["isGone"] },
  "403 is forbidden": { error: fromStatus("get x", 403, { reason: "Forbidden" }), is: ["isForbidden"] },
  "a refusal of RBAC is a missing right": {
    error: fromStatus("create x", 403, {
      reason: "Forbidden",
      message: 'jobs.batch is forbidden: User "system:serviceaccount:a:b" cannot create resource "jobs"',
    }),
    is: ["isForbidden", "isRightMissing"],
  },
  "a quota is none": {
    error: fromStatus("create x", 403, {
      reason: "Forbidden",
      message: 'jobs.batch "x" is forbidden: exceeded quota: jobs, requested: count/jobs.batch=1',
    }),
    is: ["isForbidden"],
  },
  "a field that the CRD does not know": {
    error: fromStatus("create x", 400, {
      reason: "BadRequest",
      message:
        'HookTask in version "v1alpha1" cannot be handled: strict decoding error: unknown field "spec.a"',
    }),
    is: ["isUnknownField"],
  },
  "Cluster API's webhook says that RuntimeSDK is off": {
    error: fromStatus("create x", 403, {
      reason: "Forbidden",
      message: "spec: Forbidden: can be set only if the RuntimeSDK feature flag is enabled",
    }),
    is: ["isForbidden", "isRuntimeSDKOff"],
  },
  "429 is throttled": { error: fromStatus("get x", 429, "slow down"), is: ["isThrottled"] },
  "503 is unreachable": { error: fromStatus("get x", 503, "no endpoints"), is: ["isUnreachable"] },
  "500 is an answer": { error: fromStatus("get x", 500, { reason: "InternalError" }), is: [] },
  "a refused connection is unreachable": {
    error: fromTransport("get x", Object.assign(new Error("connect"), { code: "ECONNREFUSED" })),
    is: ["isUnreachable"],
  },
  "an abort of ours is not unreachable": {
    error: new KubeError("get x: aborted", { code: 0, reason: "Aborted" }),
    is: ["isAborted"],
  },
  "any other error is nothing": { error: new Error("404"), is: [] },
};

for (const [name, { error, is }] of Object.entries(meanings)) {
  test(name, () => {
    const holding = Object.entries(PREDICATES).filter(([, holds]) => holds(error));
    assert.deepEqual(
      holding.map(([predicate]) => predicate),
      is,
    );
  });
}

const transports: Record<string, { thrown: unknown; reason: string }> = {
  "connection refused": { thrown: coded("ECONNREFUSED"), reason: "ConnectionRefused" },
  "connection refused on every address": {
    thrown: new AggregateError([coded("ECONNREFUSED"), coded("ECONNREFUSED")]),
    reason: "ConnectionRefused",
  },
  "reset by the server": { thrown: coded("ECONNRESET"), reason: "ConnectionReset" },
  "closed by the server": { thrown: coded("UND_ERR_SOCKET"), reason: "ConnectionReset" },
  "connect time-out": { thrown: coded("UND_ERR_CONNECT_TIMEOUT"), reason: "Timeout" },
  "unknown host": { thrown: coded("ENOTFOUND"), reason: "HostNotFound" },
  "unknown CA": { thrown: coded("UNABLE_TO_VERIFY_LEAF_SIGNATURE"), reason: "TLS" },
  "wrong host name": { thrown: coded("ERR_TLS_CERT_ALTNAME_INVALID"), reason: "TLS" },
  "wrapped by a library": {
    thrown: new TypeError("failed", { cause: coded("ECONNRESET") }),
    reason: "ConnectionReset",
  },
  "unknown error": { thrown: "boom", reason: "Transport" },
};

for (const [name, { thrown, reason }] of Object.entries(transports)) {
  test(`names the transport failure: ${name}`, () => {
    const error = fromTransport("list x", thrown);
    assert.deepEqual([error.code, error.reason, error.cause], [0, reason, thrown]);
  });
}

test("a message says what was attempted and what the server said, in one line", () => {
  const body = { kind: "Status", code: 403, reason: "Forbidden", message: "clusters is\n  forbidden" };
  const error = fromStatus("get clusters.cluster.x-k8s.io team-a/prod-1", 403, body);
  assert.equal(
    error.message,
    "get clusters.cluster.x-k8s.io team-a/prod-1: forbidden: clusters is forbidden",
  );
});

test("a message is bounded", () => {
  assert.ok(fromStatus("get x", 500, "x".repeat(100_000)).message.length < 400);
});

const JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl";
for (const text of [
  `invalid header: Bearer ${JWT}`,
  `authorization: bearer abcdefghijklmnop`,
  `{"token":"hunter2-hunter2"}`,
  `password=hunter2-hunter2`,
  `dial https://me:hunter2-hunter2@host`,
  JWT,
]) {
  test(`no credential survives in a message: ${text.slice(0, 24)}`, () => {
    const { message } = fromTransport("get x", new Error(text));
    assert.doesNotMatch(message, /hunter2|eyJ|abcdefghijklmnop/);
  });
}

const waits: Record<string, { header?: string; details?: object; want: number | undefined }> = {
  "the header's seconds": { header: "7", want: 7 },
  "the header before the body": { header: "7", details: { retryAfterSeconds: 3 }, want: 7 },
  "the body's seconds": { details: { retryAfterSeconds: 3 }, want: 3 },
  "nothing for rubbish": { header: "soon", want: undefined },
  "a minute at most": { header: "999999", want: 60 },
};
for (const [name, { header, details, want }] of Object.entries(waits)) {
  test(`retryAfterSeconds: ${name}`, () => {
    assert.equal(fromStatus("get x", 429, { details }, header).retryAfterSeconds, want);
  });
}

function coded(code: string): Error {
  return Object.assign(new Error(`failed with ${code}`), { code });
}
