import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { HookTaskSpec } from "../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import type { CompiledPolicy } from "../../../src/policy/policy.ts";
import { stubPolicy } from "../../../src/memory/stored-views.ts";
import { decide } from "../../../src/policy/decide.ts";
import type { Override } from "../../../src/policy/world.ts";
import { isOperationOver, permitOf, type PermitWorld } from "../../../src/tasks/permit.ts";
import {
  ALL_HOOKS,
  calling,
  cluster,
  compiled,
  DELETE,
  heldAt,
  letGo,
  namespace,
  NOW,
  override,
  UPGRADE,
} from "../builders.ts";
import { hookTask } from "./hook-tasks.ts";
import { task, taskRule, taskWorld, withTasks } from "../policy/tasks/fixtures.ts";

const policy = compiled(withTasks([task()]));
const deleted = calling(DELETE, cluster());

function specOf(of: CompiledPolicy, on: Cluster, call = DELETE): HookTaskSpec {
  const [intent] = decide([of], taskWorld({ cluster: on }), call, NOW).begins ?? [];
  assert.ok(intent !== undefined);
  return intent.spec;
}

const spec = specOf(policy, deleted);

interface Asked extends Partial<Omit<PermitWorld, "overrides">> {
  readonly spec?: HookTaskSpec;
  /** The HookTask's namespace. */
  readonly home?: string;
  readonly overrides?: readonly Override[];
}

function permit({ spec: of = spec, home = "team-a", overrides = [], ...over }: Asked = {}) {
  const { metadata, ...kind } = hookTask();
  return permitOf(
    { ...kind, metadata: { ...metadata, namespace: home }, spec: of },
    {
      cluster: deleted,
      namespace: namespace(),
      policy,
      overrides: { ofCluster: () => overrides },
      served: ALL_HOOKS,
      now: NOW,
      ...over,
    },
  );
}

const never = (over: Asked): string => {
  const result = permit(over);
  return result.may === "Never" ? result.why : result.may;
};

describe("an attempt", () => {
  test("may begin while the Cluster shows the operation", () => {
    assert.deepEqual(permit(), { may: "Begin" });
    assert.deepEqual(permit({ namespace: undefined }).may, "Begin");
    assert.deepEqual(permit({ cluster: cluster() }), { may: "Wait" });
  });

  test("never begins for another Cluster, or one that is gone, paused or released", () => {
    assert.equal(never({ cluster: undefined }), "the Cluster is gone");
    assert.equal(never({ cluster: calling(DELETE, cluster({ uid: "another" })) }), "the Cluster is gone");
    assert.equal(never({ cluster: { ...deleted, paused: true } }), "the Cluster is paused");
    assert.match(never({ cluster: letGo(deleted) }), /the operation has ended/);
  });

  test("never begins without its policy, as that is now", () => {
    assert.equal(never({ policy: undefined }), "the policy is gone");
    assert.equal(never({ policy: { ...policy, uid: "another" } }), "the policy is gone");
    assert.equal(never({ policy: { ...policy, mode: "Audit" } }), "the policy only audits");
    const edited = compiled(withTasks([task({ name: "another" })]));
    assert.equal(never({ policy: edited }), "the policy does not have this task any more");
    assert.equal(
      never({ policy: { ...policy, selectsCluster: () => false } }),
      "the policy does not select the Cluster any more",
    );
  });

  test("waits for a policy that may still have its task, and does not show it", () => {
    const known = withTasks([task()]);
    const unclear = withTasks([{ ...task(), later: true } as never]);
    const broken = withTasks([task({ when: "cluster.(" })]);
    const wait = { may: "Wait", why: "its policy cannot be evaluated now" } as const;
    for (const object of [stubPolicy(known), unclear, broken])
      assert.deepEqual(permit({ policy: compiled(object) }), wait);
    const beside = withTasks([], {}, { rules: [taskRule([task()]), {} as never] });
    assert.deepEqual(permit({ policy: compiled(beside) }), { may: "Begin" });
    const over = letGo(deleted);
    assert.match(never({ policy: compiled(broken), cluster: over }), /the operation has ended/);
    const audit = withTasks([task({ when: "cluster.(" })], {}, { mode: "Audit" });
    assert.equal(never({ policy: compiled(audit) }), "the policy only audits");
  });

  test("never begins in a namespace that is not that of the policy's ServiceAccount", () => {
    assert.match(never({ home: "team-b" }), /ServiceAccount is in another namespace/);
  });

  test("waits after initialization while the Cluster is paused or released: nothing calls again", () => {
    const hook = "AfterControlPlaneInitialized";
    const initialized = compiled(withTasks([task()], { hooks: [hook] }));
    const own = { ...spec, hook } as const;
    const on = cluster();
    const at = { policy: initialized, spec: own, cluster: on };
    assert.deepEqual(permit(at), { may: "Begin" });
    assert.deepEqual(permit({ ...at, cluster: { ...on, paused: true } }), { may: "Wait" });
    assert.deepEqual(permit({ ...at, overrides: [override({ hooks: [hook] })] }), { may: "Wait" });
  });

  test("never begins past a HookOverride", () => {
    assert.match(never({ overrides: [override()] }), /^HookOverride .* releases the Cluster without it$/);
  });
});

describe("an operation is over", () => {
  const upgrading = compiled(withTasks([task()], { hooks: ["BeforeClusterUpgrade"] }));
  const waiting = heldAt("BeforeClusterUpgrade", calling(UPGRADE, cluster()));
  const own = specOf(upgrading, waiting, UPGRADE);
  const isOver = (on: Cluster | undefined, hasFinished = false, of = own): boolean =>
    isOperationOver(
      { spec: of, ...(hasFinished && { status: { phase: "Succeeded" } }) },
      on,
      ALL_HOOKS,
      upgrading,
    );

  test("once the Cluster is gone, deleted, or wants another version", () => {
    assert.deepEqual(
      [
        waiting,
        undefined,
        calling(DELETE, waiting),
        { ...waiting, topology: { className: "lab", version: "v1.34.0" } },
      ].map((on) => isOver(on)),
      [false, true, true, true],
    );
  });

  test("when the upgrade has begun", () => {
    const annotations = { "runtime.cluster.x-k8s.io/pending-hooks": "AfterClusterUpgrade" };
    assert.equal(isOver({ ...waiting, metadata: { ...waiting.metadata, annotations } }), true);
  });

  test("not because the Cluster is paused, or too large for memory", () => {
    assert.equal(isOver({ ...waiting, paused: true }), false);
    assert.equal(isOver({ ...waiting, tooLarge: true }), false);
  });

  test("after initialization, when the task has ended, too", () => {
    const of = { ...own, hook: "AfterControlPlaneInitialized" } as const;
    const passed = { ...cluster() };
    assert.deepEqual([isOver(passed, false, of), isOver(passed, true, of)], [false, true]);
    assert.equal(isOver(calling(DELETE, cluster()), false, of), true);
  });
});
