/** What manifests/admission/ refuses to delete, on a real API server, with Cluster API under it. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { objectOf } from "../controlplane/client.ts";
import { createCluster, isGone, waitUntilGone } from "../controlplane/lab.ts";
import { applyPolicy, approvalRule, approve, policyRef } from "../controlplane/policies.ts";
import { DEFINITION_GONE_MS } from "../controlplane/waits.ts";
import {
  DELETE_APPROVED,
  PRODUCTION,
  annotations,
  cp,
  namespaceRef,
  pathOf,
  person,
  refused,
  running,
  startProtected,
  stopProtected,
} from "./protected-lab.ts";

before(startProtected);
after(stopProtected);

/** As kubectl does it, which takes the version that the server prefers. */
async function runRemedy(message: string): Promise<void> {
  const [, command = ""] = /If you mean it: (kubectl .*)$/.exec(message) ?? [];
  await cp.kubectl(...command.split(" ").slice(1));
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
    await cp.waitFor("the Namespace to say what it waits for", says, DEFINITION_GONE_MS);
    await person.patch(namespaceRef("doomed"), { metadata: { labels: PRODUCTION } });
    await person.delete(namespaceRef("doomed")); // it has begun
    const { metadata } = await cp.get(ref);
    assert.equal(metadata.deletionTimestamp, undefined);
    // What it does not protect: everything else in the namespace goes.
    const parts = { apiVersion: "controlplane.cluster.x-k8s.io/v1beta2", kind: "LabControlPlane" };
    const none = async (): Promise<boolean> =>
      (await cp.list({ ...parts, namespace: "doomed" })).length === 0;
    await cp.waitFor("the control plane's object to be gone", none, DEFINITION_GONE_MS);
    await person.patch(ref, annotations({ [DELETE_APPROVED]: metadata.uid ?? "" }));
    await isGone(cp, namespaceRef("doomed"));
  });

  test("of a Namespace with the label keeps everything in it", async () => {
    await cp.apply(objectOf({ ...namespaceRef("whole"), labels: PRODUCTION }));
    const message = await refused(person.delete(namespaceRef("whole")), /Namespace whole is protected/);
    await person.patch(namespaceRef("whole"), annotations({ [DELETE_APPROVED]: "another-uid" }));
    await refused(person.delete(namespaceRef("whole")), /Namespace whole is protected/);
    await runRemedy(message);
    await person.delete(namespaceRef("whole"));
    await isGone(cp, namespaceRef("whole"));
  });

  test("takes the mark of clusterctl move only for a paused Cluster", async () => {
    const ref = await running("moving", PRODUCTION);
    const mark = annotations({ "clusterctl.cluster.x-k8s.io/delete-for-move": "" });
    await person.patch(ref, mark);
    await refused(person.delete(ref), /is protected/);
  });
});
