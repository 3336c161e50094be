/** What SARIF 2.1.0 requires, and what code scanning needs to show a finding beside its line; and what GitHub's log needs. */

import assert from "node:assert/strict";
import test from "node:test";
import { Ajv } from "ajv";
import { folder, yaml } from "../program.ts";
import { rawPolicy } from "../raw.ts";
import { hookpolicy } from "../resident.ts";

const text = { type: "object", required: ["text"], properties: { text: { type: "string", minLength: 1 } } };
const physicalLocation = {
  type: "object",
  required: ["artifactLocation"],
  properties: {
    artifactLocation: {
      type: "object",
      required: ["uri"],
      // RFC 3986: no spaces and no backslashes.
      properties: { uri: { type: "string", pattern: "^[\\w.~%!$&'()*+,;=:@/-]+$" } },
    },
    region: {
      type: "object",
      required: ["startLine"],
      properties: {
        startLine: { type: "integer", minimum: 1 },
        startColumn: { type: "integer", minimum: 1 },
      },
    },
  },
};
const result = {
  type: "object",
  required: ["ruleId", "ruleIndex", "level", "message", "locations"],
  properties: {
    ruleId: { type: "string", pattern: "^[a-z]+(-[a-z]+)*$" },
    level: { enum: ["none", "note", "warning", "error"] },
    message: text,
    locations: {
      type: "array",
      minItems: 1,
      items: { type: "object", required: ["physicalLocation"], properties: { physicalLocation } },
    },
  },
};
const driver = {
  type: "object",
  required: ["name", "version", "rules"],
  properties: {
    rules: {
      type: "array",
      items: { type: "object", required: ["id"], properties: { shortDescription: text } },
    },
  },
};
const SARIF = {
  type: "object",
  required: ["$schema", "version", "runs"],
  properties: {
    version: { const: "2.1.0" },
    runs: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        required: ["tool", "results"],
        properties: {
          tool: { type: "object", required: ["driver"], properties: { driver } },
          results: { type: "array", items: result },
        },
      },
    },
  },
};

interface Log {
  readonly runs: readonly [
    {
      readonly tool: { readonly driver: { readonly rules: readonly { readonly id: string }[] } };
      readonly results: readonly {
        readonly ruleId: string;
        readonly ruleIndex: number;
        readonly locations: readonly { readonly physicalLocation: object }[];
      }[];
    },
  ];
}

const policy = (name: string, hook: string): string => `apiVersion: hookpolicy.dev/v1alpha1
kind: HookPolicy
metadata: {name: ${name}}
spec:
  rules:
    - name: confirmed
      hooks: [${hook}]
      until:
        - {name: approved, annotation: {key: a, valueFrom: ClusterUID}}
`;

test("-o sarif has what SARIF requires, for errors, warnings and files that cannot be read", async (t) => {
  const cwd = await folder(t, {
    "a b.yaml": policy("a", "BeforeClusterDelet"),
    "b.yaml": policy("b", "BeforeClusterDelete"),
    "c.yaml": "a: b: c",
  });
  const args = ["validate", "-o", "sarif", "a b.yaml", "b.yaml", "c.yaml", "none.yaml"];
  const { code, stdout, stderr } = await hookpolicy(args, { cwd });
  assert.deepEqual([code, stderr], [2, ""]);
  const log: Log = JSON.parse(stdout);
  const ajv = new Ajv();
  assert.ok(ajv.validate(SARIF, log), ajv.errorsText());
  const [{ tool, results }] = log.runs;
  assert.deepEqual(
    results.map(({ ruleId, locations }) => [ruleId, locations[0]?.physicalLocation]),
    [
      ["unreadable-file", { artifactLocation: { uri: "none.yaml" } }],
      ["unreadable-file", { artifactLocation: { uri: "c.yaml" }, region: { startLine: 1, startColumn: 4 } }],
      [
        "namespace-missing",
        { artifactLocation: { uri: "a%20b.yaml" }, region: { startLine: 3, startColumn: 1 } },
      ],
      [
        "invalid-field",
        { artifactLocation: { uri: "a%20b.yaml" }, region: { startLine: 7, startColumn: 15 } },
      ],
      [
        "namespace-missing",
        { artifactLocation: { uri: "b.yaml" }, region: { startLine: 3, startColumn: 1 } },
      ],
    ],
  );
  for (const { ruleId, ruleIndex } of results) assert.equal(tool.driver.rules[ruleIndex]?.id, ruleId);
});

test("what is wrong with admission is shown at its field", async (t) => {
  const cwd = await folder(t, {
    "p.yaml": `apiVersion: hookpolicy.dev/v1alpha1
kind: HookPolicy
metadata: {name: a, namespace: team-a}
spec:
  rules:
    - name: only-waits
      hooks: [BeforeClusterDelete]
      admission: Deny
      until:
        - {name: soak, wait: {duration: 1h}}
    - name: ends
      hooks: [BeforeClusterDelete]
      admission: Deny
      until:
        - {name: approved, annotation: {key: a, valueFrom: ClusterUID}}
      deadline: {after: 3h, onExpiry: Allow}
`,
  });
  const { stdout } = await hookpolicy(["validate", "-o", "sarif", "p.yaml"], { cwd });
  const [{ results }] = (JSON.parse(stdout) as Log).runs;
  const place = (startLine: number, startColumn: number): object => ({
    artifactLocation: { uri: "p.yaml" },
    region: { startLine, startColumn },
  });
  assert.deepEqual(
    results.map(({ ruleId, locations }) => [ruleId, locations[0]?.physicalLocation]),
    [
      ["invalid-field", place(8, 18)],
      ["deadline-not-at-admission", place(16, 39)],
    ],
  );
});

test("-o github begins with no title of a kustomization, which needs no name", async (t) => {
  const until = [{ name: "ok", annotation: { key: "example.com/ok", valueFrom: "ClusterUID" } }];
  const rules = [{ name: "r", hooks: ["BeforeClusterDelete"], until }];
  const cwd = await folder(t, {
    "p.yaml": yaml(rawPolicy("p", { rules })),
    "kustomization.yaml": "namePrefix: a-\nresources: [p.yaml]\n",
  });
  const { stdout } = await hookpolicy(["validate", "-o", "github", "."], { cwd });
  assert.match(
    stdout,
    /^::warning file=kustomization\.yaml,line=1,col=\d+::namePrefix: can change 1 HookPolicy/,
  );
});
