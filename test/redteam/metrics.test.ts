/** What an adversary who reaches the metrics can cost others: the real modules and real TLS sockets. */

import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { request as get } from "node:https";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { before, test, type TestContext } from "node:test";
import { ScrapeGuard } from "../../src/operator/scrape-guard.ts";
import type { KeyPair } from "../../src/server/tls-server.ts";
import { createMetricsServer } from "../../src/operator/diagnostics.ts";
import { issue } from "../unit/server/certificates.ts";
import { createRecorder, type Recorder } from "../unit/server/recorder.ts";

let serving: KeyPair;
before(async () => {
  serving = await issue("serving");
});

const PROMETHEUS = "127.0.0.2";
const GOOD = "the-token-of-prometheus";

interface Lab {
  readonly log: Recorder;
  /** Tokens that the API server was asked about. */
  readonly reviewed: string[];
  readonly atOnce: () => number;
  /** The answer's status; 0: none. */
  readonly scrape: (address: string, token: string) => Promise<number>;
}

/** `reviewMs`: how long the API server takes. */
async function start(t: TestContext, { reviewMs = 20 } = {}): Promise<Lab> {
  const reviewed: string[] = [];
  const log = createRecorder();
  let [open, most] = [0, 0];
  const guard = new ScrapeGuard({
    client: {
      review: async ({ kind }, spec) => {
        if (kind === "TokenReview") reviewed.push((spec as { token: string }).token);
        most = Math.max(most, (open += 1));
        await sleep(reviewMs);
        open -= 1;
        if (kind === "SubjectAccessReview") return { allowed: (spec as { user: string }).user === GOOD };
        const { token } = spec as { token: string };
        if (token.startsWith("bad")) return { error: "invalid bearer token" };
        return { authenticated: true, user: { username: token } };
      },
    },
    log,
  });
  const server = createMetricsServer({
    address: { host: "127.0.0.1", port: 0 },
    metrics: { contentType: "text/plain", text: async () => await Promise.resolve("up 1\n") },
    secure: { tls: serving, guard },
    log,
  });
  const { port } = await server.listen();
  t.after(async () => await server.close());
  const scrape = async (localAddress: string, token: string): Promise<number> => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const headers = { authorization: `Bearer ${token}` };
    const trust = { rejectUnauthorized: false, agent: false } as const;
    get({ host: "127.0.0.1", port, path: "/metrics", localAddress, headers, ...trust }, resolve)
      .once("error", reject)
      .end();
    try {
      const response = await promise;
      await text(response);
      return response.statusCode ?? 0;
    } catch {
      return 0;
    }
  };
  return { log, reviewed, atOnce: () => most, scrape };
}

/** `of` addresses, each with as many tokens that are bad, all at once. */
async function flood(lab: Lab, of: number, each: number): Promise<number[]> {
  const requests = Array.from({ length: of * each }, async (_, at) => {
    return await lab.scrape(`127.0.1.${1 + (at % of)}`, `bad-${at}`);
  });
  return await Promise.all(requests);
}

const count = (answers: readonly number[], code: number): number =>
  answers.filter((answer) => answer === code).length;

test("an address with many bad tokens causes few reviews, one at a time, and the rest is told to come later", async (t) => {
  const lab = await start(t, { reviewMs: 500 });
  const answers = await flood(lab, 1, 60);
  assert.ok(count(answers, 401) <= 20, answers.join());
  assert.equal(count(answers, 401), lab.reviewed.length);
  assert.ok(count(answers, 429) >= 30, answers.join());
  assert.equal(lab.atOnce(), 1);
});

test("a bad token that is shown again and again is reviewed once", async (t) => {
  const lab = await start(t);
  const answers = await Promise.all(
    Array.from({ length: 4 }, async () => await lab.scrape("127.0.1.1", "bad")),
  );
  for (let again = 0; again < 20; again++) answers.push(await lab.scrape("127.0.1.1", "bad"));
  assert.deepEqual(new Set(answers), new Set([401]));
  assert.deepEqual(lab.reviewed, ["bad"]);
});

test("Prometheus gets its metrics for the first time while another address floods", async (t) => {
  const lab = await start(t);
  const flooded = flood(lab, 1, 40);
  assert.equal(await lab.scrape(PROMETHEUS, GOOD), 200);
  await flooded;
});

test("a tenant whose ServiceAccount has no right is not one of them", async (t) => {
  const lab = await start(t);
  const tenant = "127.0.1.1";
  assert.equal(await lab.scrape(tenant, "tenant"), 403);
  const answers = await Promise.all(
    Array.from({ length: 40 }, async (_, at) => await lab.scrape(tenant, `tenant-${at}`)),
  );
  assert.ok(count(answers, 403) <= 20, answers.join());
});

test("a flood is a line of the log for each kind of refusal", async (t) => {
  const lab = await start(t, { reviewMs: 500 });
  await flood(lab, 1, 40);
  const lines = lab.log.entries.map(
    ({ level, message, fields }) => `${level} ${message}: ${String(fields["reason"])}`,
  );
  assert.deepEqual(
    lines.toSorted((a, b) => a.localeCompare(b)),
    [
      "warn Refused to serve /metrics: too many requests",
      "warn Refused to serve /metrics: unauthorized: the API server does not accept the token",
    ],
  );
});
