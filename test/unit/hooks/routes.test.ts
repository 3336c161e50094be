/** Which routes are for Cluster API alone, and what others are told there. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { HOOK_NAMES } from "../../../src/api/runtimehooks.ts";
import { DISCOVERY_PATH, hookPath, servedHooks } from "../../../src/hooks/catalog.ts";
import type { HandlerDeps } from "../../../src/hooks/handler.ts";
import { createRoutes } from "../../../src/hooks/routes.ts";
import { createRecorder } from "../server/recorder.ts";

function routesOf(): { routes: ReturnType<typeof createRoutes>; counted: string[] } {
  const counted: string[] = [];
  const refuse = (): never => assert.fail("asked");
  const deps: HandlerDeps = {
    source: { loaded: refuse, ask: refuse, standing: refuse, confirm: refuse, released: refuse },
    metrics: {
      answered: (hook, verdict) => counted.push(`${hook} ${verdict}`),
      discovered: () => undefined,
      unconfirmed: refuse,
    },
    answers: { record: refuse, repeat: refuse, forget: refuse },
    log: createRecorder(),
    complain: refuse,
    now: () => new Date(),
  };
  return { routes: createRoutes(servedHooks(14), deps), counted };
}

test("every hook wants Cluster API's certificate, discovery wants none", () => {
  const { routes } = routesOf();
  const open = routes.routes.filter(({ authenticated }) => !authenticated).map(({ path }) => path);
  assert.deepEqual(open, [DISCOVERY_PATH]);
});

for (const hook of HOOK_NAMES) {
  test(`${hook} of a stranger is a Failure, is counted and decides nothing`, () => {
    const { routes, counted } = routesOf();
    const response = JSON.parse(routes.undecodable(hookPath(hook), "unauthenticated"));
    assert.equal(response.status, "Failure");
    assert.equal(response.kind, `${hook}Response`);
    assert.match(response.message, /client certificate .*--runtime-extension-client-cert-file/);
    assert.deepEqual(counted, [`${hook} Unauthenticated`]);
  });
}
