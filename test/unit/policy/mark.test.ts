/** Which marks a command may set for a gate: test/redteam/apiserver/tenant-marks.test.ts tries it on a real API server. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { markReaders, type Reader } from "../../../src/policy/mark-readers.ts";
import { type Mark, placeOf, whyNotSettable } from "../../../src/policy/mark.ts";

const gate = (kind: "annotation" | "label", key: string, more: object = {}): object => ({
  name: "g",
  [kind]: { key, ...more },
});

const FREEZE: Reader = {
  name: "ClusterHookPolicy freeze",
  spec: {
    namespaceSelector: { matchLabels: { env: "prod" } },
    clusterSelector: { matchExpressions: [{ key: "tier", operator: "Exists" }] },
    rules: [
      {
        name: "r",
        matchConditions: [{ name: "m", expression: "'example.com/skip' in cluster.metadata.annotations" }],
        until: [
          gate("annotation", "example.com/approved", { from: "Namespace" }),
          {
            name: "any",
            anyOf: [
              gate("label", "example.com/signed"),
              { name: "e", expression: "namespaceObject.metadata.labels.audited == 'yes'" },
              {
                name: "o",
                object: {
                  namespaceSelector: { matchLabels: { team: "x" } },
                  nameExpression: "cluster.metadata.labels['app']",
                },
              },
            ],
          },
        ],
        tasks: [
          {
            name: "t",
            when: "has(cluster.metadata.annotations.keep)",
            succeeded: "object.status.done == cluster.metadata.labels['example.com/done']",
            create: {
              metadata: { labels: { team: "<< cluster.metadata.labels['example.com/owner'] >>" } },
              spec: { args: ["<< cluster.metadata.annotations['example.com/target'] >>", "plain"] },
            },
          },
        ],
      },
    ],
  },
};
const ROLLOUT: Reader = {
  name: "HookRollout upgrades",
  spec: {
    clusterSelector: { matchLabels: { wave: "1" } },
    orderLabelKey: "order",
    spread: [
      { labelKey: "region", maxConcurrency: 1 },
      { labelKey: "account", from: "Namespace", maxConcurrency: 1 },
    ],
    stages: [
      {
        name: "s",
        namespaceSelector: { matchLabels: { stage: "canary" } },
        until: [gate("annotation", "example.com/promoted")],
      },
    ],
  },
};
const REGISTRATION: Reader = {
  name: "ExtensionConfig hookpolicy",
  spec: { namespaceSelector: { matchExpressions: [{ key: "asked", operator: "NotIn", values: ["no"] }] } },
};
const READERS = markReaders([REGISTRATION, ROLLOUT, FREEZE], true);

function why(on: Mark["on"], field: Mark["field"], key: string, kind = "HookPolicy" as const): string {
  return whyNotSettable({ on, field, key, value: "v" }, kind, READERS)?.why ?? "may be set";
}

const TENANT: readonly (readonly [Mark["on"], Mark["field"], string, RegExp])[] = [
  ["Cluster", "annotation", "example.com/mine", /^may be set$/],
  ["Cluster", "annotation", "mine", /^may be set$/],
  ["Cluster", "label", "example.com/mine", /^may be set$/],
  // A label that a selector reads elsewhere, or an annotation of that key.
  ["Cluster", "label", "env", /^may be set$/],
  ["Cluster", "annotation", "tier", /^may be set$/],
  // Reserved.
  [
    "Namespace",
    "label",
    "pod-security.kubernetes.io/enforce",
    /keys of pod-security\.kubernetes\.io belong to/,
  ],
  ["Cluster", "annotation", "kubernetes.io/x", /belong to/],
  ["Cluster", "annotation", "k8s.io/x", /belong to/],
  ["Cluster", "annotation", "a.b.k8s.io/x", /belong to/],
  ["Cluster", "annotation", "cluster.x-k8s.io/paused", /belong to/],
  ["Cluster", "annotation", "runtime.cluster.x-k8s.io/ok-to-delete", /belong to/],
  ["Cluster", "annotation", "RunTime.Cluster.X-K8s.io/ok-to-delete", /belong to/],
  ["Cluster", "annotation", "hookpolicy.dev/x", /belong to/],
  // Domains that only look like these.
  ["Cluster", "annotation", "notkubernetes.io/x", /^may be set$/],
  ["Cluster", "annotation", "kubernetes.io.example.com/x", /^may be set$/],
  ["Cluster", "annotation", "k8s.io", /^may be set$/],
  // Selectors.
  ["Namespace", "label", "env", /^ClusterHookPolicy freeze selects by this label/],
  ["Cluster", "label", "tier", /^ClusterHookPolicy freeze selects/],
  ["Namespace", "label", "team", /^ClusterHookPolicy freeze selects/],
  ["Cluster", "label", "wave", /^HookRollout upgrades selects/],
  ["Cluster", "label", "order", /^HookRollout upgrades selects/],
  ["Cluster", "label", "region", /^HookRollout upgrades selects/],
  ["Namespace", "label", "account", /^HookRollout upgrades selects/],
  ["Cluster", "label", "account", /^may be set$/],
  ["Namespace", "label", "stage", /^HookRollout upgrades selects/],
  ["Namespace", "label", "asked", /^ExtensionConfig hookpolicy selects/],
  // Approvals of the platform.
  ["Namespace", "annotation", "example.com/approved", /^ClusterHookPolicy freeze waits for it/],
  ["Cluster", "label", "example.com/signed", /^ClusterHookPolicy freeze waits/],
  ["Cluster", "annotation", "example.com/skip", /^ClusterHookPolicy freeze waits/],
  ["Cluster", "label", "audited", /^ClusterHookPolicy freeze waits/],
  ["Cluster", "label", "app", /^ClusterHookPolicy freeze waits/],
  ["Cluster", "annotation", "keep", /^ClusterHookPolicy freeze waits/],
  ["Cluster", "label", "example.com/done", /^ClusterHookPolicy freeze waits/],
  ["Cluster", "label", "example.com/owner", /^ClusterHookPolicy freeze waits/],
  ["Cluster", "annotation", "example.com/target", /^ClusterHookPolicy freeze waits/],
  ["Cluster", "annotation", "plain", /^may be set$/],
  ["Cluster", "annotation", "example.com/promoted", /^HookRollout upgrades waits/],
  ["Cluster", "annotation", "example.com/approved", /^may be set$/],
  // Anything else on the Namespace.
  [
    "Namespace",
    "annotation",
    "example.com/mine",
    /^a HookPolicy names it.*--namespace-mark example\.com\/mine=v$/,
  ],
  ["Namespace", "label", "mine", /^a HookPolicy names it/],
];

describe("a gate of a HookPolicy", () => {
  for (const [on, field, key, expected] of TENANT)
    test(`${field} ${key} on the ${on}: ${expected.source}`, () => {
      assert.match(why(on, field, key), expected);
    });
});

test("only a mark on the Namespace may be set because it is named", () => {
  const named = TENANT.filter(([on, field, key]) => {
    return whyNotSettable({ on, field, key, value: "v" }, "HookPolicy", READERS)?.unlessNamed === true;
  });
  assert.deepEqual(
    named.map(([on, , key]) => [on, key]),
    [
      ["Namespace", "example.com/mine"],
      ["Namespace", "mine"],
    ],
  );
});

test("the platform's own gates may name other approvals and the Namespace, but neither reserved keys nor labels that select", () => {
  const settable = TENANT.filter(([on, field, key]) => {
    return whyNotSettable({ on, field, key, value: "v" }, "ClusterHookPolicy", READERS) === undefined;
  });
  const expected = TENANT.filter(([, , , reason]) => /waits|may be set|names it/.test(reason.source));
  assert.deepEqual(settable, expected);
});

test("several readers of a mark are named in one order, and nothing that is stored makes them fail", () => {
  const b = { name: "HookRollout b", spec: { clusterSelector: { matchLabels: { x: "1" } } } };
  const a = { name: "HookRollout a", spec: { clusterSelector: { matchLabels: { x: "2" } } } };
  const place = placeOf({ on: "Cluster", field: "label", key: "x" });
  assert.equal(markReaders([b, a]).selectors.get(place), "HookRollout a");
  const odd: unknown[] = [
    undefined,
    null,
    7,
    [],
    { clusterSelector: 7, rules: [null, 7, [{ annotation: { key: 7 } }]] },
  ];
  const readers = markReaders(odd.map((spec, index) => ({ name: `x${index}`, spec })));
  assert.deepEqual([readers.gates.size, readers.selectors.size], [0, 0]);
});
