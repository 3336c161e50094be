/** The operator where something of the API server is missing, refused or not as it should be. */

import assert from "node:assert/strict";
import { request as post } from "node:https";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { PENDING_HOOKS_ANNOTATION } from "../../src/api/meta.ts";
import type { HookName, HookResponse } from "../../src/api/runtime-hooks.ts";
import { DISCOVERY_PATH } from "../../src/api/hook-catalog.ts";
import { type Ref, objectOf } from "../controlplane/client.ts";
import { CLUSTER_DEFINITION, installClusterDefinition } from "../controlplane/cluster-api.ts";
import { clusterRef, createCluster, isGone, NEXT_VERSION } from "../controlplane/lab.ts";
import { installHookPolicy, type LogLine, NAMESPACE } from "../controlplane/operator.ts";
import {
  APPROVED,
  applyPolicy,
  approvalRule,
  approve,
  condition,
  policyRow,
  policyRef,
  statusOf,
} from "../controlplane/policies.ts";
import { HOOK_POLICY_DEFINITION, isRefusal, removeDefinition, startLab } from "./operator-lab.ts";

const HOOK = "BeforeClusterUpgrade";
const NOT_LOADED = /^HookPolicy is still loading policies/;
const NOT_CONFIRMED = /^HookPolicy could not confirm the decision/;

const lab = await startLab({ seed: undefined });
after(async () => await lab.stop());
const { cp } = lab;

const policyOf = (namespace: string): Ref => policyRef(namespace, "protect");

async function protect(namespace: string): Promise<void> {
  await applyPolicy(cp, policyOf(namespace), { rules: [approvalRule(HOOK)] });
}

async function create(namespace: string, name: string): Promise<void> {
  await createCluster(cp, { namespace, name, version: NEXT_VERSION });
}

async function readyReason(policy: Ref, status: "True" | "False"): Promise<string> {
  return await cp.waitFor(`${policy.namespace}/${policy.name} to be Ready=${status}`, async () => {
    const ready = condition(await cp.get(policy), "Ready");
    return ready?.status === status && ready.reason;
  });
}

/** From the first answer of a server that is just starting. */
async function answerOf(call: () => Promise<HookResponse>): Promise<HookResponse> {
  return await cp.waitFor("the hook server to answer", call);
}

function logged(pattern: RegExp): LogLine | undefined {
  return lab.operator.lines().find((line) => pattern.test(JSON.stringify(line)));
}

async function discover(): Promise<readonly unknown[]> {
  const url = new URL(DISCOVERY_PATH, lab.operator.url);
  const outgoing = post(url, { method: "POST", agent: false, ca: cp.authority.certificate });
  outgoing.end("{}");
  const [response] = await once(outgoing, "response");
  const answer: { handlers: readonly unknown[] } = JSON.parse(await text(response));
  return answer.handlers;
}

