/** What crds/generate.ts cannot keep consistent in the CRDs is tested here. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { Ajv } from "ajv";
import { celEnv, parse as parseCel, plan } from "@bufbuild/cel";
import formats from "ajv-formats";
import * as fc from "fast-check";
import { parse } from "yaml";
import type { CrdSchema } from "../../src/api/crdschema.ts";
import {
  CLUSTER_HOOK_POLICIES,
  GROUP,
  HOOK_POLICIES,
  MAX_CONDITION_MESSAGE,
  MAX_DECISIONS,
  MAX_RECENT,
  MAX_ROW_MESSAGE,
  VERSION,
} from "../../src/api/hookpolicy.ts";
import { HOOK_NAMES } from "../../src/api/runtimehooks.ts";
import type { KubeObject } from "../controlplane/client.ts";

const own = read(HOOK_POLICIES);
const fleet = read(CLUSTER_HOOK_POLICIES);

function read(plural: string): KubeObject {
  return parse(readFileSync(join(import.meta.dirname, `../../crds/${GROUP}_${plural}.yaml`), "utf8"));
}

function schemaOf({ spec }: KubeObject): CrdSchema {
  return spec.versions[0].schema.openAPIV3Schema;
}

/** By dots; [] for items. */
function at(crd: KubeObject, path: string): CrdSchema {
  const found = schemas(schemaOf(crd)).get(path);
  assert.ok(found, path);
  return found;
}

/** Every schema of the CRD by its path. The fields of metadata are not ours. */
function schemas(schema: CrdSchema, path = "", all = new Map<string, CrdSchema>()): Map<string, CrdSchema> {
  all.set(path, schema);
  for (const [key, field] of Object.entries(schema.properties ?? {})) {
    if (key !== "metadata") schemas(field, path === "" ? key : `${path}.${key}`, all);
  }
  if (schema.items !== undefined) schemas(schema.items, `${path}[]`, all);
  if (schema.additionalProperties !== undefined) schemas(schema.additionalProperties, `${path}{}`, all);
  return all;
}

/** Without what is below, and without what names fields and differs for that reason. */
function leaf({ properties: _, items: __, required: ___, ...schema }: CrdSchema): object {
  return { ...schema, description: undefined };
}

test("the kinds of policies differ only in names, scope, description and a namespace to select or name", () => {
  const only = [...schemas(schemaOf(fleet)).keys()].filter((path) => !schemas(schemaOf(own)).has(path));
  const roots = only.filter((path) => !only.some((other) => path.startsWith(`${other}.`)));
  const gates = ["spec.rules[].until[]", "spec.rules[].until[].anyOf[]"];
  assert.deepEqual(roots.toSorted(), [
    "spec.namespaceSelector",
    ...gates.map((gate) => `${gate}.object.namespace`).toSorted(),
  ]);
  for (const [path, schema] of schemas(schemaOf(own))) {
    if (path !== "") assert.deepEqual(leaf(schema), leaf(at(fleet, path)), path);
  }
  assert.deepEqual(leaf(at(fleet, "spec.namespaceSelector")), leaf(at(own, "spec.clusterSelector")));
  assert.deepEqual(fleet.metadata.labels, own.metadata.labels);
  assert.deepEqual(
    { ...fleet.spec.versions[0], schema: undefined },
    { ...own.spec.versions[0], schema: undefined },
  );
});

test("the CRDs agree with the constants", () => {
  assert.deepEqual(at(own, "spec.rules[].hooks[]").enum, [...HOOK_NAMES]);
  assert.deepEqual(at(own, "status.decisions[].hook").enum, [...HOOK_NAMES]);
  assert.deepEqual(at(own, "status.recent[].hook").enum, [...HOOK_NAMES]);
  assert.equal(at(own, "status.decisions").maxItems, MAX_DECISIONS);
  assert.equal(at(own, "status.decisions[].message").maxLength, MAX_ROW_MESSAGE);
  assert.equal(at(own, "status.recent").maxItems, MAX_RECENT);
  assert.equal(at(own, "status.conditions[].message").maxLength, MAX_CONDITION_MESSAGE);
  assert.ok(HOOK_NAMES.join(",").length <= (at(own, "status.hooks").maxLength ?? 0));
  assert.equal(own.spec.versions[0].name, VERSION);
});

