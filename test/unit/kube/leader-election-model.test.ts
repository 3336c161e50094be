import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Arbitrary,
  array,
  assert as assertProperty,
  asyncProperty,
  constant,
  constantFrom,
  integer,
  nat,
  oneof,
  record,
  tuple,
} from "fast-check";
import { DEFAULT_LEASE_TUNING } from "../../../src/kube/leader-election.ts";
import { runs } from "../../generated.ts";
import { candidate, type Fault, LeaseServer } from "./lease-lab.ts";

const { leaseMs, retryMs } = DEFAULT_LEASE_TUNING;

interface Step {
  readonly who: number;
  readonly pauseMs: number;
  readonly fault: Fault;
  readonly latency: readonly [number, number];
  readonly what: "attempt" | "release";
}

const latency = integer({ min: 0, max: 6_000 });
const step: Arbitrary<Step> = record({
  who: nat(2),
  pauseMs: oneof(constant(retryMs), integer({ min: 0, max: 20_000 })),
  fault: constantFrom<Fault>("none", "none", "none", "none", "refused", "answer lost"),
  latency: oneof(constant([0, 0] as const), tuple(latency, latency)),
  what: constantFrom("attempt", "attempt", "attempt", "attempt", "attempt", "release"),
});

test("whatever fails, and whatever the clocks say: never two leaders, and at last there is one", async () => {
  await assertProperty(
    asyncProperty(
      array(step, { maxLength: 60 }),
      array(integer(), { minLength: 3, maxLength: 3 }),
      async (steps, skews) => {
        const server = new LeaseServer();
        const all = skews.map((skew, index) =>
          candidate(server, `replica-${index}`, { date: () => new Date(server.ms + (skew % 1e9)) }),
        );
        server.onTick = () => {
          const leaders = all.filter((each) => each.leading());
          assert.ok(leaders.length <= 1, `${leaders.length} leaders`);
        };
        for (const {
          who,
          pauseMs,
          fault,
          latency: [before, after],
          what,
        } of steps) {
          server.pass(pauseMs);
          Object.assign(server, { fault, latency: [before, after] });
          await all[who]?.[what]();
          server.pass(0);
        }
        Object.assign(server, { fault: "none", latency: [0, 0] });
        for (let n = 0; n < leaseMs / retryMs + 2; n++) {
          server.pass(retryMs);
          for (const each of all) await each.attempt();
          server.pass(0);
        }
        assert.equal(all.filter((each) => each.leading()).length, 1);
      },
    ),
    runs(500),
  );
});
