/** What an adversary finds at the admission port: the real modules, and real TLS sockets. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { Agent, request as post, type RequestOptions } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { before, test, type TestContext } from "node:test";
import { once } from "node:events";
import { connect } from "node:tls";
import type { IncomingMessage } from "node:http";
import type { ReviewClient } from "../../src/adapters/access-reviewer.ts";
import {
  type AdmissionOptions,
  type AdmissionRoutes,
  createAdmission,
} from "../../src/operator/admission-wiring.ts";
import { ADMISSION_PATH } from "../../src/admission/review-handler.ts";
import type { KeyPair } from "../../src/server/tls-server.ts";
import { ClientAuthority } from "../../src/certificates/client-authority.ts";
import { type AdmissionServerOptions, createAdmissionServer } from "../../src/admission/admission-server.ts";
import { type CertificateAuthority, createCertificateAuthority } from "../controlplane/certificates.ts";
import { hookOverride, JANE, reviewOf } from "../unit/admission/reviews.ts";
import { createMetrics } from "../../src/report/metrics.ts";
import { ALL_HOOKS, cluster, hookPolicy, namespace, range, rule } from "../unit/builders.ts";
import { storeWith } from "../unit/memory/fixtures.ts";
import { scratch } from "../unit/kube/fixtures.ts";
import { issue } from "../unit/server/certificates.ts";
import { createRecorder } from "../unit/server/recorder.ts";

const APISERVER = "kube-apiserver";
let serving: KeyPair;
let clients: CertificateAuthority;
before(async () => {
  serving = await issue("serving");
  clients = await createCertificateAuthority("clients");
});

interface Lab {
  readonly port: number;
  /** Paths and kinds of what the API server was asked. */
  readonly asked: string[];
  /** The most of them that waited for their answer at the same time. */
  readonly atOnce: () => number;
}

const UID = "4f1d6a3e-the-uid-that-approves";

interface Opening extends Pick<AdmissionServerOptions, "limits"> {
  readonly closed?: boolean;
  readonly allowed?: boolean;
}

/** `closed`: only clients with a certificate of `clients` for the API server are answered. */
async function start(t: TestContext, { closed = false, allowed = true, limits }: Opening = {}): Promise<Lab> {
  const log = createRecorder();
  const asked: string[] = [];
  let [open, most] = [0, 0];
  const client: ReviewClient = {
    getPath: async (path) => {
      asked.push(path);
      const resource = { name: "backups", kind: "Backup", namespaced: true, verbs: ["get", "list", "watch"] };
      return await Promise.resolve({ resources: [resource] });
    },
    review: async ({ kind }) => {
      asked.push(kind);
      most = Math.max(most, (open += 1));
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
      return { allowed };
    },
  };
  const admission = createAdmission({
    memory: memory(),
    client,
    settings: { served: ALL_HOOKS, maxOverrideMs: 7 * 86_400_000 },
    authenticated: closed,
    clusters: NO_CLUSTERS,
    metrics: createMetrics({ capiVersion: ALL_HOOKS.capiVersion }),
    audit: undefined,
    log,
  });
  const authority = closed ? await authorityOf(t) : undefined;
  const port = await serve(t, admission, {
    ...(authority !== undefined && { clients: authority }),
    ...(limits !== undefined && { limits }),
  });
  return { port, asked, atOnce: () => most };
}

/** Reviews of Clusters have tests of their own. */
const NO_CLUSTERS: AdmissionOptions["clusters"] = {
  loaded: () => false,
  inTurn: (_request, decide) => decide(),
  refusal: () => undefined,
  confirmRequest: async () => await Promise.resolve({ ok: false, reason: "NotRead" }),
  warnings: () => assert.fail("nothing is admitted"),
};

async function serve(
  t: TestContext,
  admission: AdmissionRoutes,
  more: Pick<AdmissionServerOptions, "clients" | "limits">,
): Promise<number> {
  const server = createAdmissionServer({
    host: "127.0.0.1",
    port: 0,
    tls: serving,
    ...admission,
    // Not of the admission port: it shows whether the event loop turns.
    routes: [...admission.routes, { path: "/hook", handle: () => '"answered"' }],
    ...more,
    log: createRecorder(),
  });
  const { port } = await server.listen();
  t.after(async () => await server.close(0));
  return port;
}

