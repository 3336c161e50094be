/**
 * Operator and CRDs of different versions, on a real API server: nothing that is stored is lost or let go, whichever of
 * the two is older. test/upgrade/ has what earlier versions have stored.
 */

import assert from "node:assert/strict";
import { globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { parse } from "yaml";
import type { HookName } from "../../src/api/runtime-hooks.ts";
import type { KubeObject, Ref } from "../controlplane/client.ts";
import { installClusterDefinition } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { createCluster, NEXT_VERSION } from "../controlplane/lab.ts";
import { holdsFor } from "../controlplane/operator.ts";
import { startProxy } from "../controlplane/proxy.ts";
import {
  applyPolicy,
  approvalRule,
  approve,
  clusterPolicyRef,
  condition,
  conditionIs,
  policyRow,
  inSeconds,
  policyRef,
  resultOf,
  statusOf,
  storePolicy,
} from "../controlplane/policies.ts";
import { beginUpgrade, Lab, writesOf } from "./operator-lab.ts";
import { kustomize, ROOT } from "../install/tools.ts";

const UPGRADE = join(ROOT, "test/upgrade");
const CRDS = join(ROOT, "crds");
const CRD_API = "apiextensions.k8s.io/v1";
const KIND = "CustomResourceDefinition";
const VERSIONS = readdirSync(UPGRADE, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** As YAML 1.1, which kubectl reads. */
function objectsIn(folder: string): readonly KubeObject[] {
  return globSync("*.yaml", { cwd: folder })
    .toSorted()
    .map((file) => parse(readFileSync(join(folder, file), "utf8"), { version: "1.1" }))
    .filter(({ kind }: KubeObject) => kind !== "Kustomization");
}

/** Namespace, RBAC and a proxy, and no CRDs of ours yet. */
async function startLab(): Promise<Lab> {
  const cp = await startControlPlane();
  const shipped = await kustomize(join(ROOT, "manifests"));
  await cp.apply(
    shipped.filter(
      ({ kind }) => kind === "Namespace" || kind === "ServiceAccount" || /Role(Binding)?$/.test(kind),
    ),
  );
  await installClusterDefinition(cp);
  const proxy = await startProxy({ upstream: cp.apiServer.url, authority: cp.authority });
  const kubeconfig = await cp.kubeconfigFor("hookpolicy-system", "hookpolicy", { server: proxy.url });
  return new Lab(cp, proxy, kubeconfig);
}

for (const version of VERSIONS) {
  describe(`from ${version}:`, () => {
    const folder = join(UPGRADE, version);
    const TEAM = "team-a";
    const held = policyRef(TEAM, "protect");
    let lab: Lab;
    let cp: ControlPlane;
    let stored: readonly KubeObject[];

    before(async () => {
      lab = await startLab();
      ({ cp } = lab);
      await cp.apply(objectsIn(join(folder, "crds")));
      stored = await Promise.all(objectsIn(join(folder, "objects")).map(store));
      await storePolicy(cp, held, { rules: [approvalRule("BeforeClusterUpgrade")] });
      await createCluster(cp, { namespace: TEAM, name: "prod-1", version: NEXT_VERSION });
    });
    after(async () => await lab?.stop());

    /** Many have the same name: each in a namespace of its own. */
    async function store(object: KubeObject, index: number): Promise<KubeObject> {
      const place = `stored-${index}`;
      await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: place } });
      const own = object.kind === "HookPolicy" ? { namespace: place } : { name: place };
      return await cp.create({ ...object, metadata: { ...object.metadata, ...own } });
    }

    const now = async ({ apiVersion, kind, metadata }: KubeObject): Promise<KubeObject> =>
      await cp.get({ apiVersion, kind, ...metadata });

    test("the new operator over the old CRDs holds, until the CRDs are there", async () => {
      await lab.start({ waitReady: false });
      await cp.waitFor("it to answer", async () => (await probes()).includes("hookoverrides.hookpolicy.dev"));
      await approve(cp, TEAM, "prod-1");
      const answer = await lab.ask("BeforeClusterUpgrade", TEAM, "prod-1");
      assert.match(answer.message ?? "", /is still loading policies/);
      assert.notEqual(answer.retryAfterSeconds ?? 0, 0);
    });

    async function probes(): Promise<string> {
      return await (await fetch(`http://127.0.0.1:${lab.operator.ports.health}/readyz?verbose`)).text();
    }

    test("the new CRDs take every object that is stored, without a change", async () => {
      await cp.apply(objectsIn(CRDS));
      for (const old of stored) {
        const found = await now(old);
        assert.deepEqual(found["spec"], old["spec"], old.metadata.name);
        assert.equal(found.metadata.generation, old.metadata.generation);
      }
      for (const crd of await cp.list({ apiVersion: CRD_API, kind: KIND })) {
        if (crd["spec"].group !== "hookpolicy.dev") continue;
        assert.deepEqual(crd["status"].storedVersions, ["v1alpha1"], crd.metadata.name);
      }
    });

    test("the operator goes on by itself, and reads them all", async () => {
      await cp.waitFor("it to be loaded", async () => (await probes()).includes("readyz check passed"));
      // A confirmation that the machine is too slow for holds, and the next call asks for another.
      await lab.releases("the gates that are met to release", "BeforeClusterUpgrade", TEAM, "prod-1");
      for (const old of stored) {
        const found = await cp.waitFor(`${old.metadata.name} to be judged`, async () => {
          const object = await now(old);
          return statusOf(object).observedGeneration === object.metadata.generation && object;
        });
        assert.equal(condition(found, "Stalled"), undefined, JSON.stringify(found));
        assert.equal(condition(found, "Ready")?.status, "True", JSON.stringify(found));
      }
    });

    test("they can be edited as before", async () => {
      for (const { apiVersion, kind, metadata } of stored) {
        await cp.patch({ apiVersion, kind, ...metadata }, { metadata: { labels: { edited: "after" } } });
        await cp.patch({ apiVersion, kind, ...metadata }, { spec: { failurePolicy: "Fail", mode: "Audit" } });
      }
    });

    test("rolled back, the older CRDs drop what they do not know, and a gate without its condition holds", async () => {
      const policy = policyRef(TEAM, "rolled-back");
      const always = {
        timeZone: "UTC",
        allow: [{ from: "2026-01-01T00:00:00Z", to: "2126-01-01T00:00:00Z" }],
      };
      await createCluster(cp, { namespace: TEAM, name: "prod-2", version: NEXT_VERSION });
      await approve(cp, TEAM, "prod-2");
      const until = [{ name: "open", window: always }];
      await applyPolicy(cp, policy, { rules: [{ name: "window", hooks: ["BeforeClusterUpgrade"], until }] });
      await lab.releases("the open window to release", "BeforeClusterUpgrade", TEAM, "prod-2");
      await beginUpgrade(cp, TEAM, "prod-2");
      await resultOf(cp, policy, "prod-2");
      await cp.apply(objectsIn(join(folder, "crds")));
      await cp.waitFor("the field to be dropped", async () => {
        return (await cp.get(policy))["spec"].rules[0].until[0].window === undefined;
      });
      // Nothing is written meanwhile, so that the object keeps its version, and its watch tells of nothing.
      await conditionIs(cp, policy, "Stalled", "InvalidSpec");
      const { message, retryAfterSeconds } = await lab.ask("BeforeClusterUpgrade", TEAM, "prod-2");
      assert.match(message ?? "", /rolled-back.* is not evaluable/);
      assert.notEqual(retryAfterSeconds ?? 0, 0);
      // Whoever writes the object under the older CRDs, be it its status, drops the field for good: Git has it.
      await cp.apply(objectsIn(CRDS));
      assert.deepEqual((await cp.get(policy))["spec"].rules[0].until, [{ name: "open" }]);
    });
  });
}

interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  enum?: string[];
  "x-kubernetes-validations"?: unknown;
}

/** "rules[].until[]" */
function fieldOf(schema: Schema, path: string): Schema {
  return path.split(".").reduce((at, step) => {
    const found = at.properties?.[step.replace("[]", "")];
    const field = step.endsWith("[]") ? found?.items : found;
    return field ?? assert.fail(`the CRD has no ${path}`);
  }, schema);
}

function add(schema: Schema, path: string, field: Schema): void {
  const [name = "", ...parents] = path.split(".").toReversed();
  const parent = parents.length === 0 ? schema : fieldOf(schema, parents.toReversed().join("."));
  parent.properties = { ...parent.properties, [name]: field };
}

/** The CRD of a later version, which allows more. */
function later(crd: KubeObject): KubeObject {
  const copy = structuredClone(crd);
  const spec: Schema = copy["spec"].versions[0].schema.openAPIV3Schema.properties.spec;
  const allowMore = (path: string, value: string): unknown => fieldOf(spec, path).enum?.push(value);
  if (crd["spec"].names.kind === "HookOverride") {
    add(spec, "onlyBefore", { type: "string" });
    add(spec, "clusterRef.generation", { type: "integer" });
    return copy;
  }
  if (["HookRollout", "HookTask"].includes(crd["spec"].names.kind)) return copy;
  add(spec, "paused", { type: "boolean" });
  add(spec, "clusterSelector.names", { type: "array", items: { type: "string" } });
  add(spec, "rules[].unless", { type: "string" });
  add(spec, "rules[].until[].quorum", { type: "object", properties: { atLeast: { type: "integer" } } });
  add(spec, "rules[].until[].annotation.matches", { type: "string" });
  add(spec, "rules[].tasks[].inside", { type: "string" });
  allowMore("mode", "Warn");
  allowMore("rules[].hooks[]", "BeforeClusterMove");
  allowMore("rules[].until[].annotation.valueFrom", "ClusterGeneration");
  delete fieldOf(spec, "rules[].until[]")["x-kubernetes-validations"];
  return copy;
}

