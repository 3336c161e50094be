/** Control plane, Cluster API and HookPolicy for docs/recipes/, and a reader who does what a page says. */

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { cp as copyFolder, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type KubeObject, objectsOf, type Ref, isRefused } from "../controlplane/client.ts";
import { installClusterApi } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { registerExtension } from "../controlplane/extension.ts";
import { clusterRef, FIRST_VERSION, installLab, KEPT, provision } from "../controlplane/lab.ts";
import { CLUSTER_API, LAB_CLASS, LAB_NAMESPACE } from "../controlplane/lab-kinds.ts";
import { installHookPolicy, type Operator, startOperator } from "../controlplane/operator.ts";
import { environment } from "../controlplane/processes.ts";
import { policyIsReady } from "../controlplane/policies.ts";
import { createAccountWith } from "../controlplane/rights.ts";
import { pathOfPrograms } from "./programs.ts";
import { blocksOf, commandsOf, ROOT, transcriptsOf } from "./recipe-pages.ts";

const run = promisify(execFile);

export interface RecipeFleet {
  readonly cp: ControlPlane;
  readonly operator: Operator;
  /** Lines of the API server's audit log, made with the audit policy of docs/recipes/break-glass.md. */
  readonly audit: () => Promise<AuditEvent[]>;
  readonly stop: () => Promise<void>;
}

export interface AuditEvent {
  readonly user: { readonly username: string };
  readonly impersonatedUser?: { readonly username: string };
  readonly verb: string;
  readonly objectRef?: { readonly resource: string; readonly name?: string };
  readonly requestObject?: KubeObject;
}

