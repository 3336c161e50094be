/** What the API server is asked about a scrape, and what is made of its answers. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { KubeError } from "../../../src/kube/kube-error.ts";
import type { Resource } from "../../../src/kube/resource.ts";
import { type ScrapeRefusal, ScrapeGuard } from "../../../src/operator/scrape-guard.ts";
import { createRecorder, type Recorder } from "../server/recorder.ts";

const TOKEN = "opaque-token-0123456789";
const USER = {
  username: "system:serviceaccount:monitoring:prometheus",
  uid: "4f1d6a3e",
  groups: ["system:serviceaccounts", "system:authenticated"],
  extra: { "authentication.kubernetes.io/pod-name": ["prometheus-0"] },
};

interface Outcome {
  readonly refusal: ScrapeRefusal | undefined;
  readonly asked: readonly (readonly [kind: string, spec: object])[];
  readonly log: Recorder;
}

type Answers = Readonly<Record<string, unknown>>;

async function scrapeWith(answers: Answers): Promise<Outcome> {
  const asked: [string, object][] = [];
  const log = createRecorder();
  const guard = new ScrapeGuard({
    client: {
      review: async ({ kind }: Resource, spec) => {
        asked.push([kind, spec]);
        const answer = answers[kind];
        return answer instanceof Error ? await Promise.reject(answer) : await Promise.resolve(answer);
      },
    },
    log,
  });
  const refusal = await guard.refusal({ authorization: `Bearer ${TOKEN}`, address: "10.0.0.1" });
  return { refusal, asked, log };
}

const authenticated = { authenticated: true, user: USER };

test("the user of the token goes whole into the SubjectAccessReview", async () => {
  const { refusal, asked } = await scrapeWith({
    TokenReview: authenticated,
    SubjectAccessReview: { allowed: true },
  });
  assert.equal(refusal, undefined);
  const { username, ...rest } = USER;
  assert.deepEqual(asked, [
    ["TokenReview", { token: TOKEN }],
    [
      "SubjectAccessReview",
      { ...rest, user: username, nonResourceAttributes: { path: "/metrics", verb: "get" } },
    ],
  ]);
});

const REFUSED: Readonly<Record<string, readonly [answers: Answers, code: number]>> = {
  "a token that is not accepted": [{ TokenReview: { error: "invalid bearer token" } }, 401],
  "a token that is not accepted, with a user all the same": [{ TokenReview: { user: USER } }, 401],
  "authenticated that is no boolean": [{ TokenReview: { authenticated: "true", user: USER } }, 401],
  "a TokenReview without status": [{}, 500],
  "a user without a name": [{ TokenReview: { authenticated: true, user: { uid: "1" } } }, 500],
  "no user at all": [{ TokenReview: { authenticated: true } }, 500],
  "a right that is denied": [{ TokenReview: authenticated, SubjectAccessReview: { allowed: false } }, 403],
  "a SubjectAccessReview without status": [{ TokenReview: authenticated }, 403],
  "allowed that is no boolean": [
    { TokenReview: authenticated, SubjectAccessReview: { allowed: "true" } },
    403,
  ],
};
for (const [name, [answers, code]] of Object.entries(REFUSED)) {
  test(`${name} is refused with ${code}`, async () => {
    assert.equal((await scrapeWith(answers)).refusal?.code, code);
  });
}

const quoting = (kind: string, code: number, reason: string): KubeError =>
  new KubeError(`create ${kind}: refused: spec.token: invalid value: ${TOKEN}`, { code, reason });

test("a missing right of the operator is logged with its remedy", async () => {
  for (const kind of ["TokenReview", "SubjectAccessReview"]) {
    const answers = { TokenReview: authenticated, [kind]: quoting(kind, 403, "Forbidden") };
    const { refusal, log } = await scrapeWith(answers);
    assert.deepEqual(refusal, { code: 500, message: "internal error" });
    assert.deepEqual(
      log.entries.map(({ message, fields }) => [message, String(fields["error"])]),
      [
        [
          "Failed to check who reads /metrics",
          `Error: create ${kind.toLowerCase()}s.${kind === "TokenReview" ? "authentication" : "authorization"}.k8s.io: Forbidden (403); apply the ClusterRole hookpolicy-metrics-auth of the manifests`,
        ],
      ],
    );
  }
});

test("reports in words of its own that the API server does not answer", async () => {
  const failure = new KubeError("create tokenreviews.authentication.k8s.io: timeout: no answer within 4 s", {
    code: 0,
    reason: "Timeout",
  });
  const { refusal, log } = await scrapeWith({ TokenReview: failure });
  assert.equal(refusal?.code, 500);
  assert.equal(log.entries[0]?.fields["error"], failure);
});

test("no token is in an answer or in the log, whatever the API server says of it", async () => {
  for (const [code, reason] of [
    [400, "BadRequest"],
    [403, "Forbidden"],
    [422, "Invalid"],
    [500, "InternalError"],
  ] as const) {
    const { refusal, log } = await scrapeWith({ TokenReview: quoting("tokenreviews", code, reason) });
    assert.equal(refusal?.code, 500);
    const said = JSON.stringify([
      refusal,
      log.entries.map(({ message, fields }) => [message, Object.values(fields).map(texts)]),
    ]);
    assert.match(said, new RegExp(reason));
    assert.doesNotMatch(said, new RegExp(TOKEN));
  }
  const { refusal, log } = await scrapeWith({ TokenReview: { error: `invalid token ${TOKEN}` } });
  assert.doesNotMatch(JSON.stringify([refusal, log.entries]), new RegExp(TOKEN));
});

/** With its stack and its causes. */
function texts(value: unknown): unknown {
  return value instanceof Error ? [value.message, value.stack, texts(value.cause)] : value;
}
