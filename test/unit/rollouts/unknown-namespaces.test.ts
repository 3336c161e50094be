/** The law: a Namespace that is not known, for whatever reason, makes no stage smaller and no limit larger. */

import assert from "node:assert/strict";
import test from "node:test";
import * as fc from "fast-check";
import type { HookRolloutSpec } from "../../../src/api/hook-policy.ts";
import type { Namespace, StoredNamespace } from "../../../src/api/meta.ts";
import { memberOf } from "../../../src/rollouts/member.ts";
import { computeRolloutStatus } from "../../../src/rollouts/rollout-status.ts";
import { Slots } from "../../../src/rollouts/slots.ts";
import { stubNamespace } from "../../../src/views/too-large.ts";
import { runs } from "../../generated.ts";
import { clusterMeta, failureOf, NOW, readyStatus, rolloutOf, TARGET, waitingCluster } from "./fixtures.ts";

const value = fc.constantFrom("a", "b");
const limit = fc.constantFrom<number | string>(0, 1, 2, 3, "0%", "34%", "50%", "100%");
const selector = fc.oneof(
  fc.constant({}),
  value.map((of) => ({ matchLabels: { env: of } })),
  fc.constant({ matchExpressions: [{ key: "env", operator: "DoesNotExist" as const }] }),
);
const stage = fc
  .record({
    namespaceSelector: selector,
    clusterSelector: selector,
    maxConcurrency: limit,
    minSucceeded: limit,
    maxFailures: limit,
  })
  .filter(({ namespaceSelector: one, clusterSelector: other }) => JSON.stringify([one, other]) !== "[{},{}]");
const spec: fc.Arbitrary<Partial<HookRolloutSpec>> = fc
  .record({
    namespaceSelector: selector,
    maxConcurrency: limit,
    from: fc.constantFrom("Cluster" as const, "Namespace" as const),
    most: limit,
    stages: fc.array(stage, { minLength: 1, maxLength: 3 }),
  })
  .map(({ from, most, stages, ...rest }) => ({
    ...rest,
    spread: [{ labelKey: "env", from, maxConcurrency: most }],
    stages: [...stages.map((each, index) => ({ ...each, name: `s${index}` })), { name: "rest" }],
  }));

type Hide = (namespace: Namespace) => StoredNamespace | undefined;
const hide = fc.constantFrom<Hide>(
  (namespace) => namespace,
  () => undefined,
  stubNamespace,
  (namespace) => ({ metadata: stubNamespace(namespace).metadata, tooLarge: true }),
);
const labels = fc.option(value, { nil: undefined }).map((env) => (env === undefined ? {} : { env }));
const fleet = fc.array(
  fc.record({
    labels,
    ofNamespace: labels,
    hide,
    state: fc.constantFrom("waits", "runs", "succeeded", "failed"),
  }),
  { maxLength: 6 },
);

const RUNS = runs(3000);

test("what is not known of Namespaces lets no stage pass, and no Cluster begin", () => {
  fc.assert(
    fc.property(spec, fleet, (given, all) => {
      const rollout = rolloutOf(given);
      assert.equal(rollout.problem, undefined);
      const seen = (as: (each: (typeof all)[number]) => Hide) =>
        all.flatMap((each, index) => {
          const name = `n${index}`;
          const namespace = { metadata: { name, uid: name, resourceVersion: "1", labels: each.ofNamespace } };
          const metadata = {
            ...clusterMeta("c", each.labels, each.state === "runs"),
            namespace: name,
            uid: name,
          };
          const reconciled = each.state !== "waits" && each.state !== "runs";
          const cluster = waitingCluster("c", { metadata, progress: { reconciled } });
          const member = memberOf(rollout, cluster, as(each)(namespace));
          const health = each.state === "failed" ? ("Unhealthy" as const) : ("Healthy" as const);
          const state = { cluster, health, hasReached: reconciled, lastsUnhealthy: false, isAwaited: true };
          return member === undefined ? [] : [{ member, ...state }];
        });
      const known = seen(() => (namespace) => namespace);
      const failed = known
        .filter(({ health }) => health === "Unhealthy")
        .map(({ member: { metadata, stage: home } }) => {
          const where = { namespace: metadata.namespace ?? "", uid: metadata.uid };
          return failureOf("c", { ...where, stage: home?.name ?? "" });
        });
      const stored = readyStatus({ failed, targets: [{ version: TARGET, stages: [] }] });
      const look = (members: typeof known) => {
        const input = { rollout, stored, members, isPresent: true, isRebuilding: false, scope: "" };
        const rest = { ended: new Set<string>(), next: [], held: [], heldOmitted: 0 };
        const status = computeRolloutStatus({ ...input, ...rest }, NOW);
        const slots = new Slots(
          rollout,
          status,
          members.map(({ member }) => member),
          NOW,
        );
        return { stages: status.targets?.[0]?.stages, slots };
      };
      const [truth, sight] = [look(known), look(seen((each) => each.hide))];
      // Without a member that wants the version, nothing waits for a stage.
      for (const { name, passed } of truth.stages ?? []) {
        const seems = sight.stages?.find((each) => each.name === name)?.passed === true;
        assert.ok(!seems || passed, `stage ${name} passes`);
      }
      for (const each of rollout.stages)
        for (const env of ["a", "b", undefined]) {
          const room = { stage: each, values: [env] };
          assert.ok(!sight.slots.hasRoom(room) || truth.slots.hasRoom(room), `${each.name} has room`);
        }
    }),
    RUNS,
  );
});
