/**
 * `clusterctl move` between two API servers whose webhooks refuse the deletion and the creation of the Cluster that moves.
 * Cluster API's controllers are not needed: the Cluster says by itself that it is provisioned.
 */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { join } from "node:path";
import { commandsOf } from "../capi/pages.ts";
import { clusterApiBinaries } from "../controlplane/binaries.ts";
import type { Ref } from "../controlplane/client.ts";
import {
  CLUSTER_DEFINITION,
  clusterApiDefinition,
  installClusterDefinition,
} from "../controlplane/cluster-api.ts";
import { clusterWebhook } from "../controlplane/cluster-webhook.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { objectOf, isRefused } from "../controlplane/client.ts";
import { MANAGER, managerDeployment, OPERATOR, setAvailable } from "../controlplane/deployments.ts";
import { clusterRef } from "../controlplane/lab.ts";
import { installHookPolicy, startOperator } from "../controlplane/operator.ts";
import {
  applyPolicy,
  approvalRule,
  clusterPolicyRef,
  policyRef,
  storeOverride,
  storePolicy,
} from "../controlplane/policies.ts";
import { ClusterctlRepository } from "./clusterctl-repository.ts";
import { certManagerDefinition, clusterctlIn, kustomize, ROOT } from "./tools.ts";

const TEAM = "moves";
const CLUSTER = clusterRef(TEAM, "prod-1");
/** A hook holds its deletion. */
const DELETED = clusterRef(TEAM, "prod-2");
const COMMANDS = commandsOf("docs/move-and-restore.md");

function wordsOf(command: string): readonly string[] {
  return command.replaceAll("'", "").split(" ").slice(1);
}

