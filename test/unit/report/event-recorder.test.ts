/** Events: one per transition on all replicas, and never so many that they are a burden. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { Logger } from "../../../src/lib/logger.ts";
import { newOperation } from "../../../src/operations/operation.ts";
import type { Transition } from "../../../src/memory/transitions.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import { EventRecorder } from "../../../src/report/event-recorder.ts";
import { aboutPolicy, describeTransition } from "../../../src/report/transition-events.ts";
import { at, cluster, DELETE, NOW, override, UPGRADE } from "../builders.ts";
import { silent } from "../memory/fixtures.ts";

const policy = { kind: "HookPolicy", namespace: "team-a", name: "protect" } as const;
const fleet = { kind: "ClusterHookPolicy", name: "fleet" } as const;
const deadline: Transition = {
  type: "DeadlineStep",
  policy,
  policyUID: "uid-protect",
  rule: "r",
  operation: newOperation(DELETE, cluster(), NOW, undefined),
  step: 80,
  deadlineAt: at("+1h"),
  releases: true,
};
const operation = {
  namespace: "team-a",
  cluster: "prod-1",
  clusterUID: "uid-prod-1",
  hook: "BeforeClusterDelete",
} as const;
const held: Transition = {
  type: "Held",
  policy,
  policyUID: "uid-protect",
  row: {
    ...operation,
    verdict: "Blocked",
    rule: "r",
    reason: "WaitingForAnnotation",
    message: "gate approved waits",
    firstAsked: "2026-11-21T11:00:00Z",
    since: "2026-11-21T11:00:00Z",
    holds: true,
    basis: "",
  },
};
const released: Transition = {
  type: "Released",
  policy,
  policyUID: "uid-protect",
  result: { ...operation, verdict: "Allowed", reason: "GatesHold", time: "2026-11-21T12:00:00Z" },
};
const notHeld: Extract<Transition, { type: "NotHeld" }> = {
  type: "NotHeld",
  policy: fleet,
  policyUID: "uid-fleet",
  result: {
    ...operation,
    verdict: "WouldBlock",
    rule: "r",
    gate: "approved",
    reason: "WaitingForAnnotation",
    message: "gate approved waits",
    time: "2026-11-21T12:00:00Z",
  },
};
const refusal: Extract<Transition, { type: "Refused" }> = {
  type: "Refused",
  policy,
  policyUID: "uid-protect",
  result: { ...notHeld.result, verdict: "Refused" },
};
const windowChanged: Transition = {
  type: "WindowChanged",
  policy: fleet,
  policyUID: "uid-fleet",
  rule: "r",
  gate: "weekend",
  open: true,
  at: NOW,
  until: at("+1h"),
};
const used: Transition = {
  type: "OverrideUsed",
  override: override(),
  cluster: cluster(),
  call: UPGRADE,
  policies: ["HookPolicy team-a/protect", "ClusterHookPolicy fleet"],
};
const POLICY_REF = {
  apiVersion: "hookpolicy.dev/v1alpha1",
  kind: "HookPolicy",
  namespace: "team-a",
  name: "protect",
  uid: "uid-protect",
};
const CLUSTER_REF = {
  apiVersion: "cluster.x-k8s.io/v1beta2",
  kind: "Cluster",
  namespace: "team-a",
  name: "prod-1",
  uid: "uid-prod-1",
};

describe("the text of whether a policy is asked", () => {
  const why = { reason: "NotRegistered", message: "No ExtensionConfig" };
  const since = "2026-11-21T12:00:00Z";
  const changed: Transition = { type: "CallsChanged", policy, policyUID: "uid-protect", since };

  test("says why not, or that it is again", () => {
    const unasked = describeTransition({ ...changed, notCalled: why });
    assert.deepEqual([unasked.type, unasked.reason, unasked.note], ["Warning", "NotCalled", why.message]);
    assert.deepEqual(unasked.regarding, POLICY_REF);
    const again = describeTransition(changed);
    assert.deepEqual([again.type, again.reason], ["Normal", "Called"]);
    assert.notEqual(again.identity, unasked.identity);
    const later = describeTransition({ ...changed, since: "2026-11-22T12:00:00Z" });
    assert.notEqual(later.identity, again.identity);
  });
});

describe("the text", () => {
  const cases: Record<string, { transition: Transition; reason: string; note: RegExp }> = {
    "of a hold that begins": {
      transition: held,
      reason: "Held",
      note: /^BeforeClusterDelete is held by HookPolicy team-a\/protect, rule r: gate approved waits$/,
    },
    "of an operation that proceeds": {
      transition: released,
      reason: "Released",
      note: /^BeforeClusterDelete proceeds: HookPolicy team-a\/protect does not hold it any more \(GatesHold\)$/,
    },
    "of an operation that Audit has not held": {
      transition: notHeld,
      reason: "WouldBlock",
      note: /^BeforeClusterDelete has proceeded, which ClusterHookPolicy fleet, rule r would hold in mode Enforce: gate approved waits$/,
    },
    "of an operation that no rule could judge": {
      transition: {
        ...notHeld,
        result: { ...notHeld.result, verdict: "NotEvaluable", message: "no such key" },
      },
      reason: "NotEvaluable",
      note: /^BeforeClusterDelete has proceeded, although ClusterHookPolicy fleet, rule r could not be evaluated: no such key$/,
    },
    "of a request that is refused": {
      transition: refusal,
      reason: "Refused",
      note: /^A request for the deletion was refused by HookPolicy team-a\/protect, rule r: gate approved waits$/,
    },
    "of an upgrade that is refused": {
      transition: {
        ...refusal,
        result: { ...refusal.result, hook: "BeforeClusterUpgrade", targetVersion: "v1.36.0" },
      },
      reason: "Refused",
      note: /^A request for the upgrade to v1\.36\.0 was refused by HookPolicy team-a\/protect, rule r: /,
    },
    "of a deadline that comes nearer": {
      transition: deadline,
      reason: "DeadlineApproaching",
      note: /^BeforeClusterDelete is held by HookPolicy team-a\/protect, rule r; 80 % .* deadline, 2026-11-21T13:00:00Z, have passed: it proceeds then$/,
    },
    "of a deadline that is as near as its rule wants to be warned": {
      transition: { ...deadline, step: "Near" },
      reason: "DeadlineApproaching",
      note: /rule r; its deadline, 2026-11-21T13:00:00Z, is near: it proceeds then$/,
    },
    "of a deadline that only tells": {
      transition: { ...deadline, releases: false },
      reason: "DeadlineApproaching",
      note: /: it stays held then, too$/,
    },
    "of a deadline that has passed": {
      transition: { ...deadline, step: 100 },
      reason: "DeadlinePassed",
      note: /^BeforeClusterDelete was held by .* until its deadline, 2026-11-21T13:00:00Z: it proceeds when/,
    },
    "of a window that opens": {
      transition: windowChanged,
      reason: "WindowOpened",
      note: /^Rule r, gate weekend: open since 2026-11-21T12:00:00Z, until 2026-11-21T13:00:00Z$/,
    },
    "of a window that closes for good": {
      transition: withoutUntil({ ...windowChanged, open: false }),
      reason: "WindowClosed",
      note: /closed since .*, for good$/,
    },
    "of an override that is used": {
      transition: used,
      reason: "OverrideUsed",
      note: /^BeforeClusterUpgrade proceeds because of HookOverride let-go, without HookPolicy team-a\/protect, ClusterHookPolicy fleet$/,
    },
  };
  for (const [name, { transition, reason, note }] of Object.entries(cases)) {
    test(name, () => {
      const text = describeTransition(transition);
      assert.equal(text.reason, reason);
      assert.match(text.note, note);
    });
  }

  test("regards what it is about, and names what else belongs to it", () => {
    const about = (transition: Transition): unknown[] => {
      const { regarding, related } = describeTransition(transition);
      return [regarding, related];
    };
    assert.deepEqual(about(deadline), [CLUSTER_REF, POLICY_REF]);
    const { namespace: _, ...clusterWide } = POLICY_REF;
    assert.deepEqual(about(windowChanged), [
      { ...clusterWide, kind: "ClusterHookPolicy", name: "fleet", uid: "uid-fleet" },
      undefined,
    ]);
    assert.deepEqual(about(used), [
      CLUSTER_REF,
      { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookOverride", name: "let-go", uid: "uid-let-go" },
    ]);
  });

  test("of a hold and of its end is also about the policy, without what the gates wait for", () => {
    const other = (transition: Transition): unknown[] => {
      const text = aboutPolicy(describeTransition(transition));
      return [text?.regarding.name, text?.reason, text?.note];
    };
    assert.deepEqual(other(held), [
      "protect",
      "Held",
      "Rule r holds BeforeClusterDelete of Cluster team-a/prod-1 (WaitingForAnnotation)",
    ]);
    assert.deepEqual(other(released), [
      "protect",
      "Released",
      "BeforeClusterDelete of Cluster team-a/prod-1 proceeds (GatesHold)",
    ]);
    assert.deepEqual(other(notHeld), [
      "fleet",
      "WouldBlock",
      "Rule r: BeforeClusterDelete of Cluster team-a/prod-1 has proceeded, which it would hold in mode Enforce (WaitingForAnnotation)",
    ]);
    assert.deepEqual(other(refusal), [
      "protect",
      "Refused",
      "Rule r refused a request for the deletion of Cluster team-a/prod-1 (WaitingForAnnotation)",
    ]);
    for (const transition of [deadline, used, windowChanged])
      assert.equal(aboutPolicy(describeTransition(transition)), undefined);
  });

  test("is identified by what happened, not by who saw it when", () => {
    const ids = [
      deadline,
      { ...deadline, step: 100 as const },
      { ...deadline, deadlineAt: at("+2h") },
      { ...deadline, rule: "other" },
      windowChanged,
      { ...windowChanged, open: false },
      { ...windowChanged, at: at("+1h") },
      notHeld,
      { ...notHeld, result: { ...notHeld.result, targetVersion: "v1.36.0" } },
      refusal,
      { ...refusal, result: { ...refusal.result, rule: "other" } },
      used,
      { ...used, call: DELETE },
      { ...used, cluster: cluster({ uid: "another" }) },
    ].map((transition) => describeTransition(transition).identity);
    assert.equal(new Set(ids).size, ids.length);
    const asked = {
      ...deadline,
      operation: newOperation(DELETE, cluster({ resourceVersion: "7" }), at("-1h"), undefined),
    };
    assert.equal(describeTransition(asked).identity, describeTransition(deadline).identity);
  });
});

function withoutUntil({ until: _, ...rest }: Extract<Transition, { type: "WindowChanged" }>): Transition {
  return rest;
}

interface WrittenEvent {
  readonly regarding?: { readonly kind: string; readonly name: string };
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly note?: string;
}

/** Ends after so many writes were tried. */
async function record(
  transitions: readonly Transition[],
  tries: number,
  create: (written: readonly WrittenEvent[]) => void = () => undefined,
): Promise<{ written: WrittenEvent[]; warnings: string[]; results: Record<string, number> }> {
  const clock = { now: NOW };
  const results: Record<string, number> = {};
  const stop = new AbortController();
  const written: WrittenEvent[] = [];
  const warnings: string[] = [];
  const log: Logger = { ...silent, warn: (message) => void warnings.push(message) };
  const recorder = new EventRecorder({
    log,
    now: () => clock.now,
    onResult: (result) => (results[result] = (results[result] ?? 0) + 1),
    client: {
      create: async (_resource, object) => {
        written.push(object);
        if (written.length === tries) setImmediate(() => stop.abort());
        create(written);
        return { ...object, metadata: { ...object.metadata, uid: "", resourceVersion: "1" } };
      },
    },
  });
  for (const transition of transitions) recorder.record(transition);
  clock.now = at("+1m");
  await recorder.run(stop.signal);
  return { written, warnings, results };
}

