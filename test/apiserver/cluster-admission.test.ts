/** Rules that speak at admission, on a real API server: what is refused is not stored, with one replica or two. */

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { RuleSpec } from "../../src/api/hook-policy.ts";
import { type Balancer, startBalancer } from "../controlplane/balancer.ts";
import { type KubeObject, type Ref, isRefused } from "../controlplane/client.ts";
import { installClusterDefinition } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { DEFINITION_GONE_MS } from "../controlplane/waits.ts";
import { clusterWebhook } from "../controlplane/cluster-webhook.ts";
import { clusterRef, isGone } from "../controlplane/lab.ts";
import {
  installHookPolicy,
  issueServingCertificate,
  type Operator,
  startOperator,
  writeServingCertificate,
} from "../controlplane/operator.ts";
import { applyPolicy, APPROVED, approvalRule, policyRef, storePolicy } from "../controlplane/policies.ts";
import { type AdmissionClient, createAdmissionClient } from "./admission-client.ts";
import { clusterObject, type ClusterParts, PLAIN } from "./cluster-object.ts";
import { recentResults, refusalEvents, refusalLines } from "./refusals.ts";

const WEBHOOK: Ref = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  name: "hookpolicy-clusters",
};
const REPLICAS = ["hookpolicy-a", "hookpolicy-b"];
const REVIEWS = "hookpolicy_admission_reviews_total";

let cp: ControlPlane;
let balancer: Balancer;
let replicas: readonly Operator[] = [];
let client: AdmissionClient;

before(async () => {
  client = await createAdmissionClient();
  cp = await startControlPlane({ apiServerArgs: client.apiServerArgs, seed: "cluster" });
  await installHookPolicy(cp);
  await installClusterDefinition(cp);
  balancer = await startBalancer();
  replicas = await Promise.all(REPLICAS.map(startReplica));
  // On the balancer's list, reviews take the place of calls.
  for (const { ports } of replicas) balancer.add({ ...ports, webhook: ports.admission });
  await cp.waitFor("both replicas to be reached", () =>
    replicas.every(({ ports }) => balancer.ready({ ...ports, webhook: ports.admission })),
  );
  await cp.apply(await clusterWebhook(balancer.port));
  await cp.waitFor("the operator to write the caBundle", async () => {
    const { webhooks } = await cp.get(WEBHOOK);
    return webhooks[0].clientConfig.caBundle === cp.authority.caBundle;
  });
  await untilCalled();
});
after(async () => {
  await cp?.stop();
  await balancer?.stop();
  await client?.remove();
});

async function startReplica(name: string): Promise<Operator> {
  const certDir = join(cp.folder, `${name}-certs`);
  await mkdir(certDir);
  await writeServingCertificate(certDir, await issueServingCertificate(cp));
  await writeFile(join(certDir, "ca.crt"), cp.authority.certificate);
  return await startOperator(cp, { name, flags: { ...client.flags, "audit-log": auditLog(name) } });
}

const auditLog = (replica: string): string => join(cp.folder, `${replica}-audit.log`);

/** The API server needs a moment to see that a configuration is new. */
async function untilCalled(): Promise<void> {
  await applyPolicy(cp, policyRef("probe", "protect"), { rules: [deny("BeforeClusterDelete")] });
  await createCluster("probe", "c1");
  await cp.waitFor("a deletion to be refused", async () =>
    isRefused(cp.request("DELETE", `${pathOf("probe", "c1")}?dryRun=All`), 403),
  );
}

function deny(hook: RuleSpec["hooks"][number], over: Partial<RuleSpec> = {}): RuleSpec {
  return { ...approvalRule(hook), admission: "Deny", ...over };
}

async function createCluster(namespace: string, name: string, given: ClusterParts = {}): Promise<Ref> {
  await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await cp.create(clusterObject(namespace, name, given));
  return clusterRef(namespace, name);
}

function pathOf(namespace: string, name: string, version = "v1beta2"): string {
  return `/apis/cluster.x-k8s.io/${version}/namespaces/${namespace}/clusters/${name}`;
}

async function approve(ref: Ref): Promise<void> {
  await cp.patch(ref, { metadata: { annotations: { [APPROVED]: "true" } } });
}

async function isUntouched(ref: Ref): Promise<void> {
  assert.equal((await cp.get(ref)).metadata.deletionTimestamp, undefined);
}

function deletes(ref: Ref, ...flags: readonly string[]): Promise<string> {
  const { namespace = "", name } = ref;
  return cp.kubectl("delete", "clusters.cluster.x-k8s.io", "-n", namespace, name, "--wait=false", ...flags);
}

