/** What manifests/admission/ refuses and lets pass, on a real API server, with Cluster API under it. */

import assert from "node:assert/strict";
import { cp as copyFolder, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { blocksOf, ROOT } from "./recipe-pages.ts";
import { ApiError, type Client, type KubeObject, objectsOf, type Ref } from "../controlplane/client.ts";
import { installClusterApi } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { registerExtension } from "../controlplane/extension.ts";
import {
  clusterRef,
  createCluster,
  deleteCluster,
  finishControlPlaneUpgrade,
  installLab,
  NEXT_VERSION,
  provision,
  topologyMessage,
  upgrade,
  waitUntilGone,
} from "../controlplane/lab.ts";
import { installHookPolicy, startOperator } from "../controlplane/operator.ts";
import { applyPolicy, APPROVED, approvalRule, approve, policyRef } from "../controlplane/policies.ts";

const OK_TO_DELETE = "runtime.cluster.x-k8s.io/ok-to-delete";
const PENDING_HOOKS = "runtime.cluster.x-k8s.io/pending-hooks";
const MARKS = [OK_TO_DELETE, PENDING_HOOKS, "topology.internal.cluster.x-k8s.io/upgrade-step"];
const FINALIZER = "cluster.cluster.x-k8s.io";
const DELETE_APPROVED = "hooks.example.com/delete-approved";
/** One of the group that docs/recipes/protect-marks.md lists. */
const MOVER = ["--as=otto", "--as-group=cluster-movers", "--as-group=system:masters"];
/** Cluster API removes its last mark by removing all annotations, also those of the last second. */
const KEPT = { "hooks.example.com/kept": "true" };
const PRODUCTION = { tier: "production" };

let cp: ControlPlane;
/** May do everything that RBAC can grant, and is not listed. */
let person: Client;
/** The identity that docs/recipes/protect-marks.md adds to the list. */
let restorer: Client;

before(async () => {
  cp = await startControlPlane({ seed: "clusterApi" });
  await installHookPolicy(cp);
  await account("capi-system", "capi-manager");
  const kubeconfig = await cp.kubeconfigFor("capi-system", "capi-manager");
  const [operator] = await Promise.all([startOperator(cp), installClusterApi(cp, { kubeconfig })]);
  await installLab(cp);
  await registerExtension(cp, { name: "hookpolicy", url: operator.url });
  person = await clientOf("people", "anna");
  restorer = await clientOf("velero", "velero");
  await installPolicies();
});
after(async () => {
  person?.close();
  restorer?.close();
  await cp?.stop();
});

/** A ServiceAccount that may do everything. */
async function account(namespace: string, name: string): Promise<void> {
  await cp.apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name } },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: `${namespace}-${name}` },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", namespace, name }],
    },
  ]);
}

async function clientOf(namespace: string, name: string): Promise<Client> {
  await account(namespace, name);
  return cp.as(await cp.tokenFor(namespace, name));
}

/** With the kustomization of docs/recipes/protect-marks.md, beside a copy of this repository. */
async function installPolicies(): Promise<void> {
  const block = blocksOf("protect-marks.md").find(({ text }) => /^components:/m.test(text));
  assert.ok(block, "the page shows a kustomization");
  const folder = join(cp.folder, "install/mine");
  await mkdir(folder, { recursive: true });
  for (const part of ["manifests", "crds"]) {
    await copyFolder(join(ROOT, part), join(folder, "../hookpolicy", part), { recursive: true });
  }
  await writeFile(join(folder, "kustomization.yaml"), block.text);
  const rendered = objectsOf(await cp.kubectl("kustomize", folder));
  const policies = rendered.filter(({ kind }) => kind.startsWith("ValidatingAdmissionPolicy"));
  assert.equal(policies.length, 14);
  await cp.apply(policies);
  await inForce();
}

