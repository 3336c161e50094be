/** Who may scrape: decisions, how long they stand, and how few reviews a crowd can cause. */

import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { afterEach, mock, test } from "node:test";

import { ScrapeGuard, type Scrape, type User } from "../../../src/operator/scrape-guard.ts";
import { createRecorder } from "../server/recorder.ts";

const PROMETHEUS: User = {
  username: "system:serviceaccount:monitoring:prometheus",
  uid: "u1",
  groups: ["system:serviceaccounts"],
  extra: { "authentication.kubernetes.io/pod-name": ["prometheus-0"] },
};
const TENANT: User = { username: "system:serviceaccount:team-a:default" };

/** Of both kinds of reviews. */
interface Spec extends Omit<User, "username"> {
  readonly token?: string;
  readonly user?: string;
  readonly nonResourceAttributes?: unknown;
}

interface World {
  /** By token. */
  users: Readonly<Record<string, User>>;
  allowed: readonly string[];
  failure?: Error;
  /** In seconds. */
  now: number;
}

function start() {
  const world: World = {
    users: { good: PROMETHEUS, other: PROMETHEUS, tenant: TENANT },
    allowed: [PROMETHEUS.username],
    now: 0,
  };
  const asked: (string | User)[] = [];
  const log = createRecorder();
  const guard = new ScrapeGuard({
    client: {
      review: async ({ kind }, spec: Spec) => {
        const { token = "", user: username = "", nonResourceAttributes: _, ...rest } = spec;
        asked.push(kind === "TokenReview" ? token : { username, ...rest });
        await setImmediate();
        if (kind !== "TokenReview") return { allowed: world.allowed.includes(username) };
        if (world.failure !== undefined) throw world.failure;
        const user = world.users[token];
        return { authenticated: user !== undefined, user };
      },
    },
    log,
  });
  mock.method(performance, "now", () => world.now * 1000);
  const scrape = async (token: string, more: Partial<Scrape> = {}): Promise<number> =>
    (await guard.refusal({ authorization: `Bearer ${token}`, address: "10.0.0.1", ...more }))?.code ?? 200;
  return { world, asked, log, guard, scrape };
}

afterEach(() => mock.restoreAll());

test("accepts a token of a user who may get /metrics, and sends all of the user in the review", async () => {
  const { scrape, asked } = start();
  assert.equal(await scrape("good"), 200);
  assert.deepEqual(asked, ["good", PROMETHEUS]);
});

test("a user without the right is forbidden by name", async () => {
  const { guard } = start();
  assert.deepEqual(await guard.refusal({ authorization: "Bearer tenant", address: "10.0.0.1" }), {
    code: 403,
    message: 'forbidden: user "system:serviceaccount:team-a:default" cannot get path "/metrics"',
  });
});

test("a token that the API server does not accept is unauthorized, and no right is asked for", async () => {
  const { scrape, asked } = start();
  assert.equal(await scrape("bad"), 401);
  assert.deepEqual(asked, ["bad"]);
});

for (const authorization of [undefined, "", "Bearer", "Bearer ", "Basic good", "good", "Bearergood"]) {
  test(`authorization ${JSON.stringify(authorization)} is unauthorized without a review`, async () => {
    const { guard, asked } = start();
    assert.equal((await guard.refusal({ authorization, address: "10.0.0.1" }))?.code, 401);
    assert.deepEqual(asked, []);
  });
}

test("the scheme may be written in any case", async () => {
  const { scrape } = start();
  assert.equal(await scrape("good", { authorization: "bearer good" }), 200);
});

test("a failure of the API server refuses every client, is not cached, and is logged once", async () => {
  const { scrape, world, log } = start();
  world.failure = new Error("create tokenreviews.authentication.k8s.io: Forbidden (403)");
  assert.equal(await scrape("good"), 500);
  assert.equal(await scrape("good"), 500);
  assert.deepEqual(
    log.entries.map(({ message, fields }) => [message, fields["error"]]),
    [["Failed to check who reads /metrics", world.failure]],
  );
  delete world.failure;
  assert.equal(await scrape("good"), 200);
});

