/** manifests/admission/keep-policies on a real API server, with its namespace controller; no operator runs here. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { ApiError, objectsOf, type Ref } from "../controlplane/client.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { isGone } from "../controlplane/lab.ts";
import { may } from "../controlplane/may.ts";
import { installHookPolicy } from "../controlplane/operator.ts";
import {
  approvalRule,
  clusterPolicyRef,
  policyRef,
  storePolicy,
  storeRollout,
} from "../controlplane/policies.ts";

const COMPONENT = join(import.meta.dirname, "../../manifests/admission/keep-policies/policies.yaml");
const PAGE = readFileSync(join(import.meta.dirname, "../../docs/gitops.md"), "utf8");
const APPROVED = "hooks.example.com/delete-approved";
const SPEC = { rules: [approvalRule("BeforeClusterDelete")] };
const ROLLOUT = { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookRollout" };
const HELD = {
  namespace: "team-a",
  name: "prod-1",
  uid: "5d2c",
  reason: "Budget",
  message: "waits for a slot",
  since: "2026-11-21T12:00:00Z",
};

const conditionOf = (reason: string): object => ({
  type: "Ready",
  status: "Unknown",
  reason,
  message: "",
  lastTransitionTime: HELD.since,
});

describe("a policy that holds Clusters", () => {
  let cp: ControlPlane;
  before(async () => {
    cp = await startControlPlane({ seed: "hookpolicy" });
    await installHookPolicy(cp);
    await cp.apply(objectsOf(await readFile(COMPONENT, "utf8")));
    const probe = await holding(policyRef("probe", "probe"));
    await cp.waitFor("the refusal", async () =>
      cp.kubectl("delete", "hookpolicy", "-n", "probe", probe.name, "--dry-run=server").then(
        () => false,
        (error: unknown) => String(error).includes("holds 1 Cluster,"),
      ),
    );
  });
  after(async () => await cp?.stop());

  async function holding(ref: Ref, status: object = { blocked: 1 }): Promise<Ref> {
    await storePolicy(cp, ref, { ...SPEC, ...(ref.namespace === undefined && { namespaceSelector: {} }) });
    await cp.patchStatus(ref, status);
    return ref;
  }

  async function goesAtOnce(ref: Ref): Promise<void> {
    await cp.delete(ref);
    assert.equal(await cp.find(ref), undefined);
  }

  async function refusal(ref: Ref): Promise<string> {
    const error: unknown = await cp.delete(ref).then(
      () => undefined,
      (e: unknown) => e,
    );
    assert.ok(error instanceof ApiError, "it was not refused");
    assert.equal(error.code, 403);
    assert.equal((await cp.get(ref)).metadata.deletionTimestamp, undefined);
    return error.message;
  }

  const uidOf = async (ref: Ref): Promise<string> => (await cp.get(ref)).metadata.uid ?? "";
  const annotated = async (ref: Ref, key: string, value: string): Promise<unknown> =>
    await cp.patch(ref, { metadata: { annotations: { [key]: value } } });

  for (const [kind, ref] of Object.entries({
    HookPolicy: policyRef("team-a", "protect"),
    ClusterHookPolicy: clusterPolicyRef("freeze"),
  }))
    test(`${kind}: is deleted only with its own uid, by the command that the refusal names`, async () => {
      await holding(ref, { blocked: 3 });
      await annotated(ref, APPROVED, "another-uid");
      const message = await refusal(ref);
      const named = ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`;
      assert.ok(
        message.includes(`${kind} ${named} holds 3 Clusters, which its deletion releases. `),
        message,
      );
      const [, command = ""] = /kubectl (annotate .*--overwrite)/.exec(message) ?? [];
      await cp.kubectl(...command.split(" "));
      assert.equal((await cp.get(ref)).metadata.annotations?.[APPROVED], await uidOf(ref));
      await goesAtOnce(ref);
    });

  test("is refused to kubectl as docs/gitops.md shows", async () => {
    const ref = await holding(policyRef("team-a", "protect"), { blocked: 3 });
    const [shown = ""] = /^Error from server .*$/m.exec(PAGE) ?? [];
    const wanted = shown.replace(/(?<=delete-approved=)\S+/, await uidOf(ref));
    await assert.rejects(cp.kubectl("delete", "hookpolicy", "-n", "team-a", "protect"), (error: unknown) => {
      assert.ok(wanted !== "" && String(error).includes(wanted), String(error));
      return true;
    });
  });

  test("HookRollout: is refused while it holds what every policy releases, also what its status omits", async () => {
    const ref = { ...ROLLOUT, name: "upgrades" };
    await storeRollout(cp, ref.name);
    await cp.patchStatus(ref, { held: [HELD], heldOmitted: 2 });
    assert.match(
      await refusal(ref),
      /HookRollout upgrades holds 3 Clusters, .* annotate hookrollout upgrades /,
    );
    await cp.patchStatus(ref, { held: [], heldOmitted: 0 });
    await goesAtOnce(ref);
    await storeRollout(cp, ref.name, { mode: "Audit" });
    await cp.patchStatus(ref, { held: [HELD] });
    await goesAtOnce(ref);
  });

  test("goes when it holds nothing, or is Audit", async () => {
    const audit = await holding(policyRef("team-a", "audit"), { blocked: 0, wouldBlock: 4 });
    await goesAtOnce(audit);
    const unseen = policyRef("team-a", "unseen");
    await storePolicy(cp, unseen, SPEC);
    await goesAtOnce(unseen);
  });

  test("goes when prepare-uninstall has left it", async () => {
    const left = { conditions: [conditionOf("OperatorGone")] };
    await goesAtOnce(await holding(policyRef("team-a", "left"), { blocked: 1, ...left }));
    const rollout = { ...ROLLOUT, name: "left" };
    await storeRollout(cp, rollout.name);
    await cp.patchStatus(rollout, { held: [HELD], ...left });
    await goesAtOnce(rollout);
    await refusal(
      await holding(policyRef("team-a", "unready"), { blocked: 1, conditions: [conditionOf("Invalid")] }),
    );
  });

  test("a deletion of all stops at those that hold", async () => {
    const kept = await holding(policyRef("many", "kept"));
    await assert.rejects(
      cp.kubectl("delete", "hookpolicy", "-n", "many", "--all"),
      /many\/kept holds 1 Cluster,/,
    );
    await assert.rejects(
      cp.request("DELETE", "/apis/hookpolicy.dev/v1alpha1/namespaces/many/hookpolicies"),
      /holds/,
    );
    assert.ok(await cp.find(kept));
  });

  test("is deleted by clusterctl move, and a second time", async () => {
    const moved = await holding(policyRef("team-a", "moved"));
    await annotated(moved, "clusterctl.cluster.x-k8s.io/delete-for-move", "");
    await cp.patch(moved, { metadata: { finalizers: ["hookpolicy.dev/hold-clusters"] } });
    await cp.delete(moved);
    await cp.patch(moved, {
      metadata: { annotations: { "clusterctl.cluster.x-k8s.io/delete-for-move": null } },
    });
    await cp.delete(moved);
    await cp.patch(moved, { metadata: { finalizers: [] } });
    assert.equal(await cp.find(moved), undefined);
  });

  test("does not keep its namespace from going", async () => {
    const ref = await holding(policyRef("doomed", "protect"));
    const namespace = { apiVersion: "v1", kind: "Namespace", name: "doomed" };
    await cp.patch(ref, { metadata: { finalizers: ["hookpolicy.dev/hold-clusters"] } });
    await cp.delete(namespace);
    await cp.waitFor("the policy to be going", async () => (await cp.get(ref)).metadata.deletionTimestamp);
    await cp.patch(ref, { metadata: { finalizers: [] } }); // as the operator does once the Clusters are gone
    await isGone(cp, namespace);
  });

  test("is deleted once the binding is gone, which hookpolicy-emergency may delete", async () => {
    const ref = await holding(policyRef("team-a", "last"));
    await cp.kubectl(
      "create",
      "clusterrolebinding",
      "on-duty",
      "--clusterrole=hookpolicy-emergency",
      "--user=emma",
    );
    const [resource, name] = ["validatingadmissionpolicybindings", "hookpolicy-keep-policies"];
    const question = { verb: "delete", resource: `${resource}.admissionregistration.k8s.io`, name };
    await cp.waitFor("emma to be allowed to", async () => await may(cp, "emma", question));
    await cp.kubectl("delete", resource, name, "--as=emma", "--as-group=system:authenticated");
    await cp.waitFor("the API server to forget it", async () =>
      cp.delete(ref).then(
        () => true,
        () => false,
      ),
    );
  });
});
