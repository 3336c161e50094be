/** What one call stores of the tasks that may begin. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { servedHooks } from "../../../src/api/hook-catalog.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import { decide } from "../../../src/policy/decide.ts";
import type { Decision } from "../../../src/policy/decision.ts";
import { StoredTaskBeginner } from "../../../src/tasks/task-beginner.ts";
import { taskNotStored } from "../../../src/tasks/task-events.ts";
import { calling, cluster, compiled, DELETE, NOW } from "../builders.ts";
import { silent } from "../memory/fixtures.ts";
import { task, taskWorld, withTasks } from "../policy/tasks/fixtures.ts";

const deleted = calling(DELETE, cluster());
const request = { call: DELETE, cluster: deleted };

/** A decision that lets so many tasks begin. */
function decisionOf(count: number): Decision {
  const policies = [compiled(withTasks([task()]))];
  const world = taskWorld({ cluster: deleted });
  const decision = decide(policies, world, DELETE, NOW);
  const [intent] = decision.begins ?? [];
  assert.ok(intent !== undefined);
  const begins = Array.from({ length: count }, (_, index) => {
    const name = `rule-${index}`;
    return { ...intent, name, spec: { ...intent.spec, rule: name } };
  });
  return { ...decision, begins, basis: { source: "ApiServer", world, policies, since: NOW } };
}

/** In step with the monotonic clock. */
const wallClock = (): Date => new Date(NOW.getTime() + performance.now());

type Failure = (rule: string) => KubeError | undefined;

function beginnerOf(fails: Failure = () => undefined) {
  const asked: string[] = [];
  const told: string[] = [];
  const beginner = new StoredTaskBeginner({
    store: {
      create: async ({ spec: { rule } }) => {
        asked.push(rule);
        const failure = fails(rule);
        if (failure !== undefined) throw failure;
        return await Promise.resolve({} as never);
      },
    },
    served: servedHooks(14),
    onUnstored: ({ spec, name }, error) => told.push(taskNotStored(spec, name, error, wallClock()).identity),
    log: silent,
  });
  return { beginner, asked, told };
}

const terminating = new KubeError("create: forbidden", { code: 403, reason: "NamespaceTerminating" });
const refused = new KubeError("create: forbidden", { code: 403, reason: "Forbidden" });

/** As it is at the next call: what is stored is not due again. */
function without({ begins = [], ...rest }: Decision, asked: readonly string[]): Decision {
  return { ...rest, begins: begins.filter(({ spec: { rule } }) => !asked.includes(rule)) };
}

describe("a call", () => {
  test("stores sixteen HookTasks at most, and the next calls store the others", async () => {
    const decision = decisionOf(40);
    const { beginner, asked } = beginnerOf();
    const counts: number[] = [];
    for (let call = 0; call < 3; call += 1) {
      await beginner.begin(request, without(decision, asked));
      counts.push(asked.length);
    }
    assert.deepEqual(counts, [16, 32, 40]);
  });

  test("asks first for those that have not failed, so that none keeps others from beginning", async () => {
    const { beginner, asked } = beginnerOf((rule) => (rule.length < "rule-10".length ? refused : undefined));
    const decision = decisionOf(20);
    await beginner.begin(request, decision);
    assert.ok(!asked.includes("rule-19"));
    await beginner.begin(
      request,
      without(
        decision,
        [...asked].filter((rule) => rule.length > 6),
      ),
    );
    assert.ok(asked.slice(16, 20).every((rule) => rule.length > 6));
  });

  test("knows of all HookTasks in a namespace that is being deleted that they can never be stored", async () => {
    const { beginner, asked, told } = beginnerOf(() => terminating);
    const unstored = await beginner.begin(request, decisionOf(20));
    assert.deepEqual([asked.length, told.length], [16, 20]);
    assert.ok(unstored.length === 20 && unstored.every(({ phase }) => phase === "Failed"));
  });

  test("says once an hour, for as long as an Event lasts, why one cannot be stored", async (t) => {
    const clock = { ms: 0 };
    t.mock.method(performance, "now", () => clock.ms);
    let error = refused;
    const { beginner, told } = beginnerOf(() => error);
    const counts: number[] = [];
    const call = async (minutes: number): Promise<void> => {
      clock.ms = minutes * 60_000;
      const [unstored] = await beginner.begin(request, decisionOf(1));
      assert.deepEqual([unstored?.phase, unstored?.hindered, unstored?.unstored], ["Pending", true, true]);
      counts.push(told.length);
    };
    await call(0);
    await call(59);
    await call(60);
    error = new KubeError("create: exceeded quota", { code: 403, reason: "Forbidden" });
    await call(61);
    assert.deepEqual(counts, [1, 1, 2, 3]);
    // The API server may still have the one of the hour before.
    assert.equal(new Set(told).size, 3);
  });

  test("at a hook that cannot be held has stored all once none is left", async () => {
    const { begins: toStore = [], ...rest } = decisionOf(20);
    const { beginner, asked } = beginnerOf();
    assert.equal(await beginner.storeAll({ ...rest, toStore }), false);
    const left = toStore.filter(({ spec: { rule } }) => !asked.includes(rule));
    assert.equal(await beginner.storeAll({ ...rest, toStore: left }), true);
    assert.equal(asked.length, 20);
    assert.equal(await beginnerOf(() => refused).beginner.storeAll({ ...rest, toStore: left }), false);
    assert.equal(await beginnerOf(() => terminating).beginner.storeAll({ ...rest, toStore }), true);
  });
});
