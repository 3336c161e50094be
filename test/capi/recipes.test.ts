/** Every page of docs/recipes/, done for real: its YAML is applied, the Cluster is held, and its commands let it go. */

import assert from "node:assert/strict";
import test, { after, before, describe } from "node:test";
import type { HookName } from "../../src/api/runtime-hooks.ts";
import { type KubeObject, objectsOf, type Ref } from "../controlplane/client.ts";
import {
  clusterRef,
  deleteCluster,
  FIRST_VERSION,
  NEXT_VERSION,
  upgrade,
  waitUntilGone,
} from "../controlplane/lab.ts";
import { LAB_CONTROL_PLANE } from "../controlplane/lab-kinds.ts";
import { policyRow, inSeconds, noRow, resultOf, statusOf } from "../controlplane/policies.ts";
import { definition } from "../controlplane/stand-in.ts";
import { isCreated, topologySays } from "./fleet.ts";
import { admissionPolicies, installClassLike, Recipe, startRecipeFleet, untyped } from "./recipe-fleet.ts";
import { ADMISSION_PAGES, PAGES, ROLLOUT_PAGES, TASK_PAGES } from "./recipe-pages.ts";
import { frozenUntilDeleted } from "./freeze-now.ts";
import { approvedByTwo } from "./two-people.ts";
import { nextFlip, wallClock } from "./wall-clock.ts";

const DELETE = "BeforeClusterDelete";
const UPGRADE = "BeforeClusterUpgrade";
const BERLIN = "Europe/Berlin";

const fleet = await startRecipeFleet();
after(async () => await fleet.stop());
await fleet.cp.apply([
  definition("velero.io", "v1", "Backup"),
  definition("helm.toolkit.fluxcd.io", "v2", "HelmRelease"),
  definition("addons.cluster.x-k8s.io", "v1alpha1", "HelmReleaseProxy", "helmreleaseproxies"),
  { apiVersion: "v1", kind: "Namespace", metadata: { name: "velero" } },
]);

function recipe(name: string, namespace = name): Recipe {
  return new Recipe(fleet.cp, name, { namespace });
}

/** The policy reports it, and Cluster API tells the Cluster's users. A grant takes a moment to arrive. */
async function held(policy: Ref, cluster: Ref, hook: HookName, reason: string): Promise<void> {
  await fleet.cp.waitFor(`${policy.name} to hold ${cluster.name} as ${reason}`, async () => {
    const row = await policyRow(fleet.cp, policy, cluster.name, hook);
    return row.verdict === "Blocked" && row.reason === reason;
  });
  const words = new RegExp(`${hook}: [^]*${policy.kind} `);
  await topologySays(fleet.cp, cluster.namespace ?? "", cluster.name, words);
}

/** Whenever Cluster API asks for the deletion, it is held. */
async function stillHeld(ref: Ref): Promise<void> {
  const cluster = await fleet.cp.get(ref);
  const { retryAfterSeconds } = await fleet.operator.ask("BeforeClusterDelete", { cluster });
  assert.ok((retryAfterSeconds ?? 0) > 0);
  assert.equal(cluster.metadata.annotations?.["runtime.cluster.x-k8s.io/ok-to-delete"], undefined);
}

async function remove({ namespace = "", name }: Ref): Promise<void> {
  await deleteCluster(fleet.cp, namespace, name);
}

async function gone({ namespace = "", name }: Ref): Promise<void> {
  await waitUntilGone(fleet.cp, namespace, name);
}

/** The control plane has been told the new version. */
async function upgrading({ namespace = "", name }: Ref): Promise<void> {
  await fleet.cp.waitFor(`Cluster ${namespace}/${name} to upgrade`, async () => {
    const { spec } = await fleet.cp.get(clusterRef(namespace, name));
    const { kind, name: controlPlane } = spec.controlPlaneRef;
    const ref = { apiVersion: LAB_CONTROL_PLANE, kind, namespace, name: controlPlane };
    return (await fleet.cp.get(ref))["spec"]?.version === NEXT_VERSION;
  });
}

function only(refs: readonly Ref[]): Ref {
  const [ref] = refs;
  assert.ok(ref !== undefined && refs.length === 1);
  return ref;
}

