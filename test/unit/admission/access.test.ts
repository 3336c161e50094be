import assert from "node:assert/strict";
import { test } from "node:test";
import type { GateSpec, ObjectGateSpec } from "../../../src/api/hook-policy.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { clusterHookPolicy, hookPolicy, rule } from "../builders.ts";
import { type Answer, BACKUP, BACKUPS, changed, webhook } from "./reviews.ts";

const gate = (over: Partial<ObjectGateSpec> = {}, name = "backed-up"): GateSpec => ({
  name,
  object: { ...BACKUP, selector: {}, ...over },
});

const FINAL = gate({ selector: undefined as never, name: "final" });
const own = (...until: GateSpec[]): PolicyObject => hookPolicy({ rules: [rule({ until })] });
const fleet = (...until: GateSpec[]): PolicyObject => clusterHookPolicy({ rules: [rule({ until })] });
const nobody = { allowed: () => false };

function refusedAs({ allowed, status }: Answer, code: number): string {
  assert.equal(allowed, false);
  assert.equal(status?.code, code);
  return status.message;
}

test("the author of a HookPolicy needs the right to list the kind in its namespace", async () => {
  const hook = webhook(nobody);
  const answer = await hook.create(own(gate()));
  assert.equal(
    refusedAs(answer, 403),
    'HookPolicy.hookpolicy.dev "protect" is forbidden: spec.rules[0].until[0].object: user "jane" cannot list resource "backups" in API group "velero.io" in the namespace "team-a": a gate may look only at what its author may read',
  );
  assert.deepEqual(answer.status?.details.causes, [
    {
      reason: "FieldValueForbidden",
      field: "spec.rules[0].until[0].object",
      message: answer.status?.message.split(".object: ")[1],
    },
  ]);
  const access = { verb: "list", group: "velero.io", resource: "backups", namespace: "team-a" };
  assert.deepEqual(hook.asked, [{ user: "jane", access }]);
  assert.equal((await webhook().create(own(gate()))).allowed, true);
});

test("for one object by name, the right to get it is enough", async () => {
  const hook = webhook({ allowed: ({ verb, name }) => verb === "get" && name === "final" });
  assert.equal((await hook.create(own(FINAL))).allowed, true);
  const answer = await webhook(nobody).create(own(FINAL));
  assert.match(
    refusedAs(answer, 403),
    /cannot get resource "backups" .* named "final" in the namespace "team-a"/,
  );
});

test("a computed name can be any", async () => {
  const hook = webhook();
  await hook.create(own(gate({ selector: undefined as never, nameExpression: "cluster.metadata.name" })));
  assert.deepEqual(hook.asked[0]?.access, {
    verb: "list",
    group: "velero.io",
    resource: "backups",
    namespace: "team-a",
  });
});

test("a ClusterHookPolicy looks into the namespaces of all Clusters, unless it names one", async () => {
  const hook = webhook(nobody);
  const everywhere = await hook.create(fleet(gate()));
  assert.match(
    refusedAs(everywhere, 403),
    /cannot list resource "backups" in API group "velero.io" in all namespaces/,
  );
  const one = await hook.create(fleet(gate({ namespace: "backups" })));
  assert.match(refusedAs(one, 403), /in the namespace "backups"/);
  assert.deepEqual(
    hook.asked.map(({ access }) => access.namespace),
    [undefined, "backups"],
  );
});

test("a namespace in a HookPolicy is not where it looks", async () => {
  const hook = webhook();
  await hook.create(changed(own(), { rules: [rule({ until: [gate({ namespace: "elsewhere" })] })] }));
  assert.equal(hook.asked[0]?.access.namespace, "team-a");
});

