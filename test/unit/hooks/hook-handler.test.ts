/** From bytes to an answer: what is not decided is held, and a go is only ever a confirmed one. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { LogFields, Logger } from "../../../src/lib/logger.ts";
import type { ObjectMeta } from "../../../src/api/meta.ts";
import { AnswerLog } from "../../../src/report/answer-log.ts";
import { createHandler, type DecisionSource } from "../../../src/hooks/hook-handler.ts";
import { WholeBody } from "../../../src/server/bodies.ts";
import { decide } from "../../../src/policy/decide.ts";
import type { Decision } from "../../../src/policy/decision.ts";
import { APPROVED, cluster, compiled, hookPolicy, NOW, validity, world } from "../builders.ts";
import { handlerDeps } from "./deps.ts";

const approvedWorld = world({ cluster: cluster({ annotations: { [APPROVED]: "" } }) });
const policies = [compiled(hookPolicy())];
const blocked = decide(policies, world(), { hook: "BeforeClusterDelete" }, NOW);
const allowed = decide(policies, approvedWorld, { hook: "BeforeClusterDelete" }, NOW);
const body = Buffer.from(JSON.stringify({ cluster: { metadata: cluster().metadata } }));

interface Run {
  readonly answer: { status: string; retryAfterSeconds?: number; message?: string };
  readonly verdicts: string[];
  readonly lines: [string, LogFields | undefined][];
}

async function run(
  over: Partial<DecisionSource>,
  {
    waits = true,
    bytes = [body],
    everyCall = false,
  }: { waits?: boolean; bytes?: readonly (Buffer | "the Cluster is gone")[]; everyCall?: boolean } = {},
): Promise<Run> {
  const verdicts: string[] = [];
  const lines: [string, LogFields | undefined][] = [];
  const write = (message: string, fields?: LogFields): number => lines.push([message, fields]);
  const log: Logger = { debug: write, info: write, warn: write, error: write, child: () => log };
  const answers = new AnswerLog({ log, everyCall });
  const deps = handlerDeps(
    { ask: () => blocked, confirm: async () => ({ ok: true, decision: allowed }), ...over },
    {
      metrics: {
        answered: (_, verdict) => verdicts.push(verdict),
        unconfirmed: () => undefined,
        discovered: () => undefined,
      },
      answers,
      log,
      warnRateLimited: write,
    },
  );
  const { repeat, handle, forget } = createHandler("BeforeClusterDelete", waits, deps);
  let text = "";
  for (const each of bytes) {
    if (each === "the Cluster is gone") {
      forget("uid-prod-1");
      answers.forget("uid-prod-1");
      continue;
    }
    const whole = new WholeBody([each]);
    text = repeat(whole) ?? (await handle(whole));
  }
  return { answer: JSON.parse(text), verdicts, lines };
}

const throws = (): never => {
  throw new Error("bug");
};

describe("a hook that Cluster API waits for", () => {
  test("is held from memory, without a read", async () => {
    const { answer } = await run({ confirm: throws });
    assert.deepEqual([answer.status, answer.retryAfterSeconds], ["Success", 10]);
    assert.match(answer.message ?? "", /^HookPolicy team-a\/protect/);
  });

  test("is released without a message when a fresh read agrees", async () => {
    const { answer, verdicts } = await run({ ask: () => allowed });
    assert.deepEqual([answer.retryAfterSeconds, answer.message], [0, undefined]);
    assert.deepEqual(verdicts, ["Allowed"]);
  });

  const held: Record<string, { over: Partial<DecisionSource>; verdict: string }> = {
    "while nothing is loaded": { over: { loaded: () => false, ask: throws }, verdict: "NotLoaded" },
    "when the release cannot be confirmed": {
      over: { ask: () => allowed, confirm: async () => ({ ok: false, reason: "Timeout" }) },
      verdict: "NotConfirmed",
    },
    "when the present disagrees": {
      over: { ask: () => allowed, confirm: async () => ({ ok: true, decision: blocked }) },
      verdict: "Blocked",
    },
    "when deciding throws": { over: { ask: throws }, verdict: "InternalError" },
    "when confirming rejects": {
      over: { ask: () => allowed, confirm: async () => throws() },
      verdict: "InternalError",
    },
  };
  for (const [name, { over, verdict }] of Object.entries(held)) {
    test(`is held ${name}`, async () => {
      const { answer, verdicts } = await run(over);
      assert.deepEqual([answer.status, verdicts], ["Success", [verdict]]);
      assert.ok((answer.retryAfterSeconds ?? 0) > 0);
      assert.ok(answer.message);
    });
  }

  test("is held by a decision that holds, whatever its number says", async () => {
    for (const retryAfterSeconds of [0, NaN, -1]) {
      const broken: Decision = { ...blocked, retryAfterSeconds };
      const { answer, verdicts } = await run({ ask: () => broken, confirm: throws });
      assert.deepEqual(verdicts, ["Blocked"], "decided from memory, without a read");
      assert.ok(
        (answer.retryAfterSeconds ?? 0) > 0,
        `${retryAfterSeconds} became ${answer.retryAfterSeconds}`,
      );
    }
  });

  test("is held when a gate's next edge is not a time", () => {
    const [policy = compiled(hookPolicy())] = policies;
    const gate = {
      name: "sundial",
      requestFields: new Set<never>(),
      evaluate: () => ({
        met: false,
        reason: "Waiting",
        wanted: "noon",
        observed: "night",
        changesAt: new Date(NaN),
      }),
    };
    const rules = policy.rules.map((rule) => ({ ...rule, gates: [gate] }));
    const decision = decide([{ ...policy, rules }], world(), { hook: "BeforeClusterDelete" }, NOW);
    assert.deepEqual([decision.holds, decision.retryAfterSeconds], [true, 10]);
  });
});

describe("a hook that Cluster API does not wait for", () => {
  for (const [name, over] of Object.entries({
    "is always Success": {},
    "is Success while nothing is loaded": { loaded: () => false },
    "is Success when deciding throws": { ask: throws },
  })) {
    test(`${name}, without a message`, async () => {
      const { answer } = await run(over, { waits: false });
      assert.deepEqual(
        [answer.status, answer.message, answer.retryAfterSeconds],
        ["Success", undefined, undefined],
      );
    });
  }
});

test("a request that cannot be decoded is Failure, and nothing of it comes back", async () => {
  const { answer, verdicts } = await run({}, { bytes: [Buffer.from('{"secret":1}')] });
  assert.deepEqual([answer.status, verdicts], ["Failure", ["Undecodable"]]);
  assert.doesNotMatch(JSON.stringify(answer), /secret/);
});

test("a request that is not UTF-8 is Failure, in one piece or in several", async () => {
  const bytes = Buffer.concat([body.subarray(0, -1), Buffer.from(',"x":"\u00ff"}', "latin1")]);
  const { answer, verdicts } = await run({}, { bytes: [bytes] });
  assert.deepEqual([answer.status, verdicts], ["Failure", ["Undecodable"]]);
  const pieces = [bytes.subarray(0, 20), bytes.subarray(20)];
  assert.equal(new WholeBody(pieces).text(), undefined);
  assert.equal(new WholeBody([body.subarray(0, 20), body.subarray(20)]).text(), body.toString());
});

describe("a request that comes again", () => {
  const say = (over: Partial<ObjectMeta>, more: object = {}): typeof body =>
    Buffer.from(JSON.stringify({ cluster: { metadata: { ...cluster().metadata, ...over } }, ...more }));
  const other = say({}, { settings: { other: "" } });
  const counting = (
    over: Partial<DecisionSource>,
  ): { source: Partial<DecisionSource>; asked: () => number } => {
    let asked = 0;
    const ask = (): Decision => ((asked += 1), blocked);
    return { source: { ask, validity: () => validity(), ...over }, asked: () => asked };
  };

  test("is answered the same, counted and logged, without being decided again while the decision is valid", async () => {
    const { source, asked } = counting({});
    const { answer, verdicts, lines } = await run(source, { bytes: [body, body, body], everyCall: true });
    assert.equal(asked(), 1);
    assert.equal(answer.retryAfterSeconds, 10);
    assert.deepEqual(verdicts, ["Blocked", "Blocked", "Blocked"]);
    assert.equal(lines.filter(([message]) => message.includes("is called")).length, 3);
  });

  test("is decided again once the decision is no longer valid, or where that is unknown", async () => {
    const over = [{ validity: () => validity(() => false) }, { validity: () => undefined }];
    for (const each of over) {
      const { source, asked } = counting(each);
      await run(source, { bytes: [body, body] });
      assert.equal(asked(), 2);
    }
  });

  test("is not checked again once it was found not to be valid", async () => {
    let looks = 0;
    const { source } = counting({
      ask: () => (looks === 0 ? blocked : allowed),
      validity: () => validity(() => ((looks += 1), false)),
    });
    await run(source, { bytes: [body, body, body] });
    assert.equal(looks, 1);
  });

  const same = {
    "in other bytes": Buffer.from(body.toString().replace("{", "{ ")),
    "with another version of the Cluster": say({ resourceVersion: "101" }),
    "with other settings, which no rule reads": other,
  };
  for (const [how, bytes] of Object.entries(same)) {
    test(`is answered the same ${how}, and so are those bytes`, async () => {
      const { source, asked } = counting({});
      const { verdicts } = await run(source, { bytes: [body, bytes, bytes, body] });
      assert.equal(asked(), 1);
      assert.deepEqual(verdicts, ["Blocked", "Blocked", "Blocked", "Blocked"]);
    });
  }

  const different = {
    "another Cluster": say({ uid: "uid-2" }),
    "a Cluster of another name": say({ name: "prod-2" }),
    "a Cluster of another namespace": say({ namespace: "team-b" }),
  };
  for (const [what, bytes] of Object.entries(different)) {
    test(`is decided for ${what}`, async () => {
      const { source, asked } = counting({});
      await run(source, { bytes: [body, bytes] });
      assert.equal(asked(), 2);
    });
  }

  const settled = { validity: () => validity(() => true, false) };

  test("is decided for other settings, where a rule reads them", async () => {
    const { source, asked } = counting(settled);
    await run(source, { bytes: [body, other] });
    assert.equal(asked(), 2);
  });

  test("is decided again after another answer about the Cluster, of which only one is kept", async () => {
    const { source, asked } = counting(settled);
    await run(source, { bytes: [body, other, body] });
    assert.equal(asked(), 3);
  });

  test("is decided again once another answer was given about the Cluster, so that only the last recorded answer is repeated", async () => {
    const { source, asked } = counting({});
    const validOnce: DecisionSource["validity"] = () =>
      asked() === 1 ? validity(() => true, false) : undefined;
    await run({ ...source, validity: validOnce }, { bytes: [body, other, body] });
    assert.equal(asked(), 3);
  });

  test("is decided again once the Cluster is gone", async () => {
    const { source, asked } = counting({});
    await run(source, { bytes: [body, "the Cluster is gone", body] });
    assert.equal(asked(), 2);
  });

  test("is confirmed each time it is released", async () => {
    let confirmed = 0;
    const confirm = async (): ReturnType<DecisionSource["confirm"]> => {
      confirmed += 1;
      return { ok: true, decision: allowed };
    };
    const { source } = counting({ ask: () => allowed, confirm });
    await run(source, { bytes: [body, body] });
    assert.equal(confirmed, 2);
  });
});

describe("the log of answers", () => {
  const called = ([message]: [string, unknown]): boolean => message.includes("is called");

  test("has one line for many identical answers, and names policy, rule, verdict and retry", async () => {
    const { lines } = await run({}, { bytes: [body, body, body] });
    assert.deepEqual(lines.filter(called), [
      [
        "BeforeClusterDelete is called, response is Success. retry: 10",
        {
          cluster: "team-a/prod-1",
          verdict: "Blocked",
          policy: "HookPolicy team-a/protect",
          rule: "confirmed-delete",
        },
      ],
    ]);
  });

  test("names the rollout that holds what every policy releases, and rollouts that an override lifts", async () => {
    const released = {
      verdict: "Allowed",
      holds: false,
      retryAfterSeconds: 0,
      message: "",
      trace: [],
    } as const;
    const said = async (over: object): Promise<unknown> => {
      const decision = { ...released, ...over };
      const source = { ask: () => decision, confirm: async () => ({ ok: true, decision }) as const };
      const { lines } = await run(source, { bytes: [body] });
      return lines.find(called)?.[1];
    };
    const rollout = { rollout: "prod", reason: "StageClosed", stage: "canary" };
    const hold = { verdict: "Blocked", holds: true, retryAfterSeconds: 10, message: "HookRollout prod: …" };
    const about = { cluster: "team-a/prod-1" };
    assert.deepEqual(await said({ ...hold, rollout }), { ...about, verdict: "Blocked", ...rollout });
    const overriddenRollouts = [{ rollout: "prod", overriddenBy: "now" }];
    assert.deepEqual(await said({ overriddenRollouts }), {
      ...about,
      verdict: "Allowed",
      overriddenRollouts,
    });
  });

  test("has every call where that is wanted", async () => {
    const { lines } = await run({}, { bytes: [body, body, body], everyCall: true });
    assert.equal(lines.filter(called).length, 3);
  });
});
