/**
 * Workers that are pinned, on a real API server. No release of Cluster API has the field yet (docs/compatibility.md, Pinned
 * workers), so the definition of Cluster gets it here, as the proposal has it: in v1beta2 alone.
 */

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { KubeObject, Ref } from "../controlplane/client.ts";
import { clusterApiDefinition, CLUSTER_DEFINITION } from "../controlplane/cluster-api.ts";
import { clusterWebhook } from "../controlplane/cluster-webhook.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { clusterRef } from "../controlplane/lab.ts";
import {
  installHookPolicy,
  issueServingCertificate,
  startOperator,
  writeServingCertificate,
} from "../controlplane/operator.ts";
import { applyPolicy, policyRef } from "../controlplane/policies.ts";
import { type AdmissionClient, createAdmissionClient } from "./admission-client.ts";
import { CONVERSION_DATA, startPinConversion } from "./pin-conversion.ts";
import { clusterObject } from "./cluster-object.ts";
import { recentResults } from "./refusals.ts";

const TEAM = "pins";
const POLICY = policyRef(TEAM, "upgrades");
const VERSION = "hooks.example.com/version";
const CANARY_ROLLOUT: Ref = { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookRollout", name: "upgrades" };

let cp: ControlPlane;
let client: AdmissionClient;
let conversion: Awaited<ReturnType<typeof startPinConversion>> | undefined;

before(async () => {
  client = await createAdmissionClient();
  cp = await startControlPlane({ apiServerArgs: client.apiServerArgs });
  await installHookPolicy(cp);
  conversion = await startPinConversion(cp);
  const definition = withPins(await clusterApiDefinition(CLUSTER_DEFINITION.name));
  await cp.apply({ ...definition, spec: { ...definition["spec"], conversion: conversion.spec } });
  const certDir = join(cp.folder, "certs");
  await mkdir(certDir);
  await writeServingCertificate(certDir, await issueServingCertificate(cp));
  await writeFile(join(certDir, "ca.crt"), cp.authority.certificate);
  const { ports } = await startOperator(cp, { name: "hookpolicy", flags: client.flags });
  await cp.apply(await clusterWebhook(ports.admission, cp.authority.caBundle));
  await applyPolicy(cp, POLICY, {
    rules: [
      {
        name: "approved",
        hooks: ["BeforeClusterUpgrade"],
        admission: "Deny",
        until: [{ name: "approved", annotation: { key: VERSION, valueFrom: "TargetVersion" } }],
      },
    ],
  });
  const probe = await createCluster("probe", { "md-0": "v1.33.0" });
  await cp.waitFor(
    "the webhooks to be called",
    async () =>
      await cp.patch(probe, pins({ "md-0": "v1.33.1" })).then(
        async () => {
          await cp.patch(probe, pins({ "md-0": "v1.33.0" }));
          return false;
        },
        (error: unknown) => /cannot be upgraded/.test(String(error)),
      ),
  );
});
after(async () => {
  await cp?.stop();
  conversion?.stop();
  await client?.remove();
});

interface Schema {
  readonly properties: Record<string, any>; // eslint-disable-line
}

function withPins(definition: KubeObject): KubeObject {
  const copy = structuredClone(definition);
  const served: readonly { name: string; schema: { openAPIV3Schema: Schema } }[] = copy["spec"].versions;
  const [newest] = served.filter(({ name }) => name === "v1beta2");
  assert.ok(newest !== undefined);
  const { workers } = newest.schema.openAPIV3Schema.properties["spec"].properties.topology.properties;
  for (const list of ["machineDeployments", "machinePools"]) {
    const { properties } = workers.properties[list].items;
    assert.equal(properties.version, undefined, "Cluster API has pins now: take its definition as it is");
    properties.version = { type: "string", minLength: 1, maxLength: 256 };
  }
  return copy;
}

type Pins = Readonly<Record<string, string | undefined>>;

const deployments = (of: Pins): object[] =>
  Object.entries(of).map(([name, version]) => ({ class: "worker", name, ...(version && { version }) }));
const pins = (of: Pins): object => ({
  spec: { topology: { workers: { machineDeployments: deployments(of) } } },
});

async function createCluster(name: string, of: Pins, over: object = {}): Promise<Ref> {
  await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: TEAM } });
  const topology = {
    classRef: { name: "lab" },
    version: "v1.35.0",
    workers: { machineDeployments: deployments(of) },
  };
  await cp.create(clusterObject(TEAM, name, { metadata: over, spec: { topology } }));
  return clusterRef(TEAM, name);
}

const pinOf = async (ref: Ref): Promise<unknown> =>
  (await cp.get(ref))["spec"].topology.workers.machineDeployments[0].version;

