/** What Flux and Argo CD show of our kinds. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, before, describe, test } from "node:test";
import { parse } from "yaml";
import { type KubeObject, objectsOf, type Ref } from "../controlplane/client.ts";
import { installClusterDefinition } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import {
  argoHealthOf,
  fluxHealthOf,
  type HealthCheckExpressions,
  kstatusOf,
  type ObjectStatus,
} from "../controlplane/gitops.ts";
import { clusterRef, createCluster } from "../controlplane/lab.ts";
import { installHookPolicy, type Operator, startOperator } from "../controlplane/operator.ts";
import {
  approvalRule,
  clusterPolicyRef,
  condition,
  conditionIs,
  policyRow,
  inSeconds,
  overrideRef,
  policyRef,
  storeOverride,
  storePolicy,
  storeRollout,
} from "../controlplane/policies.ts";
import { CHART, extensionConfigCrd, helm, kustomize, ROOT } from "../install/tools.ts";

const TEAM = "team-a";
const FINALIZER = "hookpolicy.dev/hold-clusters";
const MANIFESTS = join(ROOT, "manifests");
const HEALTH = join(MANIFESTS, "argocd/health.lua");
const EXTENSION_HEALTH = join(MANIFESTS, "argocd/extensionconfig.lua");
const EXTENSION_KEY = "resource.customizations.health.runtime.cluster.x-k8s.io_ExtensionConfig";
const HOOK = "BeforeClusterDelete";
const DAY = 86_400;

const NOT_SEEN: ObjectStatus = { status: "Progressing", message: "not seen by the operator yet" };

describe("in each state", () => {
  const policy = policyRef(TEAM, "protect");
  const wrong = policyRef(TEAM, "wrong");
  const platform = clusterPolicyRef("platform");
  const wrongPlatform = clusterPolicyRef("wrong");
  const active = overrideRef("active");
  const expired = overrideRef("expired");
  const tooLong = overrideRef("too-long");
  const all = [policy, wrong, platform, wrongPlatform, active, expired, tooLong];
  const zone = { timeZone: "Europe/Nowhere", allow: [{ schedule: "0 22 * * FRI", duration: "8h" }] };
  const unknownZone = { name: "weekend", hooks: [HOOK], until: [{ name: "weekend", window: zone }] };
  let cp: ControlPlane;
  let operator: Operator;
  /** Those for a Kustomization that is to fail while Cluster API does not ask. */
  const expressions = documentedExpressions("HookPolicy");

  before(async () => {
    cp = await startControlPlane({ seed: "hookpolicy" });
    await installHookPolicy(cp);
    const creation = { ...approvalRule("BeforeClusterCreate"), name: "creation" };
    await storePolicy(cp, policy, { rules: [approvalRule(HOOK), creation] });
    await storePolicy(cp, wrong, { rules: [unknownZone] });
    await storePolicy(cp, platform, { namespaceSelector: {}, rules: [approvalRule("BeforeClusterCreate")] });
    await storePolicy(cp, wrongPlatform, { namespaceSelector: {}, rules: [unknownZone] });
    for (const [{ name }, seconds] of [
      [active, DAY],
      [expired, -60],
      [tooLong, 30 * DAY],
    ] as const) {
      const cluster = { namespace: TEAM, name: "prod-1" };
      await storeOverride(cp, name, { clusterRef: cluster, hooks: [HOOK], expiresAt: inSeconds(seconds) });
    }
  });
  after(async () => await cp?.stop());

  /** The message of kstatus is the library's own, unless a condition has one. */
  async function shows(
    ref: Ref,
    kstatus: string | ObjectStatus,
    argo: ObjectStatus,
    flux?: string,
  ): Promise<void> {
    const object = await cp.get(ref);
    const found = await kstatusOf(object);
    assert.deepEqual(typeof kstatus === "string" ? found.status : found, kstatus, ref.name);
    assert.deepEqual(await argoHealthOf(object, HEALTH), argo, ref.name);
    if (ref.kind === "HookOverride") return;
    assert.equal((await fluxHealthOf(object, expressions)).status, flux ?? found.status, ref.name);
  }

  async function messageOf(ref: Ref, type: string): Promise<string> {
    return await cp.waitFor(
      `${ref.name} to have ${type}`,
      async () => condition(await cp.get(ref), type)?.message,
    );
  }

  async function isReconciling(ref: Ref): Promise<void> {
    const { message } = await conditionIs(cp, ref, "Reconciling", "ClusterAPINotInstalled");
    await shows(ref, { status: "InProgress", message }, { status: "Progressing", message });
  }

  async function isStalled(ref: Ref, reason: string): Promise<void> {
    const { message } = await conditionIs(cp, ref, "Stalled", reason);
    await shows(ref, { status: "Failed", message }, { status: "Degraded", message });
  }

  test("new, before any operator has seen it", async () => {
    for (const ref of all) await shows(ref, "InProgress", NOT_SEEN);
  });

  test("waiting for something that is not the policy's fault", async () => {
    operator = await startOperator(cp, { waitReady: false });
    for (const ref of [policy, platform]) await isReconciling(ref);
  });

  test("stalled: somebody has to edit it", async () => {
    for (const ref of [wrong, wrongPlatform]) await isStalled(ref, "InvalidSpec");
    await installClusterDefinition(cp);
    await isStalled(tooLong, "TooLong");
    await assert.rejects(
      cp.kubectl("wait", `hookpolicy/${wrong.name}`, "-n", TEAM, "--for=condition=Ready", "--timeout=0"),
    );
  });

  test("ready", async () => {
    for (const ref of [policy, platform]) {
      await conditionIs(cp, ref, "Ready", "Loaded");
      // There is no Cluster API here: it says so where it can be read, and the object is ready all the same.
      const message = await messageOf(ref, "NotCalled");
      await shows(ref, "Current", { status: "Healthy", message }, "Failed");
    }
    await cp.kubectl(
      "wait",
      `hookpolicy/${policy.name}`,
      "-n",
      TEAM,
      "--for=condition=Ready",
      "--timeout=60s",
    );
  });

  test("ready, and Cluster API asks", async () => {
    const rollout = await storeRollout(cp, "creations", { operation: "Create" });
    await cp.waitFor("it to say so", async () => condition(await cp.get(rollout), "NotCalled"));
    await cp.apply(await extensionConfigCrd());
    await registered(cp);
    for (const ref of [policy, rollout])
      await cp.waitFor(
        `${ref.kind} to be called, sooner than by the next resync`,
        async () => condition(await cp.get(ref), "NotCalled") === undefined,
        25_000, // the resync comes after 30 s
      );
    const message = await messageOf(policy, "Ready");
    await shows(policy, "Current", { status: "Healthy", message });
  });

  test("holding a Cluster, which is no fault", async () => {
    await createCluster(cp, { namespace: TEAM, name: "held" });
    await cp.waitFor(
      "the Cluster to be known",
      async () => (await cp.get(policy))["status"].matchedClusters === 1,
    );
    const { status: _, ...cluster } = await cp.get(clusterRef(TEAM, "held"));
    await operator.ask("BeforeClusterCreate", { cluster });
    await policyRow(cp, policy, "held", "BeforeClusterCreate");
    assert.equal((await kstatusOf(cluster)).status, "Current", "docs/gitops.md says so of held Clusters");
    assert.equal((await cp.get(policy))["status"].blocked, 1);
    const message = await messageOf(policy, "Ready");
    await shows(policy, "Current", { status: "Healthy", message });
  });

  test("an override that is active, and one that has ended", async () => {
    for (const ref of [active, expired]) {
      const message = await messageOf(ref, "Active");
      await shows(ref, "Current", { status: "Healthy", message });
    }
    assert.equal(condition(await cp.get(expired), "Active")?.status, "False");
  });

  test("edited, before the operator has seen it", async () => {
    await operator.daemon.stop();
    for (const ref of [policy, platform, wrong]) {
      await cp.patch(ref, { spec: { mode: "Audit" } });
      await shows(ref, "InProgress", NOT_SEEN);
    }
  });

  test("deleted, and kept by the finalizer", async () => {
    await cp.delete(policy);
    assert.deepEqual((await cp.get(policy)).metadata.finalizers, [FINALIZER]);
    assert.equal((await kstatusOf(await cp.get(policy))).status, "Terminating");
  });
});