async function authorityOf(t: TestContext): Promise<ClientAuthority> {
  const file = join(scratch(t), "client-ca.crt");
  await writeFile(file, clients.certificate);
  const authority = new ClientAuthority({
    caFile: file,
    flag: "--admission-client-ca-file",
    remedy: "",
    names: [APISERVER],
    log: createRecorder(),
    now: () => new Date(),
    onChange: () => undefined,
  });
  await authority.load(new AbortController().signal);
  return authority;
}

/** One Cluster, production, whose uid approves its deletion. */
function memory(): Parameters<typeof createAdmission>[0]["memory"] {
  const prod = cluster({ labels: { tier: "production" }, uid: UID });
  const { store } = storeWith({ policies: [], clusters: [prod] });
  return {
    store,
    clusters: {
      get: (key) => (key === "team-a/prod-1" ? prod : undefined),
      list: () => [prod],
      byNamespace: (name) => (name === "team-a" ? [prod] : []),
    },
    namespaces: { get: () => namespace(), list: () => [], byNamespace: () => [] },
  };
}

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
}

async function ask(port: number, body: string, more: RequestOptions = {}): Promise<Answer> {
  const options = { host: "127.0.0.1", port, path: ADMISSION_PATH, method: "POST", agent: false as const };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    post({ ...options, rejectUnauthorized: false, ...more }, resolve)
      .once("error", reject)
      .end(body);
  });
  return { status: response.statusCode, text: await text(response) };
}

interface ReviewResponse {
  readonly uid: string;
  readonly allowed: boolean;
  readonly warnings?: readonly string[];
  readonly status?: { readonly code: number; readonly details?: { readonly retryAfterSeconds?: number } };
}

async function review(
  port: number,
  object: object,
  over: object = {},
  more: RequestOptions = {},
): Promise<ReviewResponse> {
  const { text: said } = await ask(port, JSON.stringify(reviewOf(object, over)), more);
  return JSON.parse(said).response;
}

async function certificateOf(commonName: string): Promise<RequestOptions> {
  const { certificate: cert, key } = await clients.issue({ commonName });
  return { cert, key };
}

const BACKUP = { apiVersion: "velero.io/v1", kind: "Backup" };
const gated = (count = 1): object =>
  hookPolicy({
    rules: [
      rule({
        until: Array.from({ length: count }, (_, index) => ({
          name: `g${index}`,
          object: { ...BACKUP, name: `backup-${index}` },
        })),
      }),
    ],
  });

/** What a stranger would ask to learn about Clusters. Each pair must get the same answer. */
const PROBES: Readonly<Record<string, readonly [object, object]>> = {
  "labels of Clusters": [
    hookPolicy({ clusterSelector: { matchLabels: { tier: "production" } }, rules: [rule()] }),
    hookPolicy({ clusterSelector: { matchLabels: { tier: "none" } }, rules: [rule()] }),
  ],
  "names of Clusters": [
    hookOverride({ clusterRef: { namespace: "team-a", name: "prod-1" } }),
    hookOverride({ clusterRef: { namespace: "team-a", name: "prod-2" } }),
  ],
  "uids of Clusters": [
    hookOverride({ clusterRef: { namespace: "team-a", name: "prod-1", uid: UID } }),
    hookOverride({ clusterRef: { namespace: "team-a", name: "prod-1", uid: "guessed" } }),
  ],
};

test("a client without a certificate does not learn from the webhook what the API server does:", async (t) => {
  const [open, closed] = [await start(t), await start(t, { closed: true })];
  const shown = await certificateOf(APISERVER);
  for (const [what, [right, wrong]] of Object.entries(PROBES)) {
    await t.test(what, async () => {
      assert.deepEqual(await review(open.port, right), await review(open.port, wrong));
      const [yes, no] = [
        await review(closed.port, right, {}, shown),
        await review(closed.port, wrong, {}, shown),
      ];
      assert.notDeepEqual(yes, no);
      assert.doesNotMatch(JSON.stringify([yes, no]), new RegExp(UID), "nobody is told a uid");
    });
  }
});