test("objects of a cluster-scoped kind have no namespace, and a HookPolicy does not reach them", async () => {
  const located = () => ({ resource: { group: "", plural: "nodes", namespaced: false } });
  const hook = webhook({ located });
  assert.deepEqual((await hook.create(own(gate()))).warnings, [
    "spec.rules[0].until[0].object: the kind is cluster-scoped, which needs a ClusterHookPolicy",
  ]);
  assert.equal((await hook.create(fleet(gate({ namespace: "team-a" })))).warnings, undefined);
  assert.deepEqual(
    hook.asked.map(({ access }) => access.namespace),
    [undefined, undefined],
  );
  assert.match(
    refusedAs(await webhook({ ...nobody, located }).create(fleet(gate())), 403),
    /cannot list resource "nodes" in API group "" at the cluster scope/,
  );
});

test("gates are found inside anyOf, and in rules that are wrong otherwise", async () => {
  const anyOf: GateSpec = { name: "either", anyOf: [gate({}, "a"), gate({ namespace: "x" }, "b")] };
  const hook = webhook(nobody);
  const unknown = { ...rule({ name: "later", until: [FINAL] }), patience: "1h" };
  const policy = changed(own(), { rules: [rule({ until: [anyOf] }), unknown] });
  const fields = (await hook.create(policy)).status?.details.causes.map(({ field }) => field);
  assert.deepEqual(fields, [
    "spec.rules[0].until[0].anyOf[0].object",
    "spec.rules[0].until[0].anyOf[1].object",
    "spec.rules[1].until[0].object",
  ]);
});

test("each kind and each right is asked for once, however many gates need it", async () => {
  const hook = webhook();
  await hook.create(own(gate({}, "a"), gate({ minCount: 2 }, "b"), FINAL));
  assert.deepEqual(hook.located, ["Backup"]);
  assert.deepEqual(
    hook.asked.map(({ access }) => access.verb),
    ["list", "get"],
  );
});

test("on an update only gates that are new or changed count", async () => {
  const bot = webhook(nobody);
  const before = own(gate());
  const renamed = hookPolicy({
    mode: "Audit",
    rules: [rule({ name: "first" }), rule({ until: [gate({}, "other")] })],
  });
  assert.equal((await bot.update(before, renamed)).allowed, true, "moved and renamed");
  assert.deepEqual([bot.located, bot.asked], [[], []]);
  const guess = "object.spec.password.startsWith('a')";
  refusedAs(await bot.update(before, own(gate({ expression: guess }))), 403);
  refusedAs(await bot.update(before, own(gate(), gate({ minCount: 2 }, "more"))), 403);
});

test("a gate that looks where the selectors of a ClusterHookPolicy say changes with them", async () => {
  const bot = webhook(nobody);
  const wider = { namespaceSelector: { matchLabels: { team: "b" } } };
  refusedAs(await bot.update(fleet(gate()), changed(fleet(gate()), wider)), 403);
  refusedAs(
    await bot.update(fleet(gate()), changed(fleet(gate()), { clusterSelector: { matchLabels: { a: "b" } } })),
    403,
  );
  const named = fleet(gate({ namespace: "backups" }));
  assert.equal((await bot.update(named, changed(named, wider))).allowed, true);
});

test("a kind that is not served can be named only by who may list everything of its group", async () => {
  const problem = "the API server serves no kind Backup in velero.io/v1: install it, or correct the gate";
  const hook = webhook({ located: () => ({ problem }), allowed: ({ resource }) => resource !== "*" });
  assert.match(
    refusedAs(await hook.create(own(FINAL)), 403),
    /it is unknown whether user "jane" may read objects of this kind: the API server serves no kind Backup/,
  );
  assert.deepEqual(hook.asked, [
    { user: "jane", access: { verb: "list", group: "velero.io", resource: "*" } },
  ]);
  const admin = webhook({ located: () => ({ problem }) });
  assert.deepEqual((await admin.create(own(FINAL))).warnings, [`spec.rules[0].until[0].object: ${problem}`]);
  await admin.create(own({ name: "core", object: { apiVersion: "v1", kind: "Gizmo", name: "a" } }));
  assert.equal(admin.asked.at(-1)?.access.group, "");
});

