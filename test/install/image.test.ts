/**
 * What the image holds, without an engine that would build it: the bundle, alone in a folder where nothing can be
 * written, as the operator of a real API server.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, cp as copy, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { installClusterDefinition } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import {
  installHookPolicy,
  issueServingCertificate,
  operatorPorts,
  writeServingCertificate,
} from "../controlplane/operator.ts";
import { kustomize, NAMESPACE, ROOT } from "./tools.ts";

const dockerfile = await readFile(join(ROOT, "Dockerfile"), "utf8");

/** Instructions with their continuation lines, without comments. */
const INSTRUCTIONS = dockerfile
  .replaceAll(/^#.*\n/gm, "")
  .replaceAll(/\\\n\s*/g, "")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => ({ name: line.slice(0, line.indexOf(" ")), rest: line.slice(line.indexOf(" ") + 1) }));

const restOf = (name: string): string[] =>
  INSTRUCTIONS.filter((each) => each.name === name).map(({ rest }) => rest);

describe("the Dockerfile", () => {
  test("copies only what the build context lets in", async () => {
    const ignored = (await readFile(join(ROOT, ".dockerignore"), "utf8")).trim().split("\n");
    const sources = restOf("COPY").flatMap((rest) => rest.split(" ").slice(0, -1));
    assert.equal(ignored[0], "*");
    assert.deepEqual(sources.map((source) => `!${source}`).toSorted(), ignored.slice(1).toSorted());
    assert.deepEqual(restOf("RUN"), [], "there is no shell");
  });

  test("runs as the user, on the ports and by the commands that the manifests name", async () => {
    const objects = await kustomize(join(ROOT, "manifests"));
    const pod = objects.find(({ kind }) => kind === "Deployment")?.["spec"].template.spec;
    const { runAsUser, runAsGroup } = pod.securityContext;
    assert.deepEqual(restOf("USER"), [`${runAsUser}:${runAsGroup}`]);
    const ports = pod.containers[0].ports.map((port: { containerPort: number }) => port.containerPort);
    assert.deepEqual(restOf("EXPOSE"), [ports.join(" ")]);
    const [entry = ""] = restOf("ENTRYPOINT");
    assert.deepEqual(JSON.parse(entry), ["/nodejs/bin/node", "/hookpolicy.mjs"]);
    assert.ok(restOf("COPY").includes("dist/main.js /hookpolicy.mjs"));
    assert.equal(pod.containers[0].command, undefined);
    assert.equal(pod.containers[0].args[0], "run");
  });

  test("can be built for another platform, and on another base", () => {
    const built = (...args: string[]): string =>
      spawnSync("make", ["--dry-run", "image", ...args], { cwd: ROOT, encoding: "utf8" }).stdout;
    assert.doesNotMatch(built(), /--platform|BASE=/);
    const command = built("PLATFORM=linux/arm64", "BASE=mirror.example.com/node@sha256:0");
    assert.match(
      command,
      /docker build --platform='linux\/arm64' --build-arg BASE='mirror\.example\.com\/node@sha256:0'/,
    );
  });

  test("labels the image as the Open Container Initiative names them", () => {
    const labels = [...dockerfile.matchAll(/org\.opencontainers\.image\.(\w+)=/g)].map(
      ([, name = ""]) => name,
    );
    assert.deepEqual(labels.toSorted(), [
      "created",
      "description",
      "licenses",
      "revision",
      "title",
      "version",
    ]);
  });

  test("has the newest major version of Node.js that this repository is tested with", () => {
    const [base = ""] = restOf("ARG");
    assert.match(base, new RegExp(`nodejs${process.versions.node.split(".")[0]}-debian\\d+:nonroot$`));
  });
});

describe("the bundle alone", () => {
  let cp: ControlPlane;
  let folder: string;

  before(async () => {
    cp = await startControlPlane({ seed: "cluster" });
    await installClusterDefinition(cp);
    await installHookPolicy(cp);
    folder = join(cp.folder, "root");
    await mkdir(folder);
    await copy(join(ROOT, "dist/main.js"), join(folder, "hookpolicy.mjs"));
    await chmod(folder, 0o555);
  });
  after(async () => {
    await chmod(folder, 0o755);
    await cp?.stop();
  });

  test("prints its help, without a warning", () => {
    const options = { cwd: folder, env: {}, encoding: "utf8" } as const;
    const { stdout, stderr } = spawnSync(process.execPath, ["hookpolicy.mjs", "--help"], options);
    assert.match(stdout, /^Usage: hookpolicy /);
    assert.equal(stderr, "");
  });

  test("becomes ready against a real API server, and stops on request", async () => {
    const certs = join(cp.folder, "certs");
    await writeServingCertificate(certs, await issueServingCertificate(cp));
    const ports = await operatorPorts();
    const daemon = cp.processes.start({
      name: "bundle",
      command: process.execPath,
      cwd: folder,
      env: {},
      args: [
        // Root, as which tests may run, writes also where it may not.
        "--permission",
        "--allow-fs-read=*",
        "--allow-worker",
        "hookpolicy.mjs",
        "run",
        `--kubeconfig=${await cp.kubeconfigFor(NAMESPACE, "hookpolicy")}`,
        `--webhook-cert-dir=${certs}`,
        `--webhook-port=${ports.webhook}`,
        `--admission-port=${ports.admission}`,
        `--health-addr=127.0.0.1:${ports.health}`,
        `--diagnostics-address=127.0.0.1:${ports.metrics}`,
      ],
    });
    const url = `http://127.0.0.1:${ports.health}/readyz`;
    await cp.waitFor("the operator to be ready", async () => (await fetch(url)).ok);
    await daemon.stop();
    assert.match(daemon.log(), /Stopped/);
    assert.doesNotMatch(daemon.log(), /ERR_ACCESS_DENIED|EACCES|EROFS|ENOENT/);
  });
});