describe("the recipe", { concurrency: true }, () => {
  test("protect production from deletion", async () => {
    const page = recipe("protect-production");
    const policy = only(await page.apply("HookPolicy"));
    const cluster = await page.running({ labels: { tier: "production" } });
    await remove(cluster);
    await held(policy, cluster, DELETE, "WaitingForAnnotation");
    await page.shows("kubectl get hookpolicy");
    await stillHeld(cluster);
    await page.type("kubectl annotate");
    await gone(cluster);
  });

  test("backup before delete, past which a deletion came: no later backup has the Cluster", async () => {
    const page = recipe("backup-before-delete");
    const policy = only(await page.apply("name: backup-before-delete"));
    const cluster = await page.running();
    await remove(cluster);
    await held(policy, cluster, DELETE, "WaitingForObject");
    await page.apply("kind: Backup\nmetadata");
    const [backup] = objectsOf(page.yaml("kind: Backup\nmetadata"));
    assert.ok(backup);
    const ref = {
      apiVersion: "velero.io/v1",
      kind: "Backup",
      namespace: "velero",
      name: backup.metadata.name,
    };
    for (const status of [
      { phase: "InProgress" },
      { phase: "PartiallyFailed", startTimestamp: hoursAgo(0), completionTimestamp: hoursAgo(0) },
      { phase: "Completed", completionTimestamp: hoursAgo(25) },
      // Of an earlier Cluster with the same name.
      { startTimestamp: hoursAgo(1), completionTimestamp: hoursAgo(0) },
      { startTimestamp: hoursAgo(0) },
    ]) {
      await fleet.cp.patch(ref, { status });
      await stillHeld(cluster);
    }
    await fleet.cp.delete(policy);
    await gone(cluster);
  });

  test("weekend upgrades, at this very time", async () => {
    const page = recipe("weekend-upgrades");
    const isWeekend = (at: Date): boolean => {
      const { weekday, hour } = wallClock(at, BERLIN);
      if (weekday === "Fri") return hour >= 22;
      return weekday === "Mon" ? hour < 6 : weekday === "Sat" || weekday === "Sun";
    };
    const cluster = await page.running();
    const policy = only(await page.apply("HookPolicy"));
    const asked = new Date();
    await upgrade(fleet.cp, page.namespace, "prod-1");
    const flip = nextFlip(asked, isWeekend);
    await fleet.cp.waitFor("the next edge to be known", async () => {
      return statusOf(await fleet.cp.get(policy)).nextTransitionTime === flip;
    });
    if (isWeekend(asked)) {
      await upgrading(cluster);
    } else {
      await held(policy, cluster, UPGRADE, "WindowClosed");
      assert.equal((await policyRow(fleet.cp, policy, "prod-1", UPGRADE)).earliestRelease, flip);
    }
  });

  test("weekend upgrades, when the window opens", async () => {
    const page = recipe("weekend-upgrades", "soon");
    const cluster = await page.running();
    const opening = async (opensAt: string): Promise<Ref> => {
      const allow = `allow: [{ from: "${opensAt}", to: "${inSeconds(3600)}" }]`;
      return only(await page.apply("HookPolicy", (yaml) => yaml.replace(/allow: .*/, allow)));
    };
    const policy = await opening(inSeconds(1800));
    await upgrade(fleet.cp, page.namespace, "prod-1");
    await held(policy, cluster, UPGRADE, "WindowClosed");
    await page.shows("kubectl get hookpolicy");
    // Only now, because a busy machine may take longer than that to be asked.
    const opensAt = inSeconds(30);
    await opening(opensAt);
    await fleet.cp.waitFor("the opening to be shown", async () => {
      const rows = statusOf(await fleet.cp.get(policy)).decisions ?? [];
      return rows.some((row) => row.earliestRelease === opensAt) || Date.now() >= Date.parse(opensAt);
    });
    await noRow(fleet.cp, policy, "prod-1", UPGRADE);
    assert.ok(Date.now() >= Date.parse(opensAt));
    await upgrading(cluster);
  });

  test("approve each version", async () => {
    const page = recipe("approve-each-version");
    const policy = only(await page.apply("HookPolicy"));
    const cluster = await page.running();
    const approval = { metadata: { annotations: { "hooks.example.com/upgrade-approved": FIRST_VERSION } } };
    await fleet.cp.patch(cluster, approval);
    await upgrade(fleet.cp, page.namespace, "prod-1");
    await held(policy, cluster, UPGRADE, "WaitingForAnnotation");
    await page.shows("kubectl get hookpolicy");
    await page.type("kubectl annotate");
    await upgrading(cluster);
  });

  test("approval objects", async () => {
    const page = recipe("approval-objects");
    const policy = only(await page.apply("ClusterHookPolicy"));
    const cluster = await page.running();
    await remove(cluster);
    await held(policy, cluster, DELETE, "WaitingForObject");
    await page.shows("kubectl get clusterhookpolicy");
    await page
      .as({ name: "tenant", group: "tenants" })
      .isRefused("kubectl create configmap", /configmaps is forbidden/);
    await stillHeld(cluster);
    await page.as({ name: "anna", group: "platform-approvers" }).type("kubectl create configmap");
    await gone(cluster);
  });

  test("two people approve, and one person is not two", async () => {
    const page = recipe("two-people");
    const policy = only(await page.apply("ClusterHookPolicy"));
    const cluster = await page.running();
    await remove(cluster);
    await held(policy, cluster, DELETE, "ExpressionFalse");
    await approvedByTwo(page, async () => await stillHeld(cluster));
    await gone(cluster);
  });

  test("wait for Helm releases to be gone", async () => {
    const page = recipe("wait-for-helm-releases");
    const { namespace } = page;
    const release = (name: string, cluster: string): KubeObject => ({
      apiVersion: "helm.toolkit.fluxcd.io/v2",
      kind: "HelmRelease",
      metadata: { namespace, name },
      spec: { kubeConfig: { secretRef: { name: `${cluster}-kubeconfig` } } },
    });
    const cluster = await page.running();
    await fleet.cp.apply([release("ingress-nginx", "prod-1"), release("of-another", "prod-2")]);
    const policy = only(await page.apply("kind: HelmRelease\n"));
    await remove(cluster);
    await held(policy, cluster, DELETE, "WaitingForAbsence");
    await page.shows("kubectl get hookpolicy");
    await page.type("kubectl delete helmreleases");
    await gone(cluster);
  });

  test("wait for the Helm add-on provider", async () => {
    const page = recipe("wait-for-helm-releases", "proxies");
    const { namespace } = page;
    const apiVersion = "addons.cluster.x-k8s.io/v1alpha1";
    const ref = { apiVersion, kind: "HelmReleaseProxy", namespace, name: "ingress" };
    const cluster = await page.running();
    await fleet.cp.apply({
      apiVersion: ref.apiVersion,
      kind: ref.kind,
      metadata: { namespace: ref.namespace, name: ref.name },
      spec: { clusterRef: { kind: "Cluster", name: "prod-1" } },
    });
    const policy = only(await page.apply("kind: HelmReleaseProxy"));
    await remove(cluster);
    await held(policy, cluster, DELETE, "WaitingForAbsence");
    await fleet.cp.delete(ref);
    await gone(cluster);
  });

  test("by ClusterClass", async () => {
    const page = recipe("by-cluster-class");
    await installClassLike(fleet.cp, "bare-metal");
    const policy = only(await page.apply("HookPolicy"));
    const cluster = await page.running({ className: "bare-metal" });
    const other = await page.running({ name: "prod-2" });
    await remove(cluster);
    await held(policy, cluster, DELETE, "WaitingForAnnotation");
    await page.shows("kubectl get hookpolicy");
    await remove(other);
    await gone(other);
    await page.type("kubectl annotate");
    await gone(cluster);
  });

  test("one environment after the other", async () => {
    const page = recipe("one-environment-after-the-other");
    const policy = only(await page.apply("ClusterHookPolicy"));
    const [staging, production, development] = await Promise.all([
      page.running({ namespace: "staging", name: "stage-1" }),
      page.running({ namespace: "production" }),
      page.running({ namespace: "development", name: "dev-1" }),
    ]);
    await page.type("kubectl label namespace staging");
    await page.type("kubectl label namespace production");
    for (const { namespace = "", name } of [staging, production, development]) {
      await upgrade(fleet.cp, namespace, name);
    }
    await upgrading(development);
    await held(policy, staging, UPGRADE, "WaitingForAnnotation");
    await held(policy, production, UPGRADE, "WaitingForAnnotation");
    await page.shows("kubectl get clusterhookpolicy");
    await page.type("kubectl annotate namespace staging");
    await upgrading(staging);
    await held(policy, production, UPGRADE, "WaitingForAnnotation");
    await page.type("kubectl annotate namespace production");
    await upgrading(production);
  });

  test("break the glass", async () => {
    const { cp } = fleet;
    const page = recipe("break-glass");
    const policy = only(await recipe("protect-production", page.namespace).apply("HookPolicy"));
    const cluster = await page.running({ labels: { tier: "production" } });
    await remove(cluster);
    await held(policy, cluster, DELETE, "WaitingForAnnotation");
    const onCall = page.as({ name: "bert", group: "on-call" });
    await onCall.isRefused("kubectl create", /hookoverrides.hookpolicy.dev is forbidden/);
    await page.apply("kind: ClusterRole");
    await onCall.type("kubectl create");
    await gone(cluster);
    await page.shows("kubectl get hookoverrides");
    const ref = { apiVersion: policy.apiVersion, kind: "HookOverride", name: "prod-1-must-go" };
    const { used } = (await cp.get(ref)).status;
    assert.deepEqual(
      [used[0].hook, used[0].policies],
      [DELETE, [`HookPolicy ${page.namespace}/protect-production`]],
    );
    assert.equal((await resultOf(cp, policy, "prod-1")).override, ref.name);
    assert.doesNotMatch(await onCall.type("kubectl patch"), /Warning/);
    await cp.waitFor("it to have ended", async () => {
      const conditions: { type: string; status: string }[] = (await cp.get(ref)).status.conditions;
      return conditions.some(({ type, status }) => type === "Active" && status === "False");
    });
    const made = await cp.waitFor("the audit log to tell", async () =>
      (await fleet.audit()).find(
        ({ verb, objectRef, requestObject }) =>
          verb === "create" &&
          objectRef?.resource === "hookoverrides" &&
          requestObject?.metadata.name === ref.name,
      ),
    );
    assert.equal(made.impersonatedUser?.username, "bert");
  });
});