test("what the operator itself may not read is a warning", async () => {
  const problem = "the operator may not read backups.velero.io";
  const hook = webhook({ located: () => ({ ...BACKUPS, problem }) });
  const { allowed, warnings } = await hook.create(own(gate()));
  assert.equal(allowed, true);
  assert.deepEqual(warnings, [`spec.rules[0].until[0].object: ${problem}`]);
});

test("an API server that does not answer is a refusal for now, and only of gates that are new", async () => {
  const away = (): never => {
    throw new Error("away");
  };
  for (const given of [{ located: away }, { allowed: away }]) {
    const hook = webhook(given);
    const answer = await hook.create(own(gate()));
    assert.match(
      refusedAs(answer, 503),
      /^HookPolicy\.hookpolicy\.dev "protect" cannot be checked now: spec\.rules\[0\]\.until\[0\]\.object: .*"jane".*: try again$/,
    );
    assert.deepEqual(hook.log.messages("warn"), ["Failed to check what the author of a policy may read"]);
    assert.equal((await hook.update(own(gate()), own(gate({}, "renamed")))).allowed, true);
  }
});

test("a missing right is reported before one that could not be checked", async () => {
  const hook = webhook({
    allowed: ({ verb }) => {
      if (verb === "get") throw new Error("away");
      return false;
    },
  });
  assert.match(refusedAs(await hook.create(own(FINAL, gate())), 403), /until\[1\]/);
});

test("to look into selected namespaces, the author lists the kind in all of them, and the Namespaces", async () => {
  const selecting = gate({ namespaceSelector: { matchLabels: { env: "staging" } } });
  const hook = webhook();
  assert.equal((await hook.create(fleet(selecting))).allowed, true);
  assert.deepEqual(
    hook.asked.map(({ access }) => access),
    [
      { verb: "list", group: "velero.io", resource: "backups" },
      { verb: "list", group: "", resource: "namespaces" },
    ],
  );
  const without = (resource: string) => webhook({ allowed: (access) => access.resource !== resource });
  assert.match(
    refusedAs(await without("backups").create(fleet(selecting)), 403),
    /cannot list resource "backups" in API group "velero.io" in all namespaces/,
  );
  assert.match(
    refusedAs(await without("namespaces").create(fleet(selecting)), 403),
    /cannot list resource "namespaces" in API group "" at the cluster scope/,
  );
});

test("a name, or a namespace beside the selector, does not narrow what the author may have to list", async () => {
  const namespaceSelector = { matchLabels: { env: "staging" } };
  const named = gate({ selector: undefined as never, name: "final", namespaceSelector });
  const both = gate({ namespace: "backups", namespaceSelector }, "both");
  const hook = webhook({ allowed: ({ namespace, name }) => namespace !== undefined || name !== undefined });
  for (const until of [named, both]) refusedAs(await hook.create(fleet(until)), 403);
});

test("a selector of namespaces that is new or changed is asked for, and an unchanged one is not", async () => {
  const staging = gate({ namespaceSelector: { matchLabels: { env: "staging" } } });
  const hook = webhook(nobody);
  refusedAs(await hook.update(fleet(gate()), fleet(staging)), 403);
  refusedAs(await hook.update(fleet(staging), fleet(gate({ namespaceSelector: {} }))), 403);
  assert.equal((await hook.update(fleet(staging), fleet(staging, FINAL))).allowed, false);
  assert.equal((await hook.update(fleet(staging, FINAL), fleet(staging))).allowed, true);
});

test("a cluster-scoped kind has no namespaces to select", async () => {
  const located = () => ({ resource: { group: "", plural: "nodes", namespaced: false } });
  const { warnings } = await webhook({ located }).create(fleet(gate({ namespaceSelector: {} })));
  assert.deepEqual(warnings, [
    "spec.rules[0].until[0].object: the kind is cluster-scoped: remove namespaceSelector",
  ]);
});
