/**
 * Whatever changes while the operator reads, and however far its memory is behind: it releases a Cluster only if the
 * policies, the Cluster and its Namespace allowed it at one moment since the call.
 */

import assert from "node:assert/strict";
import test from "node:test";
import * as fc from "fast-check";
import type { Cluster, Namespace, ObjectMeta } from "../../../src/api/meta.ts";
import { Confirmer } from "../../../src/controller/confirmation.ts";
import type { LiveReader } from "../../../src/controller/ports.ts";
import type { PolicyObject } from "../../../src/controller/policyset.ts";
import { decide } from "../../../src/policy/decide.ts";
import { runs } from "../../generated.ts";
import {
  cluster,
  clusterHookPolicy,
  compiled,
  DELETE,
  gated,
  hookPolicy,
  namespace,
  NOW,
  world,
} from "../builders.ts";
import { type Fixture, keyOf, policyList, silent, storeWith } from "./fixtures.ts";

const MARKS = ["hooks.example.com/approved", "hooks.example.com/signed"] as const;
const LABEL = { tier: "production" };

/** All that decides, at one moment. */
interface Moment {
  readonly cluster: Cluster;
  readonly namespace: Namespace;
  readonly policies: ReadonlyMap<string, PolicyObject>;
}

type Change = (now: Moment, version: number) => Moment;

const marks: Change[] = MARKS.map((mark) => (now, version) => {
  const { annotations = {} } = now.cluster.metadata;
  const { [mark]: had, ...others } = annotations;
  const changed = had === undefined ? { ...others, [mark]: "" } : others;
  return { ...now, cluster: cluster({ annotations: changed, resourceVersion: String(version) }) };
});

const label: Change = (now, version) => {
  const labels = now.namespace.metadata.labels === undefined ? { labels: LABEL } : {};
  return { ...now, namespace: namespace({ ...labels, resourceVersion: String(version) }) };
};

const KINDS = ["HookPolicy", "ClusterHookPolicy"] as const;

/** Makes the policy that wants this mark, edits it to want it, or deletes it where it already does. */
function policyChange(kind: PolicyObject["kind"], mark: string): Change {
  const { spec } = gated([{ name: "marked", annotation: { key: mark } }]);
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
  ...MARKS.map((mark) => policyChange("HookPolicy", mark)),
  policyChange("ClusterHookPolicy", MARKS[0]),
];
const FIRST_VERSION = 1000;
const BEGIN: Moment = {
  cluster: cluster({ resourceVersion: String(FIRST_VERSION) }),
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
interface Read {
  readonly changes: number;
  readonly seen: boolean;
}

interface Story {
  readonly changes: readonly number[];
  /** When the call comes, and what memory has seen by then, in parts of the history. */
  readonly called: number;
  readonly seen: number;
  readonly reads: readonly Read[];
}

const story: fc.Arbitrary<Story> = fc.record({
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

interface Told {
  readonly released: boolean;
  /** Whether it was allowed at a moment from the call to the answer. */
  readonly wasAllowed: boolean;
  readonly changed: boolean;
}

async function told({ changes, called, seen, reads }: Story): Promise<Told> {
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
  const reader: LiveReader = {
    policies: async (kind, _, at) =>
      at === undefined ? await read(kind, () => listOf(kind, now)) : listOf(kind, Number(at) - FIRST_VERSION),
    cluster: async () => await read("Cluster", (moment) => moment.cluster),
    namespace: async () => await read("Namespace", (moment) => moment.namespace),
    namespaces: async () => [],
    rollouts: async () => [],
    definition: async (kind) => kind,
    overrides: async () => [],
    objects: async () => ({ ok: true, namespaced: true, objects: [] }),
    clockAheadMs: () => 0,
    reasonOf: String,
  };
  const { store } = fixture;
  const confirmer = new Confirmer({ store, reader, log: silent, now: () => NOW, onStale: () => undefined });
  const confirmation = await confirmer.confirm({ call: DELETE, cluster: momentOf(start).cluster });
  const released = confirmation.ok && !confirmation.decision.holds;
  return { released, wasAllowed: history.slice(start, now + 1).some(isAllowed), changed: now > start };
}

function isAllowed({ policies, ...rest }: Moment): boolean {
  return !decide([...policies.values()].map(compiled), world(rest), DELETE, NOW).holds;
}

test("a release was allowed at one moment since the call", async () => {
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
