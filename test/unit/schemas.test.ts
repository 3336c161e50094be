/** schemas/*.json, for editors: as strict as JSON Schema can be, and never stricter than the API server. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import test from "node:test";
import { Ajv, type ValidateFunction } from "ajv";
import { starterFiles } from "../../src/cli/init/starter.ts";
import { invalidCorpus, validCorpus } from "../corpus/corpus.ts";
import { parse } from "yaml";

const SCHEMAS = join(import.meta.dirname, "../../schemas");

function anyKind(): ValidateFunction {
  const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false, allErrors: true });
  const schemas = globSync("*_v1alpha1.json", { cwd: SCHEMAS });
  assert.equal(schemas.length, 5);
  for (const name of schemas)
    ajv.addSchema(JSON.parse(readFileSync(join(SCHEMAS, name), "utf8")), basename(name));
  return ajv.compile(JSON.parse(readFileSync(join(SCHEMAS, "all.json"), "utf8")));
}

/** A field that is null is absent for the API server; in a file it is better not there. */
const NULLS = new Set(["null-is-absent", "object-gates", "rollout-null-is-absent"]);

test("every valid object of the corpus fits, and so do the starter's", () => {
  const fits = anyKind();
  for (const { name, object } of validCorpus().filter((each) => !NULLS.has(each.name))) {
    assert.ok(fits(object), `${name}: ${JSON.stringify(fits.errors)}`);
  }
  const starters = Object.entries(starterFiles()).filter(([name]) => /^(policies|tests)\//.test(name));
  assert.equal(starters.length, 2);
  for (const [name, text] of starters)
    assert.ok(fits(parse(text)), `${name}: ${JSON.stringify(fits.errors)}`);
});

test("unknown fields, wrong types and unknown words do not fit", () => {
  const fits = anyKind();
  const plain = invalidCorpus().filter(({ says }) =>
    /^(unknown field|found .* expected (one of|an? (string|object|list|integer|boolean)))/.test(says),
  );
  assert.ok(plain.length > 20, `${plain.length} were found`);
  const taken = plain.filter(({ object }) => fits(object)).map(({ name }) => name);
  assert.deepEqual(taken, []);
});

test("an object of another kind does not fit", () => {
  assert.equal(anyKind()({ apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookPolcy" }), false);
});