describe("a deletion", () => {
  const team = "deletes";
  before(async () => {
    await applyPolicy(cp, policyRef(team, "protect"), { rules: [deny("BeforeClusterDelete")] });
  });

  test("is refused with the command that confirms it, and passes with that", async () => {
    const ref = await createCluster(team, "confirmed");
    await assert.rejects(
      deletes(ref),
      /Error from server \(Forbidden\): admission webhook "clusters\.hookpolicy\.dev" denied the request: Cluster deletes\/confirmed cannot be deleted yet: HookPolicy deletes\/protect, rule approval: gate approved waits for .*\(kubectl annotate clusters\.cluster\.x-k8s\.io -n deletes confirmed hooks\.example\.com\/approved=true\)/,
    );
    await isUntouched(ref);
    await approve(ref);
    await deletes(ref);
    assert.equal(await cp.find(ref), undefined);
  });

  test("is refused in either version of the API, with orphans, and as a dry run", async () => {
    const ref = await createCluster(team, "versions");
    for (const attempt of [
      async () => await cp.request("DELETE", pathOf(team, "versions", "v1beta1")),
      async () => await cp.request("DELETE", `${pathOf(team, "versions")}?dryRun=All`),
      async () => await deletes(ref, "--cascade=orphan"),
      async () => await deletes(ref, "--force", "--grace-period=0"),
    ])
      await assert.rejects(attempt, /cannot be deleted (yet|so that it orphans what it owns)/);
    await isUntouched(ref);
  });

  test("as Flux and Argo CD prune is refused, and their next attempt passes with approval", async () => {
    const ref = await createCluster(team, "pruned");
    const { uid, resourceVersion } = (await cp.get(ref)).metadata;
    // fluxcd/pkg/ssa, ResourceManager.delete; argoproj/argo-cd gitops-engine, syncContext.pruneObject.
    const prunes = [
      { propagationPolicy: "Background" },
      { propagationPolicy: "Foreground" },
      { propagationPolicy: "Foreground", preconditions: { uid, resourceVersion } },
    ].map((options) => JSON.stringify({ apiVersion: "v1", kind: "DeleteOptions", ...options }));
    for (const options of prunes)
      await assert.rejects(
        cp.request("DELETE", pathOf(team, "pruned"), options),
        /pruned cannot be deleted (yet|in the foreground)/,
      );
    await isUntouched(ref);
    await approve(ref);
    const [prune] = prunes;
    await cp.request("DELETE", pathOf(team, "pruned"), prune);
    assert.equal(await cp.find(ref), undefined);
  });

  test("by kubectl apply --prune is refused, and the other objects are pruned", async () => {
    const namespace = "applied";
    await applyPolicy(cp, policyRef(namespace, "protect"), { rules: [deny("BeforeClusterDelete")] });
    const labels = { "example.com/set": "fleet" };
    const beside: KubeObject = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace, name: "beside", labels },
    };
    const kept: KubeObject = { ...beside, metadata: { ...beside.metadata, name: "kept" } };
    const write = async (name: string, ...items: readonly KubeObject[]): Promise<string> => {
      const file = join(cp.folder, name);
      await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
      return file;
    };
    const all = await write(
      "all.json",
      clusterObject(namespace, "c1", { metadata: { labels } }),
      beside,
      kept,
    );
    await cp.kubectl("apply", "-f", all);
    const allowed = ["core/v1/ConfigMap", "cluster.x-k8s.io/v1beta2/Cluster"].map(
      (kind) => `--prune-allowlist=${kind}`,
    );
    const prune = [
      "apply",
      "-f",
      await write("kept.json", kept),
      "--prune",
      "-l",
      "example.com/set=fleet",
      ...allowed,
    ];
    await assert.rejects(cp.kubectl(...prune), /applied\/c1 cannot be deleted yet/);
    await isUntouched(clusterRef(namespace, "c1"));
  });

  test("of a Cluster without topology is refused, too", async () => {
    const ref = await createCluster(team, "plain", { spec: PLAIN });
    assert.equal((await cp.get(ref))["spec"].topology, undefined);
    await assert.rejects(deletes(ref), /cannot be deleted yet/);
    await isUntouched(ref);
  });

  test("of a collection takes only what is approved", async () => {
    await applyPolicy(cp, policyRef("collection", "protect"), { rules: [deny("BeforeClusterDelete")] });
    const [kept, gone] = [await createCluster("collection", "b"), await createCluster("collection", "a")];
    await approve(gone);
    const collection = "/apis/cluster.x-k8s.io/v1beta2/namespaces/collection/clusters";
    await assert.rejects(cp.request("DELETE", collection), /collection\/b cannot be deleted yet/);
    await isUntouched(kept);
    assert.equal(await cp.find(gone), undefined);
  });

  test("that has begun may be repeated", async () => {
    const ref = await createCluster(team, "twice", { metadata: { finalizers: ["example.com/keep"] } });
    await approve(ref);
    await deletes(ref);
    await cp.patch(ref, { metadata: { annotations: { [APPROVED]: null } } });
    await deletes(ref);
    await cp.patch(ref, { metadata: { finalizers: [] } });
    assert.equal(await cp.find(ref), undefined);
  });

  test("of a paused Cluster is refused, unless clusterctl move has marked it", async () => {
    const ref = await createCluster(team, "moved", { spec: { paused: true } });
    await assert.rejects(deletes(ref), /cannot be deleted yet/);
    const mark = { "clusterctl.cluster.x-k8s.io/delete-for-move": "" };
    await cp.patch(ref, { metadata: { annotations: mark }, spec: { paused: false } });
    await assert.rejects(deletes(ref), /cannot be deleted yet/);
    await cp.patch(ref, { spec: { paused: true } });
    await deletes(ref);
    assert.equal(await cp.find(ref), undefined);
  });

  test("never passes between the creation of a policy and the operator's knowledge of it", async () => {
    for (const round of [1, 2, 3, 4, 5]) {
      const namespace = `fresh-${round}`;
      const ref = await createCluster(namespace, "c1");
      await storePolicy(cp, policyRef(namespace, "protect"), { rules: [deny("BeforeClusterDelete")] });
      await assert.rejects(deletes(ref), /cannot be deleted/);
      await isUntouched(ref);
    }
  });

  test("of their Namespace leaves the Clusters, and says so", async () => {
    const namespace = "namespace-goes";
    await applyPolicy(cp, policyRef(namespace, "protect"), { rules: [deny("BeforeClusterDelete")] });
    const ref = await createCluster(namespace, "c1");
    await cp.delete({ apiVersion: "v1", kind: "Namespace", name: namespace });
    const saysSo = async (): Promise<boolean> => {
      const { status } = await cp.get({ apiVersion: "v1", kind: "Namespace", name: namespace });
      const conditions: readonly { type: string; message: string }[] = status?.conditions ?? [];
      return conditions.some(
        ({ type, message }) =>
          type === "NamespaceDeletionContentFailure" && message.includes("cannot be deleted yet"),
      );
    };
    await cp.waitFor("the Namespace to say what is refused", saysSo, DEFINITION_GONE_MS);
    await isUntouched(ref);
    await approve(ref);
    await isGone(cp, ref);
  });
});

