/** The matchConditions of the shipped webhooks: they leave out only requests that begin no operation. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { celEnv, isCelError, parse, plan } from "@bufbuild/cel";
import { parse as parseYaml } from "yaml";
import { decodeClusterReview } from "../../../src/admission/cluster-review.ts";
import { requestedOperation, requestedOperations } from "../../../src/operations/requested-operation.ts";
import { viewCluster } from "../../../src/views/cluster.ts";

const KIND = { group: "cluster.x-k8s.io", kind: "Cluster" };
const MANIFEST = join(import.meta.dirname, "../../../manifests/cluster-admission/webhook.yaml");

interface Webhook {
  readonly failurePolicy: string;
  readonly matchConditions: readonly { readonly name: string; readonly expression: string }[];
}

const webhooks: readonly Webhook[] = parseYaml(readFileSync(MANIFEST, "utf8")).webhooks;
const [webhook, workersWebhook] = webhooks;
assert.ok(webhook !== undefined && workersWebhook !== undefined);
const env = celEnv();
const compile = ({ matchConditions }: Webhook) =>
  matchConditions.map(({ expression }) => plan(env, parse(expression)));
const conditions = compile(webhook);
const workersConditions = compile(workersWebhook);

interface Request {
  readonly oldObject?: object;
  readonly object?: object;
  readonly options?: object | null;
}

/** As the API server does with failurePolicy Fail: a false condition leaves the request out, an error refuses it. */
function isAwaited(
  { oldObject, object, options = null }: Request,
  expressions = conditions,
): boolean | "refused" {
  const operation = object === undefined ? "DELETE" : oldObject === undefined ? "CREATE" : "UPDATE";
  const request = { operation, options };
  const variables = { request, object: object ?? null, oldObject: oldObject ?? null };
  const results = expressions.map((holds) => holds(variables as Parameters<typeof holds>[0]));
  if (results.includes(false)) return false;
  return results.some(isCelError) ? "refused" : true;
}

const TOPOLOGIES = [undefined, { version: "v1.34.0" }, { version: "v1.35.0" }];
const ANNOTATIONS = [
  undefined,
  {},
  { "cluster.x-k8s.io/paused": "" },
  { "clusterctl.cluster.x-k8s.io/delete-for-move": "" },
  { "cluster.x-k8s.io/paused": "", "runtime.cluster.x-k8s.io/pending-hooks": "AfterClusterUpgrade" },
];

/** Every state that the conditions tell apart; without spec, too. */
const OBJECTS = [undefined, "2026-11-21T12:00:00Z"].flatMap((deletionTimestamp) =>
  ANNOTATIONS.flatMap((annotations) => [
    objectOf({ deletionTimestamp, annotations }, undefined),
    ...TOPOLOGIES.flatMap((topology) =>
      [undefined, false, true].map((paused) =>
        objectOf({ deletionTimestamp, annotations }, { topology, paused }),
      ),
    ),
  ]),
);

/** Without the fields that are undefined. */
function objectOf(metadata: object, spec: object | undefined): object {
  return JSON.parse(JSON.stringify({ metadata: { name: "c1", namespace: "team-a", ...metadata }, spec }));
}

test("a request that the API server leaves out begins no operation", () => {
  assert.equal(webhook.failurePolicy, "Fail");
  let [asked, left] = [0, 0];
  const requests: Request[] = [
    ...OBJECTS.flatMap((object) => [{ object }, { oldObject: object }]),
    ...OBJECTS.flatMap((oldObject) => OBJECTS.map((object) => ({ oldObject, object }))),
  ];
  for (const request of requests) {
    const { oldObject, object } = request;
    const requested = requestedOperation({
      ...(oldObject && { before: viewCluster(oldObject) }),
      ...(object && { after: viewCluster(object) }),
    });
    const is = isAwaited(request);
    if (requested !== undefined) assert.equal(is, true, JSON.stringify(request));
    if (is === false) left += 1;
    else asked += 1;
    assert.notEqual(is, "refused", JSON.stringify(request));
  }
  assert.ok(asked > 100 && left > 1000, `${asked} asked, ${left} left out`);
});

