/** Object gates under the real Cluster API: kinds that are not granted, not there yet, in the way, or being deleted. */

import { definition } from "../controlplane/stand-in.ts";
import assert from "node:assert/strict";
import test, { after, describe } from "node:test";
import type { ObjectGateSpec, RuleSpec } from "../../src/api/hook-policy.ts";
import type { HookName } from "../../src/api/runtime-hooks.ts";
import type { KubeObject, Ref } from "../controlplane/client.ts";
import { clusterRef, createCluster, provision } from "../controlplane/lab.ts";
import {
  conditionIs,
  policyRow,
  noRow,
  policyIsReady,
  policyRef,
  resultOf,
  storePolicy,
} from "../controlplane/policies.ts";
import { may } from "../controlplane/may.ts";
import { NAMESPACE } from "../controlplane/operator.ts";
import { readGrant } from "../controlplane/rights.ts";
import { isCreated, isNotCreated, sharedFleet, topologySays, askedAgain } from "./fleet.ts";

const HOOK = "BeforeClusterCreate";
const VERSION = "v1";

interface Kind {
  readonly kind: string;
  readonly apiVersion: string;
  readonly group: string;
  readonly plural: string;
}

/** A group for each kind, so that a grant is for that kind alone. */
function kindOf(kind: string): Kind {
  const plural = `${kind.toLowerCase()}s`;
  const group = `${plural}.example.com`;
  return { kind, plural, group, apiVersion: `${group}/${VERSION}` };
}

function standIn({ kind, group, plural }: Kind): KubeObject {
  return definition(group, VERSION, kind, plural);
}

function grant({ group, plural }: Kind): KubeObject {
  return readGrant(plural, group);
}

function grantRef(kind: Kind): Ref {
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name: `read-${kind.plural}` };
}

function thing({ apiVersion, kind }: Kind, namespace: string, name: string, more: object = {}): KubeObject {
  return { apiVersion, kind, metadata: { namespace, name }, ...more };
}

const fleet = await sharedFleet();
const { cp } = fleet;
after(async () => cp.stop());