describe("a refusal", () => {
  const team = "refusals";
  const policy = policyRef(team, "protect");
  test("is recorded once, whichever replica refuses and however often; a dry run only in the audit log", async () => {
    await applyPolicy(cp, policy, { rules: [deny("BeforeClusterDelete")] });
    const [tried, often] = [await createCluster(team, "dry"), await createCluster(team, "often")];
    await cp.waitFor(
      "the Clusters to be known",
      async () => (await cp.get(policy))["status"]?.matchedClusters === 2,
    );
    await assert.rejects(deletes(tried, "--dry-run=server"), /cannot be deleted yet/);
    for (let count = 0; count < 10; count += 1) await assert.rejects(deletes(often), /cannot be deleted yet/);
    const [result] = await cp.waitFor("the status to show it", async () => {
      const results = await recentResults(cp, policy);
      return results.length > 0 && results;
    });
    assert.partialDeepStrictEqual(result, {
      namespace: team,
      cluster: "often",
      hook: "BeforeClusterDelete",
      verdict: "Refused",
      rule: "approval",
      gate: "approved",
    });
    const noted = await cp.waitFor("the Events", async () => {
      const both = [
        ...(await refusalEvents(cp, team, "often")),
        ...(await refusalEvents(cp, team, "protect")),
      ];
      return both.length >= 2 && both;
    });
    assert.match(
      noted[0]?.note ?? "",
      /^A request for the deletion was refused by HookPolicy refusals\/protect/,
    );
    const lines = await cp.waitFor("a line for each refusal", async () => {
      const own = (await refusalLines(REPLICAS.map(auditLog))).filter(({ cluster }) =>
        ["dry", "often"].includes(cluster.name),
      );
      return own.length >= 11 && own;
    });
    assert.deepEqual(
      lines.filter(({ dryRun }) => dryRun).map(({ cluster }) => cluster.name),
      ["dry"],
    );
    // Another replica has seen the same, and wrote nothing: the status and the Events are one each.
    assert.equal((await recentResults(cp, policy)).length, 1);
    assert.deepEqual(
      [
        (await refusalEvents(cp, team, "often")).length,
        (await refusalEvents(cp, team, "protect")).length,
        (await refusalEvents(cp, team, "dry")).length,
      ],
      [1, 1, 0],
    );
  });
});

