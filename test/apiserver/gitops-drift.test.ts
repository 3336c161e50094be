/** Flux, Argo CD and Helm find nothing to correct in what the operator has written. */

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type KubeObject, objectsOf, objectOf } from "../controlplane/client.ts";
import { installClusterDefinition } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { createCluster } from "../controlplane/lab.ts";
import { type Operator, startOperator } from "../controlplane/operator.ts";
import { approvalRule, condition, policyRef } from "../controlplane/policies.ts";
import { CHART, extensionConfigCrd, helmIn, kustomize, NAMESPACE, ROOT } from "../install/tools.ts";

const TEAM = "team-a";
const FINALIZER = "hookpolicy.dev/hold-clusters";
const MANIFESTS = join(ROOT, "manifests");
/** As docs/install.md has it. */
const TAKE = ["--take-ownership", "--force-conflicts"];

describe("nothing to correct", () => {
  const policy = policyRef(TEAM, "protect");
  let cp: ControlPlane;
  let file: string;
  let git: KubeObject;

  before(async () => {
    cp = await startControlPlane();
    await installClusterDefinition(cp);
    await cp.apply(await extensionConfigCrd());
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: TEAM } });
    const matchExpressions = [{ key: "region", operator: "In", values: ["east", "west"] }];
    const clusterSelector = { matchLabels: { tier: "production" }, matchExpressions };
    const spec = { clusterSelector, rules: [approvalRule("BeforeClusterDelete")] };
    git = objectOf(policy, { spec });
    file = join(cp.folder, "policy.json");
    await writeFile(file, JSON.stringify(git));
  });
  after(async () => await cp?.stop());

  /** Everything that the operator writes into others' objects: a finalizer, a status, a caBundle. */
  async function operatorHasWritten(name: string): Promise<Operator> {
    const certDir = join(cp.folder, `${name}-certs`);
    await mkdir(certDir);
    await writeFile(join(certDir, "ca.crt"), cp.authority.certificate);
    const operator = await startOperator(cp, { name });
    const labels = { tier: "production", region: "west" };
    await createCluster(cp, { namespace: TEAM, name: "prod-1", labels }).catch(() => undefined);
    await cp.waitFor("the finalizer", async () =>
      (await cp.get(policy)).metadata.finalizers?.includes(FINALIZER),
    );
    await cp.waitFor("the status", async () => (await cp.get(policy))["status"].matchedClusters === 1);
    await cp.waitFor("the caBundle", async () => {
      const [webhook] = await cp.list({
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingWebhookConfiguration",
      });
      return webhook?.["webhooks"][0].clientConfig.caBundle !== undefined;
    });
    // It comes a minute after the registration, and a write that comes later is a difference.
    await cp.waitFor("the condition", async () => condition(await cp.get(policy), "NotCalled"));
    return operator;
  }

  async function versions(objects: readonly KubeObject[]): Promise<Record<string, string | undefined>> {
    const found = await Promise.all(
      objects.map(async (object) => {
        const { kind, metadata } = await cp.get({ ...object, ...object.metadata });
        return [`${kind} ${metadata.name}`, metadata.resourceVersion] as const;
      }),
    );
    return Object.fromEntries(found);
  }

  test("for kubectl apply", async () => {
    await cp.kubectl("apply", "-k", MANIFESTS);
    await cp.kubectl("apply", "-f", file);
    const operator = await operatorHasWritten("client-side");
    const objects = [...(await kustomize(MANIFESTS)), git];
    const earlier = await versions(objects);
    await cp.kubectl("apply", "-k", MANIFESTS);
    await cp.kubectl("apply", "-f", file);
    assert.deepEqual(await versions(objects), earlier);
    // Exits with 1 where there is a difference. Argo CD compares so, too: what Git has, what it had, what is there.
    assert.equal(await cp.kubectl("diff", "-k", MANIFESTS), "");
    assert.equal(await cp.kubectl("diff", "-f", file), "");
    await operator.daemon.stop();
  });

  test("for server-side apply, as Flux does it", async () => {
    const apply = ["apply", "--server-side", "--field-manager=kustomize-controller"];
    await cp.kubectl(...apply, "--force-conflicts", "-k", MANIFESTS);
    await cp.kubectl(...apply, "--force-conflicts", "-f", file);
    const operator = await operatorHasWritten("server-side");
    const objects = [...(await kustomize(MANIFESTS)), git];
    const earlier = await versions(objects);
    await cp.kubectl(...apply, "-k", MANIFESTS);
    await cp.kubectl(...apply, "-f", file);
    assert.deepEqual(await versions(objects), earlier);
    const diff = ["diff", "--server-side", "--field-manager=kustomize-controller"];
    assert.equal(await cp.kubectl(...diff, "-k", MANIFESTS), "");
    assert.equal(await cp.kubectl(...diff, "-f", file), "");
    await operator.daemon.stop();
  });

  test("because the finalizer and the status are the operator's, by their field manager", async () => {
    const { managedFields } = (await cp.get(policy)).metadata as unknown as {
      managedFields: readonly ManagedFields[];
    };
    const ownersOf = (part: string, field: string): string[] =>
      managedFields
        .filter(({ fieldsV1 }) => fieldsV1[`f:${part}`]?.[`f:${field}`] !== undefined)
        .map(({ manager, operation, subresource }) => [manager, operation, subresource].join(" ").trimEnd());
    assert.deepEqual(ownersOf("metadata", "finalizers"), ["hookpolicy Update"]);
    assert.deepEqual(ownersOf("status", "observedGeneration"), ["hookpolicy Update status"]);
    assert.ok(!ownersOf("spec", "rules").some((owner) => owner.startsWith("hookpolicy ")));
  });

  test("for Helm, which takes over what kubectl has installed", async () => {
    const { uid } = (await cp.get(policy)).metadata;
    const release = ["hookpolicy", CHART, "--namespace", NAMESPACE];
    await helmIn(cp, "install", ...release, "--set", "capiVersion=1.12", ...TAKE);
    await cp.kubectl("apply", "-f", file);
    const operator = await operatorHasWritten("helm");
    assert.equal((await cp.get(policy)).metadata.uid, uid);
    const manifest = await helmIn(cp, "get", "manifest", "hookpolicy", "--namespace", NAMESPACE);
    const objects = [...objectsOf(manifest), git];
    const earlier = await versions(objects);
    await helmIn(cp, "upgrade", ...release, "--reset-then-reuse-values");
    await helmIn(cp, "upgrade", ...release, "--reset-then-reuse-values");
    assert.deepEqual(await versions(objects), earlier);
    await operator.daemon.stop();
  });
});

interface ManagedFields {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly fieldsV1: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}
