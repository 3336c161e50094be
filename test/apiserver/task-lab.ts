/** Policies with tasks, and Clusters whose deletion Cluster API would ask about. */

import assert from "node:assert/strict";
import type { HookTask, RuleSpec, TaskSpec } from "../../src/api/hook-policy.ts";
import type { HookResponse } from "../../src/api/runtime-hooks.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { clusterRef, createCluster, FIRST_VERSION } from "../controlplane/lab.ts";
import { APPROVED, applyPolicy, policyRef } from "../controlplane/policies.ts";
import {
  ACCOUNT,
  type AccountOptions,
  createAccount,
  endJob,
  HOOK_TASKS,
  openJob,
  taskIs,
  tasksIn,
} from "../controlplane/tasks.ts";
import { hookpolicy } from "../unit/cli/resident.ts";
import { type Lab, startLab } from "./operator-lab.ts";

export const HOOK = "BeforeClusterDelete";
const NAME = "c1";
/** Of the columns of HookTasks. */
const AGE = 7;

export async function startTaskLab(): Promise<{ lab: Lab; cp: ControlPlane; tasks: TaskLab }> {
  const lab = await startLab();
  return { lab, cp: lab.cp, tasks: new TaskLab(lab) };
}

export class TaskLab {
  readonly #lab: Lab;

  constructor(lab: Lab) {
    this.#lab = lab;
  }

  /** With the account of the namespace. */
  async policy(
    namespace: string,
    rule: Partial<RuleSpec> & { readonly tasks: TaskSpec[] },
    account: AccountOptions = {},
  ): Promise<void> {
    const { cp } = this.#lab;
    await createAccount(cp, namespace, account);
    const rules = [{ name: "rule", hooks: [HOOK], retryAfterSeconds: 5, ...rule }];
    await applyPolicy(cp, policyRef(namespace, "p"), { serviceAccountName: account.name ?? ACCOUNT, rules });
  }

  async deletedCluster(namespace: string, annotations: Readonly<Record<string, string>> = {}): Promise<void> {
    const { cp } = this.#lab;
    await createCluster(cp, { namespace, name: NAME, version: FIRST_VERSION, annotations });
    await cp.patch(clusterRef(namespace, NAME), { metadata: { finalizers: ["cluster.cluster.x-k8s.io"] } });
    await cp.delete(clusterRef(namespace, NAME));
  }

  /** The policy is in force, the Cluster is deleted, and its first HookTask is stored. */
  async begins(
    namespace: string,
    rule: Partial<RuleSpec> & { readonly tasks: TaskSpec[] },
    account: AccountOptions = {},
  ): Promise<HookTask> {
    await this.policy(namespace, rule, account);
    await this.deletedCluster(namespace);
    return await this.asksUntilStored(namespace);
  }

  /** The Job that runs succeeds, and the Cluster is released. */
  async completes(namespace: string): Promise<void> {
    const { cp } = this.#lab;
    await endJob(cp, await openJob(cp, namespace), "Complete");
    await this.isReleased(namespace);
  }

  /** As `hookpolicy task retry` does. */
  async retry({ metadata: { namespace = "", name } }: HookTask): Promise<void> {
    const annotations = { "hookpolicy.dev/retry": new Date().toISOString() };
    await this.#lab.cp.patch({ ...HOOK_TASKS, namespace, name }, { metadata: { annotations } });
  }

  async clusterIsGone(namespace: string): Promise<void> {
    await this.#lab.cp.patch(clusterRef(namespace, NAME), { metadata: { finalizers: [] } });
  }

  async ask(namespace: string): Promise<HookResponse> {
    return await this.#lab.ask(HOOK, namespace, NAME);
  }

  async approve(namespace: string): Promise<void> {
    await this.annotate(namespace, { [APPROVED]: "yes" });
  }

  async annotate(namespace: string, annotations: Readonly<Record<string, string | null>>): Promise<void> {
    await this.#lab.cp.patch(clusterRef(namespace, NAME), { metadata: { annotations } });
  }

  /** Asks until there are so many HookTasks: memory may be behind. Returns the last. */
  async asksUntilStored(namespace: string, count = 1): Promise<HookTask> {
    return await this.#lab.cp.waitFor(`${count} HookTasks of ${namespace} to be stored`, async () => {
      const { retryAfterSeconds = 0 } = await this.ask(namespace);
      assert.ok(retryAfterSeconds > 0, "it is held");
      const tasks = await tasksIn(this.#lab.cp, namespace);
      return tasks.length >= count && tasks.at(-1);
    });
  }

  async isReleased(namespace: string): Promise<void> {
    await this.#lab.cp.waitFor(`the Cluster of ${namespace} to be released`, async () => {
      const { retryAfterSeconds = 0 } = await this.ask(namespace);
      return retryAfterSeconds === 0;
    });
  }

  async isHeld(namespace: string, text: RegExp): Promise<void> {
    await this.#lab.cp.waitFor(`the Cluster of ${namespace} to be held: ${text}`, async () => {
      const { retryAfterSeconds = 0, message = "" } = await this.ask(namespace);
      assert.ok(retryAfterSeconds > 0, "it is held");
      return text.test(message);
    });
  }

  /** What `hookpolicy explain` prints, in one line. */
  async explained(namespace: string): Promise<string> {
    const { cp } = this.#lab;
    const args = ["explain", `${namespace}/${NAME}`, "--hook", HOOK, "--kubeconfig", cp.adminKubeconfig];
    const { stdout, stderr } = await hookpolicy(args);
    return `${stdout}${stderr}`.replaceAll(/\s+/g, " ");
  }

  /** The rows of `kubectl get hooktask`, the oldest first: a value for each column, without the age. */
  async listed(namespace: string): Promise<readonly string[]> {
    const columns = [
      "get",
      "hooktask",
      "-n",
      namespace,
      "--sort-by=.metadata.creationTimestamp",
      "-o",
      "wide",
    ];
    const [head = "", ...rows] = (await this.#lab.cp.kubectl(...columns)).trimEnd().split("\n");
    const from = [...head.matchAll(/\S+ */g)].map(({ index }) => index);
    const shown = (row: string): string[] =>
      from.map((at, i) => row.slice(at, from[i + 1]).trim() || "-").filter((_, i) => i > 0 && i !== AGE);
    return rows.map((row) => shown(row).join(" | "));
  }

  /** What `kubectl describe hooktask` prints of a namespace's HookTasks, in one line. */
  async described(namespace: string): Promise<string> {
    const text = await this.#lab.cp.kubectl("describe", "hooktask", "-n", namespace);
    return text.replaceAll(/\s+/g, " ");
  }

  /** What keeps the task, wherever a person looks: the HookTask, `explain`, and both commands of kubectl. */
  async saysEverywhere(namespace: string, phase: string, text: RegExp): Promise<HookTask> {
    const { cp } = this.#lab;
    const task = await taskIs(cp, namespace, phase, ({ status }) => text.test(status?.message ?? ""));
    await cp.waitFor(`explain to say ${text} of ${namespace}`, async () =>
      text.test(await this.explained(namespace)),
    );
    assert.match((await this.listed(namespace)).at(-1) ?? "", text);
    assert.match(await this.described(namespace), text);
    return task;
  }
}
