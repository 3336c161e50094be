/** Text that steers a terminal; files and an API server in which every name, key and value is such a text. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { folder } from "../unit/cli/program.ts";

/** A colour, an erased screen, a title, C1 controls, marks of direction, no width, a tag, separators, a line of its own. */
export const HOSTILE =
  "\u001B[35mx\u001B[2J\u001B]0;t\u0007\b\r\u007F\u0085\u009B2J\u00AD\u061C\u200B\u200D\u200E\u200F\u2028\u2029\u202A\u202E\u2060\u2066\u2069\uFEFF\u{E0041}\nFORGED";
/** What the schema lets be in a text. */
export const ALLOWED = "x\u200B\u202E\u2066\uFEFF\u{E0041}";
/** What neither a path nor an argument can hold: half a surrogate pair. */
export const WORST = `${HOSTILE}\uD800`;
/** Within a line of a file. */
const RAW = HOSTILE.replaceAll(/[\r\n]/g, "");

/** In words of its own: that a character class of the program is the right one is what is tested. */
const FORBIDDEN =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class -- these are meant
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u200B-\u200F\u2028-\u202E\u2060-\u206F\uFEFF\u{D800}-\u{DFFF}\u{E0000}-\u{E007F}]|^\W*FORGED/mu;

/** Where a terminal would obey, hide or reorder something of `text`, or show a forged line; undefined: nowhere. */
export function harm(text: string): string | undefined {
  const found = FORBIDDEN.exec(text);
  return found === null ? undefined : JSON.stringify(text.slice(Math.max(0, found.index - 60)).slice(0, 80));
}

const AT = "2026-11-21T12:00:00Z";
const LABELS = { [HOSTILE]: WORST, tier: WORST };
const CONDITIONS = ["Ready", "NotCalled", "Discovered"].map((type) => ({
  type,
  status: type === "NotCalled" ? "True" : "False",
  reason: WORST,
  message: WORST,
  observedGeneration: 1,
}));
/** By which the operator and Cluster API's manager are found. */
const FOUND = { "app.kubernetes.io/name": "hookpolicy", "cluster.x-k8s.io/provider": "cluster-api" };
const HOOKS = ["BeforeClusterDelete", "BeforeClusterUpgrade"];

function object(apiVersion: string, kind: string, metadata: object, rest: object = {}): object {
  return { apiVersion, kind, metadata: { uid: "u1", resourceVersion: "1", ...metadata }, ...rest };
}

function cluster(name: string, version: string): object {
  const metadata = { namespace: "team-a", name, labels: LABELS, annotations: LABELS, deletionTimestamp: AT };
  const spec = { topology: { classRef: { name: WORST }, version } };
  return object("cluster.x-k8s.io/v1beta2", "Cluster", metadata, {
    spec,
    status: { conditions: CONDITIONS },
  });
}

/** One that can be approved, and a window. */
const APPROVED = { name: "approved", annotation: { key: "example.com/ok", value: WORST } };
const NIGHT = {
  name: "night",
  window: { timeZone: "UTC", allow: [{ schedule: "0 22 * * *", duration: "4h" }] },
};

function rule(...until: readonly object[]): object {
  return { name: "confirmed", hooks: HOOKS, until, message: "ask" };
}

function row(name: string): object {
  const said = { rule: WORST, gate: "approved", verdict: "Blocked", reason: WORST, message: WORST };
  const asked = { firstAsked: AT, since: WORST, targetVersion: WORST, earliestRelease: WORST };
  return {
    namespace: "team-a",
    cluster: name,
    clusterUID: "u1",
    hook: "BeforeClusterDelete",
    ...said,
    ...asked,
  };
}

function policy(name: string, rules: readonly object[]): object {
  const status = {
    observedGeneration: 1,
    blocked: 1,
    conditions: CONDITIONS,
    decisions: [row("prod-1"), row(WORST)],
  };
  const metadata = { namespace: "team-a", name, labels: LABELS, generation: 1 };
  return object("hookpolicy.dev/v1alpha1", "HookPolicy", metadata, { spec: { rules }, status });
}

