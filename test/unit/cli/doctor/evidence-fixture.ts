/** What `doctor` would read where all is well, and how a test changes it. */

import assert from "node:assert/strict";
import test, { type TestContext } from "node:test";
import type { Check, Evidence, ReadResult, Settings } from "../../../../src/cli/doctor/finding.ts";
import { examine } from "../../../../src/cli/doctor/doctor.ts";
import type { RawObject } from "../../../../src/cli/fleet/kinds.ts";
import type { CommandWords } from "../../../../src/cli/terminal/printed-command.ts";
import { CRD_SCHEMAS } from "../../../../src/api/crd-schemas.ts";
import { HOOK_NAMES } from "../../../../src/api/runtime-hooks.ts";
import { handlerName, servedHooks } from "../../../../src/api/hook-catalog.ts";
import { viewRegistration } from "../../../../src/registration/registration.ts";
import { createCertificateAuthority } from "../../../controlplane/certificates.ts";
import { answering, list } from "../api-server.ts";
import { rawCluster, rawNamespace, rawPolicy } from "../raw.ts";
import { hookpolicy } from "../resident.ts";

export const KEY = "hookpolicy-system/hookpolicy-webhook-service-cert";
const HOST = "hookpolicy-webhook-service.hookpolicy-system.svc";

export const found = <T>(value: T): ReadResult<T> => ({ ok: true, value });
export const absent = { ok: false, why: "NotFound", message: "not found" } as const;
export const forbidden = { ok: false, why: "Forbidden", message: "you may not" } as const;

export const settings = (over: Partial<Settings> = {}): Settings => ({
  now: new Date(),
  served: servedHooks(14),
  maxOverrideMs: 86_400_000,
  serviceName: "hookpolicy-webhook-service",
  ...over,
});

export const definition = (schema: unknown, established = "True"): ReadResult<RawObject> =>
  found({
    metadata: { name: "hookpolicies.hookpolicy.dev" },
    spec: { versions: [{ name: "v1alpha1", served: true, schema: { openAPIV3Schema: schema } }] },
    status: { conditions: [{ type: "Established", status: established }] },
  });

export const deployment = (
  labels: object,
  image: string,
  args: readonly string[],
  status = {},
): RawObject => ({
  metadata: { namespace: "ns", name: "d", labels },
  spec: { replicas: 2, template: { spec: { containers: [{ image, args }] } } },
  status: { availableReplicas: 2, ...status },
});
export const OURS = { "app.kubernetes.io/name": "hookpolicy" };
export const THEIRS = { "cluster.x-k8s.io/provider": "cluster-api" };
export const GATES = "--feature-gates=ClusterTopology=true,RuntimeSDK=true";

export const extension = (over: object = {}, status: object = {}, name = "hookpolicy"): RawObject => ({
  metadata: { name, generation: 1 },
  spec: {
    clientConfig: {
      service: { namespace: "hookpolicy-system", name: "hookpolicy-webhook-service" },
      caBundle: Buffer.from(authority.certificate).toString("base64"),
      ...over,
    },
  },
  status: {
    conditions: [{ type: "Discovered", status: "True", observedGeneration: 1 }],
    handlers: HOOK_NAMES.map((hook) => ({ name: `${handlerName(hook)}.${name}`, requestHook: { hook } })),
    ...status,
  },
});

export const cluster = (
  name: string,
  spec: object = { topology: { classRef: { name: "c" }, version: "v1.34.0" } },
): RawObject => ({ ...rawCluster({ name, uid: name }), spec });
const NAMESPACE: RawObject = rawNamespace({ labels: { a: "b" } });
const RULE = { name: "r", hooks: ["BeforeClusterDelete"], until: [{ name: "g", annotation: { key: "k" } }] };
export const policy = (over: object = {}, status: object = {}, name = "p"): RawObject => ({
  ...rawPolicy({ name, uid: name, generation: 1 }, { rules: [RULE], ...over }),
  status: { observedGeneration: 1, conditions: [{ type: "Ready", status: "True" }], ...status },
});

const authorities = await Promise.all([createCertificateAuthority(), createCertificateAuthority()]);
/** Of the serving certificate, and another one. */
export const [authority, other] = authorities;
export const leaf = (await authority.issue({ commonName: HOST, names: [HOST] })).certificate;
export const foreign = (await authority.issue({ commonName: "a", names: ["elsewhere.svc"] })).certificate;

