/** What README.md and docs/ tell people to type and to write, typed and written for real. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";
import { FLAGS } from "../../src/manager/options.ts";
import { controlPlaneBinaries } from "../controlplane/binaries.ts";
import type { KubeObject } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/controlplane.ts";
import { extensionRef, registerExtension } from "../controlplane/extension.ts";
import { createCluster, deleteCluster, provision, waitUntilGone } from "../controlplane/lab.ts";
import { type Operator, startOperator } from "../controlplane/operator.ts";
import { environment } from "../controlplane/processes.ts";
import { applyPolicy, type Fleet, heldRow, policyRef, startFleet, statusOf } from "../e2e/fleet.ts";

const run = promisify(execFile);

const ROOT = resolve(import.meta.dirname, "../..");
/**
 * What is typed there is typed by test/unit/clidocs.test.ts, by certificates.test.ts, uninstall.test.ts and
 * install/docs.test.ts beside this, and by test/monitoring.
 */
const PAGES_OF_OTHERS = [
  "docs/cli.md",
  "docs/gitops.md",
  "docs/certificates.md",
  "docs/runbook.md",
  "docs/install.md",
  "docs/releasing.md",
  "docs/uninstall.md",
  "docs/upgrade.md",
  "docs/permissions.md",
];
const PAGES = ["README.md", ...readdirSync(join(ROOT, "docs")).map((name) => `docs/${name}`)].filter(
  (name) => name.endsWith(".md") && !PAGES_OF_OTHERS.includes(name),
);
const TEAM = "team-a";
const CLUSTER = "prod-1";
const HOOK = "BeforeClusterDelete";
const FINALIZER = "hookpolicy.dev/hold-clusters";

interface Block {
  readonly page: string;
  readonly language: string;
  readonly text: string;
}

/** Fenced blocks, without the indentation of the list that they stand in. */
function blocksOf(page: string): Block[] {
  return [...textOf(page).matchAll(FENCE)].map(([, indent = "", language = "", text = ""]) => ({
    page,
    language,
    text: text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  }));
}

const FENCE = /^( *)```(\w*)\n(.*?)^\1```$/gms;

function textOf(page: string): string {
  return readFileSync(join(ROOT, page), "utf8");
}

/** Inline code, on one line. */
function spansOf(page: string): string[] {
  const prose = textOf(page).replaceAll(FENCE, "");
  return [...prose.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code.replaceAll(/\s+/g, " "));
}

/** Everything a reader may type: all of a `sh` block, what follows `$ ` in others, and kubectl in the text. */
function commandsOf(page: string): string[] {
  const typed = blocksOf(page).flatMap(({ language, text }) => {
    const lines = text.replaceAll(/\\\n\s*/g, "").split("\n");
    if (language === "sh") return lines.filter((line) => line !== "");
    return lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
  });
  return [...typed, ...spansOf(page).filter((code) => code.startsWith("kubectl "))];
}

const BLOCKS = PAGES.flatMap(blocksOf);
const COMMANDS = new Set(PAGES.flatMap(commandsOf));
const CODE = [...PAGES.flatMap(spansOf), ...BLOCKS.map(({ text }) => text)];

