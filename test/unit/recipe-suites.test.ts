/** Runs each suite of docs/recipes/suites/ against the policies of its page; `-o json` prints its result as the schema says. */

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { loadPaths } from "../../src/cli/files/load.ts";
import { suitesJson } from "../../src/cli/suite/report.ts";
import { runSuite } from "../../src/cli/suite/run-suite.ts";
import { isMeantAsSuite, loadSuite } from "../../src/cli/suite/suite.ts";
import { checked } from "./cli/program.ts";
import { blocksOf, PAGES, RECIPES, suiteOf, textOf } from "../capi/recipe-pages.ts";

const pages = PAGES.filter((page) => suiteOf(page) !== undefined);

test("twenty-three recipes have a suite, and each links to its own", () => {
  assert.equal(pages.length, 23);
  assert.equal(readdirSync(join(RECIPES, "suites")).length, pages.length);
  for (const page of PAGES) {
    const linked = [...textOf(page).matchAll(/\[Its suite\]\(([^)]+)\)/g)].map(([, target]) => target);
    assert.deepEqual(linked, pages.includes(page) ? [`suites/${page.replace(/md$/, "yaml")}`] : [], page);
  }
});

async function check(t: test.TestContext, files: Readonly<Record<string, string>>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "recipe-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const { objects } = await loadPaths([join(folder, "suite.yaml")]);
  const [source, ...others] = objects.filter(({ object }) => isMeantAsSuite(object));
  assert.ok(source && others.length === 0);
  const loaded = await loadSuite(source);
  const result = await runSuite(loaded);
  await checked("test", JSON.parse(suitesJson([result])));
  const { status, problems, steps } = result;
  const failed = steps.filter((step) => step.status !== "passed" && step.status !== "done");
  assert.deepEqual({ status, problems, failed }, { status: "passed", problems: [], failed: [] });
}

for (const page of pages) {
  test(`the suite of ${page} passes`, async (t) => {
    const policies = blocksOf(page).filter(
      ({ language, text }) => language === "yaml" && text.includes("hookpolicy.dev/"),
    );
    await check(t, {
      "policies.yaml": policies.map(({ text }) => text).join("---\n"),
      "suite.yaml": suiteOf(page) ?? "",
    });
  });
}

test("the suite of docs/tasks.md passes", async (t) => {
  const blocks = [...textOf("../tasks.md").matchAll(/^( *)```yaml\n(.*?)^\1```$/gms)].map(
    ([, indent = "", text = ""]) => text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  );
  const [policy = "", suite = ""] = [false, true].map((is) =>
    blocks.find((text) => text.includes("kind: HookPolicyTest") === is),
  );
  await check(t, { "policy.yaml": policy, "suite.yaml": suite });
});

const ROLLOUTS = blocksOf("../rollouts.md")
  .map(({ text }) => text)
  .filter((text) => text.includes("apiVersion: hookpolicy.dev/"));
const SUITES = join(import.meta.dirname, "rollout-suites");
const suites = readdirSync(SUITES).map((name) => readFileSync(join(SUITES, name), "utf8"));

test("every rollout of its page has a suite", () =>
  assert.deepEqual([ROLLOUTS.length, suites.length], [3, 3]));

for (const suite of suites) {
  const name = /^  name: (.*)$/m.exec(suite)?.[1] ?? "";
  test(`the suite of HookRollout ${name} passes`, async (t) => {
    const rollout = ROLLOUTS.find((text) => text.includes(`\n  name: ${name}\n`));
    await check(t, { [`${name}.yaml`]: rollout ?? "", "suite.yaml": suite });
  });
}