/** After the others: these are about every Cluster. */
describe("the recipe for all namespaces", () => {
  test("holiday freeze, at this very time", async (t) => {
    const isHoliday = (at: Date): boolean => {
      const { month, day } = wallClock(at, BERLIN);
      return month === 12 ? day >= 20 : month === 1 && day < 6;
    };
    const page = recipe("holiday-freeze");
    const now = new Date();
    const policy = only(await page.apply("ClusterHookPolicy"));
    t.after(async () => await fleet.cp.delete(policy));
    await fleet.cp.waitFor("the next edge to be known", async () => {
      return statusOf(await fleet.cp.get(policy)).nextTransitionTime === nextFlip(now, isHoliday);
    });
    const cluster = await page.created();
    if (isHoliday(now)) await held(policy, cluster, "BeforeClusterCreate", "WindowClosed");
    else await isCreated(fleet.cp, page.namespace, cluster.name);
  });

  test("holiday freeze, during the holidays", async (t) => {
    const page = recipe("holiday-freeze", "frozen");
    const cluster = await page.running();
    const deny = `deny: [{ from: "${inSeconds(-3600)}", to: "${inSeconds(3600)}" }]`;
    const policy = only(await page.apply("ClusterHookPolicy", (yaml) => yaml.replace(/deny: .*/, deny)));
    t.after(async () => await fleet.cp.delete(policy));
    await remove(cluster);
    await held(policy, cluster, DELETE, "WindowClosed");
    // Clusters of other recipes may be held, too.
    const here = async (): Promise<string> => {
      const { matchedClusters, blocked } = statusOf(await fleet.cp.get(policy));
      return ` ${matchedClusters} ${blocked} `;
    };
    await page.shows("kubectl get clusterhookpolicy", { page: " 212 1 ", here });
    await page.type("kubectl label namespace");
    await gone(cluster);
  });

  test("freeze now, but for a namespace that is exempt, until it is deleted", async () => {
    await frozenUntilDeleted(recipe("freeze-now"), recipe("freeze-now", "not-frozen"), held);
  });
});

