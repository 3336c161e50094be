/** `hookpolicy validate --schema`: templates of tasks against CustomResourceDefinitions. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { RuleSpec } from "../../../../src/api/hook-policy.ts";
import { templateCheck, type TemplateCheck } from "../../../../src/cli/validate/template-schemas.ts";
import type { FieldError } from "../../../../src/policy/validation/schema.ts";
import { SPECS, WIDGET, WIDGETS } from "../../../corpus/widgets.ts";
import { task, taskRule } from "../../policy/tasks/fixtures.ts";
import { folder } from "../program.ts";
import { hookpolicy } from "../resident.ts";

/** What these definitions say about the templates of a rule. */
function checked(definition: Parameters<typeof templateCheck>[0][number], given: RuleSpec): TemplateCheck {
  const check = templateCheck([definition]);
  assert.ok(check !== undefined);
  return check([given]);
}
const AT = "spec.rules[0].tasks[0].create";

function errorsOf(spec: unknown, more: object = {}): readonly FieldError[] {
  const create = { ...WIDGET, ...(spec !== undefined && { spec }), ...more };
  return checked(WIDGETS, taskRule([task({ create, succeeded: "true" })])).errors;
}

describe("a template", () => {
  for (const [what, [spec, path, says = /./]] of Object.entries(SPECS)) {
    test(`${path === undefined ? "is right" : "is wrong"}: ${what}`, () => {
      const errors = errorsOf(spec);
      assert.deepEqual(
        errors.map((error) => error.path),
        path === undefined ? [] : [`${AT}.${path}`],
      );
      if (path !== undefined) assert.match(errors[0]?.message ?? "", says);
    });
  }

  test("is not judged where an expression gives the value, but where it cannot help", () => {
    const open = "<< cluster.metadata.name >>";
    assert.deepEqual(errorsOf(open), []);
    assert.deepEqual(
      errorsOf({
        size: open,
        mode: `x-${open}`,
        port: open,
        marks: { a: open, b: open, c: open },
        parts: open,
      }),
      [],
    );
    assert.deepEqual(errorsOf({ size: 1, parts: [{ name: open }, open] }), []);
    const wrong = errorsOf({ mode: open, prot: open, parts: [{ weight: open, x: 1 }], marks: [open] });
    assert.deepEqual(wrong.map(({ path }) => path.slice(AT.length)).toSorted(), [
      ".spec.marks",
      ".spec.parts[0].name",
      ".spec.parts[0].x",
      ".spec.prot",
      ".spec.size",
    ]);
  });

  test("has metadata that the operator completes", () => {
    assert.deepEqual(errorsOf({ size: 1 }, { metadata: { nam: 1 } }), []);
  });

  test("of another kind or version is only counted, and what is deleted is no template", () => {
    const create = { ...WIDGET, apiVersion: "template-schemas.example.com/v2", spec: 1 };
    const { create: _, ...bare } = task();
    const deleted = { ...bare, name: "c", delete: { ...WIDGET, name: "a" } };
    const rule = taskRule([task(), task({ name: "b", create }), deleted]);
    assert.deepEqual(checked(WIDGETS, rule), { errors: [], unjudged: 2 });
  });
});

test("a version that is not served has no objects, so its schema is not used", () => {
  const old = structuredClone(WIDGETS);
  for (const version of old.spec.versions) version.served = false;
  assert.equal(templateCheck([old]), undefined);
});

test("a schema that cannot be used is said where it is needed", () => {
  const broken = structuredClone(WIDGETS);
  const [version] = broken.spec.versions;
  assert.ok(version);
  version.schema.openAPIV3Schema.properties.spec.properties.port.pattern = "(";
  const rule = taskRule([task({ create: { ...WIDGET, spec: { size: 1 } } })]);
  const [error] = checked(broken, rule).errors;
  assert.match(error?.message ?? "", /^its schema cannot be used: /);
});

const POLICY = `apiVersion: hookpolicy.dev/v1alpha1
kind: HookPolicy
metadata: {name: p, namespace: team-a}
spec:
  serviceAccountName: worker
  rules:
    - name: r
      hooks: [BeforeClusterDelete]
      tasks:
        - name: a
          apply:
            apiVersion: template-schemas.example.com/v1
            kind: Widget
            metadata: {name: a}
            spec:
              size: 1
              timeZone: a
              prot: "<< cluster.metadata.name >>"
          succeeded: "true"
        - name: b
          create: {apiVersion: batch/v1, kind: Job, spec: {template: {spec: {restartPolicy: Never}}}}
`;
const CRDS = JSON.stringify({ apiVersion: "v1", kind: "List", items: [WIDGETS] });

test("--schema reports a template with line, column and what was meant, and counts the others", async (t) => {
  const cwd = await folder(t, {
    "p.yaml": POLICY,
    "crds/crds.json": CRDS,
    "crds/values.yaml": "a: {{ b }}\n",
  });
  const { code, stdout, stderr } = await hookpolicy(["validate", "p.yaml", "--schema", "crds"], { cwd });
  assert.deepEqual({ code, stderr }, { code: 1, stderr: "" });
  assert.match(
    stdout,
    /^p\.yaml:18:15: error: spec\.rules\[0\]\.tasks\[0\]\.apply\.spec\.prot: unknown field/m,
  );
  assert.match(stdout, /^ {2}help: did you mean "port"\?$/m);
  assert.match(stdout, /^p\.yaml:17:15: error: .*unknown field "timeZone"/m);
  assert.doesNotMatch(stdout, /it belongs in/, "a field of policies says nothing about a template");
  assert.match(stdout, /\n1 HookPolicy: 2 errors; 1 template without a schema\n$/);
  const without = await hookpolicy(["validate", "p.yaml"], { cwd });
  assert.deepEqual([without.code, without.stdout], [0, "1 HookPolicy: no errors\n"]);
});

test("-o json counts the templates without a schema, with --schema alone", async (t) => {
  const cwd = await folder(t, {
    "p.yaml": POLICY.replace(/^ +(?:timeZone|prot): .*\n/gm, ""),
    "c.json": CRDS,
  });
  const json = async (...flags: string[]): Promise<unknown> => {
    const { stdout } = await hookpolicy(["validate", "p.yaml", "-o", "json", ...flags], { cwd });
    return (JSON.parse(stdout) as { readonly templatesWithoutSchema?: number }).templatesWithoutSchema;
  };
  assert.equal(await json("--schema", "c.json"), 1);
  assert.equal(await json(), undefined);
});

test("--schema without a definition, or that cannot be read, is an error: nothing was checked", async (t) => {
  const cwd = await folder(t, { "p.yaml": POLICY, "cm.yaml": "{apiVersion: v1, kind: ConfigMap}\n" });
  const run = async (...flags: string[]): Promise<string> => {
    const { code, stderr } = await hookpolicy(["validate", "p.yaml", ...flags], { cwd });
    assert.equal(code, 2);
    return stderr;
  };
  assert.match(await run("--schema", "cm.yaml"), /cm\.yaml: error: has no CustomResourceDefinition/);
  assert.match(await run("--schema", "none.yaml"), /none\.yaml: error: /);
  assert.match(await run("-", "--schema", "-"), /standard input is read for policies already/);
});