const VALID = [policy("protect", [rule(APPROVED, NIGHT)]), policy(WORST, [rule(APPROVED, NIGHT)])];
const BROKEN = policy("broken", [
  { name: WORST, hooks: [WORST], [WORST]: 1, until: [{ name: WORST, expression: `${WORST} &&` }] },
]);
const OVERRIDE = object(
  "hookpolicy.dev/v1alpha1",
  "HookOverride",
  { name: WORST },
  {
    spec: { clusterRef: { namespace: "team-a", name: "prod-1" }, hooks: HOOKS, reason: WORST, expiresAt: AT },
  },
);
const HELD = { namespace: WORST, name: WORST, uid: "u", target: WORST, stage: WORST };
const ROLLOUT_STATUS = {
  conditions: ["Ready", "Halted"].map((type) => ({ type, status: "True", reason: WORST, message: WORST })),
  running: [{ ...HELD, claimed: true, claimedAt: WORST, renewedAt: WORST, attempts: 1 }],
  targets: [{ version: WORST, stages: [{ name: WORST, members: 1, succeeded: 0, running: 1, failed: 0 }] }],
  failed: [{ ...HELD, reason: WORST, time: WORST, message: WORST }],
  next: [{ ...HELD, since: WORST }],
};
const ROLLOUTS = ["upgrades", "again"].map((name) =>
  object(
    "hookpolicy.dev/v1alpha1",
    "HookRollout",
    { name },
    {
      spec: {
        operation: "Upgrade",
        namespaceSelector: {},
        progressDeadline: "6h",
        healthyWhen: [{ name: "a", expression: `${JSON.stringify(WORST)} == cluster.metadata.name` }],
        stages: [
          {
            name: WORST,
            clusterSelector: { matchLabels: { [WORST]: WORST } },
            until: [{ name: WORST, expression: `${WORST} &&` }],
          },
        ],
      },
      status: ROLLOUT_STATUS,
    },
  ),
);
/** What people read of one that failed. */
const TASKS = ["backup", WORST].map((name) =>
  object(
    "hookpolicy.dev/v1alpha1",
    "HookTask",
    { namespace: "team-a", name, creationTimestamp: AT },
    {
      spec: {
        policyRef: { kind: "HookPolicy", namespace: WORST, name: WORST, uid: "u" },
        clusterRef: { namespace: WORST, name: WORST, uid: "u" },
        rule: WORST,
        task: WORST,
        hook: WORST,
        version: WORST,
        run: 1,
        actionHash: WORST,
        serviceAccountName: WORST,
        action: { create: { apiVersion: "batch/v1", kind: "Job", metadata: { [WORST]: WORST } } },
        renderedHash: WORST,
        timeout: "1h",
        retries: 0,
      },
      status: {
        phase: "Failed",
        object: WORST,
        message: WORST,
        attempts: [
          { namespace: WORST, name: WORST, uid: "u", startedAt: AT, endedAt: AT, message: WORST },
          { namespace: WORST, name: WORST, uid: "u", startedAt: WORST, outcome: WORST, message: WORST },
        ],
      },
    },
  ),
);
const CLUSTERS = [cluster("prod-1", "v1.35.0"), cluster(WORST, WORST)];
const NAMESPACES = ["team-a", WORST].map((name) => object("v1", "Namespace", { name, labels: LABELS }));

const SUITE_KIND = ["cli.hookpolicy.dev/v1alpha1", "HookPolicyTest"] as const;
const CALL = { hook: "BeforeClusterDelete", cluster: "team-a/prod-1" };
const SUITE = object(
  ...SUITE_KIND,
  { name: WORST },
  {
    spec: {
      at: AT,
      policies: [VALID[1]],
      clusters: CLUSTERS.slice(0, 1),
      steps: [
        { name: WORST, call: CALL, expect: { verdict: "Allowed", message: WORST, reason: WORST } },
        { name: WORST, call: CALL, expect: { rule: WORST } },
      ],
    },
  },
);

const list = (...items: readonly unknown[]): string =>
  JSON.stringify({ apiVersion: "v1", kind: "List", items });

