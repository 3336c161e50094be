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
import type { CrdSchema } from "../../src/api/crd-schema.ts";
import { GROUP, MAX_FAILED, MAX_ROW_MESSAGE, MAX_RUNNING, CRD_VERSION } from "../../src/api/hook-policy.ts";
import { CRD_SCHEMAS } from "../../src/api/crd-schemas.ts";
import { HOOK_NAMES } from "../../src/api/runtime-hooks.ts";
import type { Resource } from "../../src/kube/resource.ts";
import { HOOK_TASKS, OVERRIDES, POLICY_RESOURCES, ROLLOUTS } from "../../src/kube/resources.ts";
import type { KubeObject } from "../controlplane/client.ts";
import { runs } from "../generated.ts";

const own = read(POLICY_RESOURCES.HookPolicy);
const fleet = read(POLICY_RESOURCES.ClusterHookPolicy);
const override = read(OVERRIDES);
const rollout = read(ROLLOUTS);
const task = read(HOOK_TASKS);

function read({ plural }: Resource): KubeObject {
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

test("nothing in a list has a default, which would make kubectl apply see a change where there is none", () => {
  for (const crd of [own, fleet, override]) {
    const within = [...schemas(schemaOf(crd))].filter(([path]) => path.includes("[]"));
    assert.deepEqual(
      within.filter(([, schema]) => "default" in schema).map(([path]) => path),
      [],
    );
  }
});

/** Without what is below, and without what names fields and differs for that reason. */
function leaf({ properties: _, items: __, required: ___, ...schema }: CrdSchema): object {
  return { ...schema, description: undefined };
}

/** The fields whose rules of the first kind the second one has in other words, because it can look elsewhere, too. */
function sharedRules(a: CrdSchema, b: CrdSchema): string[] {
  const [rules, others] = [a, b].map((each) => each["x-kubernetes-validations"] ?? []);
  const known = new Set(others?.map(({ rule }) => rule));
  const narrower = (rules ?? []).filter(({ rule }) => !known.has(rule));
  assert.deepEqual(
    { ...leaf(a), "x-kubernetes-validations": [] },
    { ...leaf(b), "x-kubernetes-validations": [] },
  );
  for (const { rule } of narrower) assert.ok(known.has(`${rule} || has(self.namespaceSelector)`), rule);
  return narrower.map(({ fieldPath = "" }) => fieldPath.slice(1));
}

test("the kinds of policies differ only in names, scope, description and a namespace to select or name", () => {
  const only = [...schemas(schemaOf(fleet)).keys()].filter((path) => !schemas(schemaOf(own)).has(path));
  const roots = only.filter((path) => !only.some((other) => path.startsWith(`${other}.`)));
  const gates = ["spec.rules[].until[]", "spec.rules[].until[].anyOf[]"];
  assert.deepEqual(roots.toSorted(), [
    "spec.namespaceSelector",
    "spec.rules[].tasks[].delete.namespace",
    ...gates.flatMap((gate) => [`${gate}.object.namespace`, `${gate}.object.namespaceSelector`]).toSorted(),
    "spec.serviceAccount",
  ]);
  for (const [path, schema] of schemas(schemaOf(own))) {
    // A HookPolicy names a ServiceAccount of its own namespace.
    if (path === "" || path === "spec" || path === "spec.serviceAccountName") continue;
    if (!path.endsWith(".object")) assert.deepEqual(leaf(schema), leaf(at(fleet, path)), path);
    else assert.deepEqual(sharedRules(schema, at(fleet, path)), ["minCount", "maxCount"], path);
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
  assert.ok(HOOK_NAMES.join(",").length <= (at(own, "status.hooks").maxLength ?? 0));
  assert.deepEqual(at(override, "spec.hooks[]").enum, [...HOOK_NAMES]);
  assert.deepEqual(
    at(override, "spec.policyRefs[].kind").enum,
    [own, fleet, rollout].map(({ spec }) => spec.names.kind),
  );
  assert.equal(at(rollout, "spec.maxConcurrency").maximum, MAX_RUNNING);
  assert.equal(at(rollout, "spec.stages").maxItems, 16);
  assert.equal(at(rollout, "spec.stages[].maxFailures").maximum, MAX_FAILED);
  assert.equal(at(rollout, "status.targets[].stages").maxItems, 16);
  assert.equal(at(rollout, "status.failed[].message").maxLength, MAX_ROW_MESSAGE);
  assert.equal(at(rollout, "status.held[].message").maxLength, MAX_ROW_MESSAGE);
  for (const { spec } of [own, fleet, override, rollout]) assert.equal(spec.versions[0].name, CRD_VERSION);
});

test("clusterctl move finds the kinds, and moves objects that belong to no Cluster", () => {
  for (const { metadata } of [own, fleet, override, rollout]) {
    assert.deepEqual(metadata.labels, {
      "clusterctl.cluster.x-k8s.io": "",
      "clusterctl.cluster.x-k8s.io/move-hierarchy": "",
    });
  }
});

test("the patterns mean the same to JavaScript as to RE2", () => {
  const all = [fleet, override, rollout].flatMap((crd) => [...schemas(schemaOf(crd)).values()]);
  const rules = all.flatMap((schema) => schema["x-kubernetes-validations"] ?? []);
  const calls = rules.flatMap(({ rule }) => [...rule.matchAll(/\bmatches\(/g)]);
  const literals = rules.flatMap(({ rule }) => [...rule.matchAll(/\.matches\(r'([^']+)'\)/g)]);
  assert.equal(literals.length, calls.length, "every pattern is a constant");
  const found = new Set([
    ...literals.map(([, pattern = ""]) => pattern),
    ...all.flatMap(({ pattern = [] }) => pattern),
  ]);
  const texts = fc.oneof(
    fc.string({ unit: "binary", maxLength: 5 }),
    fc.stringMatching(/^[-a-zA-Z0-9_./\s]{0,70}$/),
    fc.stringMatching(/^([a-z0-9.-]{1,60}\/)?[A-Za-z0-9._-]{1,64}\n?$/),
    fc.constantFrom("a".repeat(253), "a".repeat(254)).map((prefix) => `${prefix}/a`),
    fc.stringMatching(/^(\d{1,5}[dhms]){0,4}$/),
    fc.stringMatching(/^2\d{3}-[01]\d-[0-3]\d[Tt ][0-2]\d:[0-6]\d:[0-6]\d(\.\d{1,10})?(Z|z|[-+]\d\d:\d\d)$/),
  );
  for (const pattern of found) {
    const re2 = plan(celEnv(), parseCel(`self.matches(r'${pattern}')`));
    const js = new RegExp(pattern.replaceAll("\\x{", "\\u{"), "u");
    fc.assert(
      fc.property(texts, (self) => re2({ self }) === js.test(self)),
      runs(100),
    );
    const started = process.cpuUsage();
    for (const long of ["a", "a.", "a-", "-a", "a/"]) js.test(`${long.repeat(50_000)}!`);
    // Of the processor, whatever else the machine does: a pattern that backtracks takes seconds.
    assert.ok(process.cpuUsage(started).user < 100_000, `${pattern} is slow`);
  }
});

test("the schemas have only keywords that the operator's own validation evaluates", () => {
  const keywords: Readonly<Record<keyof CrdSchema, true>> = {
    type: true,
    format: true,
    enum: true,
    pattern: true,
    minLength: true,
    maxLength: true,
    minimum: true,
    maximum: true,
    default: true,
    required: true,
    properties: true,
    additionalProperties: true,
    minProperties: true,
    maxProperties: true,
    "x-kubernetes-preserve-unknown-fields": true,
    items: true,
    minItems: true,
    maxItems: true,
    "x-kubernetes-list-type": true,
    "x-kubernetes-list-map-keys": true,
    "x-kubernetes-map-type": true,
    "x-kubernetes-validations": true,
    "x-expected": true,
  };
  for (const schema of Object.values(CRD_SCHEMAS)) {
    for (const [path, part] of schemas(schema))
      assert.deepEqual(
        Object.keys(part).filter((keyword) => !Object.hasOwn(keywords, keyword)),
        [],
        path,
      );
  }
});

test("every pattern that people can miss has words for it", () => {
  const patterns = Object.values(CRD_SCHEMAS)
    .flatMap((schema) => [...schemas(schema)])
    .filter(([path, { pattern }]) => path.startsWith("spec") && pattern !== undefined);
  assert.ok(patterns.length > 5);
  for (const [path, schema] of patterns) assert.ok(schema["x-expected"], path);
});

test("the pattern of an instant takes the days that exist, and no others", () => {
  const pattern = at(override, "spec.expiresAt").pattern ?? "";
  const instant = new RegExp(pattern, "u");
  const two = (n: number): string => String(n).padStart(2, "0");
  for (const year of [2000, 2023, 2024, 2026, 2028, 2100, 2400, 2900, 2999]) {
    for (let month = 0; month <= 13; month++) {
      const days = month >= 1 && month <= 12 ? new Date(Date.UTC(year, month, 0)).getUTCDate() : 0;
      for (let day = 0; day <= 32; day++) {
        const text = `${year}-${two(month)}-${two(day)}T00:00:00Z`;
        assert.equal(instant.test(text), day >= 1 && day <= days, text);
      }
    }
  }
});

for (const crd of [own, fleet, override, rollout, task]) {
  const all = schemas(schemaOf(crd));
  const { name } = crd.metadata;

  test(`${name} compiles in ajv's strict mode as it is`, () => {
    // An integer or a text has no type of JSON Schema.
    const ajv = new Ajv({ strict: true, strictTypes: false });
    formats.default(ajv);
    ajv.addVocabulary(
      [
        "int-or-string",
        "list-type",
        "list-map-keys",
        "map-type",
        "preserve-unknown-fields",
        "validations",
      ].map((k) => `x-kubernetes-${k}`),
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
    assert.ok(rules.length > 0);
    for (const { rule, messageExpression = "true", fieldPath = ".x" } of rules) {
      for (const expression of [rule, messageExpression]) assert.ok(plan(celEnv(), parseCel(expression)));
      assert.match(fieldPath, /^\.[a-z]+$/i);
    }
  });
}
