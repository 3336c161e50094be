/** Suites remember as the operator's store does: the same random story told to both, under one clock. */

import assert from "node:assert/strict";
import test from "node:test";
import * as fc from "fast-check";
import type { HookPolicySpec } from "../../../../src/api/hook-policy.ts";
import type { HookCall } from "../../../../src/api/runtime-hooks.ts";
import { Session } from "../../../../src/cli/suite/session.ts";
import { SuiteObjects } from "../../../../src/cli/suite/suite-objects.ts";
import { isAwaited } from "../../../../src/operations/hook-lives.ts";
import type { PolicyObject } from "../../../../src/memory/policy-set.ts";
import { viewCluster } from "../../../../src/views/cluster.ts";
import type { Decision } from "../../../../src/policy/decision.ts";
import { clusterMarks, policySpec, type RandomCluster } from "../../../corpus/world-arbitraries.ts";
import { ALL_HOOKS, DELETE, hookPolicy, MAX_OVERRIDE_MS, namespace, NOW, UPGRADE } from "../../builders.ts";
import { storeWith } from "../../memory/fixtures.ts";
import { CLUSTER } from "./suites.ts";
import { runs } from "../../../generated.ts";

type Event =
  | { readonly minutes: number }
  | { readonly marks: RandomCluster }
  | { readonly call: HookCall }
  | { readonly deletionTimestamp: true }
  /** Of the first policy. */
  | { readonly edit: (spec: HookPolicySpec) => HookPolicySpec };

const spec: fc.Arbitrary<HookPolicySpec> = policySpec.map(({ namespaceSelector: _, ...own }) => own);
const edit = fc.oneof(
  spec.map((own) => () => own),
  fc.constantFrom<(own: HookPolicySpec) => HookPolicySpec>(
    (own) => ({ ...own, mode: own.mode === "Audit" ? "Enforce" : "Audit" }),
    (own) => ({ ...own, rules: own.rules.map((rule) => ({ ...rule, message: "changed" })) }),
    (own) => ({ ...own, rules: own.rules.toReversed() }),
  ),
);

const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ minutes: fc.oneof(fc.integer({ min: 1, max: 90 }), fc.constant(600)) }),
  },
  { weight: 2, arbitrary: fc.record({ marks: clusterMarks }) },
  { weight: 4, arbitrary: fc.record({ call: fc.constantFrom(DELETE, UPGRADE) }) },
  { weight: 3, arbitrary: fc.record({ deletionTimestamp: fc.constant(true as const) }) },
  { weight: 2, arbitrary: fc.record({ edit }) },
);
const policies = fc
  .array(spec, { minLength: 1, maxLength: 3 })
  .map((specs) => specs.map((own, index) => hookPolicy(own, { name: `p${index}`, uid: `uid-p${index}` })));

interface Teller {
  tell(event: Event): Decision | undefined;
}

const HELD = {
  type: "TopologyReconciled",
  status: "False",
  message: "Following hooks are blocking upgrade: BeforeClusterUpgrade: …",
};

/** Each change is a new version, as on an API server. */
class RawCluster {
  #metadata: Readonly<Record<string, unknown>> = { ...CLUSTER.metadata, resourceVersion: "1" };
  #version = 1;

  change(fields: object): object {
    this.#version += 1;
    this.#metadata = { ...this.#metadata, ...fields, resourceVersion: String(this.#version) };
    return this.object;
  }

  get object(): object {
    return { ...CLUSTER, metadata: this.#metadata, status: { conditions: [HELD] } };
  }
}

const deleted = { deletionTimestamp: NOW.toISOString() };

/** The first policy after an edit. */
function edited(objects: PolicyObject[], change: (spec: HookPolicySpec) => HookPolicySpec): PolicyObject {
  const [{ spec: before, metadata } = hookPolicy()] = objects;
  const after = hookPolicy(change(before), { ...metadata, generation: (metadata.generation ?? 0) + 1 });
  objects[0] = after;
  return after;
}

function ofStore(objects: PolicyObject[]): Teller {
  const raw = new RawCluster();
  const fixture = storeWith({ policies: [...objects], clusters: [viewCluster(raw.object)] });
  return {
    tell: (told) => {
      if ("marks" in told) fixture.setCluster(viewCluster(raw.change(told.marks)));
      if ("deletionTimestamp" in told) fixture.setCluster(viewCluster(raw.change(deleted)));
      if ("edit" in told) fixture.setPolicy(edited(objects, told.edit));
      if ("minutes" in told) {
        // Every edge of these policies is at a whole minute.
        for (let minute = 0; minute < told.minutes; minute += 1) {
          fixture.clock.now = new Date(fixture.clock.now.getTime() + 60_000);
          fixture.store.wake();
        }
      }
      if (!("call" in told) || !isAwaited(told.call.hook, viewCluster(raw.object), ALL_HOOKS))
        return undefined;
      const request = { call: told.call, cluster: viewCluster(raw.object) };
      const { basis: _, ...decision } = fixture.store.decider.ask(request, fixture.clock.now);
      return decision;
    },
  };
}

function ofSuite(objects: PolicyObject[]): Teller {
  const raw = new RawCluster();
  const suite = new SuiteObjects({ served: ALL_HOOKS, maxOverrideMs: MAX_OVERRIDE_MS, now: NOW });
  const ownNamespace = { apiVersion: "v1", kind: "Namespace", ...namespace() };
  suite.create(
    [...objects, ownNamespace, raw.object].map((object) => ({ ...object })),
    NOW,
  );
  const session = new Session(suite, { served: ALL_HOOKS, now: NOW, tasks: { all: () => [] } });
  session.objectsChanged();
  const replace = (object: object, kind = "Cluster", name = "prod-1"): void => {
    suite.delete([{ kind, name }]);
    suite.create([{ ...object }], session.now);
    session.objectsChanged();
  };
  return {
    tell: (told) => {
      if ("marks" in told) replace(raw.change(told.marks));
      if ("deletionTimestamp" in told) replace(raw.change(deleted));
      if ("edit" in told) replace(edited(objects, told.edit), "HookPolicy", "p0");
      if ("minutes" in told) session.advanceTo(new Date(session.now.getTime() + told.minutes * 60_000));
      const cluster = suite.fleet.cluster("team-a", "prod-1");
      // A suite takes every call for Cluster API's; the operator, only what the Cluster itself confirms.
      const wanted = "call" in told && isAwaited(told.call.hook, viewCluster(raw.object), ALL_HOOKS);
      return wanted && cluster !== undefined ? session.ask(cluster, told.call) : undefined;
    },
  };
}

test("whatever happens, a suite gives the answers of the operator's store", () => {
  const size = runs(150);
  let [held, released] = [0, 0];
  fc.assert(
    fc.property(policies, fc.array(event, { minLength: 4, maxLength: 12 }), (objects, story) => {
      const [store, suite] = [ofStore([...objects]), ofSuite([...objects])];
      for (const told of story) {
        const expected = store.tell(told);
        assert.deepEqual(suite.tell(told), expected);
        held += Number(expected?.holds === true);
        released += Number(expected?.holds === false);
      }
    }),
    size,
  );
  assert.ok(held > size.numRuns / 3 && released > size.numRuns / 3, `${held} held, ${released} released`);
});
