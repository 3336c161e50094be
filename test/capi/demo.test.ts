/** `KEEP=1 make demo`: its story, and then each line that it prints for whoever goes on with it. */

import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { environment } from "../controlplane/processes.ts";
import { waitFor } from "../controlplane/waits.ts";
import { bundle } from "../bundle.ts";

const DEMO = join(import.meta.dirname, "../demo/demo.ts");
/** A Cluster of the demo with its node, made or upgraded step by step. */
const SLOW = { timeoutMs: 300_000 };
const GOES_ON = "Everything keeps running until Ctrl-C.";
const CLUSTER = "ns-lifecycle-hooks/lab-cluster-lifecycle-hooks";

interface Outcome {
  readonly code: number;
  readonly output: string;
}

describe("a demo that goes on", () => {
  let demo: ChildProcess;
  let printed = "";
  before(async () => {
    bundle();
    demo = spawn(process.execPath, [DEMO], {
      env: environment({ KEEP: "1" }),
      stdio: ["ignore", "pipe", "pipe"],
    });
    demo.stdout?.setEncoding("utf8").on("data", (chunk: string) => (printed += chunk));
    const complaint = demo.stderr === null ? "" : text(demo.stderr);
    const ended = once(demo, "exit").then(async () => assert.fail(`${printed}\n${await complaint}`));
    ended.catch(() => undefined);
    const told = waitFor("the demo to go on", () => printed.includes(GOES_ON), { timeoutMs: 600_000 });
    await Promise.race([told, ended]);
  });
  after(() => demo?.kill("SIGKILL"));

  /** The lines to copy that begin so, in their order. */
  const lines = (beginning: string): string[] => {
    const all = printed.slice(printed.indexOf(GOES_ON)).split("\n");
    return all.filter((line) => line.startsWith(`  ${beginning}`)).map((line) => line.trim());
  };
  const only = (beginning: string): string => {
    const [line, ...others] = lines(beginning);
    assert.deepEqual(others, [], beginning);
    return line ?? assert.fail(`no line begins with ${beginning}`);
  };
  /** As typed in another terminal, from another folder, by a person who says yes. */
  const type = async (line: string): Promise<Outcome> =>
    await new Promise((resolve) => {
      const script = [only("cd "), only("export "), line].join("\n");
      const typed = execFile("bash", ["-c", script], { cwd: "/", env: environment() }, (error, out, err) =>
        resolve({ code: Number(error?.code ?? 0), output: out + err }),
      );
      typed.stdin?.end("y\n");
    });
  const succeeds = async (line: string, output = /(?:)/): Promise<void> => {
    const outcome = await type(line);
    assert.equal(outcome.code, 0, `${line}: ${outcome.output}`);
    assert.match(outcome.output, output);
  };

  test("names the page, and has nothing that the doctor would cure", async () => {
    assert.equal(only("hookpolicy ui"), "hookpolicy ui");
    let said = "";
    const protectedNow = waitFor("the Cluster to be protected", async () => {
      const { code, output } = await type(`${only("hookpolicy doctor")} --fail-on warning`);
      said = output;
      return code === 0;
    });
    await protectedNow.catch(() => assert.fail(said));
  });

  test("holds the deletion of a Cluster, says why, and releases it", async () => {
    const [held = ""] = lines("kubectl delete").filter((line) => line.endsWith("--wait=false"));
    await succeeds(held, /deleted/);
    await waitFor("it to be held", async () => {
      const { output } = await type(only("hookpolicy explain"));
      return output.startsWith(`Blocked: BeforeClusterDelete of Cluster ${CLUSTER}, asked since`);
    });
    const [approval = ""] = lines("hookpolicy approve").filter((line) => !line.includes("--hook"));
    await succeeds(`${approval} --yes`, /the Cluster proceeds/);
    await succeeds(only("kubectl wait"));
  });

  test("gives a new Cluster its parts, and refuses its deletion until that is approved", async () => {
    await succeeds(only("kubectl apply"), /created/);
    await waitFor("the providers", async () => {
      const { output } = await type("kubectl get clusters.cluster.x-k8s.io -A");
      return output.includes("Provisioned");
    });
    await succeeds(only("kubectl patch"), /patched/);
    const [refused = ""] = lines("kubectl delete").filter((line) => !line.endsWith("--wait=false"));
    await waitFor("the operator to know the policy", async () => {
      const { code } = await type(`${refused} --dry-run=server`);
      return code === 1;
    });
    const refusal = await type(refused);
    assert.equal(refusal.code, 1);
    assert.match(refusal.output, /admission webhook "clusters\.hookpolicy\.dev" denied the request/);
    const [approval = ""] = lines("hookpolicy approve").filter((line) => line.includes("--hook"));
    await succeeds(`${approval} --yes`, /set annotation/);
    await succeeds(refused, /deleted/);
  });

  test("upgrades a Cluster of one's own, with its nodes, once that is approved", async () => {
    const topology = `{ classRef: { name: lab, namespace: lab }, version: v1.34.0, workers: { machineDeployments: [{ class: lab-worker, name: md, replicas: 1 }] } }`;
    const objects = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: { name: own, namespace: default }
spec: { topology: ${topology} }
---
apiVersion: hookpolicy.dev/v1alpha1
kind: HookPolicy
metadata: { name: own, namespace: default }
spec:
  rules:
    - name: approved-upgrade
      hooks: [BeforeClusterUpgrade]
      until:
        - name: approved
          annotation: { key: hooks.example.com/approved-version, valueFrom: TargetVersion }
`;
    await succeeds(`kubectl apply -f - <<'EOF'\n${objects}EOF`, /own created/);
    const own = "clusters.cluster.x-k8s.io/own";
    await succeeds(`kubectl wait --for=condition=Available ${own} --timeout=300s`);
    await succeeds(`kubectl patch ${own} --type merge -p '{"spec":{"topology":{"version":"v1.35.0"}}}'`);
    const isHeld = async (): Promise<boolean> =>
      (await type("hookpolicy get -A")).output.includes("default/own");
    await waitFor("it to be held", isHeld, SLOW);
    await succeeds("hookpolicy approve own --yes", /the Cluster proceeds/);
    const versions = "kubectl get machines.cluster.x-k8s.io -o 'jsonpath={.items[*].spec.version}'";
    await waitFor("its machine to be new", async () => (await type(versions)).output === "v1.35.0", SLOW);
  });

  test("leaves nothing behind", async () => {
    const [, kubeconfig = ""] = /KUBECONFIG='([^']+)'/.exec(only("export ")) ?? [];
    assert.ok(existsSync(kubeconfig));
    const ended = once(demo, "exit");
    demo.kill("SIGINT");
    assert.deepEqual(await ended, [130, null]);
    assert.match(printed, /Stopped\. Nothing is left behind\.\n$/);
    assert.ok(!existsSync(dirname(kubeconfig)));
  });
});