describe("an operator that is older than the CRDs", () => {
  const TEAM = "team-a";
  const HOOK: HookName = "BeforeClusterUpgrade";
  let lab: Lab;
  let cp: ControlPlane;
  let made = 0;

  before(async () => {
    lab = await startLab();
    ({ cp } = lab);
    await cp.apply(objectsIn(CRDS).map(later));
    await lab.start();
  });
  after(async () => await lab?.stop());

  const met = approvalRule(HOOK);
  const annotation = { key: "hooks.example.com/approved" };
  const noTask = { name: "a", when: "false", create: { apiVersion: "batch/v1", kind: "Job" } };
  const gated = (gate: object): object => ({ rules: [{ ...met, until: [{ name: "approved", ...gate }] }] });

  /** Every Cluster has what the rule waits for, so that what is left out lets it go. */
  const UNKNOWN: Readonly<Record<string, object>> = {
    "a kind of gate": gated({ quorum: { atLeast: 2 } }),
    "a kind of gate beside one that it knows": gated({ annotation, quorum: { atLeast: 2 } }),
    "a field of a gate": gated({ annotation: { ...annotation, matches: "yes" } }),
    "a value of a gate's field": gated({ annotation: { ...annotation, valueFrom: "ClusterGeneration" } }),
    "a field of a rule": { rules: [{ ...met, unless: "frozen" }] },
    "a hook beside one that it knows": { rules: [{ ...met, hooks: [HOOK, "BeforeClusterMove"] }] },
    "a field of the spec": { paused: false, rules: [met] },
    "a mode": { mode: "Warn", rules: [met] },
    "a field of a task": { rules: [{ ...met, tasks: [{ ...noTask, inside: "Cluster" }] }] },
    "a field of the selector": { clusterSelector: { names: ["other"] }, rules: [met] },
  };

  async function newCluster(): Promise<string> {
    made += 1;
    const name = `prod-${made}`;
    await createCluster(cp, { namespace: `${TEAM}-${made}`, name, version: NEXT_VERSION });
    await approve(cp, `${TEAM}-${made}`, name);
    return name;
  }

  for (const [what, spec] of Object.entries(UNKNOWN)) {
    for (const kind of ["HookPolicy", "ClusterHookPolicy"]) {
      test(`holds by a ${kind} with ${what} that it does not know`, async () => {
        const cluster = await newCluster();
        const namespace = `${TEAM}-${made}`;
        const ref: Ref =
          kind === "HookPolicy" ? policyRef(namespace, "newer") : clusterPolicyRef(`newer-${made}`);
        const here = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } };
        const own = { serviceAccountName: "worker", ...spec };
        const serviceAccount = { namespace, name: "worker" };
        // Ignore is for what is wrong, not for what may be meant to hold.
        const fleet = { ...here, failurePolicy: "Ignore", serviceAccount, ...spec };
        await storePolicy(cp, ref, kind === "HookPolicy" ? own : fleet);
        const { message } = await conditionIs(cp, ref, "Stalled", "InvalidSpec");
        assert.match(message, /^spec\./);
        const answer = await lab.ask(HOOK, namespace, cluster);
        assert.match(answer.message ?? "", /is not evaluable: spec\./);
        assert.notEqual(answer.retryAfterSeconds ?? 0, 0);
        await policyRow(cp, ref, cluster, HOOK);
      });
    }
  }

  for (const [what, more] of Object.entries({
    "a field": { onlyBefore: "noon" },
    "a field of the Cluster's reference": { clusterRef: { generation: 7 } },
  })) {
    test(`overrides nothing by a HookOverride with ${what} that it does not know`, async () => {
      const name = await newCluster();
      const namespace = `${TEAM}-${made}`;
      const rules = [approvalRule(HOOK, "hooks.example.com/never")];
      await applyPolicy(cp, policyRef(namespace, "protect"), { rules });
      const override: Ref = { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookOverride", name };
      const spec = { hooks: [HOOK], reason: "a test", expiresAt: inSeconds(3600) };
      const target = { namespace, name, ...("clusterRef" in more ? more.clusterRef : {}) };
      await cp.create({
        apiVersion: override.apiVersion,
        kind: override.kind,
        metadata: { name },
        spec: { ...spec, ...more, clusterRef: target },
      });
      await conditionIs(cp, override, "Stalled", "InvalidSpec");
      const answer = await lab.ask(HOOK, namespace, name);
      assert.notEqual(answer.retryAfterSeconds ?? 0, 0);
    });
  }
});

