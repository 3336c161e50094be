/** The laws of tasks (task-laws.ts), in seeded stories of two replicas; and that what is taken away from the operator breaks them. */

import assert from "node:assert/strict";
import test, { before, describe, mock } from "node:test";
import { decide } from "../../../src/policy/decide.ts";
import type { Permits } from "../../../src/tasks/permits.ts";
import { FULL, SEED } from "../../generated.ts";
import { playTasks, type Told, type Weakness } from "./task-story.ts";

const STORIES = FULL ? 1000 : 60;
const STEPS = 4000;
/** A weakness shows in some of so many stories. */
const SEARCHED = 600;
/** Begins where rare ones show soon, whatever SEED is. */
const RARE = 170;

const clock = { ms: 0 };
before(() => mock.method(performance, "now", () => clock.ms));

async function search(
  stories: number,
  weakness?: Weakness,
  first = SEED,
): Promise<Told & { readonly seed: number }> {
  const sum = { releases: 0, jobs: 0, runs: 0 };
  for (let seed = first; seed < first + stories; seed += 1) {
    const told = await playTasks(seed, STEPS, clock, weakness);
    sum.releases += told.releases;
    sum.jobs += told.jobs;
    sum.runs = Math.max(sum.runs, told.runs);
    if (told.broken.length > 0) return { ...sum, broken: told.broken, seed };
  }
  return { ...sum, broken: [], seed: 0 };
}

test("tasks keep their laws, whatever is lost, killed, edited, taken back and wanted again", async (t) => {
  const { broken, seed, ...sum } = await search(STORIES);
  t.diagnostic(JSON.stringify(sum));
  assert.deepEqual(broken, [], `seed ${seed}`);
  assert.ok(sum.releases > STORIES / 10 && sum.jobs > STORIES && sum.runs > 1, JSON.stringify(sum));
});

type Records = NonNullable<Weakness["records"]>;

/** What the search must miss: at least one for each law. */
const WEAK: Readonly<Record<string, readonly [law: RegExp, weakness: Weakness, first?: number]>> = {
  "a task begins past the gates of its rule": [
    /^T1: a task begins, and a gate/,
    {
      decide: (policies, ...rest) => {
        const open = policies.map((policy) => ({
          ...policy,
          rules: policy.rules.map((rule) => ({ ...rule, gates: [] })),
        }));
        const { begins } = decide(open, ...rest);
        return { ...decide(policies, ...rest), ...(begins && { begins }) };
      },
    },
  ],
  "a task begins that is not wanted": [/^T1: a task begins, and the Cluster/, { wanted: true }],
  "an attempt begins without another look": [
    /^T1: an attempt begins/,
    {
      permits: (permits: Permits) => {
        permits.now = async () => await Promise.resolve({ may: "Begin" });
        permits.fromMemory = () => ({ may: "Begin" });
        permits.isOver = () => false;
      },
    },
  ],
  "an attempt is not written before its object is created": [
    /^T2/,
    {
      store: (own) => ({
        ...own,
        replaceStatus: async (task, status) =>
          (status.begun ?? 0) > (task.status?.begun ?? 0)
            ? { ...task, status }
            : await own.replaceStatus(task, status),
      }),
    },
  ],
  "a run begins beside another": [/^T2: two attempts of one task/, { alone: true }, RARE],
  "a release rests on what is remembered": [/^T3/, { records: (_, remembered) => remembered }, RARE],
  "a success counts whose operation is over": [
    /^T3/,
    { records: ((live) => live.map((record) => ({ ...record, over: false }))) satisfies Records },
  ],
  "a failure counts": [
    /^T3/,
    {
      records: ((live) =>
        live.map((record) =>
          record.phase === "Failed"
            ? { ...record, phase: "Succeeded", succeededAt: record.endedAt ?? new Date(0) }
            : record,
        )) satisfies Records,
    },
  ],
  "another ServiceAccount carries it out": [
    /^T4/,
    {
      store: (own) => ({
        ...own,
        find: async (key) => {
          const task = await own.find(key);
          return task && { ...task, spec: { ...task.spec, serviceAccountName: "cluster-admin" } };
        },
      }),
    },
  ],
};

describe("the search finds", () => {
  for (const [what, [law, weakness, first]] of Object.entries(WEAK))
    test(`${what}, if the operator were so`, async () => {
      const { broken } = await search(SEARCHED, weakness, first);
      assert.match(broken[0] ?? "nothing", law);
    });
});
