/** `make demo`: the lifecycle hooks lab, with a policy instead of a server of one's own, on real parts. */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { styleText } from "node:util";
import { clusterApiBinaries } from "../controlplane/binaries.ts";
import { createClusterApiDefinitions, installClusterApi } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { clusterRef, installLab } from "../controlplane/lab.ts";
import { labDefinitions } from "../controlplane/lab-kinds.ts";
import { installHookPolicy, type Operator, startOperator } from "../controlplane/operator.ts";
import { freePorts } from "../controlplane/ports.ts";
import { installTheRest, keepCertificate, register } from "./install.ts";
import { jobs } from "./jobs.ts";
import { playProviders } from "./providers.ts";

const NAMESPACE = "ns-lifecycle-hooks";
const CLUSTER = "lab-cluster-lifecycle-hooks";
const POLICY = "protect-production";
const CLUSTERS = "clusters.cluster.x-k8s.io";
const RELEASED = "BeforeClusterDelete is called, response is Success. retry: 0";
const FILES = import.meta.dirname;

const stop = new AbortController();
process.on("SIGINT", () => stop.abort());
process.on("SIGTERM", () => stop.abort());

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function chapter(title: string): void {
  say(`\n${styleText(["bold", "cyan"], `## ${title}`)}`);
}

/** A step that takes a while: what it is, and how long it took. */
async function step<T>(title: string, work: () => Promise<T>): Promise<T> {
  stop.signal.throwIfAborted();
  const started = performance.now();
  const result = await work();
  say(`  ${title} ${styleText("dim", `(${((performance.now() - started) / 1000).toFixed(1)} s)`)}`);
  return result;
}

function shellWord(text: string): string {
  return text.includes("'") ? `"${text.replaceAll(/["$`\\]/g, "\\$&")}"` : `'${text}'`;
}