test("a client without a certificate learns only whether a right exists, and nothing about the operator's own", async (t) => {
  const open = await start(t);
  assert.deepEqual(await review(open.port, gated()), { uid: "review-1", allowed: true });
  assert.deepEqual(open.asked, ["/apis/velero.io/v1", "SubjectAccessReview"]);
});

test("where a client certificate is required, other clients get 401 for everything, and no right is checked", async (t) => {
  const lab = await start(t, { closed: true });
  const strangers = [{}, await certificateOf("somebody"), { ...(await issueOther()) }];
  for (const shown of strangers) {
    for (const path of [ADMISSION_PATH, "/hook", "/unknown"]) {
      const { status, text: said } = await ask(lab.port, JSON.stringify(reviewOf(gated())), {
        path,
        ...shown,
      });
      assert.deepEqual([status, said], [401, '{"error":"a client certificate is required"}\n']);
    }
  }
  assert.equal(lab.asked.length, 0);
  const answer = await review(lab.port, gated(), {}, await certificateOf(APISERVER));
  assert.equal(answer.allowed, true);
  assert.ok(lab.asked.includes("SubjectAccessReview"));
});

async function issueOther(): Promise<RequestOptions> {
  const { certificate: cert, key } = await (
    await createCertificateAuthority("clients")
  ).issue({ commonName: APISERVER });
  return { cert, key };
}

const GOING = { deletionTimestamp: "2026-11-21T12:00:00Z", finalizers: ["example.com/mine"] };

test("a policy that is being deleted cannot be turned into a spy hole", async (t) => {
  const { port } = await start(t, { allowed: false });
  const oldObject = hookPolicy({}, GOING);
  const object = { ...gated(), metadata: oldObject.metadata };
  const { allowed, status } = await review(port, object, { operation: "UPDATE", oldObject });
  assert.deepEqual([allowed, status?.code], [false, 403]);
});

test("a finalizer goes from a policy that is being deleted, also when its spec is not understood", async (t) => {
  const { port, asked } = await start(t, { allowed: false });
  const oldObject = {
    ...hookPolicy({}, GOING),
    spec: { rules: [{ from: "another version" }], more: [null] },
  };
  const object = { ...oldObject, metadata: { ...oldObject.metadata, finalizers: [] } };
  const answer = await review(port, object, { operation: "UPDATE", oldObject });
  assert.deepEqual(answer, { uid: "review-1", allowed: true });
  assert.deepEqual(asked, []);
});

/** Each takes a good part of a second to be checked. */
function costly(number: number, team = "team-a"): object {
  const until = Array.from({ length: 16 }, (_, gate) => ({
    name: `g${gate}`,
    window: {
      timeZone: `Europe/Berln${number}${gate}`,
      allow: [{ schedule: "0 0 30 2 *", duration: "1h" }],
    },
  }));
  const rules = Array.from({ length: 16 }, (_, index) => rule({ name: `r${index}`, until }));
  return hookPolicy({ rules }, { name: `costly-${number}`, namespace: team });
}

test("between costly reviews of many namespaces, hooks are answered", async (t) => {
  const { port } = await start(t);
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const hook = async (): Promise<Answer> => await ask(port, "", { path: "/hook", agent });
  await Promise.all(range(9).map(hook)); // connect
  let [reviewed, tooLate] = [0, 0];
  const reviews = range(8).map(async (index) => {
    const { status } = await review(port, costly(index, `team-${index}`), {}, { agent });
    if (status?.code === 429) tooLate += 1;
    else reviewed += 1;
  });
  const passed = new Set<number>();
  while (reviewed + tooLate < reviews.length) await hook().then(() => passed.add(reviewed));
  await Promise.all(reviews);
  assert.ok(
    Math.min(...passed) < reviewed / 2,
    `hooks were answered after ${[...passed].join()} of ${reviewed} reviews`,
  );
});

