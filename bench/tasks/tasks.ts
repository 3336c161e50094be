/** Tasks: how soon they begin and release, what a thousand that run cost, and the memory of those that have ended. */

import { setTimeout as sleep } from "node:timers/promises";
import { inParallel } from "../../test/apiserver/operator-lab.ts";
import type { KubeObject } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/control-plane.ts";
import { clusterRef } from "../../test/controlplane/lab.ts";
import type { Operator } from "../../test/controlplane/operator.ts";
import { applyPolicy, policyRef } from "../../test/controlplane/policies.ts";
import { type Resident, startInspected } from "../scale/cost.ts";
import { startShipped } from "../../test/controlplane/shipped.ts";
import {
  ACCOUNT,
  createAccount,
  endJob,
  HOOK_TASKS,
  hookTask,
  jobTask,
  tasksIn,
} from "../../test/controlplane/tasks.ts";
import { callHook, type HookServer, keptConnections } from "../calls/caller.ts";
import { newCluster } from "../fleet/clusters.ts";
import { AT_A_TIME, deleteCluster, inTurn, range } from "../fleet/fleet.ts";
import { requestAbout } from "../fleet/requests.ts";
import { cpuSeconds } from "../measure/cpu.ts";
import { median, quantile, rounded } from "../measure/statistics.ts";
import { LARGE_FLEET_MIB, onControlPlane, type Progress, QUICK, resultOf, type Site } from "../part.ts";
import { below, none, type PartResult, row, type Row } from "../result.ts";

interface Size {
  readonly running: number;
  readonly finished: number;
  readonly releases: number;
  readonly seconds: number;
}

const FULL: Size = { running: 1000, finished: 10_000, releases: 100, seconds: 120 };
const SKETCH: Size = { running: 40, finished: 200, releases: 10, seconds: 20 };

const HOOK = "BeforeClusterDelete";
/** Each namespace of Clusters may begin twenty a minute. */
const PER_NAMESPACE = 10;
const JOBS = {
  apiVersion: "batch/v1",
  kind: "Job",
  labelSelector: "app.kubernetes.io/managed-by=hookpolicy",
};
/** After this, an attempt is looked at every 10 s. */
const YOUNG_MS = 60_000;

interface Lab extends Site {
  readonly size: Size;
  readonly operator: Operator;
  readonly server: HookServer;
  readonly clusters: readonly KubeObject[];
  readonly jobs: Jobs;
}

export async function runTasks(progress: Progress): Promise<PartResult> {
  const size = QUICK ? SKETCH : FULL;
  return await onControlPlane(
    progress,
    async (site) => {
      const { cp, versions, noise } = site;
      const clusters = await createFleet(cp, size);
      const operator = await startShipped(cp, { memoryMiB: LARGE_FLEET_MIB });
      const jobs = new Jobs(cp);
      const lab = { ...site, size, operator, server: keptConnections(cp, operator, 16), clusters, jobs };
      noise.sample();
      const begun = await measureBeginnings(lab);
      noise.sample();
      const rest = await measureRest(lab);
      const released = await measureReleases(lab);
      jobs.stop();
      await operator.daemon.stop();
      noise.sample();
      const memory = await measureMemory(lab);
      const title = `${size.running.toLocaleString("en")} Clusters whose deletion waits for a Job`;
      const rows = [begun, ...rest, released, memory, noise.row("tasks")];
      return resultOf("tasks", { versions, tables: [{ title, rows }], notes: notesOf(size) });
    },
    { controllers: false },
  );
}

function namespaceOf(index: number): string {
  return `tasks-${Math.floor(index / PER_NAMESPACE)}`;
}

async function createFleet(cp: ControlPlane, { running }: Size): Promise<KubeObject[]> {
  const namespaces = [...new Set(range(running).map(namespaceOf))];
  const rules = [{ name: "rule", hooks: [HOOK], tasks: [jobTask("clean")] }];
  await inParallel(namespaces, AT_A_TIME, async (namespace) => {
    await createAccount(cp, namespace);
    const { apiVersion, kind, ...metadata } = policyRef(namespace, "protect");
    await cp.apply({ apiVersion, kind, metadata, spec: { serviceAccountName: ACCOUNT, rules } });
  });
  const clusters: KubeObject[] = [];
  await inParallel(range(running), AT_A_TIME, async (index) => {
    const [namespace, name] = [namespaceOf(index), `c${index}`];
    await cp.create(newCluster({ namespace, name, size: "1k", created: true }));
    clusters[index] = await deleteCluster(cp, clusterRef(namespace, name));
  });
  return clusters;
}

