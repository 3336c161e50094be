/** `hookpolicy explain` and `windows` against a real API server with the operator, under several rights. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, symlink } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { after, describe, test } from "node:test";
import { Ajv } from "ajv";
import { startLab } from "./operator-lab.ts";
import { controlPlaneBinaries } from "../controlplane/binaries.ts";
import type { Ref } from "../controlplane/client.ts";
import { createCluster, NEXT_VERSION } from "../controlplane/lab.ts";
import { environment } from "../controlplane/processes.ts";
import { allow, createAccountWith, type PolicyRule, readGrant } from "../controlplane/rights.ts";
import { type Outcome, outputSchema } from "../unit/cli/program.ts";
import { hookpolicy } from "../unit/cli/resident.ts";
import {
  approvalRule,
  applyPolicy,
  clusterPolicyRef,
  policyRow,
  noRow,
  policyIsReady,
  policyRef,
  storePolicy,
} from "../controlplane/policies.ts";

const HOOK = "BeforeClusterUpgrade";
const NS = "explained";
const PROTECT = policyRef(NS, "protect");

const lab = await startLab();
after(async () => await lab.stop());
const { cp } = lab;
await createCluster(cp, { namespace: NS, name: "c1", version: NEXT_VERSION });
await applyPolicy(cp, PROTECT, { rules: [approvalRule(HOOK)] });
await lab.ask(HOOK, NS, "c1");
await policyRow(cp, PROTECT, "c1", HOOK);

describe("explain, live", () => {
  const run = async (command: string, args: readonly string[], kubeconfig?: string): Promise<Outcome> =>
    await hookpolicy([command, ...args, "--kubeconfig", kubeconfig ?? cp.adminKubeconfig]);

  const explained = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await run("explain", [`${NS}/c1`, ...args]);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    return stdout;
  };

  /** Runs the command that `explain` has printed. */
  const approve = async (stdout: string): Promise<void> => {
    const [, command = ""] = /^ {2}run +hookpolicy (approve .*)$/m.exec(stdout) ?? [];
    const { code, stderr } = await hookpolicy([...command.split(" "), "--yes", "--no-wait"]);
    assert.equal(code, 0, stderr);
  };

  test("what is held is explained, and the status says the same", async () => {
    const stdout = await explained();
    assert.match(
      stdout,
      /^Blocked: BeforeClusterUpgrade \(v1.35.0\) of Cluster explained\/c1, asked since 20/,
    );
    assert.match(stdout, /^\W+status {2}says the same, since 20\S+Z$/m);
    const report: { operations: { policies: { status: { differences: string[] } }[] }[] } = JSON.parse(
      await explained("-o", "json"),
    );
    const ajv = new Ajv({ formats: { "date-time": true } });
    assert.ok(ajv.validate(await outputSchema("explain"), report), ajv.errorsText());
    assert.deepEqual(report.operations[0]?.policies[0]?.status.differences, []);
  });

  test("the command that it prints lets the Cluster go on", async () => {
    await approve(await explained());
    await noRow(cp, PROTECT, "c1", HOOK);
    assert.match(await explained(), /^No operation of Cluster explained\/c1 is held/);
    assert.match(await explained("--hook", HOOK), /^Allowed: BeforeClusterUpgrade/);
  });

  test("a status that lags is told from what the rules say, and why that may be", async () => {
    await createCluster(cp, { namespace: NS, name: "c2", version: NEXT_VERSION });
    await lab.ask(HOOK, NS, "c2");
    await policyRow(cp, PROTECT, "c2", HOOK);
    await lab.operator.daemon.stop();
    const { stdout } = await run("explain", [`${NS}/c2`]);
    await approve(stdout);
    const released = await run("explain", [`${NS}/c2`]);
    assert.match(released.stdout, /^Allowed: /);
    assert.match(
      released.stdout,
      /status {2}differs: the status says Blocked \(WaitingForAnnotation\) since 20\S+ \(.*does not run/,
    );
    await cp.patch(PROTECT, { spec: { rules: [approvalRule(HOOK, "example.com/other")] } });
    const edited = await run("explain", [`${NS}/c2`]);
    assert.match(
      edited.stdout,
      /status {2}differs: the status is of generation 1, and the policy is at 2.*if it runs\)/,
    );
    await lab.start();
    await cp.waitFor("the status to catch up", async () =>
      /status {2}says the same/.test((await run("explain", [`${NS}/c2`])).stdout),
    );
  });

  const may = (apiGroup: string, ...resources: string[]): PolicyRule =>
    allow(apiGroup, resources, "get", "list");
  const OWN_RULES = [may("cluster.x-k8s.io", "clusters"), may("hookpolicy.dev", "hookpolicies")];
  const grant = async (
    name: string,
    inNamespace: readonly PolicyRule[],
    everywhere: readonly PolicyRule[],
  ): Promise<string> => {
    await createAccountWith(cp, NS, name, { inNamespace, everywhere });
    return await cp.kubeconfigFor(NS, name);
  };

  test("objects that gates name are read live, and what may not be read is not evaluable", async () => {
    const backup = {
      apiVersion: "v1",
      kind: "ConfigMap",
      nameExpression: "cluster.metadata.name + '-backup'",
    };
    await createCluster(cp, { namespace: NS, name: "c3" });
    const ref = policyRef(NS, "backed-up");
    await storePolicy(cp, ref, {
      rules: [
        { name: "backed-up", hooks: ["BeforeClusterDelete"], until: [{ name: "backup", object: backup }] },
      ],
    });
    const asked = [`${NS}/c3`, "--hook", "BeforeClusterDelete"];
    await cp.waitFor("the operator to say what it may not read", async () =>
      /^NotEvaluable: .*\n {2}run +kubectl create clusterrole hookpolicy-configmaps .*\n {2}for .*the operator may not read configmaps/m.test(
        (await run("explain", asked)).stdout,
      ),
    );
    await cp.apply(readGrant("configmaps"));
    await policyIsReady(cp, await cp.get(ref));
    assert.match(
      (await run("explain", asked)).stdout,
      /^Blocked: .*\n {2}wait for +ConfigMap c3-backup in namespace/m,
    );
    await cp.create({ apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: NS, name: "c3-backup" } });
    assert.match((await run("explain", asked)).stdout, /^Allowed: /m);
    const tenant = await grant("tenant", OWN_RULES, [
      may("hookpolicy.dev", "clusterhookpolicies", "hookoverrides", "hookrollouts"),
    ]);
    const { code, stdout } = await run("explain", asked, tenant);
    assert.equal(code, 0);
    assert.match(stdout, /^note: you may not get namespaces: .*\n\nNotEvaluable: /m);
    assert.match(stdout, /because {2}you may not list configmaps in namespace explained\n/);
    await cp.delete(ref);
  });

  test("who may not read every policy is not told that the Cluster goes on", async () => {
    const only = await grant("only-own", OWN_RULES, [may("", "namespaces")]);
    const { code, stdout } = await run("explain", [`${NS}/c1`, "--hook", "BeforeClusterDelete"], only);
    assert.equal(code, 0);
    assert.match(
      stdout,
      /^note: you may not list clusterhookpolicies.hookpolicy.dev: one of them can hold the Cluster\n/m,
    );
    assert.match(
      stdout,
      /^note: you may not list hookoverrides.hookpolicy.dev: one of them can release the Cluster\n/m,
    );
    assert.match(stdout, /^NotEvaluable: .*\n {2}but +policies that you may not read can hold it/m);
  });

  test("who may read the Cluster alone learns what it does not see, and approves nothing by mistake", async () => {
    const only = await grant("cluster-only", [may("cluster.x-k8s.io", "clusters")], [may("", "namespaces")]);
    const { code, stdout, stderr } = await run(
      "explain",
      [`${NS}/c1`, "--hook", "BeforeClusterDelete"],
      only,
    );
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(
      stdout,
      /^note: you may not list hookpolicies\.hookpolicy\.dev: one of them can hold the Cluster\n/m,
    );
    assert.match(stdout, /^NotEvaluable: .*\n {2}but +policies that you may not read can hold it/m);
    const approved = await run("approve", [`${NS}/c1`, "--yes"], only);
    assert.match(approved.stdout + approved.stderr, /^Cluster explained\/c1 is not known to be held$/m);
    assert.match(approved.stderr, /^warning: you may not list hookpolicies\.hookpolicy\.dev: /m);
  });

  test("a Cluster that is not there, may not be read or cannot be reached is told in one line, and exits 2", async () => {
    const nobody = await grant("nobody", [], []);
    const nowhere = await cp.kubeconfigFor(NS, "nobody", { server: "https://127.0.0.1:1" });
    const failed = async (args: readonly string[], kubeconfig?: string): Promise<string> => {
      const { code, stdout, stderr } = await run("explain", args, kubeconfig);
      assert.deepEqual([code, stdout], [2, ""]);
      return stderr;
    };
    assert.match(
      await failed([`${NS}/c9`]),
      /^error: there is no Cluster explained\/c9 \(did you mean explained\/c1\?\)\n$/,
    );
    assert.match(
      await failed([`${NS}/c1`], nobody),
      /^error: get clusters.cluster.x-k8s.io explained\/c1: forbidden: [^\n]+\n$/,
    );
    assert.match(await failed([`${NS}/c1`], nowhere), /^error: [^\n]*connection refused[^\n]*\n$/);
    assert.match(
      await failed([`${NS}/c1`, "--context", "none"]),
      /^error: kubeconfig \S+: context "none" does not exist\n$/,
    );
  });

  test("windows of policies are listed by name, by namespace and all", async () => {
    const night = {
      name: "night",
      window: { timeZone: "UTC", allow: [{ schedule: "0 22 * * *", duration: "4h" }] },
    };
    const rules = [{ name: "nightly", hooks: [HOOK], until: [night] }];
    const other = policyRef("default", "nights");
    const wide: Ref = clusterPolicyRef("fleet-nights");
    await applyPolicy(cp, policyRef(NS, "nights"), { rules });
    await applyPolicy(cp, other, { rules });
    await applyPolicy(cp, wide, { namespaceSelector: {}, rules });
    const listed = async (...args: readonly string[]): Promise<string[]> => {
      const { code, stdout, stderr } = await run("windows", ["-o", "json", ...args]);
      assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
      const report: { windows: { policy: { namespace?: string; name: string } }[] } = JSON.parse(stdout);
      return report.windows.map(({ policy }) => `${policy.namespace ?? ""}/${policy.name}`).toSorted();
    };
    assert.deepEqual(await listed("-A"), ["/fleet-nights", "default/nights", `${NS}/nights`]);
    assert.deepEqual(await listed("-n", NS), ["/fleet-nights", `${NS}/nights`]);
    assert.deepEqual(await listed(`${NS}/nights`), [`${NS}/nights`]);
    assert.deepEqual(await listed("fleet-nights"), ["/fleet-nights"]);
    const { code, stderr } = await run("windows", [`${NS}/night`]);
    assert.equal(code, 2);
    assert.match(
      stderr,
      /^error: no policy is named "explained\/night" \(did you mean explained\/nights\?\)/,
    );
    assert.equal((await run("windows", ["-A"], join(cp.folder, "none"))).code, 2);
  });

  test("kubectl completes the plugin's words with the names that are there", async () => {
    const bin = join(cp.folder, "bin");
    await mkdir(bin);
    const main = join(import.meta.dirname, "../../dist/main.js");
    for (const name of ["kubectl-hookpolicy", "kubectl_complete-hookpolicy"])
      await symlink(main, join(bin, name));
    const PATH = [bin, dirname(process.execPath), process.env["PATH"]].join(delimiter);
    const env = environment({ PATH, KUBECONFIG: cp.adminKubeconfig });
    const { kubectl } = await controlPlaneBinaries();
    const completed = async (...words: readonly string[]): Promise<string[]> => {
      const { stdout } = await promisify(execFile)(kubectl, ["__complete", "hookpolicy", ...words], { env });
      return stdout.split("\n").slice(0, -1);
    };
    /** One that a busy machine answers after three seconds is empty, and asked for again. */
    const completes = async (words: readonly string[], wanted: readonly string[]): Promise<void> => {
      const last = await cp.waitFor("a completion", async () => {
        const found = await completed(...words);
        return found.length > 1 && found;
      });
      assert.deepEqual(last, wanted);
    };
    await completes(["explain", `${NS}/`], [`${NS}/c1`, `${NS}/c2`, `${NS}/c3`, ":4"]);
    await completes(["windows", "fleet"], ["fleet-nights", ":4"]);
    await completes(["windows", "-n", "expl"], [NS, ":4"]);
    // As override takes them, and only those of the Cluster's namespace.
    const refs = ["override", `${NS}/c1`, "--policy"];
    await completes([...refs, "HookPolicy/ni"], ["HookPolicy/nights", ":4"]);
    await completes([...refs, "Cl"], ["ClusterHookPolicy/fleet-nights", ":4"]);
    await cp.apply({
      apiVersion: "hookpolicy.dev/v1alpha1",
      kind: "HookRollout",
      metadata: { name: "upgrades" },
      spec: { operation: "Upgrade", namespaceSelector: {}, progressDeadline: "6h" },
    });
    await completes([...refs, "HookR"], ["HookRollout/upgrades", ":4"]);
    const [first = "", ...rest] = await completed("expl");
    assert.match(first, /^explain\t/);
    assert.deepEqual(rest, [":4"]);
  });
});