describe("the recorder", () => {
  test("writes each of them, into the namespace of what it is about, or into default", async () => {
    const { written } = await record([deadline, windowChanged], 2);
    assert.deepEqual(
      written.map(({ metadata }) => metadata.namespace),
      ["team-a", "default"],
    );
  });

  test("writes what a policy holds about the Cluster and about the policy", async () => {
    const { written } = await record([held, notHeld], 4);
    assert.deepEqual(
      written
        .map(({ regarding, metadata }) => `${regarding?.kind} ${regarding?.name} in ${metadata.namespace}`)
        .toSorted((a, b) => a.localeCompare(b)),
      [
        "Cluster prod-1 in team-a",
        "Cluster prod-1 in team-a",
        "ClusterHookPolicy fleet in default",
        "HookPolicy protect in team-a",
      ],
    );
    assert.equal(new Set(written.map(({ metadata }) => metadata.name)).size, 4);
    assert.ok(!written.some((event) => "policyNote" in event));
  });

  test("gives the same name to the same transition on every replica", async () => {
    const name = async (transition: Transition): Promise<string | undefined> =>
      (await record([transition], 1)).written[0]?.metadata.name;
    assert.equal(await name(deadline), await name({ ...deadline }));
    assert.notEqual(await name(deadline), await name({ ...deadline, step: 50 }));
    assert.match((await name(deadline)) ?? "", /^hookpolicy\.[0-9a-f]{24}$/);
  });

  test("is silent if another replica was quicker, and continues if the API server refuses", async () => {
    const refuse = (code: number, reason: string) => (written: readonly WrittenEvent[]) => {
      if (written.length === 1) throw new KubeError("refused", { code, reason });
    };
    const quicker = await record([deadline, used], 2, refuse(409, "AlreadyExists"));
    assert.deepEqual([quicker.written.length, quicker.warnings], [2, []]);
    assert.deepEqual(quicker.results, { repeated: 1, written: 1 });
    const refused = await record([deadline, used], 2, refuse(403, "Forbidden"));
    assert.deepEqual([refused.written.length, refused.warnings.length], [2, 1]);
    assert.deepEqual(refused.results, { failed: 1, written: 1 });
    const terminating = await record([deadline, used], 2, refuse(403, "NamespaceTerminating"));
    assert.deepEqual([terminating.results, terminating.warnings], [{ refused: 1, written: 1 }, []]);
  });

  test("cuts a note to what the API takes", async () => {
    const policies = Array.from({ length: 60 }, (_, n) => `HookPolicy team-a/policy-with-a-long-name-${n}`);
    const { written } = await record([{ ...used, policies }], 1);
    assert.equal(Buffer.byteLength(written[0]?.note ?? ""), 1024);
  });

  /** The same deadline of many Clusters. */
  function many(count: number): Transition[] {
    return Array.from({ length: count }, (_, n) => ({
      ...deadline,
      operation: newOperation(DELETE, cluster({ name: `c${n}`, uid: `uid-c${n}` }), NOW, undefined),
    }));
  }

  test("writes the first of many with one cause, and one for all the others, which counts them", async () => {
    const { written } = await record(many(1000), 21);
    assert.equal(written.length, 21);
    const [last] = written.slice(-1);
    assert.deepEqual(
      [last?.regarding?.kind, last?.regarding?.name, last?.series?.count],
      ["HookPolicy", "protect", 980],
    );
    assert.equal(
      last?.note,
      "980 more at about the same time: team-a/c20, team-a/c21, team-a/c22, team-a/c23, team-a/c24 and 975 more",
    );
    assert.match(last?.series?.lastObservedTime ?? "", /^2026-11-21T12:01:00\.000000Z$/);
  });

  test("calls one that is left over by its name, without a series", async () => {
    const { written } = await record(many(21), 21);
    const [last] = written.slice(-1);
    assert.deepEqual([last?.note, last?.series], ["1 more at about the same time: team-a/c20", undefined]);
  });

  test("keeps one cause from taking the room of another", async () => {
    const other: Transition = { ...deadline, policyUID: "uid-other" };
    const { written } = await record([...many(1000), other], 22);
    assert.equal(written.filter(({ series }) => series === undefined).length, 21);
  });

  test("drops what is too much, counts it, and says so once", async () => {
    const inNamespace = (n: number): Transition[] =>
      many(101).map((transition, i) => ({
        ...transition,
        operation: newOperation(DELETE, cluster({ namespace: `ns${n}` }), NOW, undefined),
        policyUID: `uid-${n}-${i}`,
      }));
    const causes = Array.from({ length: 10 }, (_, n) => inNamespace(n)).flat();
    const { results, warnings } = await record(causes, 1);
    assert.deepEqual([results, warnings.length], [{ dropped: 10, written: 1 }, 1]);
  });

  test("never fails the caller that records a transition", async () => {
    const broken = { type: "DeadlineStep" } as Transition;
    const { written } = await record([broken, used], 1);
    assert.equal(written.length, 1);
  });
});
