/** Events: one per transition on all replicas, and never so many that they are a burden. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { Logger } from "../../../src/lib/logger.ts";
import { newOperation } from "../../../src/operations/operation.ts";
import {
  callsChanged,
  deadlineStep,
  held,
  notHeld,
  overrideUsed,
  type PassedStep,
  refused,
  released,
  type WindowEdge,
  windowChanged,
} from "../../../src/memory/policy-events.ts";
import type { EventText } from "../../../src/api/event-text.ts";
import type { RecentResult } from "../../../src/api/hook-policy.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import { aboutPolicy, EventRecorder } from "../../../src/report/event-recorder.ts";
import { at, cluster, DELETE, NOW, override, UPGRADE } from "../builders.ts";
import { silent } from "../memory/fixtures.ts";

const PROTECT = {
  ref: { kind: "HookPolicy", namespace: "team-a", name: "protect" },
  uid: "uid-protect",
} as const;
const FLEET = { ref: { kind: "ClusterHookPolicy", name: "fleet" }, uid: "uid-fleet" } as const;
const OPERATION = {
  namespace: "team-a",
  cluster: "prod-1",
  clusterUID: "uid-prod-1",
  hook: "BeforeClusterDelete",
} as const;
const NOT_HELD: RecentResult = {
  ...OPERATION,
  verdict: "WouldBlock",
  rule: "r",
  gate: "approved",
  reason: "WaitingForAnnotation",
  message: "gate approved waits",
  time: "2026-11-21T12:00:00Z",
};

const deletionOf = (of = cluster()) => newOperation(DELETE, of, NOW, undefined);

function deadline(
  passed: Partial<PassedStep> = {},
  operation = deletionOf(),
  uid = "uid-protect",
): EventText {
  const kind = { releases: true, hasTasks: false, holds: true };
  const step = { rule: "r", step: 80, deadlineAt: at("+1h"), ...kind, ...passed } as const;
  return deadlineStep({ ...PROTECT, uid }, operation, step);
}

const holds = held(
  PROTECT,
  {
    ...OPERATION,
    verdict: "Blocked",
    rule: "r",
    reason: "WaitingForAnnotation",
    message: "gate approved waits",
    firstAsked: "2026-11-21T11:00:00Z",
    since: "2026-11-21T11:00:00Z",
    holds: true,
    basis: "",
  },
  false,
);
const proceeds = released(PROTECT, {
  ...OPERATION,
  verdict: "Allowed",
  reason: "GatesHold",
  time: "2026-11-21T12:00:00Z",
});
const audited = (over: Partial<RecentResult> = {}): EventText => notHeld(FLEET, { ...NOT_HELD, ...over });
const refusal = (over: Partial<RecentResult> = {}): EventText =>
  refused(PROTECT, { ...NOT_HELD, verdict: "Refused", ...over });
const window = (over: Partial<WindowEdge> = {}): EventText =>
  windowChanged(FLEET, { rule: "r", gate: "weekend", open: true, at: NOW, until: at("+1h"), ...over });
const used = (
  call = UPGRADE,
  of = cluster(),
  policies = ["HookPolicy team-a/protect", "ClusterHookPolicy fleet"],
): EventText => overrideUsed(override(), { cluster: of, call }, policies);
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
  const statusAt = (lastTransitionTime: string) => ({
    conditions: [
      { type: "NotCalled", status: "True" as const, observedGeneration: 1, lastTransitionTime, ...why },
    ],
  });

  test("says why not, or that it is again", () => {
    const unasked = callsChanged(PROTECT, undefined, statusAt(since));
    assert.deepEqual([unasked?.type, unasked?.reason, unasked?.note], ["Warning", "NotCalled", why.message]);
    assert.deepEqual(unasked?.regarding, POLICY_REF);
    const again = callsChanged(PROTECT, statusAt(since), {});
    assert.deepEqual([again?.type, again?.reason], ["Normal", "Called"]);
    assert.notEqual(again?.identity, unasked?.identity);
    const later = callsChanged(PROTECT, statusAt("2026-11-22T12:00:00Z"), {});
    assert.notEqual(later?.identity, again?.identity);
    assert.equal(callsChanged(PROTECT, statusAt(since), statusAt("2026-11-22T12:00:00Z")), undefined);
  });
});

describe("the text", () => {
  const cases: Record<string, { text: EventText; reason: string; note: RegExp }> = {
    "of a hold that begins": {
      text: holds,
      reason: "Held",
      note: /^BeforeClusterDelete is held by HookPolicy team-a\/protect, rule r: gate approved waits$/,
    },
    "of an operation that proceeds": {
      text: proceeds,
      reason: "Released",
      note: /^BeforeClusterDelete proceeds: HookPolicy team-a\/protect does not hold it any more \(GatesHold\)$/,
    },
    "of an operation that Audit has not held": {
      text: audited(),
      reason: "WouldBlock",
      note: /^BeforeClusterDelete has proceeded, which ClusterHookPolicy fleet, rule r would hold in mode Enforce: gate approved waits$/,
    },
    "of an operation that no rule could judge": {
      text: audited({ verdict: "NotEvaluable", message: "no such key" }),
      reason: "NotEvaluable",
      note: /^BeforeClusterDelete has proceeded, although ClusterHookPolicy fleet, rule r could not be evaluated: no such key$/,
    },
    "of a request that is refused": {
      text: refusal(),
      reason: "Refused",
      note: /^A request for the deletion was refused by HookPolicy team-a\/protect, rule r: gate approved waits$/,
    },
    "of an upgrade that is refused": {
      text: refusal({ hook: "BeforeClusterUpgrade", targetVersion: "v1.36.0" }),
      reason: "Refused",
      note: /^A request for the upgrade to v1\.36\.0 was refused by HookPolicy team-a\/protect, rule r: /,
    },
    "of a deadline that comes nearer": {
      text: deadline(),
      reason: "DeadlineApproaching",
      note: /^BeforeClusterDelete is held by HookPolicy team-a\/protect, rule r; 80 % .* deadline, 2026-11-21T13:00:00Z, has passed: this rule releases it then$/,
    },
    "of a deadline that is as near as its rule wants to be warned": {
      text: deadline({ step: "Near" }),
      reason: "DeadlineApproaching",
      note: /rule r; its deadline, 2026-11-21T13:00:00Z, is near: this rule releases it then$/,
    },
    "of a deadline that only tells": {
      text: deadline({ releases: false }),
      reason: "DeadlineApproaching",
      note: /: it stays held then, too$/,
    },
    "of a deadline that has passed": {
      text: deadline({ step: 100, holds: false }),
      reason: "DeadlinePassed",
      note: /^BeforeClusterDelete was held by .* until its deadline, 2026-11-21T13:00:00Z: this rule does not hold it any more$/,
    },
    "of a deadline past which tasks hold": {
      text: deadline({ hasTasks: true }),
      reason: "DeadlineApproaching",
      note: /has passed: this rule then waits for its tasks alone$/,
    },
    "of a deadline that has passed while tasks hold": {
      text: deadline({ step: 100, hasTasks: true }),
      reason: "DeadlinePassed",
      note: /^BeforeClusterDelete is held by .*, although its deadline passed at 2026-11-21T13:00:00Z: it waits for its tasks alone$/,
    },
    "of a window that opens": {
      text: window(),
      reason: "WindowOpened",
      note: /^Rule r, gate weekend: open since 2026-11-21T12:00:00Z, until 2026-11-21T13:00:00Z$/,
    },
    "of a window whose end is not found": {
      text: window({ isSearchEnd: true }),
      reason: "WindowOpened",
      note: /, until at least 2026-11-21T13:00:00Z$/,
    },
    "of a window that closes for good": {
      text: window({ open: false, until: undefined }),
      reason: "WindowClosed",
      note: /closed since .*, for good$/,
    },
    "of an override that is used": {
      text: used(),
      reason: "OverrideUsed",
      note: /^BeforeClusterUpgrade proceeds because of HookOverride let-go, without HookPolicy team-a\/protect, ClusterHookPolicy fleet$/,
    },
  };
  for (const [name, { text, reason, note }] of Object.entries(cases)) {
    test(name, () => {
      assert.equal(text.reason, reason);
      assert.match(text.note, note);
    });
  }

  test("regards what it is about, and names what else belongs to it", () => {
    const about = ({ regarding, related }: EventText): unknown[] => [regarding, related];
    assert.deepEqual(about(deadline()), [CLUSTER_REF, POLICY_REF]);
    const { namespace: _, ...clusterWide } = POLICY_REF;
    assert.deepEqual(about(window()), [
      { ...clusterWide, kind: "ClusterHookPolicy", name: "fleet", uid: "uid-fleet" },
      undefined,
    ]);
    assert.deepEqual(about(used()), [
      CLUSTER_REF,
      { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookOverride", name: "let-go", uid: "uid-let-go" },
    ]);
  });

  test("of a hold and of its end is also about the policy, without what the gates wait for", () => {
    const other = (event: EventText): unknown[] => {
      const text = aboutPolicy(event);
      return [text?.regarding.name, text?.reason, text?.note];
    };
    assert.deepEqual(other(holds), [
      "protect",
      "Held",
      "Rule r holds BeforeClusterDelete of Cluster team-a/prod-1 (WaitingForAnnotation)",
    ]);
    assert.deepEqual(other(proceeds), [
      "protect",
      "Released",
      "BeforeClusterDelete of Cluster team-a/prod-1 proceeds (GatesHold)",
    ]);
    assert.deepEqual(other(audited()), [
      "fleet",
      "WouldBlock",
      "Rule r: BeforeClusterDelete of Cluster team-a/prod-1 has proceeded, which it would hold in mode Enforce (WaitingForAnnotation)",
    ]);
    assert.deepEqual(other(refusal()), [
      "protect",
      "Refused",
      "Rule r refused a request for the deletion of Cluster team-a/prod-1 (WaitingForAnnotation)",
    ]);
    for (const text of [deadline(), used(), window()]) assert.equal(aboutPolicy(text), undefined);
  });

  test("is identified by what happened, not by who saw it when", () => {
    const ids = [
      deadline(),
      deadline({ step: 100 }),
      deadline({ deadlineAt: at("+2h") }),
      deadline({ rule: "other" }),
      window(),
      window({ open: false }),
      window({ at: at("+1h") }),
      audited(),
      audited({ targetVersion: "v1.36.0" }),
      refusal(),
      refusal({ rule: "other" }),
      used(),
      used(DELETE),
      used(UPGRADE, cluster({ uid: "another" })),
    ].map(({ identity }) => identity);
    assert.equal(new Set(ids).size, ids.length);
    const asked = newOperation(DELETE, cluster({ resourceVersion: "7" }), at("-1h"), undefined);
    assert.equal(deadline({}, asked).identity, deadline().identity);
  });
});

interface WrittenEvent {
  readonly regarding?: { readonly kind: string; readonly name: string };
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly note?: string;
}

/** Ends after so many writes were tried. */
async function record(
  texts: readonly EventText[],
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
  for (const text of texts) recorder.record(text);
  clock.now = at("+1m");
  await recorder.run(stop.signal);
  return { written, warnings, results };
}

