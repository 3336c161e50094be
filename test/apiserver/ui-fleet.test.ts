/**
 * The page with a large fleet, and its pictures: PICTURES=1 writes those of docs/ui.md anew. No operator runs, so that
 * statuses are as the test writes them.
 */

import assert from "node:assert/strict";
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { DecisionRow } from "../../src/api/hook-policy.ts";
import { installClusterDefinition } from "../controlplane/cluster-api.ts";
import { startControlPlane } from "../controlplane/control-plane.ts";
import { installHookPolicy } from "../controlplane/operator.ts";
import { APPROVED, approvalRule, policyRef } from "../controlplane/policies.ts";
import { CLUSTERS, createFleet, createWaiting, GROUP } from "./ui-fleet.ts";
import { open, startBrowser, startUi } from "./ui-page.ts";

const PICTURES = join(import.meta.dirname, "../../docs/pictures");
const MAX_PICTURE_BYTES = 150_000;
const MANY = 10_000;
/** The one of them that exists, to be found and explained. */
const ONE = "cluster-7777";
/** As many as a status has rows. */
const ROWS = 50;

const [cp, { browser, missing: skip }] = await Promise.all([
  startControlPlane({ controllers: false, seed: "cluster" }),
  startBrowser(),
]);
await installHookPolicy(cp);
await installClusterDefinition(cp);
await createFleet(cp);
const ui = await startUi(cp.adminKubeconfig);
after(async () => {
  await ui.stop();
  await browser?.close();
  await cp.stop();
});

describe("the page of a fleet", () => {
  test("every page shows the fleet, and pictures of it are small", { skip }, async () => {
    const view = { viewport: { width: 1160, height: 640 }, timezoneId: "Europe/Berlin" };
    const { page, complaints } = await open(browser, ui.url, view);
    const write = process.env["PICTURES"] !== undefined;
    if (write) await mkdir(PICTURES, { recursive: true });
    const take = async (name: string): Promise<void> => {
      const path = join(PICTURES, `ui-${name}.png`);
      if (write) await page.screenshot({ path });
      assert.ok((await stat(path)).size < MAX_PICTURE_BYTES, path);
    };
    await page.getByRole("heading", { name: "7 Clusters held" }).waitFor();
    await take("held");
    await page.goto(`${ui.url}#/cluster/search/index-1`);
    await page.getByText("observed").first().waitFor();
    await take("cluster");
    await page.goto(`${ui.url}#/windows`);
    await page.locator(".bar.freeze").nth(2).waitFor();
    // Four weeks are higher.
    await page.setViewportSize({ ...view.viewport, height: 820 });
    await take("windows");
    await page.goto(`${ui.url}#/clusters`);
    await page.getByRole("heading", { name: `${CLUSTERS.length} Clusters` }).waitFor();
    await page.goto(`${ui.url}#/rollouts`);
    await page.getByText("platform/ci-runners").waitFor();
    await page.context().close();
    assert.deepEqual(complaints, []);
  });

  test(
    "10,000 held Clusters are a list that scrolls, of which few rows are in the document, and tell why one waits",
    { skip },
    async (t) => {
      await holdMany();
      const { page } = await open(browser, ui.url);
      await page.getByRole("heading", { name: `${MANY + 7} Clusters held` }).waitFor();
      const place = page.locator('[aria-posinset="5001"]');
      await page.evaluate(`document.querySelector(".list").scrollTop = 5000 * 64`);
      await place.waitFor();
      assert.ok((await page.getByRole("listitem").count()) < 60);
      await place.focus();
      await page.keyboard.press("End");
      await page.locator(`[aria-posinset="${MANY + 7}"]:focus`).waitFor();
      const slowest: unknown = await page.evaluate(SCROLL);
      t.diagnostic(`the slowest of 100 steps of scrolling drew in ${String(slowest)} ms`);
      await page.keyboard.press("/");
      await page.keyboard.type(ONE);
      await page.getByRole("heading", { name: `1 Cluster held of ${MANY + 7}` }).waitFor();
      // The list may still scroll to its new top, and draw its rows anew, so that a row loses the key.
      const row = page.getByRole("listitem").filter({ hasText: ONE }).first();
      await cp.waitFor("the Cluster's page", async () => {
        const opened = await page.evaluate(`location.hash.startsWith("#/cluster/")`);
        if (opened !== true) await row.press("Enter", { timeout: 5_000 }).catch(() => undefined);
        return opened === true;
      });
      await page.getByRole("heading", { name: ONE }).waitFor();
      await page.getByText(`annotation ${APPROVED} on Cluster`).first().waitFor();
      await page.getByText("observed").first().waitFor();
      await page.goBack();
      await page.getByRole("searchbox").fill("");
      await page.getByLabel("Policy").selectOption({ index: 8 });
      await page.getByRole("heading", { name: `${ROWS} Clusters held of ${MANY + 7}` }).waitFor();
      // Its stage waits for Clusters that failed: without it the Cluster's weekends are ahead.
      await cp.delete({ apiVersion: GROUP, kind: "HookRollout", name: "kubernetes-1-35" });
      await page.goto(`${ui.url}#/cluster/search/index-1`);
      await page.getByRole("button", { name: "Next change" }).click();
      const chosen = page.locator(".sliderhead b").filter({ hasNotText: "now" });
      // The tree follows the slider when the answer has come.
      await page.locator("h2 .chip", { hasText: (await chosen.textContent()) ?? "" }).waitFor();
      await page.context().close();
    },
  );
});

/** In the page: a step of scrolling and the next picture, a hundred times. */
const SCROLL = `(async () => {
  const list = document.querySelector(".list");
  let slowest = 0;
  for (let step = 0; step < 100; step += 1) {
    const begun = performance.now();
    list.scrollTop = ((step * 997) % ${MANY}) * 64;
    await new Promise((done) => requestAnimationFrame(done));
    slowest = Math.max(slowest, performance.now() - begun);
  }
  return Math.round(slowest);
})()`;

/** Statuses of policies, as an operator writes them; the Clusters themselves are not needed for the list. */
async function holdMany(): Promise<void> {
  const namespace = "many";
  await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const spec = { rules: [approvalRule("BeforeClusterUpgrade")] };
  const refs = Array.from({ length: MANY / ROWS }, (_, index) => policyRef(namespace, `policy-${index}`));
  await cp.createAll(
    refs.map(({ name }) => ({
      apiVersion: "hookpolicy.dev/v1alpha1",
      kind: "HookPolicy",
      metadata: { namespace, name },
      spec,
    })),
  );
  const { uid = "" } = (await createWaiting(cp, namespace, ONE)).metadata;
  await Promise.all(
    refs.map(async (ref, index) => {
      const decisions = Array.from({ length: ROWS }, (_, row) => {
        const said = decision(namespace, index * ROWS + row);
        return said.cluster === ONE ? { ...said, clusterUID: uid } : said;
      });
      await cp.patchStatus(ref, { observedGeneration: 1, blocked: ROWS, decisions });
    }),
  );
}

function decision(namespace: string, index: number): DecisionRow {
  const since = new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString().replace(".000Z", "Z");
  return {
    namespace,
    cluster: `cluster-${index}`,
    clusterUID: `uid-${index}`,
    hook: "BeforeClusterUpgrade",
    rule: "approval",
    gate: "approved",
    verdict: "Blocked",
    reason: "WaitingForAnnotation",
    message: "wait for annotation hooks.example.com/approved on the Cluster",
    firstAsked: since,
    since,
  };
}