/** The API server takes up new policies within a second or so. */
async function inForce(): Promise<void> {
  await createCluster(cp, { namespace: "probe", name: "c1", labels: PRODUCTION });
  await cp.patch(namespaceRef("probe"), { metadata: { labels: PRODUCTION } });
  const dry: readonly (readonly [string, string, unknown])[] = [
    ["DELETE", pathOf("probe", "c1"), undefined],
    ["DELETE", "/api/v1/namespaces/probe", undefined],
    ["PATCH", pathOf("probe", "c1"), annotations({ [OK_TO_DELETE]: "" })],
  ];
  for (const [method, path, body] of dry) {
    const text = body === undefined ? undefined : JSON.stringify(body);
    await cp.waitFor(`${method} ${path} to be refused`, async () => {
      const type = "application/merge-patch+json";
      return await person.request(method, `${path}?dryRun=All`, text, type).then(
        () => false,
        (error: unknown) => error instanceof ApiError && error.code === 403,
      );
    });
  }
}

function pathOf(namespace: string, name: string, version = "v1beta2"): string {
  return `/apis/cluster.x-k8s.io/${version}/namespaces/${namespace}/clusters/${name}`;
}

function namespaceRef(name: string): Ref {
  return { apiVersion: "v1", kind: "Namespace", name };
}

/** Its controller asks for every kind there is, at 20 requests per second, and backs off when one is refused. */
const NAMESPACE_MS = 180_000;

async function namespaceGone(name: string): Promise<void> {
  const gone = async (): Promise<boolean> => (await cp.find(namespaceRef(name))) === undefined;
  await cp.waitFor(`Namespace ${name} to be gone`, gone, NAMESPACE_MS);
}

function annotations(map: Readonly<Record<string, string | null>>): object {
  return { metadata: { annotations: map } };
}

/** What it says after "denied request:". */
async function refused(attempt: Promise<unknown>, wanted: RegExp): Promise<string> {
  const error: unknown = await attempt.then(
    () => undefined,
    (e: unknown) => e,
  );
  assert.ok(error instanceof ApiError, "it was not refused");
  assert.equal(error.code, 403, error.message);
  assert.match(error.message, wanted);
  return error.message.replace(/^.*denied request: /s, "");
}

/** As kubectl does it, which takes the version that the server prefers. */
async function runRemedy(message: string): Promise<void> {
  const [, command = ""] = /If you mean it: (kubectl .*)$/.exec(message) ?? [];
  await cp.kubectl(...command.split(" ").slice(1));
}

async function running(namespace: string, labels: Readonly<Record<string, string>> = {}): Promise<Ref> {
  await createCluster(cp, { namespace, name: "c1", labels, annotations: KEPT });
  await provision(cp, namespace, "c1");
  await cp.waitFor("the Cluster to be up", async () => {
    const cluster = await cp.get(clusterRef(namespace, "c1"));
    return cluster.metadata.finalizers?.includes(FINALIZER) && markOf(cluster, PENDING_HOOKS) === undefined;
  });
  return clusterRef(namespace, "c1");
}

function markOf({ metadata }: KubeObject, key: string): string | undefined {
  return metadata.annotations?.[key];
}

