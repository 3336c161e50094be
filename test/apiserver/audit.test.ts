/** The audit log of the real operator: what it says, and that nothing that happens to it happens to an answer. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { Ajv } from "ajv";
import formats from "ajv-formats";
import type { AuditEntry } from "../../src/report/audit-entry.ts";
import { clusterRef, createCluster, NEXT_VERSION } from "../controlplane/lab.ts";
import { APPROVED, applyPolicy, approvalRule, approve, policyRef } from "../controlplane/policies.ts";
import { hookpolicy } from "../unit/cli/program.ts";
import { flagsOf } from "./child-operator.ts";
import { startLab } from "./operator-lab.ts";

const ROOT = join(import.meta.dirname, "../..");
const HOOK = "BeforeClusterUpgrade";

const ajv = new Ajv({ allErrors: true });
formats.default(ajv);
const fits = ajv.compile(JSON.parse(readFileSync(join(ROOT, "schemas/output/audit.json"), "utf8")));
const lab = await startLab();
after(async () => await lab.stop());
const { cp } = lab;
const file = join(cp.folder, "audit.log");

describe("The audit log", () => {
  function parse(text: string): AuditEntry[] {
    const lines = text.split("\n").slice(0, -1);
    return lines.map((line) => {
      const entry: AuditEntry = JSON.parse(line);
      assert.ok(fits(entry), JSON.stringify(fits.errors));
      return entry;
    });
  }

  /** Lines are written in the background. */
  async function entries(path: string, count: number): Promise<AuditEntry[]> {
    return await cp.waitFor(`${count} lines in ${path}`, () => {
      const found = existsSync(path) ? parse(readFileSync(path, "utf8")) : [];
      return found.length >= count && found;
    });
  }

  async function hold(namespace: string): Promise<string> {
    const { metadata } = await applyPolicy(cp, policyRef(namespace, "p"), { rules: [approvalRule(HOOK)] });
    await createCluster(cp, { namespace, name: "c1", version: NEXT_VERSION });
    return metadata.uid ?? "";
  }

  test("tells of a hold and of its release, each once, by what was read for it", async () => {
    await lab.start({ flags: { "audit-log": file } });
    const policyUID = await hold("held");
    const { metadata } = await cp.get(clusterRef("held", "c1"));
    for (let calls = 0; calls < 3; calls += 1) await lab.ask(HOOK, "held", "c1");
    const [blocked] = await entries(file, 1);
    assert.ok(blocked?.decision);
    assert.deepEqual([blocked.verdict, blocked.answer.status], ["Blocked", "Success"]);
    assert.match(blocked.answer.message ?? "", new RegExp(APPROVED));
    assert.equal(blocked.cluster.uid, metadata.uid);
    assert.equal(blocked.decision.inputs.cluster.resourceVersion, metadata.resourceVersion);
    const [policy] = blocked.decision.policies;
    assert.deepEqual([policy?.uid, policy?.generation, policy?.rules[0]?.rule], [policyUID, 1, "approval"]);
    await approve(cp, "held", "c1");
    await lab.releases("the release", HOOK, "held", "c1");
    await lab.ask(HOOK, "held", "c1");
    const lines = await entries(file, 2);
    const released = lines.at(-1);
    assert.ok(released?.decision);
    assert.deepEqual([released.before, released.verdict], ["Blocked", "Allowed"]);
    assert.equal(released.decision.source, "ApiServer");
    const approved = await cp.get(clusterRef("held", "c1"));
    assert.equal(released.decision.inputs.cluster.resourceVersion, approved.metadata.resourceVersion);
    assert.equal(lines.length, 2);
    const written = async (): Promise<number> =>
      await lab.operator.metric("hookpolicy_audit_log_lines_total", 'result="written"');
    await cp.waitFor("both to be counted", async () => (await written()) === 2); // after they are in the file
  });

  test("becomes a suite that passes with the policy and the Cluster as the API server has them", async () => {
    const files = [policyRef("held", "p"), clusterRef("held", "c1")].map(async (ref, index) => {
      const path = join(cp.folder, `recorded-${index}.json`);
      await writeFile(path, JSON.stringify(await cp.get(ref)));
      return path;
    });
    const suite = join(cp.folder, "recorded.yaml");
    const args = ["--record", file, "--write", suite, ...(await Promise.all(files))];
    assert.deepEqual(await hookpolicy(["test", ...args]), {
      code: 0,
      stdout: "",
      stderr: `wrote ${suite}\n`,
    });
    const { code, stdout } = await hookpolicy(["test", suite]);
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^2 passed; 1 suite$/m);
  });

  test("goes on in a new file after a rotation", async () => {
    await rename(file, `${file}.1`);
    await hold("rotated");
    await lab.ask(HOOK, "rotated", "c1");
    const [line] = await entries(file, 1);
    assert.equal(line?.cluster.namespace, "rotated");
    assert.equal((await entries(`${file}.1`, 2)).length, 2);
  });

  test("on a full disk holds up no answer, and is told of once", async () => {
    await hold("full");
    await lab.start({ flags: { "audit-log": "/dev/full" } });
    for (let calls = 0; calls < 3; calls += 1) {
      assert.ok(((await lab.ask(HOOK, "full", "c1")).retryAfterSeconds ?? 0) > 0);
    }
    const told = await cp.waitFor("the failure to be told", () => {
      const lines = lab.operator.lines().filter(({ msg }) => msg.startsWith("Cannot write the audit log"));
      return lines.length > 0 && lines;
    });
    assert.equal(told.length, 1);
    await lab.operator.daemon.stop();
    assert.ok(lab.operator.lines().some(({ msg }) => msg === "Dropping lines of the audit log"));
  });

  /** On the ports of the one that runs, with output that the test reads itself. */
  function startOnPipes(): ChildProcess {
    const { ports, certDir } = lab.operator;
    const args = flagsOf({ kubeconfig: lab.kubeconfig, certDir, ports }, { "audit-log": "-" });
    return spawn(process.execPath, [join(ROOT, "dist/main.js"), "run", ...args], {
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  test("on standard output has it alone, and whoever stops reading stops no answer", async () => {
    await lab.start();
    await hold("piped");
    await lab.operator.daemon.stop();
    const child = startOnPipes();
    const ended = once(child, "exit");
    const text = { out: "", err: "" };
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => (text.out += chunk));
    child.stderr?.setEncoding("utf8").on("data", (chunk: string) => (text.err += chunk));
    try {
      await cp.waitFor("the operator to be ready", async () => await lab.operator.ready().catch(() => false));
      await lab.ask(HOOK, "piped", "c1");
      const [line] = await cp.waitFor("its line", () => text.out.endsWith("\n") && parse(text.out));
      assert.equal(line?.cluster.namespace, "piped");
      assert.match(text.err, / INFO +Serving Cluster API's lifecycle hooks/);
      child.stdout?.destroy();
      await approve(cp, "piped", "c1");
      await lab.releases("the release", HOOK, "piped", "c1");
      await cp.waitFor("the failure to be told", () => text.err.includes("Cannot write the audit log"));
    } finally {
      child.kill("SIGTERM");
    }
    assert.deepEqual(await ended, [0, null]);
  });

  test("that can never be written keeps the operator from starting, and says why", async () => {
    const { daemon, lines } = await lab.start({ flags: { "audit-log": join(file, "no") }, waitReady: false });
    await daemon.ended;
    const [{ error } = { error: "" }] = lines().filter(({ msg }) => msg === "Cannot run");
    assert.match(String(error), /--audit-log/);
  });
});