test("a namespace that sends too many reviews is refused with a 429 to try again, and others are not", async (t) => {
  const { port } = await start(t);
  const flood = Array.from({ length: 40 }, async (_, index) =>
    review(port, costly(index), { userInfo: { username: `user-${index}` } }),
  );
  const [other, ...answers] = await Promise.all([
    review(port, hookPolicy({}, { namespace: "team-b" })),
    ...flood,
  ]);
  // How long it takes is the machine's business.
  assert.notEqual(other.status?.code, 429);
  const busy = answers.filter(({ status }) => status?.code === 429);
  assert.ok(busy.length > 0, "one at a time and 16 that wait, of one share; later ones find room again");
  for (const { uid, allowed, status } of busy) {
    assert.deepEqual([uid, allowed, status?.details?.retryAfterSeconds], ["review-1", false, 1]);
  }
});

/** A large review that never ends: it keeps the room that its body has taken. */
async function beginReview(t: TestContext, port: number, object: object): Promise<void> {
  const body = JSON.stringify(reviewOf(object));
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
  t.after(() => socket.destroy());
  socket.on("error", () => undefined);
  await once(socket, "secureConnect");
  socket.write(`POST ${ADMISSION_PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length + 1}\r\n\r\n`);
  await new Promise((resolve) => socket.write(body, resolve));
}

function large(namespaceName: string, letters: number): object {
  const policy = hookPolicy({}, { namespace: namespaceName });
  return { ...policy, metadata: { ...policy.metadata, annotations: { long: "x".repeat(letters) } } };
}

test("large reviews that never end leave room for policies of common sizes", async (t) => {
  const { port } = await start(t, { limits: { bodiesBytes: 1_000_000 } });
  for (let i = 0; i < 8; i += 1) await beginReview(t, port, large("team-a", 300_000));
  const answers: (readonly [string, number | undefined])[] = [];
  for (const letters of [400_000, 50_000]) {
    const { uid, allowed, status } = await review(port, large("team-b", letters));
    answers.push([`${uid} ${allowed}`, status?.code]);
  }
  assert.deepEqual(answers, [
    ["review-1 false", 429],
    ["review-1 true", undefined],
  ]);
});

test("never admits what is over the limit, because the API server would store it unreviewed", async (t) => {
  const { port } = await start(t, { allowed: false });
  const answers = await Promise.all(
    Array.from({ length: 100 }, async () => review(port, gated(), { userInfo: JANE })),
  );
  assert.ok(answers.every(({ uid, allowed }) => uid === "review-1" && !allowed));
});

/** A gate that its author may not create, in an object that is larger than what is read. */
function hidden(labels: object, over: object = {}): object {
  const object = { ...gated(), ...over };
  return { ...object, metadata: { name: "hidden", namespace: "team-a", labels } };
}

const TOO_LARGE: Readonly<
  Record<string, readonly [code: number, object, AdmissionServerOptions["limits"]?]>
> = {
  "has more values than are read": [
    422,
    hidden(Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`l${index}`, ""]))),
  ],
  "is longer than is examined": [422, hidden({ long: "<".repeat(5 * 1024 * 1024) })],
  "is longer than is read": [422, hidden({ long: "x".repeat(200_000) }), { bodyBytes: 100_000 }],
  "finds no room besides others": [429, hidden({ long: "x".repeat(200_000) }), { bodiesBytes: 0 }],
};
for (const [what, [expected, object, limits]] of Object.entries(TOO_LARGE)) {
  test(`a policy whose review ${what} is refused: the API server would store it unreviewed`, async (t) => {
    const { port } = await start(t, { allowed: false, ...(limits !== undefined && { limits }) });
    const { uid, allowed, status } = await review(port, object);
    assert.deepEqual([uid, allowed, status?.code], ["review-1", false, expected]);
  });
}

test("a review of many gates asks the API server a few questions at a time", async (t) => {
  const lab = await start(t);
  assert.equal((await review(lab.port, gated(16))).allowed, true);
  assert.equal(lab.asked.filter((kind) => kind === "SubjectAccessReview").length, 16);
  assert.ok(lab.atOnce() <= 4, `${lab.atOnce()} at once`);
});