describe("an operator that is newer than the status of the CRDs", () => {
  const TEAM = "team-a";
  let lab: Lab;

  before(async () => {
    lab = await startLab();
    await lab.cp.apply(
      objectsIn(CRDS).map((crd) => {
        const copy = structuredClone(crd);
        const { status } = copy["spec"].versions[0].schema.openAPIV3Schema.properties;
        delete status.properties.decisions?.items.properties.timers;
        delete status.properties.nextTransitionTime;
        return copy;
      }),
    );
    await lab.start();
  });
  after(async () => await lab?.stop());

  test("does not write again and again what the API server drops", async () => {
    const { cp } = lab;
    const policy = policyRef(TEAM, "protect");
    const until = [{ name: "an-hour", wait: { duration: "1h" } }];
    await applyPolicy(cp, policy, { rules: [{ name: "soak", hooks: ["BeforeClusterUpgrade"], until }] });
    await createCluster(cp, { namespace: TEAM, name: "prod-1", version: NEXT_VERSION });
    await lab.ask("BeforeClusterUpgrade", TEAM, "prod-1");
    await policyRow(cp, policy, "prod-1", "BeforeClusterUpgrade");
    const earlier = writesOf(lab).length;
    await holdsFor(10_000, async () => {
      await lab.ask("BeforeClusterUpgrade", TEAM, "prod-1");
      assert.ok(writesOf(lab).length - earlier <= 2, `${writesOf(lab).length - earlier} writes`);
    });
  });
});