/** Cluster API runs as its own service account, which the admission policies know. */
export async function startRecipeFleet(): Promise<RecipeFleet> {
  const folder = await mkdtemp(join(tmpdir(), "hookpolicy-audit-"));
  const [policyFile, logFile] = [join(folder, "policy.yaml"), join(folder, "audit.log")];
  const policy = blocksOf("break-glass.md").find(({ text }) => text.includes("audit.k8s.io"));
  assert.ok(policy, "the page shows an audit policy");
  await writeFile(policyFile, policy.text);
  const apiServerArgs = [`--audit-policy-file=${policyFile}`, `--audit-log-path=${logFile}`];
  const cp = await startControlPlane({ apiServerArgs, seed: "clusterApi" });
  const stop = async (): Promise<void> => {
    await cp.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await installHookPolicy(cp);
    const kubeconfig = await managerKubeconfig(cp);
    const [operator] = await Promise.all([startOperator(cp), installClusterApi(cp, { kubeconfig })]);
    await installLab(cp);
    await registerExtension(cp, { name: "hookpolicy", url: operator.url });
    const audit = async (): Promise<AuditEvent[]> => {
      const lines = (await readFile(logFile, "utf8")).trimEnd().split("\n");
      return lines.map((line) => JSON.parse(line) as AuditEvent);
    };
    return { cp, operator, audit, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function managerKubeconfig(cp: ControlPlane): Promise<string> {
  await createAccountWith(cp, "capi-system", "capi-manager", { everywhere: "cluster-admin" });
  return await cp.kubeconfigFor("capi-system", "capi-manager");
}

/** The ValidatingAdmissionPolicies of pages' kustomizations, in a folder beside a copy of this repository. Once for each control plane. */
export async function admissionPolicies(
  cp: ControlPlane,
  ...kustomizations: readonly string[]
): Promise<KubeObject[]> {
  const folder = join(cp.folder, "install/mine");
  await mkdir(folder, { recursive: true });
  for (const part of ["manifests", "crds"])
    await copyFolder(join(ROOT, part), join(folder, "../hookpolicy", part), { recursive: true });
  const rendered: KubeObject[] = [];
  for (const kustomization of kustomizations) {
    await writeFile(join(folder, "kustomization.yaml"), kustomization);
    rendered.push(...objectsOf(await cp.kubectl("kustomize", folder)));
  }
  return rendered.filter(({ kind }) => kind.startsWith("ValidatingAdmissionPolicy"));
}

/** Like the lab's, under another name. */
export async function installClassLike(cp: ControlPlane, name: string): Promise<void> {
  const ref = { apiVersion: CLUSTER_API, kind: "ClusterClass", namespace: LAB_NAMESPACE, name: LAB_CLASS };
  const { spec } = await cp.get(ref);
  await cp.apply({
    apiVersion: ref.apiVersion,
    kind: ref.kind,
    metadata: { namespace: LAB_NAMESPACE, name },
    spec,
  });
  await cp.waitFor("the ClusterClass to be reconciled", async () => {
    const { status, metadata } = await cp.get({ ...ref, name });
    return status?.observedGeneration === metadata.generation;
  });
}

/** Commands that a test has typed, by page. */
const typed = new Map<string, Set<string>>();

export function untyped(page: string): string[] {
  return [...commandsOf(page), ...transcriptsOf(page).map(({ command }) => command)].filter(
    (command) => typed.get(page)?.has(command) !== true,
  );
}

export interface Person {
  readonly name: string;
  readonly group: string;
}

export interface Reading {
  /** What the page calls `team-a`; default: the page's name. */
  readonly namespace?: string;
  /** Default: the administrator. */
  readonly person?: Person;
}

interface CommandResult {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that does not end by itself. */
export interface CommandOutput {
  /** What it has printed so far. */
  readonly output: () => string;
  readonly stop: () => void;
}

/** Gives a command a terminal; part of util-linux. */
const SCRIPT = "/usr/bin/script";

/** One page, read in a namespace of its own. */
export class Recipe {
  readonly cp: ControlPlane;
  readonly name: string;
  readonly namespace: string;
  readonly #page: string;
  readonly #person: Person | undefined;
  #folder: Promise<string> | undefined;

  constructor(cp: ControlPlane, name: string, { namespace = name, person }: Reading = {}) {
    this.cp = cp;
    this.name = name;
    this.namespace = namespace;
    this.#page = `${name}.md`;
    this.#person = person;
  }

  /** The same page, read by somebody who has only the rights that were given. */
  as(person: Person): Recipe {
    return new Recipe(this.cp, this.name, { namespace: this.namespace, person });
  }

  /** In the page's own words but for the namespace. */
  #here(text: string): string {
    return text.replaceAll(/\bteam-[ab]\b/g, this.namespace);
  }

  yaml(containing: string): string {
    const block = blocksOf(this.#page).find(
      ({ language, text }) => language === "yaml" && text.includes(containing),
    );
    assert.ok(block, `${this.#page} has YAML with ${containing}`);
    return this.#here(block.text);
  }

  /** As a file, with kubectl's strict validation; its policies are in force when this resolves. */
  async apply(containing: string, change: (yaml: string) => string = (yaml) => yaml): Promise<Ref[]> {
    const yaml = change(this.yaml(containing));
    await this.cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: this.namespace } });
    const file = await this.write("recipe.yaml", yaml);
    await this.cp.kubectl("apply", "--validate=strict", "-f", file);
    const policies = objectsOf(yaml).filter(({ kind }) => kind.endsWith("HookPolicy"));
    return await Promise.all(
      policies.map(async ({ apiVersion, kind, metadata: { namespace, name } }) => {
        const ref = { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) };
        await policyIsReady(this.cp, await this.cp.get(ref));
        return ref;
      }),
    );
  }

  /** In the folder in which the commands run; gives the path. */
  async write(name: string, yaml: string): Promise<string> {
    const file = join(await this.folder(), name);
    await writeFile(file, yaml);
    return file;
  }

  async folder(): Promise<string> {
    this.#folder ??= mkdtemp(join(this.cp.folder, "recipe-"));
    return await this.#folder;
  }

  /** Types a command that stays until it is stopped, in a terminal where there is a program for that. */
  async follow(containing: string): Promise<CommandOutput> {
    const command = this.#noted(this.#command(containing));
    const inTerminal = existsSync(SCRIPT) ? [SCRIPT, "-qefc", command, "/dev/null"] : ["sh", "-ec", command];
    const [program = "", ...args] = inTerminal;
    const child = spawn(program, args, {
      env: await this.#environment(),
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    const printed: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => printed.push(chunk.toString()));
    return {
      output: () => printed.join(""),
      stop: () => {
        if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid);
      },
    };
  }

  /** The one command of the page that contains this; gives what it printed. */
  async type(containing: string): Promise<string> {
    const { ok, stdout, stderr } = await this.#sh(this.#command(containing));
    assert.ok(ok, stderr);
    return stdout + stderr;
  }

  async isRefused(containing: string, complaint: RegExp): Promise<void> {
    const { ok, stderr } = await this.#sh(this.#command(containing));
    assert.ok(!ok, "it was not refused");
    assert.match(stderr, complaint);
  }

  /** The API server takes up admission policies within a second or so. */
  async refusedWhenTried(...command: readonly string[]): Promise<void> {
    await this.cp.waitFor(`kubectl ${command.join(" ")} to be refused`, async () =>
      isRefused(this.cp.kubectl(...command, "--dry-run=server"), /ValidatingAdmissionPolicy/),
    );
  }

  #command(containing: string): string {
    const [command, ...others] = commandsOf(this.#page).filter((each) => each.includes(containing));
    assert.ok(
      command !== undefined && others.length === 0,
      `${this.#page} has one command with ${containing}`,
    );
    return command;
  }

  /**
   * The page shows what the command prints, but for times, ages, uids and the width of columns; and for what is `here` at
   * the time, which stands for what is on the `page`.
   */
  async shows(
    containing: string,
    but?: { readonly page: string; readonly here: () => Promise<string> },
  ): Promise<void> {
    const [transcript] = transcriptsOf(this.#page).filter(({ command }) => command.includes(containing));
    assert.ok(transcript, `${this.#page} shows ${containing}`);
    const shown = withoutTheChanging(this.#here(transcript.output));
    let [last, wanted] = ["", shown];
    const same = async (): Promise<boolean> => {
      if (but !== undefined) wanted = shown.replace(but.page, await but.here());
      const { stdout, stderr } = await this.#sh(transcript.command);
      last = withoutTheChanging(stdout + stderr);
      return last === wanted;
    };
    await this.cp.waitFor(`${this.#page} to show ${containing}`, same).catch((error: unknown) => {
      assert.equal(last, wanted, String(error));
    });
  }

  /** In a shell, as a person would: quotes and backslashes are part of what is tested. */
  async #sh(command: string): Promise<CommandResult> {
    const options = { env: await this.#environment(), cwd: await this.folder(), timeout: 180_000 };
    try {
      return { ok: true, ...(await run("sh", ["-ec", this.#noted(command)], options)) };
    } catch (error) {
      if (!(error instanceof Error && "stdout" in error && "stderr" in error)) throw error;
      return { ok: false, stdout: String(error.stdout), stderr: String(error.stderr) };
    }
  }

  /** Counts as typed; in the words of this namespace. */
  #noted(command: string): string {
    const done = typed.get(this.#page) ?? new Set();
    typed.set(this.#page, done.add(command));
    return this.#here(command);
  }

  async #environment(): Promise<NodeJS.ProcessEnv> {
    return environment({ KUBECONFIG: await this.#kubeconfig(), PATH: await pathOfPrograms(this.cp) });
  }

  async #kubeconfig(): Promise<string> {
    if (this.#person === undefined) return this.cp.adminKubeconfig;
    const config = JSON.parse(await readFile(this.cp.adminKubeconfig, "utf8")) as {
      users: { user: Record<string, unknown> }[];
    };
    const { name, group } = this.#person;
    for (const { user } of config.users) Object.assign(user, { as: name, "as-groups": [group] });
    const file = join(await mkdtemp(join(this.cp.folder, "person-")), "kubeconfig");
    await writeFile(file, JSON.stringify(config), { mode: 0o600 });
    return file;
  }

  async created(cluster: ClusterOptions = {}): Promise<Ref> {
    const { namespace = this.namespace, name = "prod-1", labels = {}, className = LAB_CLASS } = cluster;
    await this.cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    await this.cp.create({
      apiVersion: CLUSTER_API,
      kind: "Cluster",
      metadata: { namespace, name, labels, annotations: KEPT },
      spec: { topology: { classRef: { name: className, namespace: LAB_NAMESPACE }, version: FIRST_VERSION } },
    });
    return clusterRef(namespace, name);
  }

  /** A Cluster that is up and for which nothing is asked. */
  async running(cluster: ClusterOptions = {}): Promise<Ref> {
    const ref = await this.created(cluster);
    const { namespace = "", name } = ref;
    await provision(this.cp, namespace, name);
    await this.cp.waitFor(`Cluster ${namespace}/${name} to be up`, async () => {
      const { metadata } = await this.cp.get(ref);
      return metadata.annotations?.["runtime.cluster.x-k8s.io/pending-hooks"] === undefined;
    });
    return ref;
  }
}

export interface ClusterOptions {
  readonly namespace?: string;
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly className?: string;
}

function withoutTheChanging(text: string): string {
  return text
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "<uid>")
    .replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "<time>")
    .replaceAll(/ (\d+[smhdy])+$/gm, " <age>")
    .replaceAll(/ +/g, " ")
    .trim();
}
