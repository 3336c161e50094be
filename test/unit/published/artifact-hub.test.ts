/** What Artifact Hub shows of the chart: by the rules of its documentation, and true of what the chart installs. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { parse, stringify } from "yaml";
import { hookpolicy } from "../cli/resident.ts";
import { problemsBy, readSchema } from "./published.ts";

const ROOT = join(import.meta.dirname, "../../..");
const ANNOTATIONS: Readonly<Record<string, string>> = parse(
  readFileSync(join(ROOT, "manifests/helm/hookpolicy/Chart.yaml"), "utf8"),
).annotations;
const { definitions, ...head } = readSchema("artifacthub");
const by = (name: string) => problemsBy({ ...head, definitions, $ref: `#/definitions/${name}` });

/** Helm takes text alone; what holds YAML is parsed. */
function parsed(annotations: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(annotations).map(([name, value]) => {
      assert.equal(typeof value, "string", name);
      return [name, value.includes("\n") ? parse(value) : value];
    }),
  );
}

test("the chart's annotations are ones that Artifact Hub reads", () => {
  const problems = by("annotations");
  assert.deepEqual(problems(parsed(ANNOTATIONS)), []);
  for (const [name, wrong] of Object.entries({
    "artifacthub.io/categories": "security",
    "artifacthub.io/category": "policies",
    "artifacthub.io/operator": "yes",
    "artifacthub.io/crds": "- kind: HookPolicy\n",
  }))
    assert.notDeepEqual(problems(parsed({ ...ANNOTATIONS, [name]: wrong })), [], name);
});

test("the file of the repository is one that Artifact Hub reads", () => {
  const problems = by("repository");
  assert.deepEqual(problems(parse(readFileSync(join(ROOT, "artifacthub-repo.yml"), "utf8"))), []);
  assert.notDeepEqual(problems({ owners: [{ name: "a" }] }), []);
});

interface ListedObject {
  readonly name: string;
  readonly kind: string;
  readonly version: string;
}

test("every CRD of the chart is listed, by its name, kind and version", () => {
  const files = globSync("crds/hookpolicy.dev_*.yaml", { cwd: ROOT });
  const shipped = files.map((file): ListedObject => {
    const { metadata, spec } = parse(readFileSync(join(ROOT, file), "utf8"));
    return { name: metadata.name, kind: spec.names.kind, version: spec.versions[0].name };
  });
  const listed: readonly ListedObject[] = parse(ANNOTATIONS["artifacthub.io/crds"] ?? "");
  const byName = (a: ListedObject, b: ListedObject): number => a.name.localeCompare(b.name);
  assert.deepEqual(
    listed.map(({ name, kind, version }) => ({ name, kind, version })).toSorted(byName),
    shipped.toSorted(byName),
  );
});

test("the examples are valid, without a warning", async () => {
  const examples: readonly object[] = parse(ANNOTATIONS["artifacthub.io/crdsExamples"] ?? "");
  assert.ok(examples.length > 0);
  const stdin = examples.map((example) => stringify(example)).join("---\n");
  const { code, stdout, stderr } = await hookpolicy(["validate", "-", "--strict"], { stdin });
  assert.equal(code, 0, stdout + stderr);
});