function prompt(args: readonly string[]): void {
  stop.signal.throwIfAborted();
  const shown = args.map((arg) => arg.replace(`${FILES}/`, "test/demo/"));
  const quoted = shown.map((arg) => (/[\s{}"'*()$]/.test(arg) ? shellWord(arg) : arg));
  say(`\n${styleText("green", `$ kubectl ${quoted.join(" ")}`)}`);
}

/** Runs kubectl as a person would, and shows the command and what it prints. */
async function kubectl(cp: ControlPlane, ...args: readonly string[]): Promise<string> {
  prompt(args);
  const output = await cp.kubectl(...args);
  say(output.trimEnd());
  return output;
}

/** The same, of what the API server must not do. */
async function refusedKubectl(cp: ControlPlane, ...args: readonly string[]): Promise<void> {
  prompt(args);
  const complaint = await cp.kubectl(...args).then(
    () => undefined,
    (error: unknown) => /Error from server.*/s.exec(String(error))?.[0],
  );
  if (complaint === undefined) throw new Error("the API server did not refuse it");
  say(complaint.trimEnd());
}

/** The operator's log lines about the Cluster that have not been shown yet. */
function follow(operator: Operator): () => void {
  let shown = 0;
  return () => {
    const lines = operator.daemon.log().split("\n").slice(0, -1);
    for (const line of lines.slice(shown)) {
      if (line.includes(`${NAMESPACE}/${CLUSTER}`)) say(styleText("yellow", `  hookpolicy │ ${line}`));
    }
    shown = lines.length;
  };
}

interface Stage {
  readonly cp: ControlPlane;
  readonly operator: Operator;
  readonly showLog: () => void;
}

/** The manager comes last: where it has to be built, all the rest has started meanwhile. */
async function build(cp: ControlPlane, manager: Promise<unknown>): Promise<Stage> {
  const progress = (line: string): void => say(`  ${line}`);
  const [webhookPort = 0] = await freePorts(1);
  await step("The CustomResourceDefinitions and the shipped ClusterRole are applied", async () => {
    await installHookPolicy(cp);
    await createClusterApiDefinitions(cp, webhookPort);
    await cp.apply(labDefinitions());
  });
  // Every call is logged, so that one can watch Cluster API poll.
  const flags = { "log-format": "text", "log-level": "debug", "leader-elect": "true" };
  const operator = await step("HookPolicy runs under its own ServiceAccount", () =>
    startOperator(cp, { flags }),
  );
  const { version } = await step("Cluster API's manager runs", async () => {
    await manager;
    return await installClusterApi(cp, { progress, webhookPort });
  });
  await step("A ClusterClass is installed", () => installLab(cp));
  await step("The webhooks of policies and of Clusters are installed", async () => {
    await keepCertificate(cp, operator);
    await installTheRest(cp, operator, version);
  });
  const handlers = await step(`Cluster API ${version} has discovered HookPolicy`, () =>
    register(cp, operator),
  );
  say(`  ${handlers.length} handlers: ${handlers.map(({ requestHook }) => requestHook.hook).join(", ")}`);
  return { cp, operator, showLog: follow(operator) };
}

async function create({ cp, operator, showLog }: Stage): Promise<void> {
  chapter("A policy, and a Cluster that it protects");
  await kubectl(cp, "apply", "-f", join(FILES, "namespace.yaml"));
  await kubectl(cp, "apply", "-f", join(FILES, "policies.yaml"));
  await kubectl(
    cp,
    "wait",
    `hookpolicy/${POLICY}`,
    "-n",
    NAMESPACE,
    "--for=condition=Ready",
    "--timeout=120s",
  );
  await kubectl(cp, "apply", "-f", join(FILES, "cluster.yaml"));
  await cp.waitFor("AfterControlPlaneInitialized to be called", () =>
    operator.daemon.log().includes("AfterControlPlaneInitialized is called"),
  );
  showLog();
}

async function refuse({ cp }: Stage): Promise<void> {
  chapter("A deletion in the foreground is refused: the garbage collector would wait for no hook");
  await refusedKubectl(cp, "delete", "-n", NAMESPACE, CLUSTERS, CLUSTER, "--cascade=foreground");
}

async function hold({ cp, operator, showLog }: Stage): Promise<void> {
  chapter("kubectl delete is held");
  await kubectl(cp, "delete", "-n", NAMESPACE, CLUSTERS, CLUSTER, "--wait=false");
  say("\n  Cluster API asks every 5 s:");
  const calls = (): number => operator.daemon.log().split("BeforeClusterDelete is called").length - 1;
  for (let seen = 1; seen <= 2; seen += 1) {
    await cp.waitFor("Cluster API to ask again", () => calls() >= seen);
    stop.signal.throwIfAborted();
    showLog();
  }
  await kubectl(cp, "get", CLUSTERS, "-n", NAMESPACE);
  await kubectl(cp, "get", "hookpolicy", "-n", NAMESPACE);
  chapter("Why? The Cluster says it");
  const path = `jsonpath={.status.conditions[?(@.type=="TopologyReconciled")].message}`;
  await kubectl(cp, "get", CLUSTERS, "-n", NAMESPACE, CLUSTER, "-o", path);
}

async function release({ cp, operator, showLog }: Stage): Promise<void> {
  chapter("The command of that message releases it");
  const uid = (await cp.get(clusterRef(NAMESPACE, CLUSTER))).metadata.uid ?? "";
  await kubectl(
    cp,
    "annotate",
    CLUSTERS,
    "-n",
    NAMESPACE,
    CLUSTER,
    `hooks.example.com/delete-approved=${uid}`,
  );
  const started = performance.now();
  await cp.waitFor("the release", () => operator.daemon.log().includes(RELEASED));
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  showLog();
  say(
    `  Released ${seconds} s after the annotation (retryAfterSeconds is 5); Cluster API now deletes its parts.`,
  );
  await kubectl(cp, "wait", `${CLUSTERS}/${CLUSTER}`, "-n", NAMESPACE, "--for=delete", "--timeout=120s");
  await cp.waitFor(
    "the status to follow",
    async () =>
      (await cp.kubectl(
        "get",
        "hookpolicy",
        "-n",
        NAMESPACE,
        "-o",
        "jsonpath={.items[0].status.blocked}",
      )) === "0",
  );
  await kubectl(cp, "get", "hookpolicy", "-n", NAMESPACE, "-o", "wide");
  const rows = "jsonpath={range .items[0].status.recent[*]}{.time} {.hook} {.verdict}{'\\n'}{end}";
  await kubectl(cp, "get", "hookpolicy", "-n", NAMESPACE, "-o", rows);
}

async function cleanUp({ cp }: Stage): Promise<void> {
  chapter("Cleaning up");
  await kubectl(cp, "delete", "hookpolicy", "-n", NAMESPACE, POLICY);
  await kubectl(cp, "delete", "extensionconfig", "hookpolicy");
}

async function play(cp: ControlPlane, manager: Promise<unknown>): Promise<void> {
  const stage = await build(cp, manager);
  const over = new AbortController();
  const providers = playProviders(cp, AbortSignal.any([stop.signal, over.signal]));
  try {
    await Promise.race([tell(stage), providers]);
  } finally {
    over.abort();
    await providers.catch(() => undefined); // told by the race
  }
}

async function tell(stage: Stage): Promise<void> {
  await create(stage);
  await refuse(stage);
  await hold(stage);
  await release(stage);
  if (process.env["KEEP"] === undefined) return await cleanUp(stage);
  chapter("Another Cluster, to go on with");
  await kubectl(stage.cp, "apply", "-f", join(FILES, "cluster.yaml"));
  say(await jobs(stage.cp, { namespace: NAMESPACE, cluster: CLUSTER, policy: POLICY }));
  await sleep(2 ** 31 - 1, undefined, { signal: stop.signal });
}

async function main(): Promise<void> {
  say(styleText("bold", "HookPolicy on a real etcd, kube-apiserver and Cluster API manager"));
  chapter("Starting");
  const progress = (line: string): void => say(`  ${line}`);
  // What takes longest where nothing has been built yet, while the others start.
  const manager = clusterApiBinaries(progress);
  manager.catch(() => undefined); // build() waits for it, too
  const cp = await step("etcd, kube-apiserver and kube-controller-manager run", () =>
    startControlPlane({ progress, anyVersion: true }),
  );
  const stopped = new Promise<never>((_, reject) => {
    stop.signal.addEventListener("abort", () => reject(stop.signal.reason));
  });
  try {
    await Promise.race([play(cp, manager), stopped]);
    say(styleText("bold", "\nDone. Nothing is left behind."));
  } finally {
    await cp.stop();
  }
}

/** Exits at once: what the play was waiting for when it was stopped is gone. */
try {
  await main();
} catch (error) {
  if (stop.signal.aborted) {
    say("\nStopped. Nothing is left behind.");
    process.exit(130);
  }
  process.stderr.write(`\nerror: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