export const webhookOf = (caBundle: string, failurePolicy = "Fail"): ReadResult<RawObject> =>
  found({ webhooks: [{ name: "workers.hookpolicy.dev", clientConfig: { caBundle }, failurePolicy }] });
export const secretOf = (certificate: string, ca: string): Evidence["secrets"] =>
  new Map([[KEY, found({ "tls.crt": certificate, "ca.crt": ca })]]);
export const registrations = (...raw: RawObject[]): Evidence["registrations"] =>
  found(raw.map(viewRegistration));

export const foregroundBinding = (over: object = {}): RawObject => ({
  spec: { policyName: "hookpolicy-refuse-foreground-deletion", validationActions: ["Deny"], ...over },
});

/** All is well. */
export function evidence(over: Partial<Evidence> = {}): Evidence {
  return {
    serverVersion: "v1.36.0",
    definitions: new Map(Object.entries(CRD_SCHEMAS).map(([kind, schema]) => [kind, definition(schema)])),
    deployments: found([deployment(OURS, "hookpolicy:0.1.0", []), deployment(THEIRS, "c:v1.14.2", [GATES])]),
    providers: absent,
    coreProviders: absent,
    clusterDefinition: absent,
    registrations: registrations(extension()),
    creation: found(true),
    secrets: secretOf(leaf, authority.certificate),
    webhook: webhookOf(Buffer.from(authority.certificate).toString("base64")),
    clusterWebhook: webhookOf(Buffer.from(authority.certificate).toString("base64")),
    clusterEndpoints: absent,
    foregroundPolicy: found({}),
    policyBindings: found([foregroundBinding()]),
    policies: found([policy()]),
    overrides: found([]),
    rollouts: found([]),
    clusters: found([cluster("c1")]),
    namespaces: found([NAMESPACE]),
    rights: [],
    grants: [],
    taskAccounts: [],
    hookTasks: found([]),
    ownedUnseen: false,
    ...over,
  };
}

export function check(
  name: string,
  over: Partial<Evidence> = {},
  given: Partial<Settings> = {},
  words?: CommandWords,
): Check {
  const one = examine(evidence(over), settings(given), words).find((each) => each.name === name);
  assert.ok(one !== undefined, name);
  return one;
}

/** A check over the answers of an API server, and what `doctor` has posted. */
export async function diagnosed(t: TestContext, name: string, answers: Readonly<Record<string, object>>) {
  const none = { "GET /version": { gitVersion: "v1.36.0" }, "GET /apis/apps/v1/deployments": list() };
  const { kubeconfig, bodies } = await answering(t, { ...none, ...answers });
  const { stdout } = await hookpolicy(["doctor", "--kubeconfig", kubeconfig, "-o", "json"]);
  const { checks }: { readonly checks: readonly Check[] } = JSON.parse(stdout);
  return { ...(checks.find((each) => each.name === name) ?? assert.fail(name)), bodies };
}

/** Each command of a remedy has the flags of the connection. */
function isAboutTheSameCluster({ remedy = "", problems = [] }: Check): void {
  for (const text of [remedy, ...problems.map((each) => each.remedy)]) {
    const commands = text.matchAll(
      /(?<![\w/-])(?:(?:kubectl|hp) (?!init\b)[a-z]|hookpolicy (?:doctor|explain|rollout|task) )/g,
    );
    assert.equal([...commands].length, text.split(" --context prod").length - 1, text);
  }
}

/** What was read, and words of what the check says or advises, by its state. */
type Row = Readonly<Partial<Record<Check["state"], RegExp>>> & {
  readonly given?: Partial<Evidence>;
  readonly settings?: Partial<Settings>;
};

/** What one check says, by the name of the test. */
export function table(name: string, rows: Readonly<Record<string, Row>>): void {
  for (const [title, { given, settings: more, ...says }] of Object.entries(rows)) {
    test(title, () => {
      const { state, detail, remedy, problems } = check(name, given, more);
      assert.deepEqual(Object.keys(says), [state], detail);
      const told = (problems ?? [{ detail: "", remedy }]).map((each) => `${each.detail} → ${each.remedy}`);
      assert.match([detail, ...told].join("\n").replace("\n →", " →"), says[state] ?? assert.fail());
      isAboutTheSameCluster(check(name, given, more, { program: "hp", connection: " --context prod" }));
      assert.equal(remedy === undefined, state === "ok");
    });
  }
}