describe("another request", () => {
  const team = "others";
  before(async () => {
    const upgrade = {
      until: [{ name: "approved", annotation: { key: APPROVED, valueFrom: "TargetVersion" } }],
    };
    await applyPolicy(cp, policyRef(team, "protect"), {
      rules: [
        deny("BeforeClusterUpgrade", { name: "upgrade", ...(upgrade as Pick<RuleSpec, "until">) }),
        deny("BeforeClusterCreate", {
          name: "create",
          until: [{ name: "owner", label: { key: "example.com/owner" } }],
        }),
        { ...approvalRule("BeforeClusterDelete"), admission: "Warn" },
      ],
    });
  });
  const labels = { "example.com/owner": "anna" };
  const version = (to: string): object => ({ spec: { topology: { version: to } } });

  test("creates only what a rule lets pass; a paused Cluster passes", async () => {
    await assert.rejects(
      createCluster(team, "created"),
      /Cluster others\/created cannot be created yet: .*rule create: .*set what it lacks in the object/,
    );
    const metadata = { generateName: "generated-", name: undefined };
    await assert.rejects(
      cp.create(clusterObject(team, "", { metadata })),
      /Cluster others\/generated-\w+ cannot be created/,
    );
    await createCluster(team, "created", { metadata: { labels } });
    await createCluster(team, "restored", { spec: { paused: true } });
  });

  test("changes the version only with approval, and not together with the end of a pause", async () => {
    const ref = await createCluster(team, "upgraded", { metadata: { labels } });
    await assert.rejects(
      cp.patch(ref, version("v1.35.0")),
      /cannot be upgraded to v1\.35\.0 yet: .*hooks\.example\.com\/approved=v1\.35\.0\)/,
    );
    await cp.patch(ref, { spec: { paused: true } });
    await cp.patch(ref, version("v1.34.1"));
    await assert.rejects(
      cp.patch(ref, { spec: { paused: false, topology: { version: "v1.35.0" } } }),
      /cannot be upgraded to v1\.35\.0/,
    );
    await cp.patch(ref, { spec: { paused: false } });
    await cp.patch(ref, { metadata: { annotations: { [APPROVED]: "v1.35.0" } } });
    await cp.patch(ref, version("v1.35.0"));
    assert.equal((await cp.get(ref))["spec"].topology.version, "v1.35.0");
  });

  test("passes with a warning", async () => {
    const ref = await createCluster(team, "warned", { metadata: { labels } });
    // kubectl prints warnings to stderr, and fails on them if it is asked to.
    await assert.rejects(
      deletes(ref, "--warnings-as-errors"),
      /Warning: HookPolicy others\/protect, rule approval/,
    );
    assert.equal(await cp.find(ref), undefined);
  });

  test("that changes something else does not reach the operator", async () => {
    const ref = await createCluster(team, "busy", { metadata: { labels } });
    const counted = async (): Promise<number> => {
      const counts = await Promise.all(replicas.map(async (replica) => await replica.metric(REVIEWS)));
      return counts.reduce((sum, count) => sum + count, 0);
    };
    const atFirst = await counted();
    for (let count = 0; count < 50; count += 1) {
      await cp.patch(ref, { metadata: { annotations: { "example.com/count": `${count}` } } });
      await cp.patchStatus(ref, { phase: count % 2 === 0 ? "Provisioning" : "Provisioned" });
    }
    assert.equal(await counted(), atFirst);
  });
});

test("with one replica killed every deletion is still refused; without any, by the API server", async () => {
  const ref = await createCluster("probe", "crash");
  const [first, second] = replicas;
  assert.ok(first && second);
  await first.daemon.stop("SIGKILL");
  for (let count = 0; count < 20; count += 1) {
    await assert.rejects(deletes(ref), /cannot be deleted yet|failed calling webhook/);
  }
  await cp.waitFor("the other replica to answer", async () => {
    return await deletes(ref).then(
      () => assert.fail("it was deleted"),
      (error: unknown) => String(error).includes("cannot be deleted yet"),
    );
  });
  await second.daemon.stop("SIGKILL");
  await approve(ref);
  await assert.rejects(deletes(ref), /failed calling webhook "clusters\.hookpolicy\.dev"/);
  await isUntouched(ref);
  await cp.patch(ref, { metadata: { labels: { "example.com/others": "pass" } } });
  // By hand: docs/admission.md.
  await cp.kubectl("delete", "validatingwebhookconfiguration", "hookpolicy-clusters");
  await cp.waitFor("the deletion to pass", async () => !(await isRefused(deletes(ref))));
});
