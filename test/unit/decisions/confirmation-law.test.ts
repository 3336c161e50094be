/**
 * Whatever changes while the operator reads, and however far its memory is behind: it releases a Cluster only if the
 * policies, the Cluster, its Namespace and the time allowed it at one moment since the call, and the Cluster wanted it.
 */

import assert from "node:assert/strict";
import test from "node:test";
import * as fc from "fast-check";
import type { GateSpec } from "../../../src/api/hook-policy.ts";
import {
  type Cluster,
  type Namespace,
  type ObjectMeta,
  OK_TO_DELETE_ANNOTATION,
} from "../../../src/api/meta.ts";
import type { HookCall } from "../../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { lookup } from "../../../src/api/selector.ts";
import { decide } from "../../../src/policy/decide.ts";
import { runs } from "../../generated.ts";
import {
  at as after,
  cluster,
  clusterHookPolicy,
  compiled,
  DELETE,
  gated,
  hookPolicy,
  namespace,
  NOW,
  UPGRADE,
  world,
} from "../builders.ts";
import { type Fixture, keyOf, policyList, storeWith } from "../memory/fixtures.ts";
import { readerOf, testConfirmer } from "./confirmer.ts";

const MARKS = ["hooks.example.com/approved", "hooks.example.com/signed"] as const;
const LABEL = { tier: "production" };

const WINDOW: GateSpec = {
  name: "open",
  window: { allow: [{ from: after("+1m").toISOString(), to: after("+3m").toISOString() }] },
};
const [FROM, TO] = ["v1.34.0", "v1.35.0"] as const;

/** All that decides, at one moment. */
interface Moment {
  readonly time: Date;
  readonly cluster: Cluster;
  readonly namespace: Namespace;
  readonly policies: ReadonlyMap<string, PolicyObject>;
}

type Change = (now: Moment, version: number) => Moment;

function written(
  now: Moment,
  version: number,
  over: Partial<ObjectMeta>,
  rest: Partial<Cluster> = {},
): Moment {
  const metadata = { ...now.cluster.metadata, ...over, resourceVersion: String(version) };
  return { ...now, cluster: { ...now.cluster, ...rest, metadata } };
}

/** Sets or removes an annotation. */
const marks: Change[] = [...MARKS, OK_TO_DELETE_ANNOTATION].map((mark) => (now, version) => {
  const { annotations = {} } = now.cluster.metadata;
  const { [mark]: had, ...others } = annotations;
  return written(now, version, { annotations: had === undefined ? { ...others, [mark]: "" } : others });
});

const pause: Change = (now, version) => written(now, version, {}, { paused: !now.cluster.paused });

/** A user takes the upgrade back, or asks for it. */
const upgrade: Change = (now, version) => {
  const { topology = { className: "lab", version: TO } } = now.cluster;
  const next = { ...topology, version: topology.version === TO ? FROM : TO };
  return written(now, version, {}, { topology: next });
};

const deletion: Change = (now, version) =>
  written(now, version, { deletionTimestamp: now.cluster.metadata.deletionTimestamp ?? NOW.toISOString() });

/** A window may open or close. Nothing is written. */
const clock: Change = (now) => ({ ...now, time: new Date(now.time.getTime() + 60_000) });

const label: Change = (now, version) => {
  const labels = now.namespace.metadata.labels === undefined ? { labels: LABEL } : {};
  return { ...now, namespace: namespace({ ...labels, resourceVersion: String(version) }) };
};

const KINDS = ["HookPolicy", "ClusterHookPolicy"] as const;

/** Makes the policy that wants this mark, edits it to want it, or deletes it where it already does. */
function policyChange(kind: PolicyObject["kind"], mark: string, ...more: readonly GateSpec[]): Change {
  const { spec } = gated([{ name: "marked", annotation: { key: mark } }, ...more], {
    hooks: ["BeforeClusterDelete", "BeforeClusterUpgrade"],
  });
  const made = (over: Partial<ObjectMeta>): PolicyObject =>
    kind === "HookPolicy"
      ? hookPolicy(spec, over)
      : clusterHookPolicy({ ...spec, namespaceSelector: { matchLabels: LABEL } }, over);
  const key = keyOf(made({}));
  return (now, version) => {
    const policies = new Map(now.policies);
    const had = policies.get(key);
    const { uid = `${kind}-${version}`, generation = 0 } = had?.metadata ?? {};
    const next = made({ uid, generation: generation + 1, resourceVersion: String(version) });
    if (JSON.stringify(had?.spec) === JSON.stringify(next.spec)) policies.delete(key);
    else policies.set(key, next);
    return { ...now, policies };
  };
}

/** Few, so that those that belong together often meet. */
const CHANGES = [
  ...marks,
  label,
  pause,
  upgrade,
  deletion,
  clock,
  policyChange("HookPolicy", MARKS[0]),
  policyChange("HookPolicy", MARKS[1], WINDOW),
  policyChange("ClusterHookPolicy", MARKS[0]),
];
const FIRST_VERSION = 1000;
const BEGIN: Moment = {
  time: NOW,
  cluster: cluster(
    { resourceVersion: String(FIRST_VERSION) },
    { topology: { className: "lab", version: TO } },
  ),
  namespace: namespace({ resourceVersion: String(FIRST_VERSION) }),
  policies: new Map(),
};