test("clusterctl move finds the kinds, and moves objects that belong to no Cluster", () => {
  assert.deepEqual(own.metadata.labels, {
    "clusterctl.cluster.x-k8s.io": "",
    "clusterctl.cluster.x-k8s.io/move-hierarchy": "",
  });
});

test("the patterns of the CEL rules mean the same to JavaScript as to RE2", () => {
  const rules = [...schemas(schemaOf(fleet)).values()].flatMap(
    (schema) => schema["x-kubernetes-validations"] ?? [],
  );
  const calls = rules.flatMap(({ rule }) => [...rule.matchAll(/\bmatches\(/g)]);
  const literals = rules.flatMap(({ rule }) => [...rule.matchAll(/\.matches\(r'([^']+)'\)/g)]);
  assert.equal(literals.length, calls.length, "every pattern is a constant");
  const found = new Set(literals.map(([, pattern = ""]) => pattern));
  const texts = fc.oneof(
    fc.string({ unit: "binary", maxLength: 5 }),
    fc.stringMatching(/^[-a-zA-Z0-9_./\s]{0,70}$/),
    fc.stringMatching(/^([a-z0-9.-]{1,60}\/)?[A-Za-z0-9._-]{1,64}\n?$/),
    fc.constantFrom("a".repeat(253), "a".repeat(254)).map((prefix) => `${prefix}/a`),
  );
  for (const pattern of found) {
    const re2 = plan(celEnv(), parseCel(`self.matches(r'${pattern}')`));
    const js = new RegExp(pattern.replaceAll("\\x{", "\\u{"), "u");
    fc.assert(fc.property(texts, (self) => re2({ self }) === js.test(self)));
    const started = performance.now();
    for (const long of ["a", "a.", "a-", "-a", "a/"]) js.test(`${long.repeat(50_000)}!`);
    assert.ok(performance.now() - started < 100, `${pattern} is slow`);
  }
});

for (const crd of [own, fleet]) {
  const all = schemas(schemaOf(crd));
  const { name } = crd.metadata;

  test(`${name} compiles in ajv's strict mode as it is`, () => {
    const ajv = new Ajv({ strict: true });
    formats.default(ajv);
    ajv.addVocabulary(
      ["list-type", "list-map-keys", "map-type", "validations"].map((k) => `x-kubernetes-${k}`),
    );
    assert.ok(ajv.compile(schemaOf(crd)));
  });

  test(`${name} bounds every list, map and text`, () => {
    const unbounded = [...all].filter(
      ([path, { type, maxItems, maxLength, enum: words, additionalProperties, maxProperties }]) =>
        path.includes(".") &&
        ((type === "array" && maxItems === undefined) ||
          (type === "string" && maxLength === undefined && words === undefined) ||
          (additionalProperties !== undefined && maxProperties === undefined)),
    );
    assert.deepEqual(unbounded, []);
  });

  test(`${name} describes every field`, () => {
    const fields = [...all].filter(([path]) => /\w$/.test(path));
    assert.deepEqual(
      fields.filter(([, schema]) => !("description" in schema)),
      [],
    );
  });

  test(`${name} has no key that YAML 1.1 reads as a boolean`, () => {
    for (const path of all.keys()) assert.doesNotMatch(path, /\b(on|off|y|n|yes|no)$/i);
  });

  test(`${name} has CEL rules that compile, and blame one plain field`, () => {
    const rules = [...all.values()].flatMap((schema) => schema["x-kubernetes-validations"] ?? []);
    assert.ok(rules.length > 10);
    for (const { rule, messageExpression = "true", fieldPath = ".x" } of rules) {
      for (const expression of [rule, messageExpression]) assert.ok(plan(celEnv(), parseCel(expression)));
      assert.match(fieldPath, /^\.[a-z]+$/i);
    }
  });
}
