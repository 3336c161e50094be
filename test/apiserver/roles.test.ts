/** What the shipped ClusterRoles let people do, asked of a real API server, into whose roles one aggregates them. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createCluster } from "../controlplane/lab.ts";
import { may, type Question } from "../controlplane/may.ts";
import { approvalRule, clusterPolicyRef, overrideRef, storePolicy } from "../controlplane/policies.ts";
import { allow, binding, createAccountWith } from "../controlplane/rights.ts";
import { sharedControlPlane } from "../controlplane/shared.ts";
import { kustomize, ROOT } from "../install/tools.ts";
import { hookpolicy, type Outcome } from "../unit/cli/program.ts";

const GROUP = "hookpolicy.dev";
const TEAM = "roles-a";
const ELSEWHERE = "roles-b";
const READ = ["get", "list", "watch"];
const WRITE = ["create", "update", "patch", "delete", "deletecollection"];
const ALL = [...READ, ...WRITE];
const KINDS = ["hookpolicies", "clusterhookpolicies", "hookoverrides", "hookrollouts"];

/** By resource: the verbs that are allowed, of all that there are. */
type Rights = Readonly<Record<string, readonly string[]>>;

interface Person {
  readonly role: string;
  /** A RoleBinding in team-a, or a ClusterRoleBinding. */
  readonly where: "namespace" | "cluster";
  readonly may: Rights;
}

const PEOPLE: Readonly<Record<string, Person>> = {
  "who has view in a namespace reads its policies": {
    role: "view",
    where: "namespace",
    may: { hookpolicies: READ },
  },
  "who has edit in a namespace writes its policies": {
    role: "edit",
    where: "namespace",
    may: { hookpolicies: ALL },
  },
  "who has admin in a namespace writes its policies": {
    role: "admin",
    where: "namespace",
    may: { hookpolicies: ALL },
  },
  "who has view everywhere reads all policies": {
    role: "view",
    where: "cluster",
    may: { hookpolicies: READ, clusterhookpolicies: READ, hookrollouts: READ },
  },
  "who has admin everywhere still writes no ClusterHookPolicy or HookRollout, and overrides nothing": {
    role: "admin",
    where: "cluster",
    may: { hookpolicies: ALL, clusterhookpolicies: READ, hookrollouts: READ },
  },
  "hookpolicy-cluster-edit is for ClusterHookPolicies and HookRollouts": {
    role: "hookpolicy-cluster-edit",
    where: "cluster",
    may: { clusterhookpolicies: ALL, hookrollouts: ALL },
  },
  "hookpolicy-cluster-view reads what holds in every namespace, and no HookTask of others": {
    role: "hookpolicy-cluster-view",
    where: "cluster",
    may: { clusterhookpolicies: READ, hookoverrides: READ, hookrollouts: READ },
  },
  "hookpolicy-break-glass overrides, and keeps the record": {
    role: "hookpolicy-break-glass",
    where: "cluster",
    may: {
      hookpolicies: READ,
      clusterhookpolicies: READ,
      hookoverrides: [...READ, "create", "patch"],
      hookrollouts: READ,
    },
  },
};

const cp = await sharedControlPlane();
after(async () => await cp.stop());
await cp.apply(
  [TEAM, ELSEWHERE].map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
);

async function bind(user: string, { role: name, where }: Omit<Person, "may">): Promise<void> {
  const metadata = { name: `${user}:${name}`, ...(where === "namespace" && { namespace: TEAM }) };
  await cp.apply(binding(metadata, { kind: "ClusterRole", name }, { kind: "User", name: user }));
}

function about(plural: string, namespace: string): Pick<Question, "resource" | "namespace"> {
  return { resource: `${plural}.${GROUP}`, ...(plural === "hookpolicies" && { namespace }) };
}

async function rightsOf(user: string, namespace: string): Promise<Rights> {
  const rights = await Promise.all(
    KINDS.map(async (resource) => {
      const what = about(resource, namespace);
      const allowed = await Promise.all(
        ALL.map(async (verb) => ((await may(cp, user, { verb, ...what })) ? [verb] : [])),
      );
      return [resource, allowed.flat()] as const;
    }),
  );
  return Object.fromEntries(rights.filter(([, verbs]) => verbs.length > 0));
}

describe("people:", () => {
  for (const [title, person] of Object.entries(PEOPLE)) {
    test(title, async () => {
      const user = title.replaceAll(/\W+/g, "-").toLowerCase();
      await bind(user, person);
      const [resource = "", verbs = []] = Object.entries(person.may).at(-1) ?? [];
      await cp.waitFor("the roles to be aggregated", async () =>
        may(cp, user, { verb: verbs.at(-1) ?? "", ...about(resource, TEAM) }),
      );
      assert.deepEqual(await rightsOf(user, TEAM), person.may);
      const elsewhere = person.where === "cluster" ? person.may : {};
      assert.deepEqual(await rightsOf(user, ELSEWHERE), elsewhere);
      for (const kind of KINDS) {
        for (const verb of ["get", "update", "patch"]) {
          const question = { verb, subresource: "status", ...about(kind, TEAM) };
          assert.equal(await may(cp, user, question), false, `${verb} ${kind}/status`);
        }
      }
    });
  }
});