/** Last: it is in force for the whole API server. What each policy refuses is in test/capi/vap*.test.ts. */
describe("the recipe at admission", () => {
  before(async () => {
    const kustomizations = ["refuse-deletion", "protect-marks"].map((name) =>
      recipe(name).yaml("components:"),
    );
    await fleet.cp.apply(await admissionPolicies(fleet.cp, ...kustomizations));
  });

  test("refuses what the hook would only hold", async () => {
    const page = recipe("refuse-deletion");
    const cluster = await page.running({ labels: { tier: "production" } });
    const { namespace } = page;
    await page.refusedWhenTried("delete", "clusters.cluster.x-k8s.io", "-n", namespace, "prod-1");
    await page.shows("kubectl delete clusters");
    assert.equal((await fleet.cp.get(cluster)).metadata.deletionTimestamp, undefined);
    await page.type("kubectl label namespace");
    await page.refusedWhenTried("delete", "namespace", namespace);
  });

  test("keeps Cluster API's marks, until it is taken away", async () => {
    const page = recipe("protect-marks");
    const cluster = await page.running();
    const mark = "runtime.cluster.x-k8s.io/ok-to-delete=";
    const prod = ["clusters.cluster.x-k8s.io", "-n", page.namespace, "prod-1"];
    await page.refusedWhenTried("annotate", ...prod, mark);
    await page.shows("kubectl annotate");
    await page.type("kubectl delete validatingadmissionpolicybinding");
    const marked = { metadata: { annotations: { "runtime.cluster.x-k8s.io/ok-to-delete": "" } } };
    await fleet.cp.waitFor("the mark to be free", async () => {
      return await fleet.cp.patch(cluster, marked).catch(() => undefined);
    });
  });
});

test("every command of the recipes was typed", () => {
  const others = [...ROLLOUT_PAGES, ...ADMISSION_PAGES, ...TASK_PAGES];
  for (const page of PAGES.filter((name) => !others.includes(name)))
    assert.deepEqual(untyped(page), [], page);
});

function hoursAgo(hours: number): string {
  return inSeconds(-3600 * hours);
}