describe("without the definition of HookPolicy", () => {
  before(async () => await removeDefinition(cp, HOOK_POLICY_DEFINITION));
  after(async () => await installHookPolicy(cp));

  test("holds everything from its start, and loads by itself when it is defined", async () => {
    await create("undefined", "c1");
    await lab.start({ waitReady: false });
    const answer = await answerOf(async () => await lab.ask(HOOK, "undefined", "c1"));
    assert.deepEqual([answer.status, answer.retryAfterSeconds], ["Success", 5]);
    assert.match(answer.message ?? "", NOT_LOADED);

    await installHookPolicy(cp);
    await protect("undefined");
    const held = await lab.ask(HOOK, "undefined", "c1");
    assert.equal(held.retryAfterSeconds, 5);
    assert.match(
      held.message ?? "",
      /^HookPolicy undefined\/protect, rule approval: gate approved waits for/,
    );
  });

  test("holds everything when it is removed", async () => {
    await approve(cp, "undefined", "c1");
    const goes = async (): Promise<boolean> =>
      (await lab.ask(HOOK, "undefined", "c1")).retryAfterSeconds === 0;
    await cp.waitFor("the approved Cluster to be let go", goes);
    await removeDefinition(cp, HOOK_POLICY_DEFINITION);
    const answer = await lab.ask(HOOK, "undefined", "c1");
    assert.equal(answer.retryAfterSeconds, 5);
    assert.match(answer.message ?? "", NOT_CONFIRMED);
    await installHookPolicy(cp);
    await cp.waitFor("the Cluster to be let go, which nothing holds any more", goes);
  });

  test("holds everything while it is being removed, when its policies are gone already", async () => {
    await create("leaving", "c1");
    await protect("leaving");
    assert.match((await lab.ask(HOOK, "leaving", "c1")).message ?? "", /^HookPolicy leaving\/protect/);
    const last = policyOf("staying");
    await applyPolicy(cp, last, { mode: "Audit", rules: [approvalRule(HOOK)] });
    await cp.patch(last, { metadata: { finalizers: ["example.com/stays"] } });

    await cp.delete(HOOK_POLICY_DEFINITION);
    await isGone(cp, policyOf("leaving"));
    const answers: HookResponse[] = [];
    await cp.waitFor("memory to have no policy", async () => {
      const answer = await lab.ask(HOOK, "leaving", "c1");
      answers.push(answer);
      return !answer.message?.startsWith("HookPolicy leaving/protect");
    });
    assert.match(answers.at(-1)?.message ?? "", NOT_CONFIRMED);
    assert.deepEqual(
      answers.filter(({ retryAfterSeconds }) => retryAfterSeconds === 0),
      [],
    );
    const reason = 'reason="DefinitionChanging"';
    assert.ok((await lab.operator.metric("hookpolicy_unconfirmed_releases_total", reason)) > 0);
    await cp.patch(last, { metadata: { finalizers: [] } });
    await isGone(cp, HOOK_POLICY_DEFINITION);
  });
});

describe("without Cluster API", () => {
  let request: object;
  before(async () => {
    await create("capi", "c1");
    request = await lab.requestFor("capi", "c1");
    await protect("capi");
    await removeDefinition(cp, CLUSTER_DEFINITION);
  });
  after(async () => await installClusterDefinition(cp));

  test("answers discovery before it is ready, and is ready without having loaded", async () => {
    await lab.start({ waitReady: false });
    const handlers = await cp.waitFor("discovery", discover);
    assert.equal(handlers.length, 9);
    assert.equal(await lab.operator.ready(), false);
    assert.match((await lab.operator.ask(HOOK, request)).message ?? "", NOT_LOADED);
    await cp.waitFor("it to be ready", lab.operator.ready);
    assert.match((await lab.operator.ask(HOOK, request)).message ?? "", NOT_LOADED);
  });

  test("says so in every policy, and heals when it is installed", async () => {
    assert.equal(await readyReason(policyOf("capi"), "False"), "ClusterAPINotInstalled");
    const reconciling = condition(await cp.get(policyOf("capi")), "Reconciling");
    assert.deepEqual([reconciling?.status, reconciling?.reason], ["True", "ClusterAPINotInstalled"]);
    await installClusterDefinition(cp);
    assert.equal(await readyReason(policyOf("capi"), "True"), "Loaded");
    assert.equal(condition(await cp.get(policyOf("capi")), "Reconciling"), undefined);
  });

  test("lets nothing go when it is removed while a Cluster is held", async () => {
    for (const name of ["held", "approved"]) await create("capi", name);
    await approve(cp, "capi", "approved");
    assert.equal((await lab.ask(HOOK, "capi", "held")).retryAfterSeconds, 5);
    await policyRow(cp, policyOf("capi"), "held", HOOK);
    const [held, approved] = [await lab.requestFor("capi", "held"), await lab.requestFor("capi", "approved")];
    await lab.releases("the approval to count", HOOK, "capi", "approved");

    await removeDefinition(cp, CLUSTER_DEFINITION);
    const stays = async (): Promise<void> => {
      assert.equal((await lab.operator.ask(HOOK, held)).retryAfterSeconds, 5);
      const answer = await lab.operator.ask(HOOK, approved);
      assert.equal(answer.retryAfterSeconds, 5);
      assert.match(answer.message ?? "", NOT_CONFIRMED);
    };
    await stays();
    assert.equal(await readyReason(policyOf("capi"), "False"), "ClusterAPINotInstalled");
    await stays();

    await installClusterDefinition(cp);
    assert.equal(await readyReason(policyOf("capi"), "True"), "Loaded");
    await create("capi", "held");
    assert.equal((await lab.ask(HOOK, "capi", "held")).retryAfterSeconds, 5);
    await policyRow(cp, policyOf("capi"), "held", HOOK);
    await approve(cp, "capi", "held");
    await lab.releases("it to go", HOOK, "capi", "held");
  });
});

