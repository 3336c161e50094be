/** What the chart renders for Prometheus and those who read metrics. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "../controlplane/client.ts";
import { deploymentOf, nameOf, template } from "./chart.ts";
import { NAMESPACE } from "./tools.ts";

test("the alerts point to where the user keeps the runbook, section by section", async () => {
  const page = "https://git.example.com/hookpolicy/docs/runbook.md";
  const args = ["--set", "monitoring.enabled=true", "--set", `monitoring.runbookUrl=${page}`];
  const rules = (await template(...args)).find(({ kind }) => kind === "PrometheusRule");
  const groups: { rules: { alert: string; annotations: Record<string, string> }[] }[] =
    rules?.["spec"].groups;
  const alerts = groups.flatMap((group) => group.rules);
  assert.ok(alerts.length > 20);
  for (const { alert, annotations } of alerts)
    assert.equal(annotations["runbook_url"], `${page}#${alert.toLowerCase()}`);
});

test("the alert about a long hold comes after as many hours as the values say", async () => {
  const exprOf = async (...args: string[]): Promise<string | undefined> => {
    const objects = await template("--set", "monitoring.enabled=true", ...args);
    const groups: { rules: { alert: string; expr: string }[] }[] =
      objects.find(({ kind }) => kind === "PrometheusRule")?.["spec"].groups ?? [];
    return groups.flatMap(({ rules }) => rules).find(({ alert }) => alert === "HookPolicyHeldLong")?.expr;
  };
  assert.match((await exprOf()) ?? "", /> 4 \* 3600$/);
  assert.match((await exprOf("--set", "monitoring.heldLongHours=12")) ?? "", /> 12 \* 3600$/);
  await assert.rejects(exprOf("--set", "monitoring.heldLongHours=0"), /heldLongHours/);
});

test("metrics are read by the ServiceAccounts that are named", async () => {
  const readers = [
    { namespace: "monitoring", name: "prometheus-k8s" },
    { namespace: "fleet", name: "agent" },
  ];
  const objects = await template("--set-json", `metrics.readers=${JSON.stringify(readers)}`);
  const binding = objects.find(({ roleRef }) => roleRef?.name === "hookpolicy-metrics-reader");
  assert.deepEqual(
    binding?.["subjects"],
    readers.map((reader) => ({ kind: "ServiceAccount", ...reader })),
  );
  await assert.rejects(template("--set-json", 'metrics.readers=[{"name":"prometheus"}]'), /namespace/);
});

test("metrics name Clusters only where the values allow it", async () => {
  const [without, named] = await Promise.all(
    [[], ["--set", "metrics.clusterNames=true"]].map(async (args) => deploymentOf(await template(...args))),
  );
  const names = (deployment: KubeObject | undefined): boolean =>
    deployment?.["spec"].template.spec.containers[0].args.includes("--metrics-cluster-names");
  assert.deepEqual([names(without), names(named)], [false, true]);
});

test("metrics in plain HTTP need no rights, and are scraped so", async () => {
  const [insecure, secure] = await Promise.all(
    [false, true].map(
      async (value) => await template("--set", `metrics.secure=${value}`, "--set", "monitoring.enabled=true"),
    ),
  );
  assert.ok(insecure && secure);
  const argsOf = (objects: readonly KubeObject[]): string[] =>
    deploymentOf(objects)["spec"].template.spec.containers[0].args;
  assert.ok(argsOf(insecure).includes("--metrics-secure=false"));
  assert.ok(argsOf(secure).includes("--metrics-secure=true"));
  const ofMetrics = (objects: readonly KubeObject[]): number =>
    objects.filter(({ metadata: { name } }) => name.startsWith("hookpolicy-metrics-")).length;
  assert.deepEqual([ofMetrics(insecure), ofMetrics(secure)], [0, 3]);
  const monitor = insecure.find(({ kind }) => kind === "ServiceMonitor");
  assert.deepEqual(monitor?.["spec"].endpoints, [{ port: "metrics", honorLabels: true, interval: "30s" }]);
});

test("the scrape can have its token from a Secret, where a ServiceMonitor may not name files", async () => {
  const endpoint = async (...args: string[]): Promise<Record<string, unknown>> =>
    (await template("--set", "monitoring.enabled=true", ...args)).find(
      ({ kind }) => kind === "ServiceMonitor",
    )?.["spec"].endpoints[0];
  const { bearerTokenFile, ...others } = await endpoint();
  assert.equal(typeof bearerTokenFile, "string");
  assert.deepEqual(await endpoint("--set", "monitoring.tokenSecret.name=hookpolicy-metrics-token"), {
    ...others,
    authorization: { credentials: { name: "hookpolicy-metrics-token", key: "token" } },
  });
});

test("common labels do not replace the one by which the ServiceMonitor finds its Service", async () => {
  const common = JSON.stringify({ "app.kubernetes.io/component": "policies" });
  const args = ["--set-json", `commonLabels=${common}`, "--set", "monitoring.enabled=true"];
  const objects = await template(...args);
  const monitor = objects.find(({ kind }) => kind === "ServiceMonitor") ?? assert.fail("no ServiceMonitor");
  const found = objects.filter(({ kind, metadata: { labels = {} } }) =>
    Object.entries(monitor["spec"].selector.matchLabels).every(
      ([key, value]) => kind === "Service" && labels[key] === value,
    ),
  );
  assert.deepEqual(found.map(nameOf), [`Service ${NAMESPACE}/hookpolicy-metrics`]);
});