/** What docs/gitops.md has for objects of a kind. */
function documentedExpressions(kind: string, kustomization = "cluster-policies"): HealthCheckExpressions {
  const { spec } = documented("Kustomization", kustomization);
  const all: readonly (HealthCheckExpressions & { readonly kind: string })[] = spec.healthCheckExprs;
  return all.find((each) => each.kind === kind) ?? assert.fail(`no healthCheckExprs of ${kind}`);
}

function documented(kind: string, name: string): KubeObject {
  const page = readFileSync(join(ROOT, "docs/gitops.md"), "utf8");
  const blocks: KubeObject[] = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, block = ""]) =>
    parse(block),
  );
  return (
    blocks.find((each) => each.kind === kind && each.metadata.name === name) ??
    assert.fail(`no ${kind} ${name}`)
  );
}

/** As Cluster API leaves it: all hooks discovered. */
async function registered(cp: ControlPlane): Promise<void> {
  const extension = (await kustomize(MANIFESTS)).find(({ kind }) => kind === "ExtensionConfig");
  assert.ok(extension);
  await cp.apply(extension);
  const handlers = [HOOK, "BeforeClusterCreate"].map((hook) => ({
    name: `${hook.toLowerCase()}.hookpolicy`,
    requestHook: { apiVersion: "hooks.runtime.cluster.x-k8s.io/v1alpha1", hook },
    timeoutSeconds: 10,
    failurePolicy: "Fail",
  }));
  const lastTransitionTime = new Date().toISOString();
  const discovered = {
    type: "Discovered",
    status: "True",
    reason: "Discovered",
    message: "",
    lastTransitionTime,
  };
  await cp.patchStatus({ ...extension, ...extension.metadata }, { handlers, conditions: [discovered] });
}