function historyOf(changes: readonly number[]): Moment[] {
  const history = [BEGIN];
  for (const [index, change] of changes.entries()) {
    const next = CHANGES[change]?.(history.at(-1) ?? BEGIN, FIRST_VERSION + index + 1);
    if (next !== undefined) history.push(next);
  }
  return history;
}

/** Of a read: how many changes come before it, and whether memory then sees all of that kind. */
interface ReadStep {
  readonly changes: number;
  readonly seen: boolean;
}

interface Story {
  readonly call: HookCall;
  readonly changes: readonly number[];
  /** When the call comes, and what memory has seen by then, in parts of the history. */
  readonly called: number;
  readonly seen: number;
  readonly reads: readonly ReadStep[];
}

const story: fc.Arbitrary<Story> = fc.record({
  call: fc.constantFrom(DELETE, UPGRADE),
  changes: fc.array(fc.nat(CHANGES.length - 1), { minLength: 1, maxLength: 12 }),
  called: fc.nat(60),
  seen: fc.nat(100),
  reads: fc.array(fc.record({ changes: fc.nat(3), seen: fc.boolean() }), { minLength: 24, maxLength: 24 }),
});

function see(fixture: Fixture, then: Moment, kind?: string): void {
  if (kind === undefined || kind === "Cluster") fixture.setCluster(then.cluster);
  if (kind === undefined || kind === "Namespace") fixture.setNamespace(then.namespace);
  for (const of of KINDS.filter((each) => kind === undefined || kind === each)) {
    for (const { object } of fixture.store.policies.entries())
      if (object.kind === of && !then.policies.has(keyOf(object))) fixture.deletePolicy(object);
    for (const object of then.policies.values()) if (object.kind === of) fixture.setPolicy(object);
  }
}

interface StoryResult {
  readonly released: boolean;
  /** Whether it was allowed at a moment from the call to the answer. */
  readonly wasAllowed: boolean;
  readonly changed: boolean;
}

async function told({ call, changes, called, seen, reads }: Story): Promise<StoryResult> {
  const history = historyOf(changes);
  const last = history.length - 1;
  const start = Math.floor((called / 101) * history.length);
  const momentOf = (at: number): Moment => history[Math.min(at, last)] ?? BEGIN;
  const fixture = storeWith({ clusters: [], namespaces: [] });
  see(fixture, momentOf(Math.floor((seen / 101) * (start + 1))));
  let now = start;
  const left = [...reads];
  const read = async <T>(kind: string, view: (moment: Moment) => T): Promise<T> => {
    const next = left.shift() ?? { changes: 0, seen: false };
    now = Math.min(now + next.changes, last);
    if (next.seen) see(fixture, momentOf(now), kind);
    return view(momentOf(now));
  };
  const listOf = (kind: string, at: number): ReturnType<typeof policyList> => {
    const listed = [...momentOf(at).policies.values()].filter((policy) => policy.kind === kind);
    return policyList(
      listed.map(({ metadata }) => metadata),
      String(FIRST_VERSION + at),
    );
  };
  const reader = readerOf([], {
    policies: async (kind, _, at) =>
      at === undefined ? await read(kind, () => listOf(kind, now)) : listOf(kind, Number(at) - FIRST_VERSION),
    cluster: async () => await read("Cluster", (moment) => moment.cluster),
    namespace: async () => await read("Namespace", (moment) => moment.namespace),
  });
  const { store } = fixture;
  const confirmer = testConfirmer({ store, reader, now: () => momentOf(now).time });
  const confirmation = await confirmer.confirm({ call, cluster: momentOf(start).cluster });
  const released = confirmation.ok && !confirmation.decision.holds;
  const wasAllowed = history.slice(start, now + 1).some((moment) => isAllowed(moment, call));
  return { released, wasAllowed, changed: now > start };
}

/** By the words of the law, not by those of the operator. */
function isAllowed({ policies, time, ...rest }: Moment, call: HookCall): boolean {
  const { metadata, paused, topology } = rest.cluster;
  const isDeleted = metadata.deletionTimestamp !== undefined;
  const isOk = lookup(metadata.annotations, OK_TO_DELETE_ANNOTATION) !== undefined;
  const isWanted = call === DELETE ? isDeleted && !isOk : !isDeleted && topology?.version === TO;
  return isWanted && !paused && !decide([...policies.values()].map(compiled), world(rest), call, time).holds;
}

test("a release was allowed and wanted at one moment since the call", async () => {
  const released = { amidChanges: 0, atRest: 0 };
  await fc.assert(
    fc.asyncProperty(story, async (each) => {
      const { released: is, wasAllowed, changed } = await told(each);
      assert.ok(!is || wasAllowed);
      if (is) released[changed ? "amidChanges" : "atRest"] += 1;
    }),
    runs(20_000),
  );
  assert.ok(released.amidChanges > 20 && released.atRest > 0, JSON.stringify(released));
});
