/** Templates: what expressions become, and that a value stays a value. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as fc from "fast-check";
import type { Fields } from "../../../../src/lib/fields.ts";
import { MAX_STEPS, meter } from "../../../../src/policy/cel/meter.ts";
import { compileTemplate, contentsOf, type RenderResult } from "../../../../src/policy/tasks/template.ts";
import { parseText } from "../../../../src/policy/tasks/template-text.ts";
import { runs } from "../../../generated.ts";
import { cluster, DELETE, namespace, NOW } from "../../builders.ts";

const on = cluster(
  { labels: { a: "x: [1]\n- y", n: "7" }, creationTimestamp: "2026-11-20T00:00:00Z" },
  {
    topology: {
      className: "lab",
      version: "v1.34.0",
      variables: JSON.stringify({ n: 3, list: [1, null, { a: null, b: "c" }], big: 2 ** 60 }),
    },
  },
);

function render(template: Fields, over = on): RenderResult {
  return compileTemplate(template).render({ cluster: over, namespace: namespace(), call: DELETE, now: NOW });
}

function valueOf(text: string): unknown {
  const rendered = render({ value: text });
  return rendered.ok ? rendered.value["value"] : `problem: ${rendered.problem}`;
}

describe("an expression", () => {
  const results: Readonly<Record<string, unknown>> = {
    "<< cluster.metadata.name >>": "prod-1",
    "<<cluster.metadata.name>>": "prod-1",
    "a-<< cluster.metadata.name >>-<< request.hook >>": "a-prod-1-BeforeClusterDelete",
    "<< size(cluster.metadata.name) >>": 6,
    "n<< size(cluster.metadata.name) >>": "n6",
    "<< 1 == 1 >>": true,
    "<< 1 == 1 >>!": "true!",
    "<< 1.5 >>": 1.5,
    "<< cluster.topology.variables.n >>": 3,
    "<< cluster.topology.variables.list >>": [1, { b: "c" }],
    "<< {'a': [cluster.metadata.name]} >>": { a: ["prod-1"] },
    "<< null >>": undefined,
    "<< '<<' >>": "<<",
    "<< '>>' >>": ">>",
    "a << '<<' >> b << \"it's >> fine\" >>": "a << b it's >> fine",
    "<< r'\\' >>": "\\",
    "<< '' + r\"\" + '''>>''' >>": ">>",
    "<< 'a' // it's\n >>": "a",
    "<< namespaceObject.metadata.name >>": "team-a",
    "<< string(cluster.metadata.creationTimestamp) >>": "2026-11-20T00:00:00Z",
    "$(CLUSTER) ${HOME} > >>": "$(CLUSTER) ${HOME} > >>",
  };
  for (const [text, expected] of Object.entries(results))
    test(`${text} gives ${JSON.stringify(expected)}`, () => assert.deepEqual(valueOf(text), expected));

  const problems: Readonly<Record<string, RegExp>> = {
    "<< cluster.metadata.labels['none'] >>": /^problem: value: cluster\.metadata\.labels has no key "none"/,
    "<< cluster.topology.variables.big >>": /a whole number beyond 2\^53/,
    "a << cluster.topology.variables.list >>": /a list or a map, expected text/,
    "a << cluster.topology.variables.none >>": /has no key|no field/,
    "<< [cluster.metadata.creationTimestamp] >>": /timestamp, which JSON does not have: write string\(…\)/,
    "<< {1: 2} >>": /keys that are no text/,
    "<< 0.0 / 0.0 >>": /a number that JSON does not have/,
  };
  for (const [text, expected] of Object.entries(problems))
    test(`${text} cannot be rendered`, () => assert.match(String(valueOf(text)), expected));

  test("without a value removes its field or item, also where a policy says null", () => {
    const template = { a: ["<< null >>", "b"], c: { d: "<< null >>", e: "<< 1 >>" } };
    assert.deepEqual(render(template), { ok: true, value: { a: ["b"], c: { e: 1 } } });
  });
});

describe("in the value of env, of which a container expands $(NAME) and makes $$ one $,", () => {
  const owned = cluster({ annotations: { owner: "$(URL)", price: "(URL) $5" } });
  const results: Readonly<Record<string, unknown>> = {
    "<< cluster.metadata.annotations.owner >>": "$$(URL)",
    "by << cluster.metadata.annotations.owner >>, $(DATE)": "by $$(URL), $(DATE)",
    "$<< cluster.metadata.annotations.owner >>": "$$$$(URL)",
    "$<< cluster.metadata.annotations.price >>": "$$(URL) $$5",
    "$$<< cluster.metadata.annotations.price >>": "$$(URL) $$5",
    "<< size(cluster.metadata.name) >>": 6,
    "$(URL) and $": "$(URL) and $",
  };
  for (const [value, expected] of Object.entries(results))
    test(`${value} gives ${JSON.stringify(expected)}`, () => {
      const containers = (text: unknown): Fields => ({ containers: [{ env: [{ name: "A", value: text }] }] });
      assert.deepEqual(render(containers(value), owned), { ok: true, value: containers(expected) });
    });

  test("and nowhere else", () => {
    const rendered = render({ env: { value: "<< cluster.metadata.annotations.owner >>" } }, owned);
    assert.deepEqual(rendered, { ok: true, value: { env: { value: "$(URL)" } } });
  });
});

test("a template without expressions is what was written, and no copy of it", () => {
  const template = { a: [{ b: null }], c: "d" };
  const rendered = render(template);
  assert.ok(rendered.ok && rendered.value === template);
});

test("whatever a label of a Cluster says is one value, and nothing else changes", () => {
  const template = {
    a: "<< cluster.metadata.labels['x'] >>",
    b: { c: ["pre-<< cluster.metadata.labels['x'] >>"] },
    d: "e",
  };
  const compiled = compileTemplate(template);
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const rendered = compiled.render({ cluster: cluster({ labels: { x: text } }), call: DELETE, now: NOW });
      assert.deepEqual(rendered, { ok: true, value: { a: text, b: { c: [`pre-${text}`] }, d: "e" } });
    }),
    runs(300),
  );
});

test("a template is as it was, whatever is not an expression", () => {
  const json = fc.jsonValue().filter((value) => !JSON.stringify(value).includes("<<"));
  fc.assert(
    fc.property(json, (value) => {
      const rendered = render({ value, name: "<< cluster.metadata.name >>" });
      assert.deepEqual(
        rendered.ok && JSON.parse(JSON.stringify(rendered.value)),
        JSON.parse(JSON.stringify({ ...(value === null ? {} : { value }), name: "prod-1" })),
      );
    }),
    runs(300),
  );
});

describe("a text", () => {
  test("that begins an expression and does not end it is wrong, with its place", () => {
    const { problems } = contentsOf({ a: ["x", "line\n  y << cluster"] }, "spec.create");
    assert.deepEqual(problems, [
      {
        path: "spec.create.a[1]",
        message:
          "line 2, column 5: << begins an expression that no >> ends, or in which a quote is not closed. For the two letters themselves, write << '<<' >>",
      },
    ]);
  });

  test("whose quotes are not closed is wrong", () => {
    for (const text of ['<< "a >>', "<< 'a >>", '<< """a"" >>', "<< r'a >>", '<< "a\\" >>', '<< "a\n" >>'])
      assert.deepEqual(parseText(text).ok, false, text);
  });

  test("may have quotes in a comment", () => {
    const parsed = parseText("<< 1 // don't >>, << '//' + \"'\" >>");
    assert.deepEqual(
      parsed.ok && parsed.parts.map((part) => (typeof part === "string" ? part : part.source)),
      [" 1 // don't ", ", ", " '//' + \"'\" "],
    );
  });

  test("with an empty expression is wrong", () => {
    assert.deepEqual(parseText("a << >>").ok, false);
  });

  test("has the same letters in its parts", () => {
    const part = fc.constantFrom("a", "<<", ">>", "'", '"', "\\", " ", "b", "\n", "'''");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const text = parts.join("");
        const parsed = parseText(text);
        if (!parsed.ok) return;
        assert.equal(
          parsed.parts.map((each) => (typeof each === "string" ? each : `<<${each.source}>>`)).join(""),
          text,
        );
      }),
      runs(500),
    );
  });
});

test("rendering is charged, and stops when the steps run out", () => {
  const spent = meter.budget();
  const few = meter.within(spent, () => {
    meter.afford(MAX_STEPS - 10);
    return render({ a: "<< cluster.metadata.name >>" });
  });
  assert.deepEqual(few, { ok: false, problem: `more than ${MAX_STEPS} steps are needed`, exhausted: true });
});
