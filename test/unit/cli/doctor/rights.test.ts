/** Whether the operator may do what it needs. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import test from "node:test";
import { rightsOf } from "../../../../src/cli/doctor/check-rights.ts";
import { operators } from "../../../../src/cli/doctor/check-install.ts";
import { grantsTo, titleOf } from "../../../apiserver/grants.ts";
import { objectsOf } from "../../../controlplane/client.ts";
import { FORBIDDEN, list } from "../api-server.ts";
import { check, deployment, diagnosed, forbidden, found, OURS } from "./evidence-fixture.ts";

const MANIFESTS = resolve(import.meta.dirname, "../../../../manifests");
const shipped = (...names: string[]) =>
  names.flatMap((name) => objectsOf(readFileSync(join(MANIFESTS, `${name}.yaml`), "utf8")));
const neededBy = (deployments: readonly object[]) =>
  operators({ deployments: found(deployments.map((each) => ({ ...each }))) }).flatMap(rightsOf);
const REVIEWS = "POST /apis/authorization.k8s.io/v1/subjectaccessreviews";
const SHIPPED = deployment(OURS, "hookpolicy:0.1.0", ["run", "--leader-elect", "--cert-management=Self"]);

test("doctor asks for each right that the manifests grant, and says by which of them", () => {
  const deployed = shipped("deployment").filter(({ kind }) => kind === "Deployment");
  // The kustomization sets the labels.
  const rights = neededBy(
    deployed.map((each) => ({ ...each, metadata: { ...each.metadata, labels: OURS } })),
  );
  for (const file of ["rbac", "certificates", "metrics"]) {
    // Only some installations let the operator write the caBundle; others' rules are those of rbac.yaml, too.
    const elsewhere = /^patch validatingwebhook|^create subjectaccessreviews/;
    const granted = grantsTo("hookpolicy", shipped(file))
      .map(titleOf)
      .filter((title) => file === "rbac" || !elsewhere.test(title));
    const asked = rights.filter((right) => right.file === file).map(({ title }) => title);
    assert.deepEqual(asked.toSorted(), granted.toSorted(), file);
  }
});

test("by its flags, the operator needs no Lease, no Secrets and no TokenReviews", () => {
  const args = ["run", "--leader-elect=false", "--metrics-secure=false", "--cert-management=Files"];
  const titles = neededBy([deployment(OURS, "", args)]).map(({ title }) => title);
  assert.ok(titles.includes("get namespaces"));
  assert.deepEqual(
    titles.filter((title) => /leases|secrets|tokenreviews/.test(title)),
    [],
  );
});

const rightsBy = async (t: test.TestContext, answer: object) =>
  await diagnosed(t, "rights", { "GET /apis/apps/v1/deployments": list(SHIPPED), [REVIEWS]: answer });

test("doctor reviews the rights of the ServiceAccount that the Deployment names", async (t) => {
  const { state, detail, bodies } = await rightsBy(t, { status: { allowed: false } });
  assert.equal(state, "error");
  assert.match(detail, /^ServiceAccount ns\/default lacks \d+ rights that the operator needs$/);
  const attributesOf = ({ spec }: (typeof bodies)[number]) => JSON.stringify(spec?.resourceAttributes);
  const updates = bodies.find((body) => attributesOf(body).includes('"hookpolicies","subresource":"status"'));
  assert.deepEqual(updates?.spec, {
    user: "system:serviceaccount:ns:default",
    groups: ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
    resourceAttributes: {
      verb: "update",
      group: "hookpolicy.dev",
      resource: "hookpolicies",
      subresource: "status",
      name: "",
      namespace: "",
    },
  });
  const own = bodies.filter((body) => attributesOf(body).includes('"namespace":"ns"'));
  assert.equal(own.length, 8, "the Lease and two Secrets are the operator's own");
});

test("doctor does not know the rights if the user may not review them, or if there is no operator, or more than one", async (t) => {
  assert.equal((await rightsBy(t, FORBIDDEN)).state, "unknown");
  assert.equal((await rightsBy(t, { status: { allowed: true } })).state, "ok");
  assert.equal(check("rights", { deployments: found([]) }).state, "unknown");
  assert.equal(check("rights", { deployments: found([{ ...SHIPPED }, { ...SHIPPED }]) }).state, "unknown");
  assert.equal(check("rights", { deployments: forbidden }).state, "unknown");
});

test("a right that is missing is an error that says the effect and the remedy", () => {
  const right = (title: string, granted: object) => {
    const needed = neededBy([SHIPPED]).find((each) => each.title === title);
    assert.ok(needed !== undefined, title);
    return { ...needed, granted: granted as typeof forbidden };
  };
  const { state, detail, problems } = check("rights", {
    rights: [
      right("get clusters.cluster.x-k8s.io", found(false)),
      right("get namespaces", found(true)),
      right("create secrets", found(false)),
      right("get hookpolicies.hookpolicy.dev", forbidden),
    ],
  });
  assert.equal(state, "error");
  assert.equal(detail, "ServiceAccount ns/default lacks 2 rights that the operator needs");
  assert.deepEqual(problems, [
    {
      detail: "may not get clusters.cluster.x-k8s.io: no release is confirmed, and every Cluster stays held",
      remedy: "grant it as this release does: kubectl apply -f manifests/rbac.yaml",
    },
    {
      detail: "may not create secrets: it has no certificate to start with",
      remedy: "grant it as this release does: kubectl apply -f manifests/certificates.yaml",
    },
  ]);
});