describe("an object gate", { concurrency: true }, () => {
  /** A policy "p" with that gate, and a Cluster "c1" that asks to be created or is about to be deleted. */
  async function gated(
    namespace: string,
    { kind, apiVersion }: Kind,
    gate: Partial<ObjectGateSpec>,
    hook: HookName = HOOK,
  ): Promise<Ref> {
    const ref = policyRef(namespace, "p");
    const until: RuleSpec["until"] = [{ name: "gate", object: { apiVersion, kind, ...gate } }];
    await storePolicy(cp, ref, {
      rules: [{ name: "rule", hooks: [hook], until, retryAfterSeconds: 5 }],
    });
    await createCluster(cp, { namespace, name: "c1" });
    return ref;
  }

  async function rowSays(ref: Ref, reason: string, hook: HookName = HOOK): Promise<string> {
    return await cp.waitFor(`the row to say ${reason}`, async () => {
      const row = await policyRow(cp, ref, "c1", hook);
      return row.reason === reason && `${row.verdict}: ${row.message}`;
    });
  }

  async function watched(kind: Kind): Promise<number> {
    const resource = `resource="${kind.kind}.${VERSION}.${kind.group}"`;
    const text = await fleet.operator.scrape();
    return text
      .split("\n")
      .filter((line) => line.startsWith("hookpolicy_informer_objects{") && line.includes(resource)).length;
  }

  test("blocks without a grant, says which one, and heals by itself", async () => {
    const backup = kindOf("Backup");
    await cp.apply(standIn(backup));
    const ref = await gated("granted", backup, {
      nameExpression: "cluster.metadata.name + '-final'",
      expression: "object.status.phase == 'Completed'",
    });
    const { status, message } = await conditionIs(cp, ref, "Ready", "ObjectsForbidden");
    assert.equal(status, "False");
    assert.match(message, /may not read backups\.backups\.example\.com: bind the verbs get, list and watch/);
    assert.equal((await conditionIs(cp, ref, "Reconciling", "ObjectsForbidden")).status, "True");
    assert.match(await rowSays(ref, "ObjectsForbidden"), /^NotEvaluable: .*may not read backups/);
    await topologySays(cp, "granted", "c1", /rule rule is not evaluable: .*may not read backups/);
    await isNotCreated(cp, "granted", "c1");

    await cp.apply(grant(backup));
    await policyIsReady(cp, await cp.get(ref));
    assert.match(
      await rowSays(ref, "WaitingForObject"),
      /^Blocked: gate gate waits for Backup\.backups\.example\.com c1-final/,
    );
    await cp.apply(thing(backup, "granted", "c1-final", { status: { phase: "InProgress" } }));
    await cp.apply(thing(backup, "granted", "c2-final", { status: { phase: "Completed" } }));
    await askedAgain(fleet, "granted/c1", HOOK);
    await isNotCreated(cp, "granted", "c1");
    await cp.apply(thing(backup, "granted", "c1-final", { status: { phase: "Completed" } }));
    await noRow(cp, ref, "c1", HOOK);
    await isCreated(cp, "granted", "c1");

    assert.equal(await watched(backup), 1);
    await cp.delete(ref);
    await cp.waitFor("the last policy's informer to stop", async () => (await watched(backup)) === 0);
  });

  test("blocks while its kind does not exist, and heals when it is installed", async () => {
    const report = kindOf("Report");
    await cp.apply(grant(report));
    const ref = await gated("installed", report, {
      selector: { matchLabels: { passed: "yes" } },
      minCount: 2,
    });
    const { message } = await conditionIs(cp, ref, "Ready", "ObjectKindUnknown");
    assert.match(
      message,
      /serves no kind Report in reports\.example\.com\/v1: install it, or correct the gate/,
    );
    assert.match(await rowSays(ref, "ObjectKindUnknown"), /^NotEvaluable/);
    await cp.apply(standIn(report));
    await policyIsReady(cp, await cp.get(ref));
    const labelled = (name: string, passed: string): KubeObject => {
      const object = thing(report, "installed", name);
      return { ...object, metadata: { ...object.metadata, labels: { passed } } };
    };
    await cp.apply([labelled("one", "yes"), labelled("two", "no")]);
    await rowSays(ref, "WaitingForObject");
    await askedAgain(fleet, "installed/c1", HOOK);
    await isNotCreated(cp, "installed", "c1");
    await cp.apply(labelled("two", "yes"));
    await isCreated(cp, "installed", "c1");
  });

  test("waits until objects are gone, also while they are being deleted", async () => {
    const volume = kindOf("Volume");
    await cp.apply([standIn(volume), grant(volume)]);
    const left = thing(volume, "gone", "v1");
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "gone" } });
    await cp.apply({ ...left, metadata: { ...left.metadata, finalizers: ["example.com/detach"] } });
    const ref = await gated("gone", volume, { selector: {}, absent: true });
    assert.match(await rowSays(ref, "WaitingForAbsence"), /gate gate waits for no Volume.* to be left/);
    const volumeRef = { apiVersion: volume.apiVersion, kind: volume.kind, namespace: "gone", name: "v1" };
    await cp.delete(volumeRef);
    await topologySays(cp, "gone", "c1", /no Volume\.volumes\.example\.com in namespace gone to be left/);
    await askedAgain(fleet, "gone/c1", HOOK);
    await isNotCreated(cp, "gone", "c1");
    await cp.patch(volumeRef, { metadata: { finalizers: null } });
    await isCreated(cp, "gone", "c1");
  });

  test("does not take the emptying of a deleted namespace for absence", async () => {
    const release = kindOf("Release");
    await cp.apply([standIn(release), grant(release)]);
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "emptied" } });
    await cp.apply(thing(release, "emptied", "r1"));
    const ref = await gated("emptied", release, { selector: {}, absent: true }, "BeforeClusterDelete");
    await provision(cp, "emptied", "c1");
    await policyIsReady(cp, await cp.get(ref));
    await cp.waitFor("the finalizer", async () => (await cp.get(ref)).metadata.finalizers?.length === 1);
    await cp.delete({ apiVersion: "v1", kind: "Namespace", name: "emptied" });
    const releases = { apiVersion: release.apiVersion, kind: release.kind, namespace: "emptied" };
    await cp.waitFor("the namespace to be emptied", async () => (await cp.list(releases)).length === 0);
    await rowSays(ref, "NamespaceTerminating", "BeforeClusterDelete");
    await askedAgain(fleet, "emptied/c1", "BeforeClusterDelete");
    assert.ok(await cp.find(clusterRef("emptied", "c1")), "the Cluster is still there");
  });

  test("releases nothing once its grant is gone", async () => {
    const { operator } = fleet;
    const permit = kindOf("Permit");
    await cp.apply([standIn(permit), grant(permit)]);
    const ref = await gated("revoked", permit, { name: "go" });
    await rowSays(ref, "WaitingForObject");
    await cp.delete(grantRef(permit));
    await cp.waitFor("the grant to be gone", async () => {
      const role = await cp.get({ ...grantRef(permit), name: "hookpolicy-objects" });
      return !JSON.stringify(role["rules"] ?? []).includes(permit.plural);
    });
    const question = { verb: "list", resource: `${permit.plural}.${permit.group}`, namespace: "revoked" };
    const user = `system:serviceaccount:${NAMESPACE}:hookpolicy`;
    await cp.waitFor("the authorizer to know", async () => !(await may(cp, user, question)));
    // The open watch still tells of it: memory says go, and the present cannot be read.
    await cp.apply(thing(permit, "revoked", "go"));
    await topologySays(cp, "revoked", "c1", /may not read permits\.permits\.example\.com/);
    await askedAgain(fleet, "revoked/c1", HOOK);
    await isNotCreated(cp, "revoked", "c1");
    assert.equal(await operator.metric("hookpolicy_hook_calls_total", 'verdict="InternalError"'), 0);
    await cp.apply(grant(permit));
    await isCreated(cp, "revoked", "c1");
    assert.equal((await resultOf(cp, ref, "c1")).verdict, "Allowed");
  });
});
