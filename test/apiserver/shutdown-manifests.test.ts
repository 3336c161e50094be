/** What only a kubelet would do with the shipped Deployment: here it is only read. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { before, test } from "node:test";
import { promisify } from "node:util";
import { DRAIN_MS } from "../../src/operator/operator.ts";
import { FLAGS, parseOptions } from "../../src/operator/options.ts";
import { controlPlaneBinaries } from "../controlplane/binaries.ts";
import { objectsOf } from "../controlplane/client.ts";
import { environment } from "../controlplane/processes.ts";

const run = promisify(execFile);
const MANIFESTS = join(import.meta.dirname, "../../manifests");
/** What one request to the API server may take (kube/client.ts). */
const REQUEST_MS = 10_000;

interface Probe {
  readonly httpGet: { readonly path: string };
  readonly initialDelaySeconds?: number;
  readonly periodSeconds: number;
  readonly timeoutSeconds?: number;
  readonly failureThreshold?: number;
}

interface RenderedManifests {
  readonly replicas: number;
  readonly rollingUpdate: object;
  readonly pod: {
    readonly terminationGracePeriodSeconds: number;
    readonly priorityClassName: string;
    readonly tolerations: readonly {
      readonly key: string;
      readonly effect: string;
      readonly tolerationSeconds?: number;
    }[];
    readonly affinity: {
      readonly podAntiAffinity: {
        readonly preferredDuringSchedulingIgnoredDuringExecution: readonly {
          readonly weight: number;
          readonly podAffinityTerm: { readonly topologyKey: string; readonly labelSelector: object };
        }[];
      };
    };
    readonly topologySpreadConstraints: readonly {
      readonly topologyKey: string;
      readonly whenUnsatisfiable: string;
      readonly labelSelector: object;
      readonly matchLabelKeys: readonly string[];
    }[];
  };
  readonly container: {
    readonly args: readonly string[];
    readonly env: readonly { readonly name: string; readonly value: string }[];
    readonly lifecycle?: object;
    readonly startupProbe: Probe;
    readonly readinessProbe: Probe;
    readonly resources: { readonly limits: object; readonly requests: object };
  };
  readonly budget: { readonly maxUnavailable: number; readonly selector: object };
  readonly quota: { readonly scopeSelector: { readonly matchExpressions: readonly object[] } };
}

let rendered: RenderedManifests;

before(async () => {
  const { kubectl } = await controlPlaneBinaries();
  const { stdout } = await run(kubectl, ["kustomize", MANIFESTS]);
  const spec = (kind: string) =>
    objectsOf(stdout).find((object) => object.kind === kind)?.["spec"] ?? assert.fail(kind);
  const { replicas, strategy, template } = spec("Deployment");
  const [container] = template.spec.containers;
  rendered = {
    replicas,
    rollingUpdate: strategy.rollingUpdate,
    pod: template.spec,
    container,
    budget: spec("PodDisruptionBudget"),
    quota: spec("ResourceQuota"),
  };
});

/** The flags of the Deployment as the operator understands them. */
function options(): ReturnType<typeof parseOptions> {
  const [command, ...flags] = rendered.container.args;
  assert.equal(command, "run");
  const values = flags.map((flag) => {
    const [, name = "", value] = /^--([^=]+)(?:=(.*))?$/.exec(flag) ?? [];
    assert.ok(Object.hasOwn(FLAGS, name), flag);
    return [name, value ?? "true"];
  });
  return parseOptions(Object.fromEntries(values));
}

test("the grace period holds the delay, the drain and the last request, with room to spare", () => {
  const { shutdownDelayMs } = options();
  assert.ok(shutdownDelayMs >= 5000, "endpoints take some seconds to go from all nodes");
  const needed = shutdownDelayMs + DRAIN_MS + REQUEST_MS;
  assert.ok(rendered.pod.terminationGracePeriodSeconds * 1000 >= needed + 10_000);
  assert.equal(rendered.container.lifecycle, undefined, "the delay is the process's own");
});

test("there are two replicas, and neither an update nor a drained node takes both", () => {
  assert.equal(options().leaderElect, true);
  assert.equal(rendered.replicas, 2);
  assert.deepEqual(rendered.rollingUpdate, { maxUnavailable: 0, maxSurge: 1 });
  assert.equal(rendered.budget.maxUnavailable, 1);
  const { topologySpreadConstraints: spread } = rendered.pod;
  assert.deepEqual(
    spread.map(({ topologyKey, whenUnsatisfiable }) => [topologyKey, whenUnsatisfiable]),
    // The scheduler ignores every such constraint on nodes that lack the label of one.
    [["kubernetes.io/hostname", "ScheduleAnyway"]],
  );
  const preferred = rendered.pod.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution;
  assert.deepEqual(
    preferred.map(({ weight, podAffinityTerm }) => [weight, podAffinityTerm.topologyKey]),
    [
      [100, "kubernetes.io/hostname"],
      [50, "topology.kubernetes.io/zone"],
    ],
  );
  for (const { podAffinityTerm } of preferred)
    assert.deepEqual(podAffinityTerm.labelSelector, rendered.budget.selector);
  for (const { labelSelector, matchLabelKeys } of spread) {
    assert.deepEqual(labelSelector, rendered.budget.selector);
    assert.deepEqual(matchLabelKeys, ["pod-template-hash"]);
  }
});

test("a replica on a node that is gone is replaced after half a minute", () => {
  const seconds = rendered.pod.tolerations.flatMap(({ key, effect, tolerationSeconds }) =>
    effect === "NoExecute" ? [[key, tolerationSeconds]] : [],
  );
  assert.deepEqual(seconds, [
    ["node.kubernetes.io/not-ready", 30],
    ["node.kubernetes.io/unreachable", 30],
  ]);
});

test("the startup probe waits for what the readiness probe asks, and longer than the operator lets it wait", () => {
  const { startupProbe: startup, readinessProbe: readiness } = rendered.container;
  assert.deepEqual(startup.httpGet, { ...readiness.httpGet, path: `${readiness.httpGet.path}?wait` });
  assert.deepEqual([startup.initialDelaySeconds, startup.periodSeconds], [2, 1]);
  assert.ok((startup.timeoutSeconds ?? 0) >= 10); // /readyz?wait answers after 8 s at the latest
  assert.ok((startup.failureThreshold ?? 0) >= 60);
});

test("the quota is for the priority of the Deployment", () => {
  const values = [rendered.pod.priorityClassName];
  assert.deepEqual(rendered.quota.scopeSelector.matchExpressions, [
    { scopeName: "PriorityClass", operator: "In", values },
  ]);
});

test("the heap follows the memory limit, with a flag that this Node.js knows", async () => {
  const { env, resources } = rendered.container;
  assert.deepEqual(Object.keys(resources.limits), ["memory"]);
  assert.deepEqual(Object.keys(resources.requests), ["cpu", "memory"]);
  const NODE_OPTIONS =
    env.find(({ name }) => name === "NODE_OPTIONS")?.value ?? assert.fail("no NODE_OPTIONS");
  const script = `
    const memory = Math.min(process.constrainedMemory() || Infinity, os.totalmem());
    console.log(v8.getHeapStatistics().heap_size_limit / memory);`;
  const { stdout } = await run(process.execPath, ["-e", script], { env: environment({ NODE_OPTIONS }) });
  const share = Number(stdout);
  assert.ok(share >= 0.75 && share < 0.8, stdout); // the flag is about the old generation only
});