describe("clusterctl move", () => {
  let source: ControlPlane;
  let target: ControlPlane;
  let config: string;
  before(async () => {
    const seed = "cluster";
    [source, target] = await Promise.all([startControlPlane({ seed }), startControlPlane({ seed })]);
    const { version } = await clusterApiBinaries();
    const repository = new ClusterctlRepository(source.folder);
    config = await repository.writeConfig([await repository.writeCore(version)]);
    for (const cp of [source, target]) await prepare(cp);
  });
  after(async () => await Promise.all([source?.stop(), target?.stop()]));

  async function prepare(cp: ControlPlane): Promise<void> {
    await installHookPolicy(cp);
    await installClusterDefinition(cp);
    await cp.patch(CLUSTER_DEFINITION, { metadata: { labels: { "clusterctl.cluster.x-k8s.io": "" } } });
    await cp.apply(["Issuer", "Certificate"].map(certManagerDefinition));
    await init(cp);
    const { ports } = await startOperator(cp);
    await cp.apply(await clusterWebhook(ports.admission, cp.authority.caBundle));
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: TEAM } });
  }

  async function init(cp: ControlPlane): Promise<void> {
    const core = ["--core", "cluster-api", "--bootstrap", "-", "--control-plane", "-"];
    await clusterctlIn(cp, config, "init", ...core);
  }

  const deletes = (cp: ControlPlane): Promise<string> =>
    cp.kubectl("delete", "clusters.cluster.x-k8s.io", "-n", TEAM, CLUSTER.name, "--wait=false");

  async function refusesDeletion(cp: ControlPlane): Promise<void> {
    const all = ["delete", "clusters.cluster.x-k8s.io", "-n", TEAM, "--all", "--dry-run=server"];
    await cp.waitFor("the deletion to be refused", async () =>
      isRefused(cp.kubectl(...all), /cannot be deleted yet/),
    );
    await assert.rejects(deletes(cp), /prod-1 cannot be deleted yet/);
  }

  async function provisioned(cluster: Ref, more = {}): Promise<void> {
    const spec = { controlPlaneEndpoint: { host: "127.0.0.1", port: 6443 } };
    await source.create(objectOf({ ...cluster, ...more }, { spec }));
    // cmd/clusterctl/client/cluster/mover.go, checkProvisioningCompleted
    const initialization = { infrastructureProvisioned: true, controlPlaneInitialized: true };
    const conditions = ["InfrastructureReady", "ControlPlaneInitialized"].map((type) => {
      const lastTransitionTime = "2026-11-21T12:00:00Z";
      return { type, status: "True", reason: "Provisioned", message: "", lastTransitionTime };
    });
    await source.patchStatus(cluster, { initialization, conditions });
  }

  const cleanUp = { finalizers: ["cluster.cluster.x-k8s.io"] };
  const rules = [{ name: "seen", hooks: ["AfterClusterUpgrade"] }];
  const everywhere = async (cp: ControlPlane, name: string, message?: string): Promise<unknown> =>
    await storePolicy(cp, clusterPolicyRef(name), {
      namespaceSelector: {},
      rules: rules.map((rule) => ({ ...rule, ...(message !== undefined && { message }) })),
    });

  test("takes a Cluster along that admission protects, and it is protected there as here", async () => {
    await provisioned(CLUSTER);
    await provisioned(DELETED, cleanUp);
    await source.delete(DELETED);
    for (const name of ["only-here", "in-both"]) await everywhere(source, name);
    await everywhere(target, "in-both", "of the target");
    await applyPolicy(source, policyRef(TEAM, "protect"), {
      rules: (["BeforeClusterDelete", "BeforeClusterCreate"] as const).map((hook) => ({
        ...approvalRule(hook),
        name: hook.toLowerCase(),
        admission: "Deny" as const,
      })),
    });
    await refusesDeletion(source);

    await clusterctlIn(source, config, "move", "-n", TEAM, "--to-kubeconfig", target.adminKubeconfig);
    assert.equal(await source.find(CLUSTER), undefined);
    const moved = await target.get(CLUSTER);
    assert.deepEqual([moved["spec"].paused, moved.metadata.deletionTimestamp], [undefined, undefined]);
    await refusesDeletion(target);
  });

  test("forgets that a Cluster was being deleted, and copies each ClusterHookPolicy, unless its name is there", async () => {
    assert.equal(await source.find(DELETED), undefined);
    assert.equal((await target.get(DELETED)).metadata.deletionTimestamp, undefined);
    for (const cp of [source, target]) assert.ok(await cp.find(clusterPolicyRef("only-here")));
    const { spec } = await target.get(clusterPolicyRef("in-both"));
    assert.equal(spec.rules[0].message, "of the target");
  });

  test("leaves cluster-wide policies at home without the label, as the page has it", async () => {
    const [unlabel = "", label = ""] = COMMANDS.filter((line) => line.startsWith("kubectl label crd "));
    await everywhere(source, "at-home");
    await storePolicy(source, policyRef("another", "own"), { rules });
    const move = async (): Promise<string> =>
      await clusterctlIn(source, config, "move", "-n", "another", "--to-kubeconfig", target.adminKubeconfig);
    await source.kubectl(...wordsOf(unlabel));
    await move();
    assert.ok(await target.find(policyRef("another", "own")));
    assert.equal(await target.find(clusterPolicyRef("at-home")), undefined);
    await source.kubectl(...wordsOf(label));
    await move();
    assert.ok(await target.find(clusterPolicyRef("at-home")));
  });

  test("that has failed is begun again, or ended, by the commands of the page", async () => {
    const commands = COMMANDS.filter((line) => line.includes(" -n team-a "));
    const [resume = "", resumeClasses = "", mark = "", remove = "", end = ""] = commands;
    assert.deepEqual(commands, [resume, resumeClasses, mark, remove, end]);
    const namespace = "team-a";
    const cluster = clusterRef(namespace, "prod-1");
    const standard = { ...cluster, kind: "ClusterClass", name: "standard" };
    const templateRef = { apiVersion: "infrastructure.cluster.x-k8s.io/v1beta2", kind: "Any", name: "any" };
    const paused = { "cluster.x-k8s.io/paused": "" };
    await source.apply(await clusterApiDefinition("clusterclasses.cluster.x-k8s.io"));
    await source.apply([
      { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
      objectOf(
        { ...standard, annotations: paused },
        { spec: { infrastructure: { templateRef }, controlPlane: { templateRef } } },
      ),
    ]);
    await provisioned(cluster, cleanUp);
    const pause = { spec: { paused: true } };
    await source.patch(cluster, pause);
    await source.kubectl(...wordsOf(resume));
    await source.kubectl(...wordsOf(resumeClasses));
    assert.equal((await source.get(cluster))["spec"].paused, undefined);
    assert.equal((await source.get(standard)).metadata.annotations, undefined);

    await source.patch(cluster, pause);
    for (const command of [mark, remove]) await source.kubectl(...wordsOf(command));
    assert.ok((await source.get(cluster)).metadata.deletionTimestamp);
    await source.kubectl(...wordsOf(end));
    assert.equal(await source.find(cluster), undefined);
  });

  test("each other command of the page does what it says", async () => {
    const others = COMMANDS.filter((line) => !/^kubectl label crd | -n team-a /.test(line));
    const [
      all = "",
      stop = "",
      stopped = "",
      restart = "",
      restarted = "",
      start = "",
      endExemptions = "",
      wait = "",
      look = "",
    ] = others;
    assert.deepEqual(others, [all, stop, stopped, restart, restarted, start, endExemptions, wait, look]);
    assert.match(await source.kubectl(...wordsOf(all)), /\/only-here +True /);
    await source.apply(
      (await kustomize(join(ROOT, "manifests"))).filter(({ kind }) => kind === "Deployment"),
    );
    await source.apply([
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "capi-system" } },
      managerDeployment("v1.14.2", ""),
    ]);
    const replicas = async (): Promise<unknown> => (await source.get(MANAGER))["spec"].replicas;
    await source.kubectl(...wordsOf(stop));
    assert.equal(await replicas(), 0);
    const pod = { apiVersion: "v1", kind: "Pod", namespace: MANAGER.namespace ?? "", name: "manager" };
    const { template } = managerDeployment("v1.14.2", "")["spec"];
    await source.create(objectOf({ ...pod, labels: template.labels }, { spec: template.spec }));
    const waiting = source.kubectl(...wordsOf(stopped));
    await source.delete(pod);
    await waiting;
    await source.kubectl(...wordsOf(stopped));
    await source.kubectl(...wordsOf(start));
    assert.equal(await replicas(), 1);
    assert.match(await source.kubectl(...wordsOf(restart)), /^deployment\.apps\/hookpolicy restarted$/m);
    await setAvailable(source, OPERATOR, 2);
    const { generation: observedGeneration } = (await source.get(OPERATOR)).metadata;
    await source.patchStatus(OPERATOR, { observedGeneration });
    assert.match(await source.kubectl(...wordsOf(restarted)), /successfully rolled out$/m);
    await storeOverride(source, "moved", {
      clusterRef: { namespace: TEAM, name: CLUSTER.name },
      hooks: ["BeforeClusterUpgrade"],
    });
    const labels = { "hooks.example.com/freeze-now": "exempt" };
    await source.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "capi-system", labels } });
    assert.match(await source.kubectl(...wordsOf(endExemptions)), /^namespace\/capi-system /);
    assert.match(await source.kubectl(...wordsOf(look)), /hookoverride\S*\/moved /);
    assert.equal(wait, "kubectl wait extensionconfig/hookpolicy --for=condition=Discovered --timeout=3m"); // docs/break-glass.md
  });

  test("and clusterctl delete leaves it; only kubectl delete crd takes it along, which no webhook sees", async () => {
    const remove = ["delete", "--core", "cluster-api"];
    await clusterctlIn(target, config, ...remove);
    await refusesDeletion(target);
    // As clusterctl labels the definitions that it installs.
    await target.patch(CLUSTER_DEFINITION, {
      metadata: { labels: { "cluster.x-k8s.io/provider": "cluster-api" } },
    });
    await init(target);
    await assert.rejects(clusterctlIn(target, config, ...remove, "--include-crd"), /found existing objects/);
    await refusesDeletion(target);
    await target.kubectl("delete", "crd", "clusters.cluster.x-k8s.io", "--wait=false");
    await target.waitFor("the Cluster to be gone", async () => (await target.find(CLUSTER)) === undefined);
  });
});
