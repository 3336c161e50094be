import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookRolloutSpec } from "../../../src/api/hook-policy.ts";
import type { ObjectMeta } from "../../../src/api/meta.ts";
import { RolloutQueue, type WaitingCluster } from "../../../src/rollouts/rollout-queue.ts";
import { Slots } from "../../../src/rollouts/slots.ts";
import type { CompiledRollout } from "../../../src/rollouts/rollout.ts";
import { clusterMeta, member, NOW, readyStatus, rolloutOf, TARGET } from "./fixtures.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;

function waits(rollout: CompiledRollout, metadata: ObjectMeta, askedSecondsAgo: number): WaitingCluster {
  const found = member(rollout, metadata);
  if (found.stage === undefined) throw new Error("no stage");
  return {
    member: { ...found, stage: found.stage },
    target: TARGET,
    firstAsked: new Date(NOW.getTime() - askedSecondsAgo * SECOND),
  };
}

function queueOf(
  spec: Partial<HookRolloutSpec>,
  clusters: readonly (readonly [ObjectMeta, number])[],
  turns: () => readonly string[] | undefined = () => undefined,
) {
  const rollout = rolloutOf(spec);
  const queue = new RolloutQueue();
  const waiting = clusters.map(([metadata, ago]) => waits(rollout, metadata, ago));
  const update = (nowMs: number, among = waiting): void => {
    const members = waiting.map((each) => each.member);
    const slots = new Slots(rollout, readyStatus(), members, NOW);
    queue.update({ rollout, slots, waiting: among, turns: turns() }, nowMs);
  };
  const askAll = (nowMs: number): void => {
    for (const each of waiting) queue.asked(each.member.metadata.uid, nowMs);
  };
  const may = (): string[] =>
    waiting
      .map((each) => each.member.metadata)
      .filter(({ uid }) => queue.mayBegin(uid))
      .map(({ name }) => name);
  const order = (): string[] => queue.order.map((each) => each.member.metadata.uid);
  return { queue, update, askAll, may, order, waiting };
}

