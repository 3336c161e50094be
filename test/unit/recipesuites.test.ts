/** Runs the suites on the pages of docs/recipes/ against the policies of the same page. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { loadPaths } from "../../src/cli/files/load.ts";
import { runSuite } from "../../src/cli/test/runsuite.ts";
import { isSuite, loadSuite } from "../../src/cli/test/suite.ts";
import { blocksOf, PAGES } from "../capi/recipepages.ts";

const SUITE = "kind: HookPolicyTest";

const pages = PAGES.filter((page) => blocksOf(page).some(({ text }) => text.includes(SUITE)));

test("five recipes have a suite", () => assert.equal(pages.length, 5));

for (const page of pages) {
  test(`the suite of ${page} passes`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "recipe-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const blocks = blocksOf(page).filter(({ language }) => language === "yaml");
    const of = (suite: boolean): string =>
      blocks
        .filter(({ text }) => text.includes("hookpolicy.dev/") && text.includes(SUITE) === suite)
        .map(({ text }) => text)
        .join("---\n");
    writeFileSync(join(folder, "policies.yaml"), of(false));
    writeFileSync(join(folder, "suite.yaml"), of(true));
    const { objects } = await loadPaths(["suite.yaml"], { cwd: folder });
    const [source, ...others] = objects.filter(({ object }) => isSuite(object));
    assert.ok(source && others.length === 0);
    const loaded = await loadSuite(source, async (files) => await loadPaths(files, { cwd: folder }));
    const { status, problems, steps } = runSuite(loaded);
    const failed = steps.filter((step) => step.status !== "passed");
    assert.deepEqual({ status, problems, failed }, { status: "passed", problems: [], failed: [] });
  });
}