describe("without the right to", () => {
  const role: Ref = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name: "hookpolicy" };
  let shipped: readonly Rule[];
  before(async () => {
    shipped = (await cp.get(role))["rules"];
    await protect("rights");
    for (const name of ["held", "approved"]) await create("rights", name);
    await approve(cp, "rights", "approved");
    await lab.start();
  });

  interface Rule {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
  }

  /** What is left of a rule without one verb on one resource. */
  const without = (rule: Rule, verb: string, resource: string): Rule[] => {
    if (!rule.resources.includes(resource)) return [rule];
    const others = rule.resources.filter((other) => other !== resource);
    const less = { ...rule, resources: [resource], verbs: rule.verbs.filter((other) => other !== verb) };
    return [less, ...(others.length > 0 ? [{ ...rule, resources: others }] : [])].filter(
      ({ verbs }) => verbs.length > 0,
    );
  };

  const allow = async (rules: readonly Rule[], verb: string, resource: string): Promise<void> => {
    await cp.patch(role, { rules });
    const group = shipped.find(({ resources }) => resources.includes(resource))?.apiGroups[0];
    const [name, subresource] = resource.split("/");
    const wanted = rules === shipped;
    await cp.waitFor(`the right to ${verb} ${resource} to be ${String(wanted)}`, async () => {
      const review = await cp.create({
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        metadata: { name: "" },
        spec: {
          user: `system:serviceaccount:${NAMESPACE}:hookpolicy`,
          resourceAttributes: { group, resource: name, subresource, verb, namespace: "rights" },
        },
      });
      return review["status"].allowed === wanted;
    });
  };

  /** With one verb less from `during` on; afterwards the rest must heal by itself. */
  const lacking = async (
    [verb, resource]: readonly [verb: string, resource: string],
    during: () => Promise<void>,
    healed?: () => Promise<unknown>,
  ): Promise<void> => {
    await allow(
      shipped.flatMap((rule) => without(rule, verb, resource)),
      verb,
      resource,
    );
    try {
      await during();
    } finally {
      await allow(shipped, verb, resource);
    }
    const { pid } = lab.operator.daemon;
    await healed?.();
    await lab.releases("the approved Cluster to be let go", HOOK, "rights", "approved");
    assert.equal((await lab.ask(HOOK, "rights", "held")).retryAfterSeconds, 5);
    assert.equal(lab.operator.daemon.pid, pid);
    assert.ok(lab.operator.daemon.running());
  };

  const bothHeld = async (why: RegExp): Promise<void> => {
    const held = await answerOf(async () => await lab.ask(HOOK, "rights", "held"));
    assert.equal(held.retryAfterSeconds, 5);
    const approved = await lab.ask(HOOK, "rights", "approved");
    assert.equal(approved.retryAfterSeconds, 5);
    assert.match(approved.message ?? "", why);
  };

  for (const [resource, plural] of [
    ["hookpolicies", "hookpolicies.hookpolicy.dev"],
    ["clusterhookpolicies", "clusterhookpolicies.hookpolicy.dev"],
    ["namespaces", "namespaces"],
  ] as const) {
    test(`list ${resource} it lets nothing go, says why, and heals`, async () => {
      await lacking(["list", resource], async () => {
        await lab.start({ waitReady: false });
        await bothHeld(NOT_LOADED);
        await cp.waitFor("it to say why", () =>
          logged(new RegExp(`Lost contact.*${plural}.* is forbidden|Lost contact.*${plural}.*403`)),
        );
      });
    });
  }

  test("list clusters it lets nothing go, says so in every policy, and heals", async () => {
    await lacking(["list", "clusters"], async () => {
      await lab.start({ waitReady: false });
      await bothHeld(NOT_LOADED);
      assert.equal(await readyReason(policyOf("rights"), "False"), "ClustersForbidden");
    });
    assert.equal(await readyReason(policyOf("rights"), "True"), "Loaded");
  });

  for (const resource of ["clusters", "namespaces"]) {
    test(`get ${resource} it confirms no release, says why, and heals`, async () => {
      await lacking(["get", resource], async () => {
        await bothHeld(NOT_CONFIRMED);
        const line = lab.operator.lines().findLast(({ msg }) => msg.startsWith("Holding a Cluster because"));
        assert.deepEqual([line?.["cluster"], line?.["reason"]], ["rights/approved", "Forbidden"]);
        assert.ok((await lab.operator.metric("hookpolicy_unconfirmed_releases_total", '"Forbidden"')) > 0);
      });
    });
  }

  test("list hookpolicies that it lost while it runs, it confirms no release", async () => {
    await lacking(["list", "hookpolicies"], async () => await bothHeld(NOT_CONFIRMED));
  });

  test("update a status it decides as before, says why, and heals", async () => {
    await create("rights", "new");
    await cp.waitFor("the new Cluster to be matched", async () => {
      return statusOf(await cp.get(policyOf("rights"))).matchedClusters === 3;
    });
    const row = async (): Promise<unknown> => await policyRow(cp, policyOf("rights"), "new", HOOK);
    await lacking(
      ["update", "hookpolicies/status"],
      async () => {
        assert.equal((await lab.ask(HOOK, "rights", "new")).retryAfterSeconds, 5);
        await cp.waitFor("it to say why", () => logged(/Reconcile failed.*hookpolicies\/status.*rights/));
        assert.equal((await lab.ask(HOOK, "rights", "new")).retryAfterSeconds, 5);
      },
      row, // before any other call
    );
  });
});

