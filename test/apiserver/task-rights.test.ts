/** The API server itself asks whose account a task uses, and who writes HookTasks: no operator runs here. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Client, isRefused, objectsOf, type Ref } from "../controlplane/client.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { installHookPolicy, NAMESPACE } from "../controlplane/operator.ts";
import { allow, createAccountWith } from "../controlplane/rights.ts";
import { HOOK_TASKS, hookTask, jobTask } from "../controlplane/tasks.ts";
import { hookTask as unitTask } from "../unit/tasks/hook-tasks.ts";

const COMPONENT = join(import.meta.dirname, "../../manifests/admission/tasks");
const TEAM = "team-a";
const ONLY_OPERATOR = /only the operator creates HookTasks/;
const REFUSED = /a policy's tasks may act only as whom its author may/;

describe("without the operator", () => {
  let cp: ControlPlane;
  /** May do everything with all kinds of hookpolicy.dev, and impersonate team-a/own. */
  let author: Client;
  let operator: Client;
  before(async () => {
    cp = await startControlPlane({ seed: "hookpolicy" });
    await installHookPolicy(cp);
    await createAccountWith(cp, TEAM, "author", {
      everywhere: [allow("hookpolicy.dev", "*", "*")],
      inNamespace: [{ ...allow("", "serviceaccounts", "impersonate"), resourceNames: ["own"] }],
    });
    author = cp.as(await cp.tokenFor(TEAM, "author"));
    operator = cp.as(await cp.tokenFor(NAMESPACE, "hookpolicy"));
    for (const file of ["accounts.yaml", "hooktasks.yaml"])
      await cp.apply(objectsOf(await readFile(join(COMPONENT, file), "utf8")));
    // One that is stored before it counts is not asked about again.
    let probes = 0;
    await cp.waitFor("the policies to count", async () => {
      const account = await isRefused(write(`probe-${++probes}`, "other"), REFUSED);
      const task = await isRefused(author.create(stored(`probe-${probes}`)), ONLY_OPERATOR);
      return account && task;
    });
  });
  after(async () => await cp?.stop());

  const rule = (tasks: readonly object[]): object => ({ name: "r", hooks: ["BeforeClusterDelete"], tasks });
  async function write(
    name: string,
    account: string,
    tasks: readonly object[] = [jobTask("a")],
  ): Promise<unknown> {
    const spec = { serviceAccountName: account, rules: [rule(tasks)] };
    return await author.apply({ ...KIND, metadata: { namespace: TEAM, name }, spec });
  }
  const KIND = { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookPolicy" };
  async function writeForAll(name: string, namespace: string): Promise<unknown> {
    const spec = {
      namespaceSelector: {},
      serviceAccount: { namespace, name: "own" },
      rules: [rule([jobTask("a")])],
    };
    return await author.apply({ ...KIND, kind: "ClusterHookPolicy", metadata: { name }, spec });
  }

  test("a policy acts as an account that its author may impersonate", async () => {
    await write("own", "own");
    await writeForAll("own", TEAM);
    await assert.rejects(write("other", "other"), REFUSED);
    await assert.rejects(writeForAll("other", "elsewhere"), REFUSED);
  });

  test("who may not impersonate the account changes no spec that has tasks, and takes none away", async () => {
    const ref: Ref = { ...KIND, namespace: TEAM, name: "theirs" };
    const spec = { serviceAccountName: "other", rules: [rule([jobTask("a")])] };
    await cp.apply({ ...KIND, metadata: { namespace: TEAM, name: "theirs" }, spec });
    await author.patch(ref, { metadata: { labels: { a: "b" } } });
    await assert.rejects(
      author.patch(ref, { spec: { clusterSelector: { matchLabels: { a: "b" } } } }),
      REFUSED,
    );
    const bare = { rules: [{ name: "r", hooks: ["BeforeClusterDelete"] }] };
    await assert.rejects(author.patch(ref, { spec: bare }), REFUSED);
    await author.patch({ ...ref, name: "own" }, { spec: bare });
  });

  const stored = (task: string): ReturnType<typeof hookTask> => hookTask({ ...unitTask().spec, task }, TEAM);

  test("only the operator creates HookTasks and writes their status", async () => {
    const task = stored("clean");
    await assert.rejects(author.create(task), ONLY_OPERATOR);
    await operator.create(task);
    const ref: Ref = { ...HOOK_TASKS, namespace: TEAM, name: task.metadata.name };
    await assert.rejects(author.patchStatus(ref, { phase: "Succeeded" }), ONLY_OPERATOR);
    const { metadata } = await cp.get(ref);
    const path = `/apis/hookpolicy.dev/v1alpha1/namespaces/${TEAM}/hooktasks/${task.metadata.name}/status`;
    const body = { ...task, metadata, status: { phase: "Running" } };
    await operator.request("PUT", path, JSON.stringify(body));
  });

  test("who may patch a HookTask asks for a retry, and neither changes its action nor gives it an owner", async () => {
    const task = stored("patched");
    await operator.create(task);
    const ref: Ref = { ...HOOK_TASKS, namespace: TEAM, name: task.metadata.name };
    await author.patch(ref, { metadata: { annotations: { "hookpolicy.dev/retry": "now" } } });
    const half = { spec: { action: { create: { metadata: null, other: {} } } } };
    await assert.rejects(author.patch(ref, half), /the spec of a HookTask cannot be changed/);
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "none", uid: "none" }];
    await assert.rejects(author.patch(ref, { metadata: { ownerReferences } }), /a HookTask has no owner/);
    await author.delete(ref);
    assert.equal(await cp.find(ref), undefined);
  });
});
