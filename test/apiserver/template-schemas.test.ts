/** `hookpolicy validate --schema` says of a template what the API server says of the object, from what kubectl prints. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { templateCheck } from "../../src/cli/validate/template-schemas.ts";
import { loadPaths } from "../../src/cli/files/load.ts";
import { fieldsOf } from "../../src/lib/fields.ts";
import { SPECS, WIDGET, WIDGETS } from "../corpus/widgets.ts";
import { clusterApiManifests } from "../controlplane/binaries.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { refusalOf } from "../controlplane/client.ts";
import { sharedControlPlane } from "../controlplane/shared.ts";
import { folder } from "../unit/cli/program.ts";
import { task, taskRule } from "../unit/policy/tasks/fixtures.ts";

/** Cluster API's own, in a group that no other test has. */
const SET = { apiVersion: "sets.template-schemas.example.com/v1beta2", kind: "ClusterResourceSet" };

let cp: ControlPlane;
before(async () => {
  cp = await sharedControlPlane();
  const real = (await clusterApiManifests()).find(
    ({ metadata }) => metadata.name === "clusterresourcesets.addons.cluster.x-k8s.io",
  );
  assert.ok(real !== undefined);
  const { conversion: _, ...spec } = fieldsOf(real["spec"]);
  const group = "sets.template-schemas.example.com";
  const own = { ...spec, group, names: { ...fieldsOf(spec["names"]), categories: [] } };
  const { apiVersion, kind } = real;
  await cp.apply([
    WIDGETS,
    { apiVersion, kind, metadata: { name: `clusterresourcesets.${group}` }, spec: own },
  ]);
  for (const each of ["widgets.template-schemas.example.com", `clusterresourcesets.${group}`])
    await cp.kubectl("wait", "--for=condition=Established", "--timeout=60s", `crd/${each}`);
});
after(async () => await cp?.stop());

const selector = { clusterSelector: { matchLabels: { a: "b" } } };
const resources = [{ kind: "ConfigMap", name: "a" }];
const SETS: Readonly<Record<string, unknown>> = {
  "a set": { ...selector, resources },
  "a set of the wrong kind": { ...selector, resources: [{ kind: "Pod", name: "a" }] },
  "a set without a name": { ...selector, resources: [{ kind: "Secret" }] },
  "a set with a field too many": { ...selector, resources, strateg: "Reconcile" },
  "a set that selects nothing": { resources },
  "a set with a number in its labels": { clusterSelector: { matchLabels: { a: 1 } }, resources },
};

describe("of a template, --schema and the API server agree", () => {
  const given = [
    ...Object.entries(SPECS).map(([what, [spec]]) => ({ what, object: { ...WIDGET, spec } })),
    ...Object.entries(SETS).map(([what, spec]) => ({ what, object: { ...SET, spec } })),
  ];
  for (const { what, object } of given) {
    test(what, async (t) => {
      const crds = await cp.kubectl("get", "crd", "-o", "yaml");
      const dir = await folder(t, {
        "crds.yaml": crds,
        "object.json": JSON.stringify({ ...object, metadata: { name: "a", namespace: "default" } }),
      });
      const { objects } = await loadPaths([`${dir}/crds.yaml`]);
      const check = templateCheck(objects.map((each) => each.object));
      assert.ok(check !== undefined);
      const { errors, unjudged } = check([taskRule([task({ create: object, succeeded: "true" })])]);
      assert.equal(unjudged, 0);
      const create = ["create", "--dry-run=server", "--validate=strict", "-f", `${dir}/object.json`];
      const refusal = await refusalOf(cp.kubectl(...create));
      assert.equal(
        errors.length > 0,
        refusal !== undefined,
        JSON.stringify({ errors, refusal: refusal ?? "none" }, undefined, 2),
      );
    });
  }
});