/** By the command that reads them; the names of the files are like what they hold. */
export const FILES = {
  [`policies/${HOSTILE}.json`]: list(
    ...VALID,
    BROKEN,
    OVERRIDE,
    ...ROLLOUTS,
    object("hookpolicy.dev/v9", WORST, {}),
    SUITE,
  ),
  [`policies/${HOSTILE}.yaml`]: `a: [${HOSTILE}`,
  "policies/raw.yaml": `apiVersion: hookpolicy.dev/v1alpha1 # ${RAW}\nkind: HookPolicy\nmetadata: { name: a } # ${RAW}\nspecc: 1`,
  [`tests/${HOSTILE}.json`]: list(SUITE, object(...SUITE_KIND, { name: WORST }, { spec: { [WORST]: 1 } })),
  "fleet/fleet.json": list(
    ...NAMESPACES.slice(0, 1),
    cluster("prod-1", "v1.35.0"),
    cluster("prod-2", WORST),
    ...VALID,
  ),
  // Names that no object has are refused.
  "refused/fleet.json": list(...NAMESPACES, ...CLUSTERS, ...VALID),
  "new/policies.json": list(policy("protect", [rule(NIGHT)]), policy(WORST, [rule(APPROVED)])),
};

/** By the last word of the path. */
const LISTS: Readonly<Record<string, readonly object[]>> = {
  clusters: CLUSTERS,
  hookpolicies: [...VALID, BROKEN],
  clusterhookpolicies: [],
  hookoverrides: [OVERRIDE],
  hookrollouts: ROLLOUTS,
  hooktasks: TASKS,
  namespaces: NAMESPACES,
  deployments: ["hookpolicy", WORST].map((name) =>
    object("apps/v1", "Deployment", { namespace: "hookpolicy-system", name, labels: FOUND }, deployment()),
  ),
  providers: [
    object("v1", "Provider", { name: WORST, namespace: WORST }, { providerName: WORST, version: WORST }),
  ],
  extensionconfigs: [object("v1", "ExtensionConfig", { name: WORST }, extension())],
};

function deployment(): object {
  const container = { name: WORST, image: WORST, args: ["run", `--capi-version=${WORST}`] };
  const spec = { selector: { matchLabels: LABELS }, template: { spec: { containers: [container] } } };
  return { spec, status: { conditions: CONDITIONS } };
}

function extension(): object {
  const handlers = [{ name: WORST, requestHook: { apiVersion: WORST, hook: WORST }, failurePolicy: WORST }];
  const service = { namespace: WORST, name: "hookpolicy-webhook-service" };
  return { spec: { clientConfig: { service } }, status: { handlers, conditions: CONDITIONS } };
}

function answerTo(path: string): object | undefined {
  if (path === "/version") return { gitVersion: WORST };
  const version = { version: "v1beta2" };
  if (/^\/apis\/(?:runtime\.)?cluster\.x-k8s\.io$/.test(path))
    return { versions: [version], preferredVersion: version };
  const [last = "", before = ""] = path.split("/").toReversed();
  const all = LISTS[last];
  if (all !== undefined) return { metadata: { resourceVersion: "1" }, items: all };
  return LISTS[before]?.find((each) => JSON.stringify(each).includes(`"name":"${last}"`));
}

export interface HostileCluster {
  /** Of a file and of a context whose names are hostile, too. */
  readonly env: { readonly KUBECONFIG: string };
  /** From now on it refuses whatever it is asked. */
  readonly refuse: () => void;
}

export async function hostileCluster(t: Pick<TestContext, "after">): Promise<HostileCluster> {
  let refuses = false;
  const server = createServer(({ method, url = "" }, response) => {
    const { pathname } = new URL(url, "http://server");
    const answer = method === "GET" && !refuses ? answerTo(pathname) : undefined;
    const code = answer !== undefined ? 200 : method === "GET" && !refuses ? 404 : 422;
    const refusal = { kind: "Status", status: "Failure", code, reason: WORST, message: WORST };
    response.writeHead(code, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? refusal));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": HOSTILE,
    clusters: [{ name: HOSTILE, cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: HOSTILE, user: {} }],
    contexts: [{ name: HOSTILE, context: { cluster: HOSTILE, user: HOSTILE, namespace: "team-a" } }],
  };
  const dir = await folder(t, { [HOSTILE]: JSON.stringify(config) });
  return { env: { KUBECONFIG: join(dir, HOSTILE) }, refuse: () => void (refuses = true) };
}