describe("by the command line:", () => {
  const HOOK = "BeforeClusterDelete";
  const CLUSTER = `${TEAM}/held`;
  const POLICY = clusterPolicyRef("roles-everywhere");
  before(async () => {
    await createCluster(cp, { namespace: TEAM, name: "held" });
    await storePolicy(cp, POLICY, {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": TEAM } },
      rules: [approvalRule(HOOK)],
    });
  });
  after(async () => await cp?.delete(POLICY));

  /** As a ServiceAccount of the team that has these roles. */
  async function runAs(
    name: string,
    ...roles: readonly Omit<Person, "may">[]
  ): Promise<(...args: readonly string[]) => Promise<Outcome>> {
    await createAccountWith(cp, TEAM, name);
    const user = `system:serviceaccount:${TEAM}:${name}`;
    for (const role of roles) await bind(user, role);
    const last = { verb: "list", resource: `clusterhookpolicies.${GROUP}` };
    await cp.waitFor("the roles to count", async () => await may(cp, user, last));
    const kubeconfig = await cp.kubeconfigFor(TEAM, name);
    return async (...args) => await hookpolicy([...args, "--kubeconfig", kubeconfig]);
  }

  async function explainsAll(run: (...args: readonly string[]) => Promise<Outcome>): Promise<void> {
    const { code, stdout, stderr } = await run("explain", CLUSTER, "--hook", HOOK);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^Blocked: BeforeClusterDelete/);
    assert.match(stdout, /ClusterHookPolicy roles-everywhere/);
  }

  test("a tenant with edit and hookpolicy-cluster-view misses nothing of what holds the Cluster", async () => {
    await cp.apply({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "roles-clusters", labels: { "rbac.authorization.k8s.io/aggregate-to-edit": "true" } },
      rules: [allow("cluster.x-k8s.io", "clusters", "get", "list")],
    });
    const tenant = await runAs(
      "tenant",
      { role: "edit", where: "namespace" },
      { role: "hookpolicy-cluster-view", where: "cluster" },
    );
    const aggregated = { verb: "get", resource: "clusters.cluster.x-k8s.io", namespace: TEAM };
    await cp.waitFor("the role to be aggregated", async () =>
      may(cp, `system:serviceaccount:${TEAM}:tenant`, aggregated),
    );
    await explainsAll(tenant);
    const tasks = { verb: "list", resource: `hooktasks.${GROUP}`, namespace: ELSEWHERE };
    assert.equal(await may(cp, `system:serviceaccount:${TEAM}:tenant`, tasks), false);
  });

  test("on call, with hookpolicy-break-glass alone, explain misses nothing, and override creates the record", async () => {
    const run = await runAs("on-call", { role: "hookpolicy-break-glass", where: "cluster" });
    await explainsAll(run);
    const overriding = run("override", CLUSTER, "--hook", HOOK, "--reason", "INC-1", "--for", "1h", "--yes");
    const created = await cp.waitFor("the override", async () =>
      (await cp.list({ apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookOverride" })).find(
        ({ spec }) => spec.clusterRef.name === "held",
      ),
    );
    const { name } = created.metadata;
    // No operator runs here.
    const lastTransitionTime = new Date().toISOString();
    await cp.patchStatus(overrideRef(name), {
      conditions: [
        { type: "Active", status: "True", reason: "InForce", message: "in force", lastTransitionTime },
      ],
    });
    const { code, stdout, stderr } = await overriding;
    assert.equal(code, 0, stderr);
    assert.match(stderr, /lifts +.*roles-everywhere/);
    assert.match(stdout, /^created HookOverride roles-a-held-\S+: in force until/);
  });
});

test("hookpolicy-emergency may do what break-glass needs without the operator, and nothing beside it", async () => {
  await bind("roles-emergency", { role: "hookpolicy-emergency", where: "cluster" });
  const clusters = { resource: "clusters.cluster.x-k8s.io", namespace: ELSEWHERE };
  const named: Readonly<Record<string, string>> = {
    hookpolicy: "extensionconfigs.runtime.cluster.x-k8s.io",
    "hookpolicy-clusters": "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "hookpolicy-protect-marks": "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    "hookpolicy-keep-policies": "validatingadmissionpolicybindings.admissionregistration.k8s.io",
  };
  await cp.waitFor(
    "the binding",
    async () => await may(cp, "roles-emergency", { verb: "patch", ...clusters }),
  );
  for (const [name, resource] of Object.entries(named)) {
    assert.ok(await may(cp, "roles-emergency", { verb: "delete", resource, name }), name);
    for (const question of [
      { verb: "delete", resource, name: "another" },
      { verb: "patch", resource, name },
    ])
      assert.equal(await may(cp, "roles-emergency", question), false, JSON.stringify(question));
  }
  assert.equal(await may(cp, "roles-emergency", { verb: "delete", ...clusters }), false);
  assert.deepEqual(await rightsOf("roles-emergency", TEAM), {});
});

test("every ClusterRole that is shipped is the operator's or is tried here", async () => {
  const rendered = await kustomize(join(ROOT, "manifests"));
  const operators = rendered.flatMap(({ kind, roleRef }) =>
    kind === "ClusterRoleBinding" ? [String(roleRef.name)] : [],
  );
  // The last by a scrape: test/apiserver/monitoring/scrapes.test.ts.
  const tried = [
    ...Object.values(PEOPLE).map(({ role }) => role),
    "hookpolicy-emergency",
    "hookpolicy-metrics-reader",
  ];
  const others = rendered.filter(
    ({ kind, metadata: { name, labels = {} } }) =>
      kind === "ClusterRole" &&
      ![...operators, ...tried].includes(name) &&
      !Object.keys(labels).some((key) => key.startsWith("rbac.authorization.k8s.io/aggregate-to-")),
  );
  assert.deepEqual(others, []);
});
