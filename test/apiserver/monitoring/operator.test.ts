/**
 * What is shipped for monitoring, against the real operator: a real Prometheus scrapes it, runs the dashboard's queries
 * and the rules, and the real API server takes the objects with the CRDs of the Prometheus Operator.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { after, describe, test } from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";
import { askAdmission } from "../admission-call.ts";
import {
  controlPlaneBinaries,
  prometheusBinaries,
  prometheusOperatorCrds,
} from "../../controlplane/binaries.ts";
import { type KubeObject, objectsOf } from "../../controlplane/client.ts";
import { clusterRef, createCluster, NEXT_VERSION } from "../../controlplane/lab.ts";
import { NAMESPACE } from "../../controlplane/operator.ts";
import {
  applyPolicy,
  approvalRule,
  approve,
  clusterPolicyRef,
  policyRow,
  inSeconds,
  policyRef,
  storePolicy,
  storeRollout,
  storeOverride,
} from "../../controlplane/policies.ts";
import { matchesIn, READER, readMetricsPage, ROOT, SECURE, startMonitored, tokenOf } from "./accounts.ts";
import { startPrometheus } from "./prometheus.ts";
import { jobTask, taskIs } from "../../controlplane/tasks.ts";
import { TaskLab } from "../task-lab.ts";

const run = promisify(execFile);

const MONITORING = join(ROOT, "manifests/monitoring");
const HOOK = "BeforeClusterUpgrade";

/** Of the Deployment's Pods, which take a kubelet; of cert-manager; and of Cluster API, which is not there, either. */
const NEEDS_MORE = /^kubectl (delete|logs|describe certificate|get extensionconfig)/;

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string }[];
}

async function readShipped(name: string): Promise<KubeObject> {
  return parse(await readFile(join(MONITORING, name), "utf8"));
}

const lab = await startMonitored();
after(async () => await lab.stop());
const { cp } = lab;
const elsewhere = { namespace: "elsewhere", name: "c1" };
await storeOverride(cp, "emergency", { clusterRef: elsewhere, hooks: [HOOK] });
await lab.start({ flags: { ...SECURE, "leader-elect": "true", "audit-log": join(cp.folder, "audit") } });
const shippedMonitor = await readShipped("servicemonitor.yaml");
const rule = await readShipped("prometheusrule.yaml");
const tokenFile = join(cp.folder, "prometheus.token");
await writeFile(tokenFile, await tokenOf(cp, READER));
const prometheus = await startPrometheus(cp, {
  port: lab.operator.ports.metrics,
  endpoint: shippedMonitor["spec"].endpoints[0],
  tokenFile,
  caFile: cp.caFile,
  labels: { namespace: NAMESPACE, pod: "hookpolicy-0", service: "hookpolicy-metrics" },
  ruleGroups: rule["spec"],
});

