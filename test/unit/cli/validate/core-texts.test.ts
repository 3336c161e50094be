/** What YAML reads as a number or a boolean, in templates of Kubernetes' own kinds. */

import assert from "node:assert/strict";
import test from "node:test";
import * as generated from "@kubernetes/client-node/dist/gen/models/all.js";
import { coreTextErrors, TEXT_MAPS, TEXTS } from "../../../../src/cli/validate/beyond-schema.ts";
import { onFiles } from "../resident.ts";

function errorsOf(template: object): readonly string[] {
  const rule = { name: "d", hooks: ["BeforeClusterDelete"], tasks: [{ name: "t", create: template }] };
  return coreTextErrors([rule]).map(
    ({ path, message }) => `${path.replace("spec.rules[0].tasks[0].create.", "")}: ${message}`,
  );
}

const quoted = (path: string, found: string): string =>
  `${path}: found the ${found}, expected a string: write it in quotes`;

test("data of a ConfigMap", () => {
  assert.deepEqual(
    errorsOf({
      apiVersion: "v1",
      kind: "ConfigMap",
      data: { port: 8080, debug: true, name: "x" },
      immutable: true,
    }),
    [quoted("data.port", "number 8080"), quoted("data.debug", "boolean true")],
  );
});

test("env, args, labels and selectors of a Job, and none of its numbers", () => {
  const container = {
    name: "c",
    image: "x",
    args: ["--port", 3],
    env: [{ name: "A", value: 3 }],
    ports: [{ containerPort: 80 }],
    resources: { limits: { cpu: 1 } },
    securityContext: { runAsUser: 0, privileged: false },
  };
  const spec = { restartPolicy: "Never", nodeSelector: { gpu: true }, containers: [container] };
  const job = { backoffLimit: 3, template: { metadata: { labels: { "a.b/c": 1 } }, spec } };
  assert.deepEqual(errorsOf({ apiVersion: "batch/v1", kind: "Job", spec: job }), [
    quoted("spec.template.metadata.labels[a.b/c]", "number 1"),
    quoted("spec.template.spec.nodeSelector.gpu", "boolean true"),
    quoted("spec.template.spec.containers[0].args[1]", "number 3"),
    quoted("spec.template.spec.containers[0].env[0].value", "number 3"),
  ]);
});

test("nothing of a kind that is not Kubernetes' own", () => {
  assert.deepEqual(errorsOf({ apiVersion: "velero.io/v1", kind: "Backup", spec: { labels: { a: 1 } } }), []);
});

interface Attribute {
  readonly baseName: string;
  readonly type: string;
}

const KINDS =
  "ConfigMap Pod Job CronJob Deployment StatefulSet DaemonSet Service ServiceAccount Role RoleBinding ClusterRole ClusterRoleBinding PersistentVolumeClaim Namespace NetworkPolicy ResourceQuota LimitRange";

/** The types of each field of these kinds, without lists. */
function typesByName(): ReadonlyMap<string, ReadonlySet<string>> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the generated classes, by name
  const models = generated as unknown as Record<
    string,
    { getAttributeTypeMap(): readonly Attribute[] } | undefined
  >;
  const types = new Map<string, Set<string>>();
  const open = new Set(KINDS.split(" ").map((kind) => `V1${kind}`));
  for (const model of open) {
    for (const { baseName, type } of models[model]?.getAttributeTypeMap() ?? []) {
      if (baseName === "status") continue;
      const item = type.replaceAll(/Array<|>/g, "");
      types.set(baseName, (types.get(baseName) ?? new Set()).add(item));
      open.add(item);
    }
  }
  return types;
}

test("each field that is taken for a text is one in the client that Kubernetes generates", () => {
  const types = typesByName();
  const isText = (name: string): boolean => {
    const found = [...(types.get(name) ?? [])];
    return (
      found.includes("string") && !found.some((type) => /^(?:number|boolean|IntOrString|any)$/.test(type))
    );
  };
  const isMap = (name: string): boolean => types.get(name)?.has("{ [key: string]: string; }") === true;
  assert.deepEqual(
    TEXTS.filter((name) => !isText(name)),
    [],
  );
  assert.deepEqual(
    TEXT_MAPS.filter((name) => !isMap(name)),
    [],
  );
});

test("validate tells the place", async (t) => {
  const policy = `apiVersion: hookpolicy.dev/v1alpha1
kind: HookPolicy
metadata: { name: p, namespace: team-a }
spec:
  serviceAccountName: hooks
  rules:
    - name: d
      hooks: [BeforeClusterDelete]
      tasks:
        - name: cm
          create:
            apiVersion: v1
            kind: ConfigMap
            metadata: { name: a }
            data: { version: 1.10 }
`;
  const { code, stdout } = await onFiles(t, { "p.yaml": policy }, ["validate", "p.yaml"]);
  assert.equal(code, 1);
  assert.match(stdout, /^p\.yaml:15:30: error: .*\.create\.data\.version: found .* write it in quotes$/m);
  assert.match(stdout, /nothing says when a ConfigMap is done/);
});
