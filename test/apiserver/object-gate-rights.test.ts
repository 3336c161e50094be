/** The API server itself asks whether an author may read what a gate looks at: no operator runs here. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Client, objectsOf, objectOf, isRefused } from "../controlplane/client.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { installHookPolicy } from "../controlplane/operator.ts";
import { policyRef } from "../controlplane/policies.ts";
import { allow, createAccountWith } from "../controlplane/rights.ts";

const COMPONENT = join(import.meta.dirname, "../../manifests/admission/object-gates/gates.yaml");
const TEAM = "team-a";
const REFUSED = /a gate may look only at what its author may read/;

describe("without the operator", () => {
  let cp: ControlPlane;
  /** May write HookPolicies of the namespace, and read ConfigMaps, NetworkPolicies, Ingresses and one Service there. */
  let author: Client;
  before(async () => {
    cp = await startControlPlane({ seed: "hookpolicy" });
    await installHookPolicy(cp);
    await cp.apply(objectsOf(await readFile(COMPONENT, "utf8")));
    await createAccountWith(cp, TEAM, "author", {
      inNamespace: [
        allow("hookpolicy.dev", "hookpolicies", "*"),
        allow("", "configmaps", "get", "list"),
        allow("networking.k8s.io", ["networkpolicies", "ingresses"], "get", "list"),
        { ...allow("", "services", "get"), resourceNames: ["one"] },
      ],
    });
    author = cp.as(await cp.tokenFor(TEAM, "author"));
    // One that is stored before it counts is not asked about again: its spec does not change.
    let probes = 0;
    const pods = { apiVersion: "v1", kind: "Pod", selector: {} };
    await cp.waitFor("the policy to count", async () =>
      isRefused(write(`probe-${++probes}`, [pods]), REFUSED),
    );
  });
  after(async () => await cp?.stop());

  const write = async (name: string, objects: readonly object[], over: object = {}): Promise<unknown> => {
    const until = objects.map((object, index) => ({ name: `g${index}`, object }));
    const spec = { rules: [{ name: "r", hooks: ["BeforeClusterDelete"], until }] };
    return await author.apply(objectOf({ ...policyRef(TEAM, name), ...over }, { spec }));
  };

  test("a gate on what its author may read is stored", async () => {
    await write("own", [
      { apiVersion: "v1", kind: "ConfigMap", selector: {} },
      { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", selector: {} },
      { apiVersion: "networking.k8s.io/v1", kind: "Ingress", name: "web" },
      { apiVersion: "v1", kind: "Service", name: "one" },
    ]);
  });

  const others: Readonly<Record<string, object>> = {
    "another kind": { apiVersion: "v1", kind: "Pod", selector: {} },
    "the same kind of another group": { apiVersion: "example.com/v1", kind: "ConfigMap", selector: {} },
    "another name": { apiVersion: "v1", kind: "Service", name: "two" },
    "all names": { apiVersion: "v1", kind: "Service", selector: {} },
  };
  for (const [title, object] of Object.entries(others)) {
    test(`a gate on ${title} is refused, alone, beside others and in an anyOf`, async () => {
      const allowed = { apiVersion: "v1", kind: "ConfigMap", selector: {} };
      await assert.rejects(write("refused", [object]), REFUSED);
      await assert.rejects(write("refused", [allowed, allowed, allowed, object]), REFUSED);
      const anyOf = ["a", "b"].map((name, index) => ({ name, object: index === 0 ? allowed : object }));
      const spec = {
        rules: [{ name: "r", hooks: ["BeforeClusterDelete"], until: [{ name: "any", anyOf }] }],
      };
      await assert.rejects(author.apply(objectOf(policyRef(TEAM, "refused"), { spec })), REFUSED);
    });
  }

  test("twelve are checked, and more are refused", async () => {
    const gates = (count: number): object[] =>
      Array.from({ length: count }, (_, index) => ({
        apiVersion: "v1",
        kind: "ConfigMap",
        name: `c${index}`,
      }));
    await write("many", gates(12));
    await assert.rejects(write("more", gates(13)), /more than 12 object gates cannot be checked/);
    await assert.rejects(write("last", [...gates(11), others["another kind"] ?? {}]), REFUSED);
  });

  test("what an administrator stored may get a label, and no other spec", async () => {
    const until = [{ name: "g", object: { apiVersion: "v1", kind: "Pod", selector: {} } }];
    const spec = { rules: [{ name: "r", hooks: ["BeforeClusterDelete"], until }] };
    const ref = policyRef(TEAM, "stored");
    await cp.apply(objectOf(ref, { spec }));
    await author.patch(ref, { metadata: { labels: { a: "b" } } });
    await assert.rejects(author.patch(ref, { spec: { mode: "Audit" } }), REFUSED);
  });
});