describe("Monitoring", () => {
  /** In bash, as the administrator, in a folder of the test; gives what is printed. */
  async function typed(command: string): Promise<string> {
    const { kubectl } = await controlPlaneBinaries();
    const path = `${dirname(kubectl)}:${process.env["PATH"]}`;
    const env = { ...process.env, PATH: path, KUBECONFIG: cp.adminKubeconfig };
    const cwd = await mkdtemp(join(cp.folder, "typed-"));
    return (await run("bash", ["-e", "-o", "pipefail", "-c", command], { env, cwd })).stdout;
  }

  /** The manifests with the component, and whatever else stands in one's kustomization. */
  async function kustomized(name: string, more: object = {}): Promise<readonly KubeObject[]> {
    const folder = join(cp.folder, name);
    await mkdir(folder);
    const from = (path: string): string => relative(folder, join(ROOT, path));
    const kustomization = { resources: [from("manifests")], components: [from("manifests/monitoring")] };
    await writeFile(join(folder, "kustomization.yaml"), JSON.stringify({ ...kustomization, ...more }));
    return objectsOf(await cp.kubectl("kustomize", folder));
  }

  /** Something of everything that the metrics tell. */
  async function makeHistory(): Promise<void> {
    const deadline = { after: "10m", onExpiry: "KeepBlocking" as const };
    const window = { allow: [{ from: inSeconds(3600), to: inSeconds(7200) }] };
    await applyPolicy(cp, policyRef("team-a", "p"), { rules: [{ ...approvalRule(HOOK), deadline }] });
    await applyPolicy(cp, clusterPolicyRef("freeze"), {
      namespaceSelector: { matchLabels: { freeze: "yes" } },
      rules: [{ name: "r", hooks: [HOOK], until: [{ name: "later", window }] }],
    });
    await storePolicy(cp, policyRef("team-a", "audit"), { mode: "Audit", rules: [approvalRule(HOOK)] });
    await storeRollout(cp, "upgrades", { mode: "Audit" });
    for (const name of ["c1", "c2"]) {
      await createCluster(cp, { namespace: "team-a", name, version: NEXT_VERSION });
      await lab.ask(HOOK, "team-a", name);
    }
    await policyRow(cp, policyRef("team-a", "p"), "c1", HOOK);
    const wrong = { name: "r", hooks: [HOOK], until: [{ name: "broken", expression: "1 +" }] };
    await storePolicy(cp, policyRef("team-b", "wrong"), { rules: [wrong] });
    const tasks = new TaskLab(lab);
    await tasks.policy("team-b", { tasks: [jobTask("work", { timeout: "1s" })] });
    await tasks.deletedCluster("team-b");
    await tasks.asksUntilStored("team-b");
    await taskIs(cp, "team-b", "Failed");
  }

  /** What goes wrong is counted, too, and has no series before. */
  async function makeMistakes(): Promise<void> {
    lab.proxy.failAll(500, /^PUT .*\/status/);
    await approve(cp, "team-a", "c2");
    await cp.waitFor(
      "a write to fail",
      async () => (await lab.operator.metric("hookpolicy_reconcile_errors_total")) > 0,
    );
    lab.proxy.failAll(500, /^GET .*\/namespaces\/team-a$/);
    await cp.waitFor("a release not to be confirmed", async () => {
      await lab.ask(HOOK, "team-a", "c2");
      return (await lab.operator.metric("hookpolicy_unconfirmed_releases_total")) > 0;
    });
    lab.proxy.resume();
    await lab.releases("the release", HOOK, "team-a", "c2");
  }

  test("every query of the dashboard answers with data", async () => {
    await makeHistory();
    await makeMistakes();
    const dashboard: { readonly panels: readonly Panel[] } = JSON.parse(
      await readFile(join(MONITORING, "dashboard.json"), "utf8"),
    );
    const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ title, expr })),
    );
    assert.ok(queries.length > 30, `${queries.length} queries`);
    for (const { title, expr } of queries) {
      // As Grafana has it for "All": a Prometheus of one cluster has no such label.
      const query = expr.replaceAll("$__rate_interval", "5m").replaceAll(/\$(instance|cluster)/g, ".*");
      assert.doesNotMatch(query, /\$/, title);
      await cp.waitFor(`data of ${title}: ${query}`, async () => {
        // A quantile of nothing is NaN: there has to be a change or a call after the first scrape.
        await lab.ask(HOOK, "team-a", "c1");
        const samples = await prometheus.query(query);
        return samples.length > 0 && samples.every(({ value }) => !Number.isNaN(value));
      });
    }
  });

  test("every query of the dashboard is about the clusters and replicas that are chosen", async () => {
    const { panels } = JSON.parse(await readFile(join(MONITORING, "dashboard.json"), "utf8"));
    const queries: readonly string[] = panels.flatMap(({ targets = [] }: Panel) =>
      targets.map(({ expr }) => expr),
    );
    for (const query of queries) {
      const metrics = query.match(/\b(?:hookpolicy|process|nodejs)_\w+/g) ?? [];
      assert.equal(query.match(/\{cluster=~"\$cluster"/g)?.length, metrics.length, query);
      // One cluster must not hide another one.
      assert.doesNotMatch(query, /\b(?:max|min) by \((?!cluster, |cluster\))|\bmax\(/, query);
    }
  });

  test("a policy's namespace is that of the policy, and none for a ClusterHookPolicy", async () => {
    const namespaces = await prometheus.query(`hookpolicy_window_open{policy="freeze"}`);
    assert.deepEqual(
      namespaces.map(({ metric }) => [metric["namespace"], metric["pod"]]),
      [[undefined, "hookpolicy-0"]],
    );
    const held = await prometheus.query(`hookpolicy_oldest_hold_timestamp_seconds{hook="${HOOK}"}`);
    assert.deepEqual(
      held.map(({ metric }) => metric["namespace"]),
      ["team-a"],
    );
  });

  test("every rule is evaluated without an error, and what there is to tell fires", async () => {
    const firing = await cp.waitFor("the rules to be evaluated", async () => {
      const { groups } = (await prometheus.get("rules")) as {
        groups: { rules: { name: string; health: string; lastError?: string; state: string }[] }[];
      };
      const rules = groups.flatMap((group) => group.rules);
      assert.deepEqual(
        rules.filter(({ health }) => health === "err").map(({ name, lastError }) => `${name}: ${lastError}`),
        [],
      );
      const ready = rules.every(({ health }) => health === "ok");
      return ready && rules.filter(({ state }) => state === "firing").map(({ name }) => name);
    });
    assert.deepEqual(firing, ["HookPolicyOverrideActive"]);
  });

  test("docs/metrics.md lists what the operator exposes, with type and labels", async () => {
    await askAdmission(lab, await cp.get(clusterRef("team-a", "c1")));
    const text = await lab.operator.scrape();
    const exposed = [...text.matchAll(/^# TYPE (hookpolicy_\w+) (\w+)$/gm)].map(([, name = "", type]) => {
      const series = text.split("\n").find((line) => new RegExp(`^${name}(_count)?\\{`).test(line)) ?? "";
      return { name, type, labels: matchesOf(series, /(\w+)="/g) };
    });
    const page = await readMetricsPage();
    const listed = [...page.matchAll(/^\| `(hookpolicy_\w+)` +\| (\w+) +\| (.*?) +\|/gm)].map(
      ([, name = "", type, cell = ""]) => {
        return { name, type, labels: matchesOf(cell, /`(\w+)`/g) };
      },
    );
    const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);
    assert.deepEqual(listed.toSorted(byName), exposed.toSorted(byName));
    assert.doesNotMatch(text, /cluster="[^"]/, "it names a Cluster, without --metrics-cluster-names");
  });

  test("what the runbook has people type works", async () => {
    const page = await readFile(join(ROOT, "docs/runbook.md"), "utf8");
    const tried = matchesIn(page, /`(kubectl [^`]+)`/g).filter((command) => !NEEDS_MORE.test(command));
    assert.ok(tried.length >= 8, tried.join("\n"));
    for (const command of tried) await typed(command);
  });

  test("the component is taken by the API server, and its parts name each other", async () => {
    const crds = await prometheusOperatorCrds();
    for (const name of ["servicemonitors", "prometheusrules"]) {
      await cp.kubectl("apply", "--server-side", "-f", join(crds, `monitoring.coreos.com_${name}.yaml`));
    }
    await cp.kubectl("wait", "--for=condition=Established", "crd", "--all");
    const rendered = await kustomized("kustomization");
    const find = (kind: string, name: string): KubeObject => {
      const object = rendered.find((each) => each.kind === kind && each.metadata.name === name);
      assert.ok(object, `${kind} ${name}`);
      return object;
    };
    const service = find("Service", "hookpolicy-metrics");
    const monitor = find("ServiceMonitor", "hookpolicy");
    const config = find("ConfigMap", "hookpolicy-dashboard");
    const ours = [service, monitor, config, find("PrometheusRule", "hookpolicy")];
    const file = join(cp.folder, "ours.json");
    await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: ours }));
    await cp.kubectl("apply", "--server-side", "--validate=strict", "-f", file);
    const { template } = find("Deployment", "hookpolicy")["spec"];
    const { matchLabels } = monitor["spec"].selector;
    assert.ok(isSubset(matchLabels, service.metadata.labels));
    const webhook = find("Service", "hookpolicy-webhook-service");
    assert.ok(!isSubset(matchLabels, webhook.metadata.labels), "the hook server is no target");
    const [port] = service["spec"].ports;
    assert.equal(monitor["spec"].endpoints[0].port, port.name);
    assert.ok(isSubset(service["spec"].selector, template.metadata.labels));
    const { ports } = template.spec.containers[0];
    assert.ok(ports.some(({ name }: { name: string }) => name === port.targetPort));
    const { scheme, bearerTokenFile, tlsConfig } = monitor["spec"].endpoints[0];
    assert.equal(scheme, "https");
    assert.equal(bearerTokenFile, "/var/run/secrets/kubernetes.io/serviceaccount/token");
    assert.equal(tlsConfig.serverName, `${webhook.metadata.name}.${webhook.metadata.namespace}.svc`);
    const [{ secret }] = template.spec.volumes;
    assert.deepEqual(tlsConfig.ca, { secret: { name: secret.secretName, key: "ca.crt" } });
    assert.equal(JSON.parse(config["data"]["hookpolicy.json"]).uid, "hookpolicy");
  });

  test("what docs/metrics.md has people type shows the metrics", async () => {
    const [forward = "", ...commands] = matchesIn(await readMetricsPage(), /^```sh\n(.*?)^```$/gms);
    assert.equal(forward, "kubectl port-forward -n hookpolicy-system deployment/hookpolicy 8443\n"); // takes a kubelet
    await cp.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace: NAMESPACE, name: "hookpolicy-webhook-service-cert" },
      stringData: { "ca.crt": cp.authority.certificate },
    });
    const script = commands.join("").replaceAll("localhost:8443", `localhost:${lab.operator.ports.metrics}`);
    assert.match(await typed(script), /^hookpolicy_build_info/m);
  });

  test("the scrape configuration of docs/metrics.md is that of the ServiceMonitor, and good", async () => {
    const [text = ""] = matchesIn(await readMetricsPage(), /^```yaml\n(scrape_configs:.*?)^```$/gms);
    // The Prometheus of the tests knows no Pods.
    const { kubernetes_sd_configs: discovery, ...config } = parse(text).scrape_configs[0];
    assert.deepEqual(discovery, [{ role: "pod", namespaces: { names: [NAMESPACE] } }]);
    const [endpoint] = (await readShipped("servicemonitor.yaml"))["spec"].endpoints;
    const { scheme, honor_labels: honorLabels, authorization, tls_config: tls } = config;
    assert.deepEqual(
      [scheme, honorLabels, authorization.credentials_file, tls.server_name],
      [endpoint.scheme, endpoint.honorLabels, endpoint.bearerTokenFile, endpoint.tlsConfig.serverName],
    );
    const file = join(cp.folder, "scrape.yaml");
    await writeFile(file, JSON.stringify({ scrape_configs: [config] }));
    const { promtool } = await prometheusBinaries();
    await run(promtool, ["check", "config", "--syntax-only", file]);
  });

  test("the ServiceMonitor can be patched to take the token from a Secret", async () => {
    const [text = ""] = matchesIn(await readMetricsPage(), /^```yaml\n(patches:.*?)^```$/gms);
    const objects = await kustomized("patched", parse(text));
    const monitor = objects.find(({ kind }) => kind === "ServiceMonitor");
    const [endpoint] = monitor?.["spec"].endpoints ?? [];
    assert.ok(!("bearerTokenFile" in endpoint));
    assert.deepEqual(endpoint.authorization, {
      credentials: { name: "hookpolicy-metrics-token", key: "token" },
    });
    await cp.request(
      "POST",
      `/apis/monitoring.coreos.com/v1/namespaces/${NAMESPACE}/servicemonitors?dryRun=All&fieldValidation=Strict`,
      JSON.stringify({ ...monitor, metadata: { name: "patched", namespace: NAMESPACE } }),
    );
  });
});

/** The same in a stable order. */
function matchesOf(text: string, pattern: RegExp): string[] {
  return matchesIn(text, pattern).toSorted((a, b) => (a < b ? -1 : 1));
}

function isSubset(part: object, whole: Readonly<Record<string, string>> = {}): boolean {
  return Object.entries(part).every(([key, value]) => whole[key] === value);
}