/** The Jobs that the operator has created, and when each was seen first. */
class Jobs {
  readonly seen = new Map<string, { readonly job: KubeObject; readonly at: number }>();
  readonly #stop = new AbortController();

  constructor(cp: ControlPlane) {
    void this.#follow(cp);
  }

  async #follow(cp: ControlPlane): Promise<void> {
    while (!this.#stop.signal.aborted)
      for await (const jobs of cp.follow(JOBS, this.#stop.signal)) this.#see(jobs);
  }

  #see(jobs: readonly KubeObject[]): void {
    for (const job of jobs) {
      const uid = job.metadata.annotations?.["hookpolicy.dev/cluster-uid"] ?? "";
      if (!this.seen.has(uid)) this.seen.set(uid, { job, at: performance.now() });
    }
  }

  stop(): void {
    this.#stop.abort();
  }
}

/** From the end of the call that found nothing else that holds the Cluster. */
async function measureBeginnings(lab: Lab): Promise<Row> {
  const { cp, clusters, server, jobs, progress } = lab;
  const first = inTurn(clusters, 0);
  await policyIsThere(cp, first);
  const ms: number[] = [];
  for (const [index, cluster] of clusters.entries()) {
    const { uid = "" } = cluster.metadata;
    await callHook(HOOK, { ...server, body: requestAbout(cluster) });
    const called = performance.now();
    const { at } = await cp.waitFor("the Job to be created", () => jobs.seen.get(uid), 60_000);
    ms.push(Math.max(0, at - called));
    if ((index + 1) % 100 === 0)
      progress(`${index + 1} tasks have begun, p99 ${rounded(quantile(ms, 0.99))} ms`);
  }
  return row(
    "tasks-begin",
    "from the call to the creation of the Job, beyond the call, p99",
    rounded(quantile(ms, 0.99)),
    {
      unit: "ms",
      goal: below(500),
      note: `p50 ${rounded(median(ms))} ms`,
    },
  );
}

async function policyIsThere(cp: ControlPlane, { metadata }: KubeObject): Promise<void> {
  const { namespace = "" } = metadata;
  const rules = [{ name: "rule", hooks: [HOOK], tasks: [jobTask("clean")] }];
  await applyPolicy(cp, policyRef(namespace, "protect"), { serviceAccountName: ACCOUNT, rules });
}

async function measureRest({ cp, operator, size, progress }: Lab): Promise<Row[]> {
  progress("waiting until no attempt is young");
  await sleep(QUICK ? 1000 : YOUNG_MS);
  const versions = async (): Promise<string> =>
    (await cp.list(HOOK_TASKS))
      .map(({ metadata }) => metadata.resourceVersion ?? "")
      .toSorted((a, b) => a.localeCompare(b))
      .join(" ");
  const before = await versions();
  const [cpu, since] = [cpuSeconds(operator.daemon.pid), performance.now()];
  await sleep(size.seconds * 1000);
  const seconds = (performance.now() - since) / 1000;
  const percent = ((cpuSeconds(operator.daemon.pid) - cpu) / seconds) * 100;
  const writes = (await versions()) === before ? 0 : 1;
  return [
    row("tasks-cpu", "CPU of the leader while they run", rounded(percent), {
      unit: "% of a core",
      goal: below(10),
    }),
    row("tasks-writes", "statuses written meanwhile", writes, none("writes")),
  ];
}

/** From the success in the HookTask to the answer that releases the Cluster, if it is called at once. */
async function measureReleases({ cp, size, clusters, jobs, server }: Lab): Promise<Row> {
  const ended = clusters.slice(0, size.releases).map((cluster) => {
    const { job } = jobs.seen.get(cluster.metadata.uid ?? "") ?? {};
    if (job === undefined) throw new Error("there is no Job");
    return { cluster, job };
  });
  await inParallel(ended, AT_A_TIME, async ({ job }) => await endJob(cp, job, "Complete"));
  const ms: number[] = [];
  for (const { cluster, job } of ended) {
    const name = job.metadata.labels?.["hookpolicy.dev/task"] ?? "";
    const ref = { ...HOOK_TASKS, namespace: job.metadata.namespace ?? "", name };
    const succeeded = async (): Promise<boolean> => (await cp.get(ref))["status"]?.phase === "Succeeded";
    await cp.waitFor("the task to have succeeded", succeeded, 120_000);
    const since = performance.now();
    for (let seconds = 1; seconds > 0;)
      ({ retryAfterSeconds: seconds } = await callHook(HOOK, { ...server, body: requestAbout(cluster) }));
    ms.push(performance.now() - since);
  }
  return row(
    "tasks-release",
    "from the success to the release, when it is called at once, p99",
    rounded(quantile(ms, 0.99)),
    {
      unit: "ms",
      goal: below(500),
      note: `p50 ${rounded(median(ms))} ms`,
    },
  );
}

/**
 * Memory of a process that has just started, with them and without them. The goal is about what V8 keeps: how many of the
 * pages that the first list needed stay resident differs by tens of megabytes from start to start.
 */
async function measureMemory({ cp, size, clusters, progress }: Lab): Promise<Row> {
  const without = await memoryOf(cp, "without");
  const [first] = await tasksIn(cp, "tasks-0");
  if (first === undefined) throw new Error("there is no HookTask");
  const { spec } = first;
  const at = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  await inParallel(range(size.finished), AT_A_TIME, async (index) => {
    const { namespace = "", name, uid = "" } = inTurn(clusters, index).metadata;
    const own = { ...spec, clusterRef: { namespace, name, uid }, run: 100 + index };
    const { metadata } = await cp.create(hookTask(own));
    const ref = { ...HOOK_TASKS, namespace, name: metadata.name };
    await cp.patchStatus(ref, finishedStatus(at));
    if ((index + 1) % 1000 === 0) progress(`${index + 1} HookTasks have ended`);
  });
  const used = await memoryOf(cp, "with");
  return row(
    "tasks-memory",
    `${size.finished.toLocaleString("en")} HookTasks that have ended add`,
    rounded(used.kept - without.kept),
    {
      unit: "MB",
      goal: below(20),
      note: `of resident memory ${rounded(used.collected - without.collected)} MB`,
    },
  );
}

function finishedStatus(at: string): object {
  const attempt = {
    name: "clean-0123456789",
    uid: "uid",
    startedAt: at,
    askedAt: at,
    endedAt: at,
    outcome: "Succeeded",
  };
  const times = { startedAt: at, endedAt: at };
  return {
    phase: "Succeeded",
    begun: 1,
    allowed: 1,
    object: "Job/clean-0123456789",
    ...times,
    attempts: [attempt],
  };
}

async function memoryOf(cp: ControlPlane, name: string): Promise<Record<"kept" | "collected", number>> {
  const rounds: Resident[] = [];
  for (const round of range(QUICK ? 1 : 3)) {
    const replica = await startInspected(cp, `hookpolicy-${name}-${round}`, LARGE_FLEET_MIB);
    rounds.push(await replica.resident());
    await replica.operator.daemon.stop();
  }
  const middle = (of: "kept" | "collected"): number => median(rounds.map((round) => round[of]));
  return { kept: middle("kept"), collected: middle("collected") };
}

function notesOf({ running, seconds }: Size): string[] {
  return [
    `One kube-apiserver, one etcd, one replica, which leads. ${running.toLocaleString("en")} Clusters in namespaces of ${PER_NAMESPACE} are being deleted, each with a policy whose only task creates a Job. No kubelet runs: the bench ends Jobs by their status.`,
    "The beginnings are measured one after the other: a call that finds nothing else that holds the Cluster stores a HookTask, and the leader creates the Job.",
    `While all of them run, the leader looks at their Jobs, at most 20 a second, for ${seconds} s.`,
    "The memory is what V8 has in use in processes that have just started, after a garbage collection; beside it, what is resident.",
  ];
}