test("keeps an accepted token for a minute, and its user's right as well", async () => {
  const { scrape, asked, world } = start();
  await scrape("good");
  world.now = 59;
  await scrape("good");
  assert.deepEqual(asked.splice(0), ["good", PROMETHEUS]);
  world.now = 61;
  assert.equal(await scrape("good"), 200);
  assert.deepEqual(asked.splice(0), ["good", PROMETHEUS]);
  world.users = {};
  world.now = 122;
  assert.equal(await scrape("good"), 401, "a token that was revoked");
  world.users = { good: PROMETHEUS };
  world.now = 133;
  await scrape("good");
  world.allowed = [];
  world.now = 194;
  assert.equal(await scrape("good"), 403, "a right that was taken away");
});

test("keeps a refusal for 30 s where the right is missing, and for 10 s where the token is bad", async () => {
  const { scrape, asked, world } = start();
  await scrape("tenant");
  await scrape("bad");
  asked.splice(0);
  world.now = 9;
  assert.deepEqual([await scrape("tenant"), await scrape("bad"), asked.length], [403, 401, 0]);
  world.users = { ...world.users, bad: PROMETHEUS };
  world.allowed = [PROMETHEUS.username, TENANT.username];
  world.now = 11;
  assert.deepEqual([await scrape("tenant"), await scrape("bad")], [403, 200]);
  world.now = 31;
  assert.equal(await scrape("tenant"), 200);
});

test("who shows the same token meanwhile waits for the same review", async () => {
  const { scrape, asked } = start();
  const addresses = Array.from({ length: 20 }, (_, at) => ({ address: `10.0.0.${at}` }));
  const answers = await Promise.all(addresses.map(async (more) => await scrape("good", more)));
  assert.deepEqual(new Set(answers), new Set([200]));
  assert.deepEqual(asked, ["good", PROMETHEUS]);
});

test("of many tokens the last 256 are remembered", async () => {
  const { scrape, asked, world } = start();
  const tokens = Array.from({ length: 257 }, (_, at) => `t${at}`);
  world.users = Object.fromEntries(tokens.map((token) => [token, PROMETHEUS]));
  for (const token of tokens) await scrape(token);
  asked.splice(0);
  assert.deepEqual([await scrape("t1"), await scrape("t256")], [200, 200]);
  assert.deepEqual(asked, []);
  await scrape("t0");
  assert.deepEqual(asked, ["t0", PROMETHEUS]);
});

test("of one address few wait for a review; the rest is refused, and a cached token needs no turn", async () => {
  const { scrape } = start();
  await scrape("good");
  const unknown = Array.from({ length: 20 }, async (_, at) => await scrape(`bad-${at}`));
  assert.equal(await scrape("good"), 200);
  const answers = await Promise.all(unknown);
  assert.deepEqual([answers.slice(0, 5), new Set(answers.slice(5))], [Array(5).fill(401), new Set([429])]);
});

test("refusals are logged now and then, each kind by itself, without the token", async () => {
  const { scrape, log } = start();
  for (const token of ["secret-1", "secret-2", "tenant"]) await scrape(token);
  assert.deepEqual(
    log.entries.map(({ level, message, fields }) => [level, message, fields["reason"], fields["address"]]),
    [
      [
        "warn",
        "Refused to serve /metrics",
        "unauthorized: the API server does not accept the token",
        "10.0.0.1",
      ],
      [
        "warn",
        "Refused to serve /metrics",
        'forbidden: user "system:serviceaccount:team-a:default" cannot get path "/metrics"',
        "10.0.0.1",
      ],
    ],
  );
  assert.doesNotMatch(JSON.stringify(log.entries), /secret/);
});
