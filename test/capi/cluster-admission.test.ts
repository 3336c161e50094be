/** Rules that speak at admission, beside the real Cluster API: what it writes passes, and what is confirmed ends as usual. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { type KubeObject, objectsOf, type Ref, isRefused } from "../controlplane/client.ts";
import { clusterWebhook } from "../controlplane/cluster-webhook.ts";
import { clusterRef, createCluster, isGone, NEXT_VERSION, provision } from "../controlplane/lab.ts";
import {
  APPROVED,
  applyPolicy,
  approvalRule,
  inSeconds,
  policyRow,
  policyIsReady,
  policyRef,
  storeRollout,
} from "../controlplane/policies.ts";
import { BACKUPS, defineBackups } from "../controlplane/velero.ts";
import type { Outcome } from "../unit/cli/program.ts";
import { hookpolicy } from "../unit/cli/resident.ts";
import { Recipe, untyped } from "./recipe-fleet.ts";
import { ADMISSION_PAGES } from "./recipe-pages.ts";
import { EVERY_CALL, isCreated, startFleet } from "./fleet.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/admission.md"), "utf8");
/** Of the page. */
const [TEAM, NAME] = ["team-a", "prod-1"];
const CLUSTERS = "clusters.cluster.x-k8s.io";

const fleet = await startFleet({ operator: { flags: EVERY_CALL } });
const { cp, operator } = fleet;
after(async () => await cp.stop());
await cp.apply(await clusterWebhook(operator.ports.admission, cp.authority.caBundle));
await applyPolicy(cp, policyRef(TEAM, "protect"), {
  rules: [{ ...approvalRule("BeforeClusterUpgrade"), admission: "Deny" }],
});
const [, yaml = ""] = /^```yaml\n(apiVersion: hookpolicy.*?)^```$/ms.exec(PAGE) ?? [];
const [policy = assert.fail("the page has no policy")] = objectsOf(yaml);
for (const stored of await cp.apply(policy)) await policyIsReady(cp, stored);
await createCluster(cp, { namespace: TEAM, name: NAME, labels: { tier: "production" } });
await isCreated(cp, TEAM, NAME);
await provision(cp, TEAM, NAME);
const tried = ["delete", "clusters.cluster.x-k8s.io", "-n", TEAM, NAME, "--dry-run=server"];
await cp.waitFor("the API server to call the webhook", async () =>
  isRefused(cp.kubectl(...tried), /cannot be deleted yet/),
);