describe("the refusal to delete", { concurrency: true }, () => {
  test("stays until the Cluster has its own uid as approval, and then the hook lets it go, too", async () => {
    await applyPolicy(cp, policyRef("confirmed", "protect"), {
      rules: [
        {
          name: "confirmed-delete",
          hooks: ["BeforeClusterDelete"],
          until: [{ name: "approved", annotation: { key: DELETE_APPROVED, valueFrom: "ClusterUID" } }],
        },
      ],
    });
    const ref = await running("confirmed", PRODUCTION);
    const message = await refused(person.delete(ref), /Cluster confirmed\/c1 is protected/);
    assert.equal((await cp.get(ref)).metadata.deletionTimestamp, undefined, "nothing has begun");
    await person.patch(ref, annotations({ [DELETE_APPROVED]: "another-uid" }));
    await refused(person.delete(ref), /is protected/);
    await runRemedy(message);
    await person.delete(ref);
    await waitUntilGone(cp, "confirmed", "c1");
  });

  test("is not in the way of a deletion that has begun", async () => {
    await applyPolicy(cp, policyRef("begun", "protect"), { rules: [approvalRule("BeforeClusterDelete")] });
    const ref = await running("begun");
    await person.delete(ref);
    await person.patch(ref, { metadata: { labels: PRODUCTION } });
    await person.delete(ref);
    await approve(cp, "begun", "c1");
    await waitUntilGone(cp, "begun", "c1");
  });

  test("is the same in every API version", async () => {
    await createCluster(cp, { namespace: "versions", name: "c1", labels: PRODUCTION });
    for (const version of ["v1beta1", "v1beta2"]) {
      await refused(person.request("DELETE", pathOf("versions", "c1", version)), /is protected/);
    }
    const collection = "/apis/cluster.x-k8s.io/v1beta2/namespaces/versions/clusters";
    await refused(person.request("DELETE", collection), /is protected/);
  });

  test("concerns only Clusters with the label", async () => {
    const ref = await running("elsewhere", { tier: "dev" });
    await person.delete(ref);
    await waitUntilGone(cp, "elsewhere", "c1");
  });

  test("meets the namespace controller, too, which goes on once the Cluster is confirmed", async () => {
    const ref = await running("doomed", PRODUCTION);
    await person.delete(namespaceRef("doomed"));
    const says = async (): Promise<boolean> => {
      const { status } = await cp.get(namespaceRef("doomed"));
      const conditions: { type: string; message: string }[] = status.conditions ?? [];
      return conditions.some(
        ({ type, message }) =>
          type === "NamespaceDeletionContentFailure" && message.includes("Cluster doomed/c1 is protected"),
      );
    };
    await cp.waitFor("the Namespace to say what it waits for", says, NAMESPACE_MS);
    await person.patch(namespaceRef("doomed"), { metadata: { labels: PRODUCTION } });
    await person.delete(namespaceRef("doomed")); // it has begun
    const { metadata } = await cp.get(ref);
    assert.equal(metadata.deletionTimestamp, undefined);
    // What it does not protect: everything else in the namespace goes.
    const parts = { apiVersion: "controlplane.cluster.x-k8s.io/v1beta2", kind: "LabControlPlane" };
    const none = async (): Promise<boolean> =>
      (await cp.list({ ...parts, namespace: "doomed" })).length === 0;
    await cp.waitFor("the control plane's object to be gone", none, NAMESPACE_MS);
    await person.patch(ref, annotations({ [DELETE_APPROVED]: metadata.uid ?? "" }));
    await namespaceGone("doomed");
  });

  test("of a Namespace with the label keeps everything in it", async () => {
    await cp.apply({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "whole", labels: PRODUCTION },
    });
    const message = await refused(person.delete(namespaceRef("whole")), /Namespace whole is protected/);
    await person.patch(namespaceRef("whole"), annotations({ [DELETE_APPROVED]: "another-uid" }));
    await refused(person.delete(namespaceRef("whole")), /Namespace whole is protected/);
    await runRemedy(message);
    await person.delete(namespaceRef("whole"));
    await namespaceGone("whole");
  });

  test("takes the mark of clusterctl move only for a paused Cluster", async () => {
    const ref = await running("moving", PRODUCTION);
    const mark = annotations({ "clusterctl.cluster.x-k8s.io/delete-for-move": "" });
    await person.patch(ref, mark);
    await refused(person.delete(ref), /is protected/);
  });
});

