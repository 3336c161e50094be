/** The alerts, by the real promtool: each fires when it has to, and at no other time. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { promisify } from "node:util";
import { parse, stringify } from "yaml";
import { createMetrics } from "../../../src/report/metrics.ts";
import { prometheusBinaries } from "../../controlplane/binaries.ts";
import { CASES } from "./alert-cases.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../../..");

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: Readonly<Record<string, string>>;
}

interface Group {
  readonly name: string;
  readonly rules: readonly Rule[];
}

const { spec }: { spec: { readonly groups: readonly Group[] } } = parse(
  readFileSync(join(ROOT, "manifests/monitoring/prometheusrule.yaml"), "utf8"),
);
const rules = spec.groups.flatMap((group) => group.rules);

/** promtool looks at no metric without a sample, as those about policies are where there is none. */
function withSamples(text: string): string {
  return text.replaceAll(/^# TYPE (\S+) (\S+)$/gm, (line, name: string, type: string) => {
    if (new RegExp(`^${name}(?:_bucket)?[ {]`, "m").test(text)) return line;
    const series = type === "histogram" ? ['_bucket{le="+Inf"} 0', "_sum 0", "_count 0"] : [" 0"];
    return [line, ...series.map((each) => `${name}${each}`)].join("\n");
  });
}

const { promtool } = await prometheusBinaries();
const folder = mkdtempSync(join(tmpdir(), "hookpolicy-alerts-"));
after(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(join(folder, "rules.yaml"), stringify(spec));

describe("the alerts", () => {
  test("are what promtool takes for good rules", async () => {
    const { stdout } = await run(promtool, [
      "check",
      "rules",
      "--lint=all",
      "--lint-fatal",
      join(folder, "rules.yaml"),
    ]);
    assert.match(stdout, new RegExp(`SUCCESS: ${rules.length} rules found`));
  });

  test("can rely on metrics that promtool takes for good ones", async () => {
    const checked = run(promtool, ["check", "metrics"]);
    checked.child.stdin?.end(withSamples(await createMetrics({ capiVersion: "1.14" }).text()));
    assert.deepEqual(await checked, { stdout: "", stderr: "" });
  });

  test("are each tried, firing and not firing", () => {
    assert.deepEqual(Object.keys(CASES).toSorted(), rules.map(({ alert }) => alert).toSorted());
    for (const [alert, { fires, rests }] of Object.entries(CASES)) {
      assert.ok(fires.length > 0 && rests.length > 0, alert);
    }
  });

  for (const [alert, { fires, rests }] of Object.entries(CASES)) {
    test(`${alert} fires when it has to, and at no other time`, async () => {
      const tests = [
        ...fires.map((each) => ({ ...each, count: each.count ?? 1 })),
        ...rests.map((each) => ({ ...each, count: 0 })),
      ].map(({ name, at, series, count }) => ({
        name: `${alert}: ${name}`,
        interval: "1m",
        input_series: Object.entries(series).map(([labels, values]) => ({ series: labels, values })),
        promql_expr_test: [
          {
            expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`,
            eval_time: at,
            exp_samples: [{ labels: "{}", value: count }],
          },
        ],
      }));
      const file = join(folder, `${alert}.yaml`);
      writeFileSync(file, stringify({ rule_files: ["rules.yaml"], evaluation_interval: "1m", tests }));
      await run(promtool, ["test", "rules", file]);
    });
  }

  test("each say in one line what is wrong, how bad it is, and where the runbook helps", () => {
    const runbook = readFileSync(join(ROOT, "docs/runbook.md"), "utf8");
    const sections = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
    assert.deepEqual(
      sections,
      rules.map(({ alert }) => alert),
      "the sections of docs/runbook.md, in order",
    );
    for (const { alert, labels, annotations } of rules) {
      assert.match(labels.severity, /^(info|warning|critical)$/, alert);
      assert.match(annotations["summary"] ?? "", /^[A-Z][^{}\n]*\.$/, alert);
      assert.match(annotations["description"] ?? "", /^\S[^\n]*\.$/, alert);
      assert.equal(annotations["runbook_url"], `docs/runbook.md#${alert.toLowerCase()}`);
    }
  });

  test("have the labels of a policy where docs/notifications.md says so", async () => {
    const page = readFileSync(join(ROOT, "docs/notifications.md"), "utf8");
    const [, listed = ""] = /\*\*Whose alert\?\*\* ([^]*?) have the labels/.exec(page) ?? [];
    const labelled = rules.filter(({ expr }) => expr.includes("(kind, namespace, policy"));
    assert.deepEqual(listed.match(/Hook\w+/g)?.toSorted(), labelled.map(({ alert }) => alert).toSorted());
  });

  test("are what the patch of docs/notifications.md says", async () => {
    const page = readFileSync(join(ROOT, "docs/notifications.md"), "utf8");
    const [, block = ""] = /```yaml\n(patches:.*?)```/s.exec(page) ?? [];
    const [patch]: { patch: string }[] = parse(block).patches;
    const steps: { path: string; value: string }[] = parse(patch?.patch ?? "");
    const [group, rule] = steps[0]?.path.match(/\d+/g) ?? [];
    const found = spec.groups[Number(group)]?.rules[Number(rule)];
    assert.deepEqual(
      [found?.alert, found?.expr.replace("> 4 * 3600", "> 3600")],
      [steps[0]?.value, steps[1]?.value],
    );
  });

  test("ask for metrics that the operator has", async () => {
    const known = await createMetrics({ capiVersion: "1.14" }).text();
    for (const { alert, expr } of rules) {
      for (const [name] of expr.matchAll(/\b(hookpolicy|process)_\w+/g)) {
        assert.match(
          known,
          new RegExp(`^# TYPE ${name.replace(/_bucket$/, "")} `, "m"),
          `${alert} asks for ${name}`,
        );
      }
    }
  });
});