describe("a Cluster whose rules speak at admission", () => {
  /** Confirms until that is seen: a patch that Cluster API prepared before can take the annotation away again. */
  async function confirmed(request: string, refusal: string): Promise<void> {
    await cp.waitFor(`the confirmation to be seen by explain --admission ${request}`, async () => {
      await confirm(refusal);
      return (await explained(request))?.admission === "Passed";
    });
  }

  /** Runs the command that the refusal names. */
  async function confirm(refusal: string): Promise<void> {
    const [, command = ""] = /\(kubectl ([^)]+)\)/.exec(refusal) ?? [];
    assert.notEqual(command, "", refusal);
    await cp.kubectl(...command.split(" "));
  }

  async function refusalOf(request: Promise<unknown>): Promise<string> {
    return await request.then(
      () => assert.fail("it passed"),
      (error: unknown) => String(error),
    );
  }

  interface Said {
    readonly admission?: string;
    readonly message: string;
  }

  /** A command of the page, with the answer in JSON. */
  async function explained(request: string): Promise<Said | undefined> {
    const [, args = assert.fail(request)] =
      new RegExp(`^hookpolicy (explain .*--admission ${request}.*)$`, "m").exec(PAGE) ?? [];
    const words = args.replace("v1.36.0", NEXT_VERSION).split(" ");
    const run: Outcome = await hookpolicy([...words, "-o", "json", "--kubeconfig", cp.adminKubeconfig]);
    const report = JSON.parse(run.stdout) as { readonly operations: readonly Said[] };
    return report.operations[0];
  }

  test("is upgraded when that is confirmed, and Cluster API's own writes pass", async () => {
    const upgrade = async (): Promise<unknown> =>
      await cp.patch(clusterRef(TEAM, NAME), { spec: { topology: { version: NEXT_VERSION } } });
    const refusal = await refusalOf(upgrade());
    assert.match(
      refusal,
      new RegExp(`${NAME} cannot be upgraded to ${NEXT_VERSION} yet: HookPolicy ${TEAM}/protect`),
    );
    assert.notEqual((await cp.get(clusterRef(TEAM, NAME)))["spec"].topology.version, NEXT_VERSION);
    const denied = await explained("Upgrade");
    assert.deepEqual([denied?.admission, refusal.includes(denied?.message ?? "?")], ["Denied", true]);
    await confirmed("Upgrade", refusal);
    await upgrade();
    await cp.waitFor("Cluster API to begin the upgrade", async () => {
      const { annotations = {} } = (await cp.get(clusterRef(TEAM, NAME))).metadata;
      return annotations["runtime.cluster.x-k8s.io/pending-hooks"]?.includes("AfterClusterUpgrade");
    });
  });

  test("takes no other version while its upgrade runs, also if the same request pauses it", async () => {
    const ref = clusterRef(TEAM, NAME);
    const unsafe = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check";
    await cp.patch(ref, { metadata: { annotations: { [APPROVED]: null, [unsafe]: "" } } });
    const topology = { version: "v1.36.0" };
    for (const spec of [{ topology }, { topology, paused: true }])
      assert.match(
        await refusalOf(cp.patch(ref, { spec })),
        /cannot be upgraded to v1\.36\.0 yet: HookPolicy/,
      );
    await cp.patch(ref, { spec: { paused: true } });
    assert.match(
      await refusalOf(cp.patch(ref, { spec: { topology } })),
      /cannot be upgraded to v1\.36\.0 yet/,
    );
    await cp.patch(ref, { spec: { paused: false }, metadata: { annotations: { [unsafe]: null } } });
  });

  test("is deleted when that is confirmed: kubectl prints what the page shows, and nothing is stored before", async () => {
    const ref = clusterRef(TEAM, NAME);
    const [, command = "", shown = ""] = /^\$ kubectl (delete .*)\n(.*)\n```$/m.exec(PAGE) ?? [];
    const remove = async (): Promise<string> => await cp.kubectl(...command.split(" "), "--wait=false");
    const { uid = "" } = (await cp.get(ref)).metadata;
    const refusal = await refusalOf(remove());
    const wanted = shown.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, uid);
    assert.ok(shown !== "" && refusal.includes(wanted), refusal);
    assert.equal((await cp.get(ref)).metadata.deletionTimestamp, undefined);
    const denied = await explained("Delete");
    assert.deepEqual([denied?.admission, refusal.includes(denied?.message ?? "?")], ["Denied", true]);
    await confirmed("Delete", refusal);
    await remove();
    await cp.waitFor("Cluster API to ask the hook, and to end the Cluster", async () => {
      return (await cp.find(ref)) === undefined;
    });
  });

  test("is protected by the recipe, and deleted when that is confirmed as the page says", async () => {
    const page = new Recipe(cp, "refuse-accidental-deletions");
    await page.apply("kind: ClusterHookPolicy");
    const cluster = await page.running({ labels: { tier: "production" } });
    await page.shows("kubectl delete clusters");
    await page.type("hookpolicy explain");
    assert.equal((await cp.get(cluster)).metadata.deletionTimestamp, undefined);
    await page.type("kubectl annotate");
    await cp.kubectl(
      "delete",
      "clusters.cluster.x-k8s.io",
      "-n",
      page.namespace,
      cluster.name,
      "--wait=false",
    );
    await isGone(cp, cluster);
  });

  async function deletionIsRefused({ namespace, name }: Ref): Promise<boolean> {
    return await isRefused(
      cp.kubectl("delete", CLUSTERS, "-n", namespace ?? "", name, "--dry-run=server"),
      /gate backed-up waits for .*Backup/,
    );
  }

  /** By a deletion in the second of the backup, or later. */
  async function deletedAfter(backedUpAt: string, cluster: Ref): Promise<void> {
    await cp.waitFor(
      "the backup to be seen",
      async () => inSeconds(-1) >= backedUpAt && !(await deletionIsRefused(cluster)),
    );
    await cp.kubectl("delete", CLUSTERS, "-n", cluster.namespace ?? "", cluster.name, "--wait=false");
    await isGone(cp, cluster);
  }

  test("is deleted once the recipe's backup of it is completed, which began after its creation", async () => {
    await defineBackups(cp);
    const page = new Recipe(cp, "backup-before-delete");
    await page.apply("name: backup-before-delete");
    const cluster = await page.running();
    await page.shows("kubectl delete clusters");
    await page.apply("kind: Backup\nmetadata");
    const backup = { ...BACKUPS, name: `final.${page.namespace}.${cluster.name}` };
    const [now, hourAgo, dayAgo] = [inSeconds(0), inSeconds(-3600), inSeconds(-25 * 3600)];
    for (const status of [
      { phase: "InProgress" },
      { phase: "PartiallyFailed", startTimestamp: now, completionTimestamp: now },
      { phase: "Completed", completionTimestamp: dayAgo },
      // Of an earlier Cluster with the same name.
      { startTimestamp: hourAgo, completionTimestamp: now },
    ]) {
      await cp.patch(backup, { status });
      assert.ok(await deletionIsRefused(cluster), JSON.stringify(status));
    }
    await cp.patch(backup, { status: { startTimestamp: now } });
    await deletedAfter(now, cluster);
  });

  test("is deleted once a backup by a schedule has it", async () => {
    const page = new Recipe(cp, "backup-before-delete", { namespace: "scheduled" });
    const cluster = await page.running();
    const now = inSeconds(0);
    const backup = (name: string, includedNamespaces: readonly string[]): KubeObject => ({
      apiVersion: BACKUPS.apiVersion,
      kind: BACKUPS.kind,
      metadata: { namespace: "velero", name, labels: { "velero.io/schedule-name": "daily" } },
      spec: { includedNamespaces },
      status: { phase: "Completed", startTimestamp: now, completionTimestamp: now },
    });
    // The grant stands in the page's first block, which the test before applies.
    await page.apply("name: scheduled-backup-before-delete");
    await cp.apply(backup("daily-1", ["elsewhere"]));
    assert.ok(await deletionIsRefused(cluster));
    await cp.apply(backup("daily-2", ["elsewhere", page.namespace]));
    await deletedAfter(now, cluster);
  });

  test("is deleted in the foreground or with orphans only if no hook would hold it, also where its Namespace opts out", async () => {
    const [namespace, name] = ["fg-asked", "c1"];
    await applyPolicy(cp, policyRef(namespace, "protect"), { rules: [approvalRule("BeforeClusterDelete")] });
    await createCluster(cp, { namespace, name });
    await isCreated(cp, namespace, name);
    await provision(cp, namespace, name);
    const labels = { "hookpolicy.dev/foreground-deletion": "allowed" };
    await cp.patch({ apiVersion: "v1", kind: "Namespace", name: namespace }, { metadata: { labels } });
    const ref = clusterRef(namespace, name);
    const foreground = async (): Promise<string> => await refusalOf(cp.delete(ref, "Foreground"));
    const byPolicy =
      /clusters\.hookpolicy\.dev.*cannot be deleted in the foreground yet: HookPolicy fg-asked\/protect.*--cascade=background/;
    await cp.waitFor("the Namespace to have opted out", async () => byPolicy.test(await foreground()));
    await cp.delete(ref, "Background");
    await policyRow(cp, policyRef(namespace, "protect"), name, "BeforeClusterDelete");
    assert.match(await foreground(), byPolicy);
    const orphaning = await refusalOf(cp.delete(ref, "Orphan"));
    assert.match(
      orphaning,
      /so that it orphans what it owns yet: HookPolicy fg-asked\/protect.*--cascade=background/,
    );
    assert.equal((await cp.get(ref)).metadata.finalizers?.includes("orphan"), false);
    // A rollout holds the hook, too.
    const selects = { matchLabels: { "kubernetes.io/metadata.name": namespace } };
    const paused = { operation: "Delete", namespaceSelector: selects, paused: true } as const;
    const rollout = await storeRollout(cp, "fg-asked", paused);
    await policyIsReady(cp, await cp.get(rollout));
    await cp.delete(policyRef(namespace, "protect"));
    await cp.waitFor("the rollout to hold it", async () => /HookRollout fg-asked/.test(await foreground()));
    assert.equal((await cp.get(ref)).metadata.finalizers?.includes("foregroundDeletion"), false);
    await cp.delete(rollout);
    await isGone(cp, ref);
  });

  test("has every command of its recipes typed", () => {
    for (const page of ADMISSION_PAGES) assert.deepEqual(untyped(page), [], page);
  });
});
