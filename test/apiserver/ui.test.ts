/** `hookpolicy ui` in a real browser, with a real API server and the operator: what the page shows is what happens. */

import assert from "node:assert/strict";
import { after, describe, test, type TestContext } from "node:test";
import { clusterRef, createCluster, NEXT_VERSION } from "../controlplane/lab.ts";
import { applyPolicy, approvalRule, policyRow, policyRef, storeRollout } from "../controlplane/policies.ts";
import { allow, createAccountWith } from "../controlplane/rights.ts";
import { hookpolicy } from "../unit/cli/program.ts";
import { ACCOUNT, createAccount, endJob, jobTask, openJob, taskIs, tasksIn } from "../controlplane/tasks.ts";
import { showHeld, startLab } from "./operator-lab.ts";
import { open, send, startBrowser, startUi } from "./ui-page.ts";

const HOOK = "BeforeClusterUpgrade";
const NS = "shown";
const PROTECT = policyRef(NS, "protect");

const [lab, { browser, missing: skip }] = await Promise.all([startLab(), startBrowser()]);
const { cp } = lab;
for (const name of ["c1", "c2"]) await createCluster(cp, { namespace: NS, name, version: NEXT_VERSION });
await applyPolicy(cp, PROTECT, { rules: [approvalRule(HOOK)] });
await storeRollout(cp, "upgrades");
await lab.ask(HOOK, NS, "c1");
await policyRow(cp, PROTECT, "c1", HOOK);
// A user who may read, and nothing else.
await createAccountWith(cp, NS, "reader", { everywhere: [allow("*", "*", "get", "list", "watch")] });
const kubeconfig = await cp.kubeconfigFor(NS, "reader");
// With the flag, which the commands of the page repeat.
const ui = await startUi(kubeconfig, "--kubeconfig", kubeconfig);
after(async () => {
  await ui.stop();
  await browser?.close();
  await lab.stop();
});