describe("the docs", () => {
  test("link to files that exist", () => {
    for (const page of PAGES) {
      for (const [, target = ""] of textOf(page).matchAll(/\]\(([^)#]+)[^)]*\)/g)) {
        if (/^\w+:/.test(target)) continue;
        assert.ok(existsSync(join(ROOT, dirname(page), target)), `${page} links to ${target}`);
      }
    }
  });

  test("name targets of the Makefile", () => {
    const makefile = readFileSync(join(ROOT, "Makefile"), "utf8");
    const named = CODE.flatMap((code) => [...code.matchAll(/\bmake ([a-z-]+)/g)].map(([, name]) => name));
    assert.ok(named.length > 0);
    for (const name of named) assert.match(makefile, new RegExp(`^${name}:`, "m"));
  });

  test("name flags that hookpolicy has", () => {
    const ours = CODE.filter((code) => !/\bkubectl /.test(code));
    const named = ours.flatMap((code) =>
      [...code.matchAll(/(?<![\w-])--([a-z][a-z-]*)/g)].map(([, name]) => name),
    );
    assert.ok(named.length > 0);
    for (const name of named) assert.ok(name === "help" || Object.hasOwn(FLAGS, name ?? ""), `--${name}`);
  });
});

describe("what the docs say", () => {
  let fleet: Fleet;
  let cp: ControlPlane;
  let operator: Operator;
  let shellPath: string;

  before(async () => {
    fleet = await startFleet();
    ({ cp, operator } = fleet);
    const { kubectl } = await controlPlaneBinaries();
    shellPath = `${dirname(kubectl)}:${process.env["PATH"]}`;
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: TEAM } });
  });
  after(async () => await fleet?.cp.stop());

  /** In a shell, as a person would: quotes and backslashes are part of what is tested. */
  async function sh(command: string): Promise<string> {
    const env = environment({ KUBECONFIG: cp.adminKubeconfig, PATH: shellPath });
    return (await run("sh", ["-ec", command], { env, cwd: ROOT, timeout: 120_000 })).stdout;
  }

  const gone = async (): Promise<void> => await waitUntilGone(cp, TEAM, CLUSTER, 90_000);

  async function policies(): Promise<KubeObject[]> {
    return await cp.list({ apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookPolicy", namespace: TEAM });
  }

  async function readmePolicy(): Promise<KubeObject> {
    const block = BLOCKS.find(({ page, language }) => page === "README.md" && language === "yaml");
    assert.ok(block);
    return parse(block.text) as KubeObject;
  }

  /** Everything runs, and README's policy under that name holds the deletion of team-a/prod-1. */
  async function held(policy: string): Promise<void> {
    if (!operator.daemon.running()) {
      operator = await startOperator(cp, { ports: operator.ports, name: `${operator.daemon.name}-again` });
    }
    await registerExtension(cp, { name: "hookpolicy", url: operator.url });
    for (const { metadata } of await policies()) await cp.delete(policyRef(TEAM, metadata.name));
    await cp.waitFor("no policy to be left", async () => (await policies()).length === 0);
    const { spec } = await readmePolicy();
    const rules = spec.rules.map((rule: object) => ({ ...rule, retryAfterSeconds: 5 })); // 10 s are long here
    await applyPolicy(cp, policyRef(TEAM, policy), { ...spec, rules });
    await createCluster(cp, { namespace: TEAM, name: CLUSTER, labels: { tier: "production" } });
    await provision(cp, TEAM, CLUSTER);
    await deleteCluster(cp, TEAM, CLUSTER);
    await heldRow(cp, policyRef(TEAM, policy), CLUSTER, HOOK);
    await cp.waitFor("the Cluster to say so", async () => (await sh(WHY)).includes(HOOK));
  }

  const releases = (policy: string) => async (command: string) => {
    await held(policy);
    await sh(command);
    await gone();
  };

  /** The same, with an operator that has gone for good. */
  const cures = async (command: string): Promise<void> => {
    await held("protect");
    await operator.daemon.stop("SIGKILL");
    await sh(command);
    await gone();
  };

  const prints = (wanted: RegExp) => async (command: string) => {
    await heldAlready();
    assert.match(await sh(command), wanted);
  };

  async function heldAlready(): Promise<void> {
    const policy = await cp.find(policyRef(TEAM, "protect-production"));
    if (policy === undefined || statusOf(policy).blocked !== 1) await held("protect-production");
  }

  /** The command in brackets of the Cluster's message. */
  async function remedy(): Promise<string> {
    const [, command] = /\((kubectl annotate [^)]+)\)/.exec(await sh(WHY)) ?? [];
    assert.ok(command, "the message says how to let it go");
    return command;
  }

  const WHY = `kubectl get clusters.cluster.x-k8s.io -n team-a prod-1 -o jsonpath='{.status.conditions[?(@.type=="TopologyReconciled")].message}'`;

  const OK_TO_DELETE =
    "kubectl annotate clusters.cluster.x-k8s.io -n team-a prod-1 runtime.cluster.x-k8s.io/ok-to-delete=";

  /** Every command of the docs, in an order that makes few scenes. */
  const KNOWN: Readonly<Record<string, (command: string) => Promise<void>>> = {
    [WHY]: prints(/HookPolicy team-a\/protect-production, rule confirmed-delete.*kubectl annotate /),
    "kubectl get hookpolicy -n team-a": prints(/^protect-production +True +Enforce +1 +1 /m),
    "kubectl get hookpolicy -n team-a protect-production -o yaml": prints(
      /decisions:\n +- cluster: prod-1\n/,
    ),
    "kubectl explain hookpolicy.spec --recursive": prints(/^ +matchConditions\t/m),
    "kubectl get hookpolicy,clusterhookpolicy -A -o wide": prints(/^team-a .*\/protect-production +True /m),
    "kubectl get extensionconfig hookpolicy -o yaml": prints(/type: Discovered/),
    // In earnest, with the shipped Service: test/e2e/doctor.test.ts.
    "kubectl apply -f manifests/extensionconfig.yaml": async (command) => {
      assert.match(await sh(`${command} --dry-run=client`), /extensionconfig.*hookpolicy configured/);
    },
    [`kubectl patch extensionconfig hookpolicy --type merge -p '{"spec":{"namespaceSelector":null}}'`]:
      prints(/patched/),
    "kubectl annotate extensionconfig hookpolicy --overwrite hookpolicy.dev/discover=again":
      prints(/annotated/),
    "kubectl delete cluster -n team-a prod-1": async (command) => {
      await heldAlready();
      const deletion = sh(command); // it waits until the Cluster is gone
      assert.equal(await Promise.race([deletion, sh("sleep 3; echo waits")]), "waits\n");
      await sh(await remedy());
      assert.match(await deletion, /deleted/);
    },
    "kubectl annotate …": async () => {
      await held("protect-production");
      assert.match(await sh(await remedy()), /annotated/);
      await gone();
    },
    [`kubectl patch hookpolicy -n team-a protect-production --type merge -p '{"spec":{"mode":"Audit"}}'`]:
      releases("protect-production"),
    "kubectl delete hookpolicy -n team-a protect-production": releases("protect-production"),
    [`kubectl patch hookpolicy -n team-a protect --type merge -p '{"spec":{"mode":"Audit"}}'`]:
      releases("protect"),
    "kubectl delete hookpolicy -n team-a protect": releases("protect"),
    [OK_TO_DELETE]: cures,
    "kubectl delete extensionconfig hookpolicy": async (command) => {
      await cures(command);
      assert.equal(await cp.find(extensionRef("hookpolicy")), undefined);
    },
    [`kubectl patch hookpolicy -n team-a protect --type merge -p '{"metadata":{"finalizers":null}}'`]: async (
      command,
    ) => {
      await held("protect");
      await operator.daemon.stop("SIGKILL");
      await cp.delete(policyRef(TEAM, "protect"));
      const { metadata } = await cp.get(policyRef(TEAM, "protect"));
      assert.deepEqual(metadata.finalizers, [FINALIZER]);
      await sh(command);
      assert.deepEqual(await policies(), []);
      await sh(OK_TO_DELETE);
      await gone();
    },
  };

  test("in YAML is accepted by a strict API server", async () => {
    const policyBlocks = BLOCKS.filter(({ text }) => /^kind: (Cluster)?HookPolicy$/m.test(text));
    assert.ok(policyBlocks.length > 0);
    for (const { page, language, text } of policyBlocks) {
      assert.equal(language, "yaml", page);
      const { kind, metadata } = parse(text) as KubeObject;
      const path =
        kind === "HookPolicy" ? `namespaces/${metadata.namespace}/hookpolicies` : "clusterhookpolicies";
      const query = "fieldManager=docs&fieldValidation=Strict&dryRun=All";
      const url = `/apis/hookpolicy.dev/v1alpha1/${path}/${metadata.name}?${query}`;
      await cp.request("PATCH", url, text, "application/apply-patch+yaml");
    }
  });

  test("to type is known here", () => {
    const unknown = [...COMMANDS].filter((command) => !Object.hasOwn(KNOWN, command));
    assert.deepEqual(unknown, [], "new in the docs: add it to KNOWN in test/apiserver/docs.test.ts");
    const stale = Object.keys(KNOWN).filter((command) => !COMMANDS.has(command));
    assert.deepEqual(stale, [], "not in the docs any more: remove it from KNOWN");
  });

  for (const [command, proof] of Object.entries(KNOWN)) {
    test(command, async () => await proof(command));
  }
});