describe("with a policy that only the operator refuses", () => {
  const SCHEMA = "/spec/versions/0/schema/openAPIV3Schema";
  let schema: unknown;
  before(async () => {
    const definition = await cp.get(HOOK_POLICY_DEFINITION);
    schema = definition["spec"].versions[0].schema.openAPIV3Schema;
    await create("invalid", "c1");
    // As they are when Cluster API calls: a release is for what the Cluster shows.
    await create("invalid", "upgrading");
    const marks = { [PENDING_HOOKS_ANNOTATION]: "AfterControlPlaneUpgrade,AfterWorkersUpgrade" };
    await cp.patch(clusterRef("invalid", "upgrading"), { metadata: { annotations: marks } });
    await create("invalid", "deleted");
    await cp.patch(clusterRef("invalid", "deleted"), { metadata: { finalizers: ["example.com/keeps-it"] } });
    await cp.delete(clusterRef("invalid", "deleted"));
  });

  const setSchema = async (value: unknown): Promise<void> => {
    const patch = [{ op: "replace", path: SCHEMA, value }];
    await cp.patch(HOOK_POLICY_DEFINITION, patch, { type: "json" });
  };

  const store = async (name: string, rule: object, spec: object = {}): Promise<void> => {
    const rules = [{ ...approvalRule(HOOK), ...rule }];
    await cp.waitFor(`the API server to take ${name}`, async () => {
      return await cp.create(objectOf(policyRef("invalid", name), { spec: { rules, ...spec } }));
    });
  };

  /** Otherwise the next policy is judged by the old schema. */
  const strictAgain = async (): Promise<void> => {
    const empty = JSON.stringify(objectOf(policyRef("invalid", "empty"), { spec: {} }));
    const path = "/apis/hookpolicy.dev/v1alpha1/namespaces/invalid/hookpolicies?dryRun=All";
    await cp.waitFor("the API server to be strict again", async () => {
      return await cp.request("POST", path, empty).then(() => false, isRefusal);
    });
  };

  const stalled = async (name: string, message: string): Promise<void> => {
    assert.equal(await readyReason(policyRef("invalid", name), "False"), "InvalidSpec");
    const policy = await cp.get(policyRef("invalid", name));
    const { status, reason, message: told } = condition(policy, "Stalled") ?? {};
    assert.deepEqual({ status, reason, message: told }, { status: "True", reason: "InvalidSpec", message });
  };

  const MISSPELT =
    'spec.rules[0].until[0].annotation.valueForm: unknown field "valueForm", ' +
    'expected one of key, from, value, valueFrom; did you mean "valueFrom"?';
  const TOO_SOON = "spec.rules[0].retryAfterSeconds: found the number 1, expected at least 5";

  test("holds what the broken rule is about, and nothing else", async () => {
    await setSchema({ type: "object", "x-kubernetes-preserve-unknown-fields": true });
    const until = [{ name: "approved", annotation: { key: APPROVED, valueForm: "ClusterUID" } }];
    await store("too-soon", { hooks: ["BeforeClusterCreate"], retryAfterSeconds: 1 });
    await store(
      "ignored",
      { hooks: ["AfterControlPlaneUpgrade"], retryAfterSeconds: 1 },
      { failurePolicy: "Ignore" },
    );
    await store("misspelt", { until }); // last: the old schema drops the field instead of refusing it
    await lab.start(); // what reads by the old schema never sees the unknown field
    const answer = await cp.waitFor("an answer by what is loaded", async () => {
      const found = await lab.ask(HOOK, "invalid", "c1");
      return !NOT_LOADED.test(found.message ?? "") && found;
    });
    assert.equal(answer.message, `HookPolicy invalid/misspelt, rule approval is not evaluable: ${MISSPELT}`);
    assert.equal(answer.retryAfterSeconds, 10);
    await stalled("misspelt", MISSPELT);
    await cp.delete(policyRef("invalid", "misspelt")); // a strict schema hides the field, also from us

    await setSchema(schema);
    await strictAgain();
    await applyPolicy(cp, policyRef("invalid", "good"), { rules: [approvalRule("BeforeClusterDelete")] });
    const held = await lab.ask("BeforeClusterCreate", "invalid", "c1");
    assert.equal(held.message, `HookPolicy invalid/too-soon, rule approval is not evaluable: ${TOO_SOON}`);
    const row = await policyRow(cp, policyRef("invalid", "too-soon"), "c1", "BeforeClusterCreate");
    assert.deepEqual([row.verdict, row.reason, row.message], ["NotEvaluable", "InvalidSpec", TOO_SOON]);
    assert.equal(statusOf(await cp.get(policyRef("invalid", "too-soon"))).blocked, 2, "c1 and upgrading");
    for (const name of ["too-soon", "ignored"]) await stalled(name, TOO_SOON);

    const goes = async (hook: HookName, name: string): Promise<boolean> =>
      (await lab.ask(hook, "invalid", name)).retryAfterSeconds === 0;
    await lab.releases("failurePolicy Ignore to", "AfterControlPlaneUpgrade", "invalid", "upgrading");
    assert.equal(statusOf(await cp.get(policyRef("invalid", "ignored"))).blocked, 0);
    assert.ok(!(await goes("BeforeClusterDelete", "deleted")), "a good policy holds");
    await lab.releases("a hook without a policy", "AfterWorkersUpgrade", "invalid", "upgrading");
    for (const name of ["c1", "deleted"]) await approve(cp, "invalid", name);
    await lab.releases("the good policy to", "BeforeClusterDelete", "invalid", "deleted");
    assert.ok(!(await goes("BeforeClusterCreate", "c1")), "an approval cures no broken rule");
  });
});
