/** What `doctor` says of what the user may not read. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { examine } from "../../../../src/cli/doctor/doctor.ts";
import { absent, check, evidence, forbidden, found, policy, settings } from "./evidence-fixture.ts";

describe("what could not be read is unknown:", () => {
  const UNREAD = {
    nothing: [
      "deployments",
      "providers",
      "registrations",
      "creation",
      "webhook",
      "clusterWebhook",
      "foregroundPolicy",
      "policyBindings",
      "policies",
      "overrides",
      "rollouts",
      "clusters",
      "namespaces",
    ],
    policies: ["policies"],
    registrations: ["registrations"],
    namespaces: ["namespaces"],
    deployments: ["deployments"],
  } as const;
  const everywhere = {
    ...policy({ namespaceSelector: { matchLabels: { a: "b" } } }),
    kind: "ClusterHookPolicy",
    metadata: { name: "p", uid: "p", generation: 1 },
  };
  const unknowns = (what: keyof typeof UNREAD): string[] => {
    const over = Object.fromEntries(UNREAD[what].map((field) => [field, forbidden]));
    const checks = examine(evidence({ policies: found([everywhere]), ...over }), settings());
    return checks.filter(({ state }) => state === "unknown").map(({ name }) => name);
  };

  test("nothing but the API server's version", () => {
    const names = examine(evidence(), settings()).map(({ name }) => name);
    const known = ["API server", "CRDs"];
    assert.deepEqual(
      unknowns("nothing"),
      names.filter((name) => !known.includes(name)),
    );
  });

  test("policies: neither their effect, nor which kinds their gates look at, nor their tasks", () => {
    assert.deepEqual(unknowns("policies"), [
      "namespaces",
      "policies",
      "calls",
      "effect",
      "coverage",
      "grants",
      "tasks",
    ]);
  });

  test("ExtensionConfigs: none is not what that means", () => {
    assert.deepEqual(unknowns("registrations"), [
      "ExtensionConfig",
      "discovery",
      "handlers",
      "namespaces",
      "certificate",
      "webhook",
      "admission",
    ]);
  });

  test("Namespaces: a namespaceSelector may match", () => {
    assert.deepEqual(unknowns("namespaces"), ["namespaces", "effect", "coverage"]);
  });

  test("Deployments: neither the operator's flags nor its ServiceAccount", () => {
    assert.deepEqual(unknowns("deployments"), ["operator", "rights", "Cluster API", "handlers"]);
  });

  test("the advice says why it could not be read", () => {
    assert.match(check("policies", { policies: forbidden }).remedy ?? "", /^run it as a user who may read/);
    assert.match(check("policies", { policies: absent }).remedy ?? "", /^the API server does not serve that/);
    const failed = { ...absent, why: "Failed" } as const;
    assert.match(check("policies", { policies: failed }).remedy ?? "", /^run it again/);
  });
});