const DELETE_OPTIONS = [
  null,
  {},
  ...["Foreground", "Background", "Orphan"].map((propagationPolicy) => ({ propagationPolicy })),
  ...[true, false].map((orphanDependents) => ({ orphanDependents })),
];

/** Each with the finalizers of the garbage collector, too. */
const DELETIONS: readonly Request[] = OBJECTS.flatMap((object) =>
  [undefined, ["foregroundDeletion"], ["orphan"]].flatMap((finalizers) => {
    const metadata = { ...Object(object).metadata, ...(finalizers && { finalizers }) };
    return DELETE_OPTIONS.map((options) => ({ oldObject: { ...object, metadata }, options }));
  }),
);

test("no deletion in the foreground is left out, and none that orphans what a Cluster owns", () => {
  for (const request of DELETIONS) {
    const review = { uid: "r", kind: KIND, operation: "DELETE", userInfo: {}, ...request };
    const decoded = decodeClusterReview(Buffer.from(JSON.stringify({ request: review })));
    assert.ok(decoded);
    const { change } = decoded;
    const awaited = change.cascade !== undefined || requestedOperation(change) !== undefined;
    assert.equal(isAwaited(request), awaited, JSON.stringify(request));
  }
});

test("an update that leaves the version is left out", () => {
  const before = objectOf({}, { topology: { version: "v1.34.0" } });
  const after = objectOf({ labels: { a: "b" } }, { topology: { version: "v1.34.0", variables: [] } });
  assert.equal(isAwaited({ oldObject: before, object: after }), false);
});

const PINS = [undefined, "v1.33.0", "v1.34.0"];

/** Two groups of workers each, of which one may be missing. */
const WORKERS = [
  undefined,
  {},
  ...["machineDeployments", "machinePools"].flatMap((list) =>
    PINS.flatMap((first) => [
      { [list]: [{ name: "a", version: first }] },
      ...PINS.map((second) => ({
        [list]: [
          { name: "a", version: first },
          { name: "b", version: second },
        ],
      })),
    ]),
  ),
];

const PINNED = [undefined, "v1.34.0", "v1.35.0"].flatMap((version) => [
  ...WORKERS.flatMap((workers) => [
    objectOf({}, { topology: version && { version, workers } }),
    objectOf(
      { annotations: { "cluster.x-k8s.io/paused": "" } },
      { topology: version && { version, workers } },
    ),
  ]),
  objectOf({}, undefined),
]);

test("a request that gives workers another version by a pin is left out by neither webhook", () => {
  assert.equal(workersWebhook.failurePolicy, "Fail");
  let [asked, left] = [0, 0];
  for (const oldObject of PINNED)
    for (const object of PINNED) {
      const request = { uid: "r", kind: KIND, operation: "UPDATE", userInfo: {}, oldObject, object };
      const decoded = decodeClusterReview(Buffer.from(JSON.stringify({ request })));
      assert.ok(decoded);
      const results = [conditions, workersConditions].map((each) => isAwaited({ oldObject, object }, each));
      assert.ok(!results.includes("refused"), JSON.stringify(request));
      const operations = requestedOperations(decoded.change);
      if (operations.length > 0) assert.ok(results.includes(true), JSON.stringify(request));
      if (operations.some(({ workers }) => workers !== undefined))
        assert.equal(results[1], true, JSON.stringify(request));
      if (results[1] === true) asked += 1;
      else left += 1;
    }
  assert.ok(asked > 1000 && left > 1000, `${asked} asked, ${left} left out`);
});

test("a Cluster with thousands of workers is compared in one pass", () => {
  const many = Array.from({ length: 2000 }, (_, index) => ({ name: `md-${index}`, version: "v1.34.0" }));
  const spec = { topology: { version: "v1.34.0", workers: { machineDeployments: many } } };
  const [oldObject, object] = [objectOf({}, spec), objectOf({ labels: { a: "b" } }, spec)];
  assert.equal(isAwaited({ oldObject, object }, workersConditions), false);
});