describe("Cluster API's marks", { concurrency: true }, () => {
  test("cannot be set by others when a Cluster is created, and by the listed they can", async () => {
    for (const [index, mark] of MARKS.entries()) {
      const cluster = await unsaved(`created-${index}`, { [mark]: "AfterClusterUpgrade" });
      await refused(
        person.create(cluster),
        new RegExp(`only Cluster API may add, change or remove ${mark} `),
      );
      await restorer.create(cluster);
      assert.equal(markOf(await cp.get(clusterRef(`created-${index}`, "c1")), mark), "AfterClusterUpgrade");
    }
  });

  test("cannot be added, changed or removed by others, in any API version, and by the listed they can", async () => {
    const ref = await running("marked");
    const only = /only Cluster API may add, change or remove/;
    for (const mark of MARKS) {
      for (const version of ["v1beta1", "v1beta2"]) {
        const own = { ...ref, apiVersion: `cluster.x-k8s.io/${version}` };
        await refused(person.patch(own, annotations({ [mark]: "BeforeWorkersUpgrade" })), only);
      }
      // Paused, so that Cluster API does not clean up what it never asked for.
      await person.patch(ref, { spec: { paused: true } });
      await restorer.patch(ref, annotations({ [mark]: "BeforeWorkersUpgrade" }));
      await refused(person.patch(ref, annotations({ [mark]: "AfterWorkersUpgrade" })), only);
      await refused(person.patch(ref, annotations({ [mark]: null })), only);
      await person.patch(ref, annotations({ "hooks.example.com/other": mark })); // the mark is as it was
      await cp.kubectl("annotate", "clusters.cluster.x-k8s.io", "-n", "marked", "c1", `${mark}-`, ...MOVER);
      assert.equal(markOf(await cp.get(ref), mark), undefined);
      await person.patch(ref, { spec: { paused: false } });
    }
  });

  const UNSAFE = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check";
  const otherVersion = { spec: { topology: { version: "v1.36.0" } } };

  test("keep the version of an upgrade that runs, also paused, and the annotation with which it could change", async () => {
    const ref = await running("upgrading");
    const set = /disable-update-version-check cannot be set/;
    await refused(person.create(await unsaved("upgrading-new", { [UNSAFE]: "" })), set);
    for (const apiVersion of ["cluster.x-k8s.io/v1beta1", "cluster.x-k8s.io/v1beta2"])
      await refused(person.patch({ ...ref, apiVersion }, annotations({ [UNSAFE]: "" })), set);
    // As it was before the policy was installed.
    await restorer.patch(ref, annotations({ [UNSAFE]: "" }));
    await refused(person.patch(ref, annotations({ [UNSAFE]: "true" })), set);
    await upgrade(cp, "upgrading", "c1");
    await cp.waitFor("Cluster API to begin the upgrade", async () =>
      markOf(await cp.get(ref), PENDING_HOOKS)?.includes("AfterClusterUpgrade"),
    );
    const changes = [otherVersion, { spec: { ...otherVersion.spec, paused: true } }];
    for (const apiVersion of ["cluster.x-k8s.io/v1beta1", "cluster.x-k8s.io/v1beta2"])
      for (const change of changes)
        await refused(
          person.patch({ ...ref, apiVersion }, change),
          /cannot be changed while its upgrade runs/,
        );
    await person.patch(ref, { metadata: { labels: { "still-free": "to-edit" } } });
    await restorer.patch(ref, otherVersion);
    await person.patch(ref, annotations({ [UNSAFE]: null })); // back to what Cluster API checks
  });

  test("leave a Cluster's finalizer to Cluster API, and other finalizers to their owners", async () => {
    const ref = await running("finalized");
    const other = "hooks.example.com/other";
    await person.patch(ref, { metadata: { finalizers: [FINALIZER, other] } });
    await refused(
      person.patch(ref, { metadata: { finalizers: [other] } }),
      /only Cluster API may remove the finalizer/,
    );
    await refused(
      person.patch(ref, { metadata: { finalizers: null } }),
      /only Cluster API may remove the finalizer/,
    );
    await person.patch(ref, { metadata: { finalizers: [FINALIZER] } });
    await restorer.patch(ref, { metadata: { finalizers: null } });
  });
});

const PAUSES = [{ spec: { paused: true } }, annotations({ "cluster.x-k8s.io/paused": "" })];
const RESUMES = [{ spec: { paused: false } }, annotations({ "cluster.x-k8s.io/paused": null })];