describe("whose turn it is", () => {
  test("as many as there are slots, first come first", () => {
    const { update, askAll, may, order } = queueOf({ maxConcurrency: 2 }, [
      [clusterMeta("late"), 1],
      [clusterMeta("first"), 30],
      [clusterMeta("second"), 20],
    ]);
    askAll(0);
    update(0);
    assert.deepEqual(may(), ["first", "second"]);
    assert.deepEqual(order(), ["uid-first", "uid-second", "uid-late"]);
  });

  test("smaller integers of orderLabelKey come first, and no integer last", () => {
    const { update, askAll, order } = queueOf({ orderLabelKey: "order" }, [
      [clusterMeta("none"), 90],
      [clusterMeta("word", { order: "first" }), 80],
      [clusterMeta("ten", { order: "10" }), 70],
      [clusterMeta("two", { order: "2" }), 1],
    ]);
    askAll(0);
    update(0);
    assert.deepEqual(order(), ["uid-two", "uid-ten", "uid-none", "uid-word"]);
  });

  test("who has not asked for twice its retry and ten seconds is left out", () => {
    const { update, askAll, may, queue, order } = queueOf({ retryAfterSeconds: 10 }, [
      [clusterMeta("silent"), 30],
      [clusterMeta("asking"), 1],
    ]);
    askAll(0);
    queue.asked("uid-asking", 30 * SECOND);
    update(30 * SECOND);
    assert.deepEqual(may(), ["silent"]);
    queue.asked("uid-asking", 31 * SECOND);
    update(31 * SECOND);
    assert.deepEqual(may(), ["asking"]);
    assert.deepEqual(order(), ["uid-silent", "uid-asking"], "the order is the same at every replica");
  });

  test("a full region does not hold up the others", () => {
    const { update, askAll, may } = queueOf(
      { maxConcurrency: 2, spread: [{ labelKey: "region", maxConcurrency: 1 }] },
      [
        [clusterMeta("x1", { region: "x" }), 30],
        [clusterMeta("x2", { region: "x" }), 20],
        [clusterMeta("y1", { region: "y" }), 10],
      ],
    );
    askAll(0);
    update(0);
    assert.deepEqual(may(), ["x1", "y1"]);
  });

  test("who lets its grace pass goes behind all who ask, for ten minutes", () => {
    const { update, askAll, may } = queueOf({ retryAfterSeconds: 10 }, [
      [clusterMeta("first"), 30],
      [clusterMeta("second"), 20],
    ]);
    const turn = (nowMs: number): string[] => {
      askAll(nowMs);
      update(nowMs);
      return may();
    };
    assert.deepEqual(turn(0), ["first"]);
    assert.deepEqual(turn(29 * SECOND), ["first"]);
    turn(30 * SECOND);
    assert.deepEqual(turn(31 * SECOND), ["second"]);
    assert.deepEqual(turn(30 * SECOND + 10 * MINUTE), ["first"]);
  });

  test("whose slot ended unused goes behind", () => {
    const { update, askAll, may, queue } = queueOf({}, [
      [clusterMeta("first"), 30],
      [clusterMeta("second"), 20],
    ]);
    askAll(0);
    queue.leftUnused("uid-first", 0);
    update(0);
    assert.deepEqual(may(), ["second"]);
  });

  test("whose slot ended unused goes behind however seldom it is asked about, for ten minutes", () => {
    const { queue, update, askAll, may, waiting } = queueOf({ retryAfterSeconds: 10 }, [
      [clusterMeta("seldom"), 30],
      [clusterMeta("second"), 20],
    ]);
    const [, second] = waiting;
    askAll(0);
    // With a slot it is not waiting.
    update(MINUTE, second && [second]);
    queue.leftUnused("uid-seldom", MINUTE);
    update(2 * MINUTE, second && [second]);
    askAll(3 * MINUTE);
    update(3 * MINUTE);
    assert.deepEqual(may(), ["second"]);
    askAll(11 * MINUTE);
    update(11 * MINUTE);
    assert.deepEqual(may(), ["seldom"]);
  });

  const always = (): boolean => true;
  const UNUSED: readonly {
    readonly what: string;
    /** Of the other Cluster, `second` seconds after the slot ended. */
    readonly asks?: (second: number) => boolean;
    readonly waits?: (second: number) => boolean;
    /** Whose turn it is, each time that this changes. */
    readonly turns: readonly (readonly [number, string])[];
  }[] = [
    {
      what: "one whose calls take nine seconds is asked about again after five",
      asks: (second) => second % 16 === 15 || second === -1,
      turns: [[0, "next"]],
    },
    {
      what: "nothing has been heard of the next one for long",
      asks: (second) => second >= 40,
      turns: [
        [0, ""],
        [41, "next"],
      ],
    },
    {
      what: "the next one does not show that it waits, after a failed reconcile",
      waits: (second) => second >= 2,
      turns: [
        [0, ""],
        [2, "next"],
      ],
    },
    {
      what: "the next one cannot take it within its grace",
      turns: [[0, "next"]],
    },
    {
      what: "there is no other",
      waits: () => false,
      turns: [
        [0, ""],
        [60, "vetoed"],
      ],
    },
  ];
  for (const { what, asks = always, waits: isWaiting = always, turns } of UNUSED)
    test(`a slot that ended unused does not go back at once: ${what}`, () => {
      const { queue, update, may, waiting } = queueOf({ retryAfterSeconds: 5 }, [
        [clusterMeta("vetoed"), 300],
        [clusterMeta("next"), 200],
      ]);
      const found: [number, string][] = [];
      if (asks(-1)) queue.asked("uid-next", -SECOND);
      queue.leftUnused("uid-vetoed", 0);
      for (let second = 0; second < 10 * 60; second += 1) {
        queue.asked("uid-vetoed", second * SECOND);
        update(second * SECOND, isWaiting(second) ? waiting : waiting.slice(0, 1));
        const turn = may().join();
        if (turn !== found.at(-1)?.[1]) found.push([second, turn]);
        if (asks(second)) queue.asked("uid-next", second * SECOND);
      }
      assert.deepEqual(found, turns);
    });

  test("namespaces take turns: the one whose last turn is longest ago comes first", () => {
    const of = (namespace: string, name: string): ObjectMeta => {
      return { ...clusterMeta(name), namespace, uid: `uid-${name}` };
    };
    let turns: readonly string[] | undefined;
    const { update, askAll, may, order } = queueOf(
      { maxConcurrency: 2 },
      [
        [of("large", "l1"), 90],
        [of("large", "l2"), 80],
        [of("large", "l3"), 70],
        [of("small", "s1"), 1],
      ],
      () => turns,
    );
    askAll(0);
    update(0);
    assert.deepEqual(may(), ["l1", "s1"]);
    assert.deepEqual(order(), ["uid-l1", "uid-s1", "uid-l2", "uid-l3"]);
    turns = ["small", "large"];
    update(0);
    assert.deepEqual(order(), ["uid-s1", "uid-l1", "uid-l2", "uid-l3"]);
  });
});
