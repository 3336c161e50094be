/** docs/tasks.md as a reader follows it, and what the commands say of tasks, on a real API server. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test, { after, describe } from "node:test";
import { blocksOf } from "../capi/pages.ts";
import { pathOfPrograms } from "../capi/programs.ts";
import { objectsOf } from "../controlplane/client.ts";
import { clusterRef, createCluster } from "../controlplane/lab.ts";
import { policyIsReady } from "../controlplane/policies.ts";
import { environment } from "../controlplane/processes.ts";
import { endJob, openJob, taskIs, tasksIn } from "../controlplane/tasks.ts";
import { startLab } from "./operator-lab.ts";

const BLOCKS = blocksOf("docs/tasks.md");
const TEAM = "team-a";
const CLUSTER = clusterRef(TEAM, "prod-1");

interface Outcome {
  readonly code: number;
  readonly output: string;
}

const lab = await startLab();
after(async () => await lab.stop());
const { cp } = lab;
const folder = await mkdtemp(join(cp.folder, "reader-"));
await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: TEAM } });

describe("docs/tasks.md", () => {
  async function sh(command: string): Promise<Outcome> {
    const env = environment({ KUBECONFIG: cp.adminKubeconfig, PATH: await pathOfPrograms(cp) });
    return await new Promise((done) => {
      execFile(
        "bash",
        ["-o", "pipefail", "-c", `{ ${command}\n} 2>&1`],
        { env, cwd: folder },
        (error, output) => done({ code: error === null ? 0 : Number(error.code), output }),
      );
    });
  }

  /** The commands of the page that contain this. */
  const commands = (containing: string): readonly string[] =>
    BLOCKS.filter(({ language }) => language === "sh")
      .flatMap(({ text }) => text.trim().split("\n"))
      .filter((line) => line.includes(containing));
  async function type(containing: string): Promise<string> {
    const [command = assert.fail(`the page has no ${containing}`)] = commands(containing);
    const { code, output } = await sh(command);
    assert.equal(code, 0, `${command}\n${output}`);
    return output;
  }
  const yaml = (containing: string): string =>
    BLOCKS.find(({ language, text }) => language === "yaml" && text.includes(containing))?.text ??
    assert.fail(`the page has no ${containing}`);

  /** Asks as Cluster API does, until this is so. */
  async function asking<T>(what: string, isSo: () => Promise<T | false | undefined>): Promise<T> {
    return await cp.waitFor(what, async () => {
      await lab.ask("BeforeClusterDelete", TEAM, "prod-1");
      return await isSo();
    });
  }

  async function says(command: string, pattern: RegExp): Promise<void> {
    await cp.waitFor(`${command} to say ${pattern}`, async () => pattern.test((await sh(command)).output));
  }

  async function checkOfTasks(): Promise<{ readonly state: string; readonly detail: string }> {
    const { output } = await sh("hookpolicy doctor -o json");
    const { checks }: { checks: { name: string; state: string; detail: string }[] } = JSON.parse(output);
    return checks.find(({ name }) => name === "tasks") ?? assert.fail("no check");
  }

  test("its policy is tried by its suite, and holds a deletion until a Job is complete", async () => {
    await type("hookpolicy init tasks");
    await writeFile(join(folder, "policy.yaml"), yaml("kind: HookPolicy\n"));
    await writeFile(join(folder, "suite.yaml"), yaml("kind: HookPolicyTest"));
    const tried = await sh("hookpolicy test suite.yaml && hookpolicy validate --strict policy.yaml");
    assert.equal(tried.code, 0, tried.output);
    // A failed Job would be tried again after half a minute.
    const [policy = assert.fail("no policy")] = objectsOf(
      yaml("kind: HookPolicy\n").replace("retries: 2", "retries: 0"),
    );
    await cp.apply(policy);
    await policyIsReady(cp, policy);

    await createCluster(cp, { namespace: TEAM, name: "prod-1" });
    await cp.patch(CLUSTER, { metadata: { finalizers: ["cluster.cluster.x-k8s.io"] } });
    await cp.delete(CLUSTER);
    await asking("the deletion to be held", async () =>
      (await sh("hookpolicy get -n team-a")).output.includes("approved"),
    );
    assert.deepEqual(await tasksIn(cp, TEAM), []);
    const { metadata } = await cp.get(CLUSTER);
    await cp.patch(CLUSTER, {
      metadata: { annotations: { "hooks.example.com/delete-approved": metadata.uid ?? "" } },
    });
    await asking("the task to begin", async () => (await tasksIn(cp, TEAM)).length > 0);
    const job = await openJob(cp, TEAM);
    await says(
      "hookpolicy task list -n team-a",
      /prod-1 +BeforeClusterDelete +remove-load-balancers +Running +Job\//,
    );
    await says(
      "hookpolicy explain team-a/prod-1",
      /task remove-load-balancers: runs\n.*waits for +the Job has not finished/,
    );
    assert.match(
      await type("kubectl get hooktask"),
      /^NAME .*\nprod-1-remove-load-balancers-\w{16} +prod-1 /,
    );

    await endJob(cp, job, "Failed");
    const failed = await taskIs(cp, TEAM, "Failed");
    const { name } = failed.metadata;
    const retry = `hookpolicy task retry -n team-a ${name}`;
    await says(
      `hookpolicy task show -n team-a ${name}`,
      /^HookTask .*: Failed\n[^]*BackoffLimitExceeded[^]*logs +kubectl logs /,
    );
    await says("hookpolicy explain team-a/prod-1", new RegExp(`^ +run +${retry}$`, "m"));
    await asking("the row to be of the task", async () =>
      (await sh("hookpolicy get -n team-a")).output.includes(retry),
    );
    const retried = await sh(retry);
    assert.match(
      retried.output,
      /HookTask team-a\/\S+ has another attempt \(2 of 2\): it waits for at most 15m /,
    );
    assert.equal(retried.code, 0);
    await endJob(cp, await openJob(cp, TEAM), "Complete");
    await taskIs(cp, TEAM, "Succeeded");
    await says("hookpolicy explain team-a/prod-1", /task remove-load-balancers: has succeeded/);
    await type("hookpolicy task list");
    await type("hookpolicy explain");
    await lab.releases("the Cluster to be released", "BeforeClusterDelete", TEAM, "prod-1");
    await says("hookpolicy __complete task retry ''", new RegExp(`^team-a/${name}\n:4\n$`));
  });

  test("doctor sees that the operator may act as the account, and that it may not any more", async () => {
    const { state, detail } = await checkOfTasks();
    assert.deepEqual([state, detail.split(";")[0]], ["ok", "the operator may act as team-a/cluster-tasks"]);
    const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", namespace: TEAM };
    await cp.delete({ ...role, name: "cluster-tasks-impersonation" });
    await cp.waitFor("doctor to see it", async () => (await checkOfTasks()).state === "error");
    await cp.delete({ ...role, name: "cluster-tasks" });
    await cp.waitFor("doctor to see both", async () =>
      (await checkOfTasks()).detail.startsWith("tasks cannot act, for 2 reasons"),
    );
  });

  test("every command of the page was typed", () => {
    const typed = [
      "hookpolicy init tasks",
      "hookpolicy task list",
      "hookpolicy explain",
      "kubectl get hooktask",
    ];
    assert.deepEqual(
      commands("").filter((command) => !typed.some((each) => command.includes(each))),
      [],
    );
  });
});