describe("pausing", { concurrency: true }, () => {
  test("is free while no hook holds the Cluster", async () => {
    const ref = await running("free");
    for (const [index, pause] of PAUSES.entries()) {
      await person.patch(ref, pause);
      await person.patch(ref, RESUMES[index]);
    }
  });

  test("is refused while a hook holds the Cluster's creation, upgrade or deletion", async () => {
    const hooks = ["BeforeClusterCreate", "BeforeClusterUpgrade", "BeforeClusterDelete"] as const;
    const rules = hooks.map((hook) => ({
      ...approvalRule(hook, `${APPROVED}-${hook}`),
      name: hook.toLowerCase(),
    }));
    await applyPolicy(cp, policyRef("held", "approvals"), { rules });
    await createCluster(cp, { namespace: "held", name: "c1" });
    const ref = clusterRef("held", "c1");
    for (const hook of hooks) {
      if (hook === "BeforeClusterUpgrade") await upgrade(cp, "held", "c1");
      if (hook === "BeforeClusterDelete") await deleteCluster(cp, "held", "c1");
      await cp.waitFor(`${hook} to hold it`, async () =>
        (await topologyMessage(cp, "held", "c1")).includes(hook),
      );
      for (const pause of PAUSES) {
        await refused(person.patch(ref, pause), /a Cluster that a hook holds, or that is being deleted/);
        const old = { ...ref, apiVersion: "cluster.x-k8s.io/v1beta1" };
        await refused(person.patch(old, pause), /a Cluster that a hook holds, or that is being deleted/);
      }
      await approve(cp, "held", "c1", `${APPROVED}-${hook}`);
      if (hook === "BeforeClusterCreate") await provision(cp, "held", "c1");
      if (hook === "BeforeClusterUpgrade") await finishControlPlaneUpgrade(cp, "held", "c1");
    }
    await waitUntilGone(cp, "held", "c1");
  });

  test("is refused while a Cluster is deleted that no hook holds", async () => {
    const ref = await running("leaving");
    const other = "hooks.example.com/other";
    await person.patch(ref, { metadata: { finalizers: [FINALIZER, other] } });
    await person.delete(ref);
    await cp.waitFor("Cluster API to have done its part", async () => {
      return (await cp.get(ref)).metadata.finalizers?.includes(FINALIZER) === false;
    });
    for (const pause of PAUSES) await refused(person.patch(ref, pause), /cannot be paused/);
    await person.patch(ref, { metadata: { finalizers: null } });
    await waitUntilGone(cp, "leaving", "c1");
  });

  test("and resuming a Cluster that is being deleted are for the listed and for everybody", async () => {
    await applyPolicy(cp, policyRef("resumed", "protect"), { rules: [approvalRule("BeforeClusterDelete")] });
    const ref = await running("resumed");
    await person.delete(ref);
    for (const [index, pause] of PAUSES.entries()) {
      await refused(person.patch(ref, pause), /cannot be paused/);
      await restorer.patch(ref, pause);
      await person.patch(ref, { metadata: { labels: { "still-free": "to-edit" } } });
      await person.patch(ref, RESUMES[index]);
    }
    await approve(cp, "resumed", "c1");
    await waitUntilGone(cp, "resumed", "c1");
  });
});

describe("with all of it in force", { concurrency: true }, () => {
  test("Cluster API creates, upgrades and deletes a Cluster", async () => {
    const ref = await running("lived", PRODUCTION);
    await upgrade(cp, "lived", "c1");
    await finishControlPlaneUpgrade(cp, "lived", "c1");
    await cp.waitFor("the upgrade to end", async () => {
      const cluster = await cp.get(ref);
      const done =
        (await topologyMessage(cp, "lived", "c1")) === "" && cluster.spec.topology.version === NEXT_VERSION;
      return done && markOf(cluster, PENDING_HOOKS) === undefined;
    });
    const { metadata } = await cp.get(ref);
    await person.patch(ref, annotations({ [DELETE_APPROVED]: metadata.uid ?? "" }));
    await person.delete(ref);
    await waitUntilGone(cp, "lived", "c1");
  });

  /** What mover.go of clusterctl does to the source Cluster. */
  test("clusterctl move works for the listed", async () => {
    const ref = await running("moved", PRODUCTION);
    await restorer.patch(ref, { spec: { paused: true } });
    const value = { "clusterctl.cluster.x-k8s.io/delete-for-move": "" };
    await restorer.patch(ref, [{ op: "add", path: "/metadata/annotations", value }], { type: "json" });
    await restorer.delete(ref);
    await restorer.patch(ref, { metadata: { finalizers: [] } });
    assert.equal(await cp.find(ref), undefined);
  });
});

async function unsaved(namespace: string, marks: Readonly<Record<string, string>>): Promise<KubeObject> {
  await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const { spec } = await cp.get(clusterRef("probe", "c1"));
  return {
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "Cluster",
    // Paused, as a restore does it: Cluster API does not touch it.
    metadata: { namespace, name: "c1", annotations: marks },
    spec: { paused: true, topology: spec.topology },
  };
}