describe("a pin that is raised", () => {
  test("is refused until the upgrade to its version is approved", async () => {
    const ref = await createCluster("raised", { "md-0": "v1.33.0" });
    await assert.rejects(
      cp.patch(ref, pins({ "md-0": "v1.34.0" })),
      /admission webhook "workers\.hookpolicy\.dev" denied the request: workers md-0 of Cluster pins\/raised cannot be upgraded to v1\.34\.0 yet: HookPolicy pins\/upgrades, rule approved: gate approved waits for annotation hooks\.example\.com\/version=v1\.34\.0/,
    );
    assert.equal(await pinOf(ref), "v1.33.0");
    await cp.waitFor("the policy to record the refusal", async () => {
      const recent = await recentResults(cp, POLICY);
      return recent.some(({ cluster, targetVersion }) => cluster === "raised" && targetVersion === "v1.34.0");
    });
    await cp.patch(ref, { metadata: { annotations: { [VERSION]: "v1.34.0" } } });
    await cp.patch(ref, pins({ "md-0": "v1.34.0" }));
    assert.equal(await pinOf(ref), "v1.34.0");
  });

  test("is refused in a paused Cluster, too", async () => {
    const ref = await createCluster("paused", { "md-0": "v1.33.0" });
    await cp.patch(ref, { spec: { paused: true } });
    await assert.rejects(cp.patch(ref, pins({ "md-0": "v1.34.0" })), /cannot be upgraded to v1\.34\.0 yet/);
  });

  test("is refused beside another version of the topology that is approved", async () => {
    const ref = await createCluster("both", { "md-0": "v1.33.0" }, { annotations: { [VERSION]: "v1.36.0" } });
    const both = { spec: { topology: { version: "v1.36.0", workers: { machineDeployments: deployments({ "md-0": "v1.34.0" }) } } } }; // prettier-ignore
    await assert.rejects(cp.patch(ref, both), /workers md-0 of .* cannot be upgraded to v1\.34\.0 yet/);
    await cp.patch(ref, { spec: { topology: { version: "v1.36.0" } } });
  });
});

describe("a request in v1beta1, which keeps the pins in an annotation,", () => {
  const path = (name: string): string => `/apis/cluster.x-k8s.io/v1beta1/namespaces/${TEAM}/clusters/${name}`;
  const patch = async (name: string, annotations: object): Promise<unknown> =>
    await cp.request(
      "PATCH",
      path(name),
      JSON.stringify({ metadata: { annotations } }),
      "application/merge-patch+json",
    );

  test("is refused if it raises a pin there, or drops it", async () => {
    const ref = await createCluster("older", { "md-0": "v1.33.0" });
    const read = await cp.request<KubeObject>("GET", path("older"));
    assert.deepEqual(read["spec"].topology.workers.machineDeployments, [{ class: "worker", name: "md-0" }]);
    assert.ok(read.metadata.annotations?.[CONVERSION_DATA]?.includes("v1.33.0"));
    await assert.rejects(
      patch("older", { [CONVERSION_DATA]: JSON.stringify({ "md-0": "v1.34.0" }) }),
      /webhook "workers\.hookpolicy\.dev" denied the request: workers md-0 .* to v1\.34\.0 yet/,
    );
    await assert.rejects(
      patch("older", { [CONVERSION_DATA]: null }),
      /webhook "workers\.hookpolicy\.dev" denied the request: workers md-0 .* to v1\.35\.0 yet/,
    );
    assert.equal(await pinOf(ref), "v1.33.0");
  });

  test("passes if it leaves it", async () => {
    const ref = await createCluster("older-other", { "md-0": "v1.33.0" });
    await patch("older-other", { "example.com/a": "b" });
    assert.equal(await pinOf(ref), "v1.33.0");
  });
});

test("workers of hundreds of MachineDeployments are compared within what the API server spends on it", async () => {
  const many = (version: string): Pins =>
    Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`md-${index}`, version]));
  const ref = await createCluster("many", many("v1.33.0"));
  await cp.patch(ref, { metadata: { labels: { touched: "yes" } } });
  await assert.rejects(
    cp.patch(ref, pins(many("v1.34.0"))),
    /workers md-0, md-1, md-2, md-3, md-4 and 295 more of Cluster pins\/many cannot be upgraded to v1\.34\.0 yet/,
  );
});

test("new workers, pins to the version that is there, and other changes pass without a review", async () => {
  const ref = await createCluster("others", { "md-0": undefined });
  await cp.patch(ref, pins({ "md-0": undefined, "md-1": "v1.34.0" }));
  await cp.patch(ref, { metadata: { labels: { a: "b" } } });
  await cp.patch(ref, pins({ "md-1": "v1.34.0" }));
});

test("a HookRollout waits for a canary whose workers are pinned, and says which", async () => {
  const { kind, apiVersion, name } = CANARY_ROLLOUT;
  const ref = await createCluster(
    "canary",
    { "md-0": "v1.34.0", "md-1": undefined },
    { labels: { wave: "canary" } },
  );
  await cp.apply({
    apiVersion,
    kind,
    metadata: { name },
    spec: {
      operation: "Upgrade",
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": TEAM } },
      clusterSelector: { matchExpressions: [{ key: "wave", operator: "Exists" }] },
      progressDeadline: "1h",
      stages: [{ name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } }, { name: "rest" }],
    },
  });
  const infrastructureRef = {
    apiGroup: "infrastructure.cluster.x-k8s.io",
    kind: "LabCluster",
    name: "canary",
  };
  const { generation } = (await cp.patch(ref, { spec: { infrastructureRef } })).metadata;
  const now = new Date().toISOString();
  const condition = (type: string): object => ({
    type,
    status: "True",
    reason: "Done",
    message: "",
    observedGeneration: generation,
    lastTransitionTime: now,
  });
  const types = ["ControlPlaneInitialized", "TopologyReconciled", "Available"];
  await cp.patchStatus(ref, { conditions: types.map(condition) });
  await cp.waitFor("the stage to name the pinned workers", async () => {
    const stages = (await cp.get(CANARY_ROLLOUT))["status"]?.targets?.[0]?.stages ?? [];
    const [canary] = stages;
    return (
      canary?.passed === false && canary.waitsFor?.[0]?.message === "workers are pinned: md-0 to v1.34.0"
    );
  });
});