describe("the recorder", () => {
  test("writes each of them, into the namespace of what it is about, or into default", async () => {
    const { written } = await record([deadline(), window()], 2);
    assert.deepEqual(
      written.map(({ metadata }) => metadata.namespace),
      ["team-a", "default"],
    );
  });

  test("writes what a policy holds about the Cluster and about the policy", async () => {
    const { written } = await record([holds, audited()], 4);
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

  test("writes it about both also while many others wait", async () => {
    const others = Array.from({ length: 200 }, (_, n) => deadline({}, deletionOf(), `uid-${n}`));
    const { written } = await record([holds, ...others], 2);
    assert.deepEqual(
      written.map(({ regarding }) => regarding?.kind),
      ["Cluster", "HookPolicy"],
    );
  });

  test("gives the same name to the same transition on every replica", async () => {
    const name = async (text: EventText): Promise<string | undefined> =>
      (await record([text], 1)).written[0]?.metadata.name;
    assert.equal(await name(deadline()), await name(deadline()));
    assert.notEqual(await name(deadline()), await name(deadline({ step: 50 })));
    assert.match((await name(deadline())) ?? "", /^hookpolicy\.[0-9a-f]{24}$/);
  });

  test("is silent if another replica was quicker, and continues if the API server refuses", async () => {
    const refuse = (code: number, reason: string) => (written: readonly WrittenEvent[]) => {
      if (written.length === 1) throw new KubeError("refused", { code, reason });
    };
    const quicker = await record([deadline(), used()], 2, refuse(409, "AlreadyExists"));
    assert.deepEqual([quicker.written.length, quicker.warnings], [2, []]);
    assert.deepEqual(quicker.results, { repeated: 1, written: 1 });
    const denied = await record([deadline(), used()], 2, refuse(403, "Forbidden"));
    assert.deepEqual([denied.written.length, denied.warnings.length], [2, 1]);
    assert.deepEqual(denied.results, { failed: 1, written: 1 });
    const terminating = await record([deadline(), used()], 2, refuse(403, "NamespaceTerminating"));
    assert.deepEqual([terminating.results, terminating.warnings], [{ refused: 1, written: 1 }, []]);
  });

  test("cuts a note to what the API takes", async () => {
    const policies = Array.from({ length: 60 }, (_, n) => `HookPolicy team-a/policy-with-a-long-name-${n}`);
    const { written } = await record([used(UPGRADE, cluster(), policies)], 1);
    assert.equal(Buffer.byteLength(written[0]?.note ?? ""), 1024);
  });

  /** The same deadline of many Clusters. */
  function many(count: number): EventText[] {
    return Array.from({ length: count }, (_, n) =>
      deadline({}, deletionOf(cluster({ name: `c${n}`, uid: `uid-c${n}` }))),
    );
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
    const other = deadline({}, deletionOf(), "uid-other");
    const { written } = await record([...many(1000), other], 22);
    assert.equal(written.filter(({ series }) => series === undefined).length, 21);
  });

  test("drops what is too much, counts it, and says so once", async () => {
    const inNamespace = (n: number): EventText[] =>
      Array.from({ length: 101 }, (_, i) =>
        deadline({}, deletionOf(cluster({ namespace: `ns${n}` })), `uid-${n}-${i}`),
      );
    const causes = Array.from({ length: 10 }, (_, n) => inNamespace(n)).flat();
    const { results, warnings } = await record(causes, 1);
    assert.deepEqual([results, warnings.length], [{ dropped: 10, written: 1 }, 1]);
  });
});