describe("Argo CD's ConfigMap", () => {
  const patch = parse(readFileSync(join(MANIFESTS, "argocd/argocd-cm.yaml"), "utf8"));

  test("has the script for each kind, as it is tried here", async () => {
    const written = (await kustomize(join(ROOT, "crds"))).filter(
      ({ spec }) => spec.names.kind !== "HookTask",
    );
    const kinds = written.map(({ spec }) => `${spec.group}_${spec.names.kind}`);
    const keys = kinds.map((kind) => `resource.customizations.health.${kind}`);
    assert.deepEqual(Object.keys(patch.data).toSorted(), [...keys, EXTENSION_KEY].toSorted());
    for (const [key, script] of Object.entries(patch.data))
      assert.equal(script, readFileSync(key === EXTENSION_KEY ? EXTENSION_HEALTH : HEALTH, "utf8"));
  });

  test("keeps what else it says, in whichever namespace", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "hookpolicy-argocd-"));
    t.after(async () => await rm(folder, { recursive: true }));
    const map = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "argocd-cm", namespace: "argo" },
      data: { url: "https://argocd.example.com" },
    };
    await writeFile(join(folder, "argocd-cm.yaml"), JSON.stringify(map));
    const components = [relative(folder, join(MANIFESTS, "argocd"))];
    await writeFile(
      join(folder, "kustomization.yaml"),
      JSON.stringify({ resources: ["argocd-cm.yaml"], components }),
    );
    const [merged] = await kustomize(folder);
    assert.deepEqual(merged, { ...map, data: { ...map.data, ...patch.data } });
  });
});

describe("a rollout", () => {
  const rollout = (conditions: Readonly<Record<string, string>>, observedGeneration = 1): KubeObject => ({
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookRollout",
    metadata: { name: "upgrades", generation: 1 },
    status: {
      observedGeneration,
      conditions: Object.entries(conditions).map(([type, status]) => ({
        type,
        status,
        message: `is ${type}`,
      })),
    },
  });
  const holding = rollout({ Ready: "True", Halted: "False" });
  const halted = rollout({ Ready: "True", Halted: "True" });
  const stalled = rollout({ Ready: "False", Stalled: "True" });
  const reconciling = rollout({ Ready: "False", Reconciling: "True" });
  const edited = rollout({ Ready: "True", Halted: "False" }, 0);

  test("that is halted is degraded for Argo CD, and one that holds Clusters is healthy", async () => {
    assert.deepEqual(await argoHealthOf(holding, HEALTH), { status: "Healthy", message: "is Ready" });
    assert.deepEqual(await argoHealthOf(halted, HEALTH), { status: "Degraded", message: "is Halted" });
  });

  test("that is halted fails a Kustomization of Flux only with the expressions of the docs", async () => {
    const expressions = documentedExpressions("HookRollout");
    const flux = async (object: KubeObject) => (await fluxHealthOf(object, expressions)).status;
    assert.equal((await kstatusOf(halted)).status, "Current");
    assert.equal(await flux(halted), "Failed");
    assert.equal(await flux(holding), "Current");
    assert.equal(await flux(stalled), "Failed");
    assert.equal(await flux(reconciling), "InProgress");
    assert.equal(await flux(edited), "InProgress");
    assert.equal(await flux({ ...holding, status: { observedGeneration: -1 } }), "InProgress");
  });
});

