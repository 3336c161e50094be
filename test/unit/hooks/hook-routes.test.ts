/** Which routes are for Cluster API alone, and what others are told there. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { HOOK_NAMES } from "../../../src/api/runtime-hooks.ts";
import { DISCOVERY_PATH, hookPath, servedHooks } from "../../../src/api/hook-catalog.ts";
import { WholeBody } from "../../../src/server/bodies.ts";
import type { HandlerDeps } from "../../../src/hooks/hook-handler.ts";
import { createRoutes } from "../../../src/hooks/hook-routes.ts";
import { decide } from "../../../src/policy/decide.ts";
import { cluster, compiled, hookPolicy, validity, world } from "../builders.ts";
import { handlerDeps } from "./deps.ts";
import { createRecorder } from "../server/recorder.ts";

function routesOf(): { routes: ReturnType<typeof createRoutes>; counted: string[] } {
  const counted: string[] = [];
  const refuse = (): never => assert.fail("asked");
  const deps: HandlerDeps = {
    source: {
      loaded: refuse,
      inTurn: refuse,
      ask: refuse,
      validity: refuse,
      confirm: refuse,
      known: refuse,
      mayHaveTasks: refuse,
      storeTasks: refuse,
    },
    metrics: {
      answered: (hook, verdict) => counted.push(`${hook} ${verdict}`),
      discovered: () => undefined,
      unconfirmed: refuse,
    },
    answers: { record: refuse, repeat: refuse, forget: refuse },
    log: createRecorder(),
    warnRateLimited: refuse,
    now: () => new Date(),
  };
  return { routes: createRoutes(servedHooks(14), deps), counted };
}

test("every hook wants Cluster API's certificate, discovery wants none", () => {
  const { routes } = routesOf();
  const open = routes.routes.filter(({ authenticated }) => !authenticated).map(({ path }) => path);
  assert.deepEqual(open, [DISCOVERY_PATH]);
});

test("hooks and recorders forget a Cluster that is gone", async () => {
  const asked: string[] = [];
  const forgotten: string[] = [];
  const policies = [compiled(hookPolicy())];
  const deps = handlerDeps(
    {
      ask: ({ call }, now) => {
        asked.push(call.hook);
        return decide(policies, world(), call, now);
      },
      validity: () => validity(),
      confirm: () => assert.fail("confirmed"),
    },
    {
      answers: { record: () => undefined, repeat: () => undefined, forget: (uid) => forgotten.push(uid) },
      warnRateLimited: assert.fail,
    },
  );
  const routes = createRoutes(servedHooks(14), deps);
  const hook = "BeforeClusterDelete";
  const route = routes.routes.find(({ path }) => path === hookPath(hook));
  const body = new WholeBody([Buffer.from(JSON.stringify({ cluster: { metadata: cluster().metadata } }))]);
  const ask = async (): Promise<unknown> => await route?.handle(body);
  await ask();
  await ask();
  assert.deepEqual(asked, [hook]);
  routes.forget("uid-prod-1");
  await ask();
  assert.deepEqual([asked, forgotten], [[hook, hook], ["uid-prod-1"]]);
});

for (const hook of HOOK_NAMES) {
  test(`${hook} of an unauthenticated caller is a Failure, is counted and decides nothing`, () => {
    const { routes, counted } = routesOf();
    const response = JSON.parse(routes.undecodable(hookPath(hook), "unauthenticated"));
    assert.equal(response.status, "Failure");
    assert.equal(response.kind, `${hook}Response`);
    assert.match(response.message, /client certificate .*--runtime-extension-client-cert-file/);
    assert.deepEqual(counted, [`${hook} Unauthenticated`]);
  });
}