describe("hookpolicy ui", () => {
  const opened = async (t: TestContext, hash = "", options = {}): ReturnType<typeof open> => {
    const found = await open(browser, `${ui.url}${hash}`, options);
    t.after(async () => await found.page.context().close());
    return found;
  };

  test(
    "what is held appears and goes without a reload, and the copied command releases it",
    { skip },
    async (t) => {
      const { page, complaints, requests } = await opened(t);
      await page.getByRole("heading", { name: "1 Cluster held" }).waitFor();
      await lab.ask(HOOK, NS, "c2");
      await page.getByRole("heading", { name: "2 Clusters held" }).waitFor();
      await page.getByRole("listitem").filter({ hasText: "c2" }).getByRole("button").click();
      await page.getByText("Copied").waitFor();
      const command = await page.evaluate("navigator.clipboard.readText()");
      assert.match(
        String(command),
        /^hookpolicy approve shown\/c2 --hook BeforeClusterUpgrade --kubeconfig \S+$/,
      );
      const [, ...words] = String(command).split(" ").slice(0, -2);
      const { code, stderr } = await hookpolicy([
        ...words,
        "--yes",
        "--no-wait",
        "--kubeconfig",
        cp.adminKubeconfig,
      ]);
      assert.equal(code, 0, stderr);
      await page.getByRole("heading", { name: "1 Cluster held" }).waitFor();
      assert.deepEqual(complaints, []);
      assert.ok(requests.length > 3);
      assert.deepEqual(
        requests.filter((url) => !url.startsWith(ui.url) && !url.startsWith("data:")),
        [],
      );
    },
  );

  test(
    "the list follows a typed letter at once, so that nothing that is drawn meanwhile puts the old text back",
    { skip },
    async (t) => {
      const { page } = await opened(t);
      await page.getByRole("heading", { name: "1 Cluster held" }).waitFor();
      assert.equal(await page.evaluate(TYPED), "Nothing that is held matches.");
      await page.getByText("Nothing that is held matches.").waitFor();
      assert.equal(await page.getByRole("searchbox").inputValue(), "§");
    },
  );

  test("the keyboard alone filters, moves, opens a Cluster and goes to every page", { skip }, async (t) => {
    const { page } = await opened(t);
    await page.getByRole("heading", { name: "1 Cluster held" }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("nothing-like-it");
    await page.getByText("Nothing that is held matches.").waitFor();
    await page.getByRole("searchbox").fill("");
    await page.getByRole("listitem").filter({ hasText: "shown/c1" }).first().focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "shown/c1" }).waitFor();
    await page.getByText("observed").first().waitFor();
    await page.evaluate("document.activeElement.blur()");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).getByText("copies the command").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog", { name: "Keys" }).waitFor({ state: "hidden" });
    for (const [key, heading] of [
      ["2", /Clusters/],
      ["3", "Windows"],
      ["4", "Rollouts"],
      ["5", "What if"],
    ] as const) {
      await page.keyboard.press(key);
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
    }
  });

  test(
    "a held Cluster that others tear down is an alarm in the list and on its own page",
    { skip },
    async (t) => {
      const { page } = await opened(t);
      const ref = clusterRef(NS, "c1");
      const labels = { "hookpolicy.dev/foreground-deletion": "allowed" };
      await cp.patch({ apiVersion: "v1", kind: "Namespace", name: NS }, { metadata: { labels } });
      await cp.waitFor("the label to count", async () =>
        cp.patch(ref, { metadata: { finalizers: ["foregroundDeletion"] } }).catch(() => false as const),
      );
      t.after(async () => await cp.patch(ref, { metadata: { finalizers: null } }));
      await page.getByText("ALARM: shown/c1 is torn down").waitFor();
      await page.locator(".heldgrid.torn").getByRole("link").click();
      const alarm = page.getByRole("alert");
      await alarm.getByText(/^ALARM: a deletion without a propagation policy/).waitFor();
      await alarm.getByText(/kubectl patch .*foregroundDeletion/).waitFor();
    },
  );

  test("a Cluster is explained at another time, with what its gates observe", { skip }, async (t) => {
    const { timeZone } = { timeZone: "UTC" };
    const night = { timeZone, allow: [{ schedule: "0 0 * * *", duration: "12h" }] };
    const rules = [
      { name: "nights", hooks: ["BeforeClusterDelete"], until: [{ name: "night", window: night }] },
    ];
    await applyPolicy(cp, policyRef("timed", "nights"), { rules });
    await createCluster(cp, { namespace: "timed", name: "c1", version: NEXT_VERSION });
    const { page } = await opened(t, `#/cluster/timed/c1?hook=BeforeClusterDelete`, { timezoneId: "UTC" });
    const verdict = page.locator("h2 .verdict");
    const at = async (hour: number): Promise<string> => {
      const day = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
      await page.getByLabel("Exact time").fill(`${day}T${String(hour).padStart(2, "0")}:30`);
      await page.getByLabel("Exact time").blur();
      await page.locator("h2 .chip", { hasText: `${hour}:30` }).waitFor();
      await page.locator("[aria-busy=false]").waitFor();
      return (await verdict.textContent()) ?? "";
    };
    assert.equal(await at(18), "Blocked");
    await page.getByText("gate night: waits").waitFor();
    assert.equal(await at(10), "Allowed");
    await page.getByRole("slider").press("ArrowRight");
    await page.locator("h2 .chip", { hasText: "10:45" }).waitFor();
    await page.getByRole("button", { name: "Next change" }).click();
    await page.locator("h2 .chip", { hasText: "12:00" }).waitFor();
  });

  test("a Cluster whose upgrade Cluster API itself holds says only that", { skip }, async (t) => {
    const annotations = { "before-upgrade.hook.cluster.cluster.x-k8s.io/backup": "" };
    const own = { namespace: "own-hold", name: "c1", version: NEXT_VERSION, annotations };
    await showHeld(cp, HOOK, await createCluster(cp, own));
    t.after(async () => await cp.delete(clusterRef(own.namespace, own.name)));
    const { page } = await opened(t, "#/cluster/own-hold/c1");
    await page.getByText(/^Cluster API itself holds the upgrade/).waitFor();
    assert.equal(await page.locator(".empty").count(), 0);
  });

  test("the list of Clusters says which are paused, in either way", { skip }, async (t) => {
    const annotations = { "cluster.x-k8s.io/paused": "" };
    await createCluster(cp, { namespace: "paused", name: "c1", annotations });
    t.after(async () => await cp.delete(clusterRef("paused", "c1")));
    const { page } = await opened(t, "#/clusters?q=paused");
    await page
      .getByRole("listitem")
      .filter({ hasText: "paused/c1" })
      .getByText(/^paused$/)
      .waitFor();
    await page.getByRole("heading", { name: /^1 Cluster of \d+$/ }).waitFor();
  });

  test(
    "a Cluster shows the task that it waits for, with the commands for one that has failed",
    { skip },
    async (t) => {
      const namespace = "with-a-task";
      const hook = "BeforeClusterDelete";
      await createAccount(cp, namespace);
      const rules = [{ name: "clean", hooks: [hook], tasks: [jobTask("remove")] } as const];
      await applyPolicy(cp, policyRef(namespace, "clean"), { serviceAccountName: ACCOUNT, rules });
      await createCluster(cp, { namespace, name: "c1", version: NEXT_VERSION });
      await cp.patch(clusterRef(namespace, "c1"), { metadata: { finalizers: ["cluster.cluster.x-k8s.io"] } });
      await cp.delete(clusterRef(namespace, "c1"));
      await cp.waitFor("the task to begin", async () => {
        await lab.ask(hook, namespace, "c1");
        return (await tasksIn(cp, namespace)).length > 0;
      });
      await endJob(cp, await openJob(cp, namespace), "Failed");
      const { metadata } = await taskIs(cp, namespace, "Failed");
      const { page } = await opened(t, `#/cluster/${namespace}/c1?hook=${hook}`);
      const task = page.locator("li", { hasText: /^task remove: has failed/ });
      await task.getByText(/BackoffLimitExceeded/).waitFor();
      await task.getByText(`hookpolicy task retry -n ${namespace} ${metadata.name} --kubeconfig`).waitFor();
      await page.goto(`${ui.url}#/held?namespace=${namespace}`);
      await page.getByRole("button", { name: "Copy command" }).waitFor();
    },
  );

  test(
    "a dropped policy shows what it would hold, and a wrong one where it is wrong",
    { skip },
    async (t) => {
      const { page } = await opened(t, "#/whatif");
      const policy = (field: string, name = "deletes"): string => `apiVersion: hookpolicy.dev/v1alpha1
kind: HookPolicy
metadata: { namespace: ${NS}, name: ${name} }
spec:
  rules:
    - name: confirmed
      ${field}: [BeforeClusterDelete]
      until: [{ name: approved, annotation: { key: hooks.example.com/approved-delete } }]
`;
      const give = async (...texts: readonly string[]): Promise<void> =>
        await page.locator("input[type=file]").setInputFiles(
          texts.map((text, index) => ({
            name: `${index + 1} deletes.yaml`,
            mimeType: "application/yaml",
            buffer: Buffer.from(text),
          })),
        );
      await give(policy("hooks"));
      await page.getByText("newly blocked", { exact: true }).waitFor();
      await page.getByText(`HookPolicy ${NS}/deletes is added`).waitFor();
      await page.getByRole("link", { name: "shown/c1" }).waitFor();
      assert.equal(await cp.find(policyRef(NS, "deletes")), undefined);
      const command = page.getByText(/^Nothing is written\. The same as: /);
      const same = async (words: string): Promise<void> =>
        assert.equal(
          (await command.textContent())?.replace(/ \S+$/, ""),
          `Nothing is written. The same as: hookpolicy simulate ${words} --kubeconfig`,
        );
      await same("-f '1 deletes.yaml'");
      await give(policy("hooks"), policy("hoks", "again"));
      await page.getByText(/^error: 2 deletes\.yaml:7:7: /).waitFor();
      await page.getByRole("checkbox").check();
      await same("-f '1 deletes.yaml' -f '2 deletes.yaml' --prune");
      await page.getByLabel("2 deletes.yaml").fill(policy("hooks", "again"));
      await same("-f '1 deletes.yaml' -f FILE --prune");
    },
  );

  test(
    "the tasks of a dropped policy are shown with what they would do, or why they hold, for which Clusters",
    { skip },
    async (t) => {
      const { page, complaints } = await opened(t, "#/whatif");
      const labels = { a: "<< cluster.metadata.name == 'c2' ? dyn(1) : dyn('a') >>" };
      const { create } = jobTask("clean");
      const task = jobTask("clean", {
        create: { ...create, apiVersion: "batch/v1", kind: "Job", metadata: { labels } },
      });
      const rules = [{ name: "cleaned", hooks: ["BeforeClusterDelete"], tasks: [task] }];
      const policy = {
        apiVersion: "hookpolicy.dev/v1alpha1",
        kind: "HookPolicy",
        metadata: { namespace: NS, name: "cleans" },
        spec: { serviceAccountName: ACCOUNT, rules },
      };
      await page.getByLabel("Policies as YAML").fill(JSON.stringify(policy));
      await page.getByRole("button", { name: "Simulate" }).click();
      const groups = page.locator("details", { hasText: "task clean" });
      await groups.filter({ hasText: "creates a Job, once nothing else holds the operation" }).waitFor();
      const [does, holds] = await groups.allTextContents();
      assert.match(
        does ?? "",
        /^task clean.*BeforeClusterDelete.*1 Cluster.*HookPolicy shown\/cleans cleaned.*shown\/c1$/,
      );
      assert.match(
        holds ?? "",
        /nothing, and the rule is not evaluable: metadata\.labels\[a\]: expected a text.*shown\/c2$/,
      );
      assert.deepEqual(complaints, []);
    },
  );

  test(
    "rollouts have their lanes and a plan, windows four weeks in the policies' zone or another",
    { skip },
    async (t) => {
      const { page } = await opened(t, "#/rollouts");
      await page.getByRole("heading", { name: /upgrades/ }).waitFor();
      await page.getByRole("button", { name: "Show the plan" }).click();
      await page.getByText(/The last Cluster is done at/).waitFor();
      await page.getByText("rollout plan upgrades -o json").waitFor();
      const nights = { timeZone: "Africa/Abidjan", allow: [{ schedule: "0 22 * * *", duration: "4h" }] };
      const rules = [{ name: "nightly", hooks: [HOOK], until: [{ name: "night", window: nights }] }];
      await applyPolicy(cp, policyRef(NS, "nights"), { rules });
      await page.goto(`${ui.url}#/windows?q=${NS}/nights`);
      await page.getByRole("heading", { name: "Windows" }).waitFor();
      await page.locator(".week .bar.open").first().waitFor();
      assert.equal(await page.getByLabel("Time zone").inputValue(), "Africa/Abidjan");
      await page.goto(`${ui.url}#/windows?zone=Asia/Tokyo&q=${NS}/nights`);
      const bars = page.locator(".week .bar.open");
      await page
        .getByRole("img", { name: /, 07:00 to .*, 11:00$/ })
        .first()
        .waitFor();
      assert.equal(await page.locator(".week").count(), 4);
      assert.match(
        (await bars.nth(1).getAttribute("aria-label")) ?? "",
        /^open \w+ \d+ \w+, 07:00 to \w+ \d+ \w+, 11:00$/,
      );
      const stages = [{ name: "all", until: [{ name: "night", window: nights }] }];
      await storeRollout(cp, "waves", { mode: "Audit", stages });
      await page.goto(`${ui.url}#/windows?weeks=4&q=waves`);
      await page.getByText("all/night").first().waitFor();
    },
  );

  for (const width of [390, 1280]) {
    test(`no page is wider than a screen of ${width} pixels, also in the dark`, { skip }, async (t) => {
      const view = { viewport: { width, height: 800 }, colorScheme: "dark" } as const;
      const { page, complaints } = await opened(t, "", view);
      for (const hash of ["held", "clusters", "windows", "rollouts", "whatif", `cluster/${NS}/c1`]) {
        await page.goto(`${ui.url}#/${hash}`);
        await page.getByRole("heading", { level: 1 }).waitFor();
        const over = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert.ok(Number(over) <= 0, `${hash} is ${String(over)} pixels too wide`);
        const tab = await page.getByRole("link", { name: "What if" }).boundingBox();
        assert.ok(tab !== null && tab.x + tab.width <= width, `${hash}: the last tab is cut`);
        const back: unknown = await page.evaluate("getComputedStyle(document.body).backgroundColor");
        assert.equal(back, "rgb(16, 20, 24)");
      }
      assert.deepEqual(complaints, []);
    });
  }

  test("only its own address with its token is answered, and nothing can be sent but a file", async () => {
    const { pathname, port, origin } = new URL(ui.url);
    assert.equal((await send(ui.url)).code, 200);
    assert.equal((await send(ui.url, { headers: { host: `attacker.example:${port}` } })).code, 421);
    const forwarded = await send(ui.url, { headers: { host: "127.0.0.1:1" } });
    assert.equal(forwarded.code, 421);
    assert.match(forwarded.body, new RegExp(`forward the same port: ssh -L ${port}:127.0.0.1:${port}`));
    assert.equal(
      (await send(`${ui.url}about`, { headers: { origin: "http://attacker.example" } })).code,
      403,
    );
    for (const path of ["/", "/about", "/about/", `${pathname.slice(0, -2)}x/about`, `${pathname}none`])
      assert.equal((await send(origin + path)).code, 404, path);
    for (const method of ["PUT", "DELETE", "PATCH", "OPTIONS"])
      assert.equal((await send(`${ui.url}about`, { method })).code, 405, method);
    const json = { "content-type": "application/json" };
    const body = JSON.stringify([{ name: "", text: "{}" }]);
    const post = async (headers: Readonly<Record<string, string>>): Promise<number | undefined> =>
      (await send(`${ui.url}simulate`, { method: "POST", headers, body })).code;
    assert.equal(await post(json), 403);
    assert.equal(await post({ origin, "content-type": "text/plain" }), 415);
    assert.equal(await post({ origin, ...json, "content-length": `${5 * 1024 * 1024}` }), 413);
    // It is read: {} is no object of Kubernetes.
    assert.equal(await post({ origin, ...json }), 400);
  });

  test("every answer forbids what the page does not need", async () => {
    for (const path of ["", "page.js", "about", "none"]) {
      const { headers } = await send(`${ui.url}${path}`);
      assert.match(String(headers["content-security-policy"]), /^default-src 'none'; script-src 'self'; /);
      assert.doesNotMatch(String(headers["content-security-policy"]), /unsafe|\*|http/);
      assert.equal(headers["x-content-type-options"], "nosniff");
      assert.equal(headers["referrer-policy"], "no-referrer");
      assert.equal(headers["cache-control"], "no-store");
    }
  });

  test("an interrupt ends it with success, also while a page listens", async (t) => {
    const own = await startUi(cp.adminKubeconfig);
    t.after(async () => await own.stop());
    const listening = send(`${own.url}events`).catch(() => undefined);
    assert.equal((await send(`${own.url}about`)).code, 200);
    assert.equal(await own.stop(), 0);
    await listening;
  });

  test("a port that is taken, and an API server that is not there, are told in one line", async () => {
    const { port } = new URL(ui.url);
    const taken = await hookpolicy(["ui", "--no-open", "--port", port, "--kubeconfig", cp.adminKubeconfig]);
    assert.deepEqual([taken.code, taken.stdout], [1, ""]);
    assert.match(taken.stderr, /^error: cannot listen on 127\.0\.0\.1:\d+ \(--port\): EADDRINUSE\n$/);
    const nowhere = await cp.kubeconfigFor(NS, "reader", { server: "https://127.0.0.1:1" });
    const lost = await hookpolicy(["ui", "--no-open", "--kubeconfig", nowhere]);
    assert.deepEqual([lost.code, lost.stdout], [2, ""]);
    assert.match(lost.stderr, /^error: [^\n]*connection refused[^\n]*\n$/);
  });
});

/** In the page: types, and says what the page shows before the browser has told of the new address. */
const TYPED = `(async () => {
  const input = document.querySelector("[data-search]");
  input.value = "§";
  input.dispatchEvent(new Event("input", { bubbles: true }));
  for (let drawn = 0; drawn < 20; drawn += 1) await undefined;
  return document.querySelector(".empty")?.textContent;
})()`;