describe("the ExtensionConfig", () => {
  const extension = (status?: string, message = ""): KubeObject => ({
    apiVersion: "runtime.cluster.x-k8s.io/v1beta2",
    kind: "ExtensionConfig",
    metadata: { name: "hookpolicy", generation: 2 },
    ...(status !== undefined && {
      status: {
        conditions: [
          { type: "Paused", status: "False" },
          { type: "Discovered", status, message },
        ],
      },
    }),
  });
  const unknown = "failed to discover: hook BeforeNothing is not in the Runtime SDK catalog";
  const refused = "failed to call: connection refused";
  const states: Readonly<Record<string, readonly [KubeObject, argo: ObjectStatus, flux: string]>> = {
    "new: both tools wait": [
      extension(),
      { status: "Progressing", message: "not discovered by Cluster API yet" },
      "Unknown",
    ],
    "not reached yet: both tools wait": [
      extension("False", refused),
      { status: "Progressing", message: refused },
      "InProgress",
    ],
    "a hook that this Cluster API does not know: Flux fails, and Argo CD, whose scripts cannot search a text, says so":
      [extension("False", unknown), { status: "Progressing", message: unknown }, "Failed"],
    "discovered: both tools go on": [
      extension("True"),
      { status: "Healthy", message: "Cluster API calls the hooks" },
      "Current",
    ],
  };
  for (const [title, [object, argo, flux]] of Object.entries(states))
    test(title, async () => {
      assert.equal((await kstatusOf(object)).status, "Current", "without expressions, Flux would not wait");
      assert.deepEqual(await argoHealthOf(object, EXTENSION_HEALTH), argo);
      const judged = fluxHealthOf(object, documentedExpressions("ExtensionConfig", "hookpolicy"));
      // For a moment there is no status: Flux says Unknown, and looks again.
      if (flux === "Unknown") await assert.rejects(judged, /no such attribute\(s\): status/);
      else assert.equal((await judged).status, flux);
    });
});

describe("the operator, as the docs have it", () => {
  for (const [kind, valuesOf] of [
    ["HelmRelease", ({ values }: KubeObject["spec"]): Record<string, string> => values],
    ["Application", ({ source }: KubeObject["spec"]): Record<string, string> => source.helm.valuesObject],
  ] as const)
    test(`is in ${kind === "Application" ? "an" : "a"} ${kind} whose values the chart takes`, async () => {
      const values = valuesOf(documented(kind, "hookpolicy").spec);
      const rendered = objectsOf(
        await helm(
          "template",
          CHART,
          ...Object.entries(values).flatMap(([key, value]) => ["--set-string", `${key}=${value}`]),
        ),
      );
      const { spec } = rendered.find((each) => each.kind === "Deployment") ?? assert.fail("no Deployment");
      assert.ok(spec.template.spec.containers[0].args.includes("--capi-version=1.12"));
    });

  test("is what the Kustomization of the policies depends on", () => {
    const { spec } = documented("Kustomization", "cluster-policies");
    const { metadata, spec: own } = documented("Kustomization", "hookpolicy");
    assert.deepEqual(spec.dependsOn, [{ name: metadata.name }]);
    const [release] = own.healthChecks;
    const { kind, apiVersion, metadata: named } = documented("HelmRelease", "hookpolicy");
    assert.deepEqual(release, { apiVersion, kind, ...named });
  });
});
