/** `hookpolicy get`, `approve` and `override` on a fleet whose Clusters really wait and really go on. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import test, { after, before, describe } from "node:test";
import { Ajv } from "ajv";
import type { GateSpec } from "../../src/api/hook-policy.ts";
import { type KubeObject, objectOf, type Ref } from "../controlplane/client.ts";
import { clusterRef, createCluster, deleteCluster } from "../controlplane/lab.ts";
import { onTerminal } from "../unit/cli/terminal/pseudo-terminal.ts";
import { hookpolicy, MAIN, type Outcome, outputSchema } from "../unit/cli/program.ts";
import {
  applyPolicy,
  approvalRule,
  APPROVED,
  clusterPolicyRef,
  policyRow,
  inSeconds,
  noRow,
  policyRef,
} from "../controlplane/policies.ts";
import { allow, createAccountWith } from "../controlplane/rights.ts";
import { isCreated, isNotCreated, sharedFleet } from "./fleet.ts";

const CREATE = "BeforeClusterCreate";
const DELETE = "BeforeClusterDelete";

const byUID: GateSpec = {
  name: "confirmed",
  annotation: { key: "example.com/uid", valueFrom: "ClusterUID" },
};

const fleet = await sharedFleet();
const { cp } = fleet;
after(async () => await cp.stop());
// The operator of these tests has no Lease, as one without --leader-elect; that of another operator says that one runs.
const LEASE = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  namespace: "default",
  name: "hookpolicy",
};
await cp.apply(objectOf(LEASE, { spec: { renewTime: "2100-01-01T00:00:00.000000Z" } }));

describe("what is held", () => {
  const run = async (...args: readonly string[]): Promise<Outcome> =>
    await hookpolicy([...args, "--kubeconfig", cp.adminKubeconfig]);

  async function jsonOf<T>(command: string, ...args: readonly string[]): Promise<T> {
    const { stdout, stderr } = await run(command, ...args, "-o", "json");
    const document: T = JSON.parse(stdout === "" ? `"${stderr}"` : stdout);
    const validate = new Ajv({ strict: true, allowUnionTypes: true, formats: { "date-time": true } }).compile(
      await outputSchema(command),
    );
    assert.ok(validate(document), JSON.stringify([validate.errors, document], null, 2));
    return document;
  }

  /** A Cluster that a policy "p" of the namespace holds before it is created. */
  async function held(namespace: string, until: GateSpec[] = [byUID]): Promise<Ref> {
    const ref = policyRef(namespace, "p");
    await applyPolicy(cp, ref, { rules: [{ ...approvalRule(CREATE), until }] });
    await createCluster(cp, { namespace, name: "c1" });
    await policyRow(cp, ref, "c1", CREATE);
    return ref;
  }

  const annotations = async (ref: Ref): Promise<Record<string, string>> =>
    (await cp.get(ref)).metadata.annotations ?? {};

  describe("is listed", { concurrency: true }, () => {
    test("by operation, by policy and by Cluster, of one namespace or of all", async () => {
      await held("listed");
      const { held: rows } = await jsonOf<{ held: Record<string, unknown>[] }>("get", "-n", "listed");
      assert.equal(rows.length, 1);
      const [row = {}] = rows;
      assert.deepEqual(
        [row["cluster"], row["hook"], row["rule"], row["gate"], row["verdict"], row["approvable"]],
        ["listed/c1", CREATE, "approval", "confirmed", "Blocked", true],
      );
      const all = await run("get", "-A");
      // Other files tear down Clusters of theirs at this time.
      assert.match(
        all.stdout,
        /^(?:ALARM: .*\n)*CLUSTER +HOOK +POLICY +RULE\/GATE +HELD +RELEASE +UNBLOCK\n/,
      );
      assert.match(
        all.stdout,
        /\nlisted\/c1 +BeforeClusterCreate +HookPolicy\/p +approval\/confirmed +\d+s +- +hookpolicy approve listed\/c1 --hook BeforeClusterCreate --kubeconfig \S+\n/,
      );
      const policies = await run("get", "-n", "listed", "--by", "policy");
      assert.match(policies.stdout, /\nHookPolicy listed\/p +1 +\d+s +-\n$/);
      const clusters = await run("get", "-n", "listed", "--by", "cluster");
      assert.match(clusters.stdout, /\nlisted\/c1 +BeforeClusterCreate +HookPolicy\/p +\d+s +-\n$/);
      const none = await run("get", "-n", "nothing-here");
      assert.deepEqual([none.code, none.stdout], [2, ""]);
      assert.match(none.stderr, /there is no Namespace nothing-here/);
    });

    test("as it changes, with a line for each change", async () => {
      const policy = await held("watched");
      const where = ["--kubeconfig", cp.adminKubeconfig];
      const args = [MAIN, "get", "-n", "watched", "-w", "-o", "json", ...where];
      const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
      const events: string[] = [];
      try {
        for await (const line of createInterface({ input: child.stdout })) {
          const { event, cluster } = JSON.parse(line) as { event: string; cluster: string };
          events.push(`${event} ${cluster}`);
          if (events.length === 1) await createCluster(cp, { namespace: "watched", name: "c2" });
          if (events.length === 2) await cp.delete(policy);
          if (events.length === 4) break;
        }
      } finally {
        child.kill();
      }
      assert.deepEqual(events, [
        "Held watched/c1",
        "Held watched/c2",
        "Released watched/c1",
        "Released watched/c2",
      ]);
    });
  });

  describe("is approved", { concurrency: true }, () => {
    test("with the value that the gate waits for, and then the Cluster goes on", async () => {
      await held("approved");
      const dry = await jsonOf<Report>("approve", "approved/c1", "--dry-run");
      const { uid = "" } = (await cp.get(clusterRef("approved", "c1"))).metadata;
      assert.deepEqual(
        dry.operations[0]?.approvals.map(({ on, field, key, value }) => [on, field, key, value]),
        [["Cluster", "annotation", "example.com/uid", uid]],
      );
      assert.deepEqual([dry.dryRun, dry.approved], [true, false]);
      await isNotCreated(cp, "approved", "c1");
      const { code, stdout, stderr } = await run("approve", "approved/c1", "--yes");
      assert.equal(code, 0, stderr);
      assert.match(
        stdout,
        /^BeforeClusterCreate of Cluster approved\/c1, held for \d+s\n {2}then +Cluster API creates its /,
      );
      assert.match(stdout, /\nset annotation example.com\/uid=\S+ on Cluster approved\/c1\n/);
      assert.match(stdout, /\nBeforeClusterCreate: the Cluster proceeds\n$/);
      await isCreated(cp, "approved", "c1");
      const again = await run("approve", "approved/c1");
      assert.deepEqual(again, { code: 0, stdout: "Cluster approved/c1 is not held\n", stderr: "" });
    });

    test("on the Namespace, where the gate looks there and the user names the mark", async () => {
      const until: GateSpec[] = [{ name: "team", annotation: { key: APPROVED, from: "Namespace" } }];
      await held("spacious", until);
      const unnamed = await run("approve", "spacious/c1", "-y");
      assert.equal(unnamed.code, 1);
      assert.match(unnamed.stdout, /not set: a HookPolicy names it/);
      const { code, stdout } = await run(
        "approve",
        "spacious/c1",
        "-y",
        "--namespace-mark",
        `${APPROVED}=true`,
      );
      assert.equal(code, 0);
      assert.match(stdout, /on Namespace spacious; this reaches every Cluster there\n/);
      const namespace = { apiVersion: "v1", kind: "Namespace", name: "spacious" };
      assert.equal((await annotations(namespace))[APPROVED], "true");
    });

    test("by a label, and by one gate of several", async () => {
      const until: GateSpec[] = [
        { name: "marked", label: { key: "example.com/go", value: "now" } },
        {
          name: "either",
          anyOf: [
            { name: "space", annotation: { key: APPROVED, from: "Namespace" } },
            { name: "cluster", annotation: { key: APPROVED } },
          ],
        },
      ];
      await held("several", until);
      const { code } = await run("approve", "several/c1", "-y");
      assert.equal(code, 0);
      const { metadata } = await cp.get(clusterRef("several", "c1"));
      assert.equal(metadata.labels?.["example.com/go"], "now");
      assert.equal(metadata.annotations?.[APPROVED], "true");
    });

    test("as far as that goes: a closed window holds it all the same, and says until when", async () => {
      const opens = inSeconds(7200);
      const until: GateSpec[] = [
        byUID,
        { name: "later", window: { allow: [{ from: opens, to: inSeconds(9000) }] } },
      ];
      await held("windowed", until);
      const { code, stdout, stderr } = await run("approve", "windowed/c1", "-y");
      assert.equal(code, 1);
      assert.match(
        stdout,
        new RegExp(
          `held by +HookPolicy windowed/p approval/later waits for [^\\n]+\\n +not before ${opens}\\n`,
        ),
      );
      assert.ok(stderr.endsWith(`\nerror: approved, but the Cluster is still held at ${CREATE}\n`), stderr);
      const left = await run("approve", "windowed/c1", "-y");
      assert.equal(left.code, 1);
      assert.equal(left.stderr, "error: no unmet gate can be approved\n");
    });

    test("before Cluster API asks, if the hook is named", async () => {
      const ref = policyRef("ahead", "p");
      await applyPolicy(cp, ref, { rules: [{ ...approvalRule(DELETE), until: [byUID] }] });
      await createCluster(cp, { namespace: "ahead", name: "c1" });
      await isCreated(cp, "ahead", "c1");
      assert.match((await run("approve", "ahead/c1")).stdout, /is not held\n/);
      const { code, stdout } = await run("approve", "ahead/c1", "--hook", DELETE, "-y");
      assert.equal(code, 0);
      assert.match(
        stdout,
        /, not asked for yet\n {2}then +Cluster API deletes the Cluster and its machines, once it wants to\n/,
      );
      await deleteCluster(cp, "ahead", "c1");
      const gone = async (): Promise<boolean> => (await cp.find(clusterRef("ahead", "c1"))) === undefined;
      await cp.waitFor("the Cluster to be gone", gone);
    });

    test("only by somebody who says so", async () => {
      await held("asked");
      const { code, stderr } = await run("approve", "asked/c1");
      assert.equal(code, 2);
      assert.match(stderr, /^server: .*\nerror: standard input is no terminal to ask on: confirm with --yes/);
      const none = await run("approve", "asked/c2");
      assert.deepEqual(
        [none.code, none.stderr],
        [2, "error: there is no Cluster asked/c2 (did you mean asked/c1?)\n"],
      );
      assert.deepEqual(
        await annotations(clusterRef("asked", "c1")).then((all) => all["example.com/uid"]),
        undefined,
      );
    });
  });

  describe("is asked about", { concurrency: true }, () => {
    const approve = (cluster: string): string[] => [
      MAIN,
      "approve",
      cluster,
      "--no-wait",
      "--kubeconfig",
      cp.adminKubeconfig,
    ];

    test("before it is approved: a yes sets what was shown, a no nothing", async () => {
      await held("prompted");
      const no = await onTerminal(approve("prompted/c1"), () => "n\r");
      assert.equal(no.code, 1);
      assert.match(no.seen, /\nerror: not confirmed: nothing was changed\r\n$/);
      assert.equal((await annotations(clusterRef("prompted", "c1")))["example.com/uid"], undefined);
      const yes = await onTerminal(approve("prompted/c1"), async () => {
        // Another write of the Cluster is no reason to ask again.
        await cp.patch(clusterRef("prompted", "c1"), { metadata: { labels: { other: "x" } } });
        return "y\r";
      });
      assert.equal(yes.code, 0, yes.seen);
      assert.match(yes.seen, /\nset annotation example.com\/uid=/);
      await isCreated(cp, "prompted", "c1");
    });

    test("and what has changed while the question stood is not approved", async () => {
      const policy = await held("raced");
      const { code, seen } = await onTerminal(approve("raced/c1"), async () => {
        const until = [{ name: "confirmed", annotation: { key: "example.com/uid", value: "other" } }];
        await applyPolicy(cp, policy, { rules: [{ ...approvalRule(CREATE), until }] });
        return "y\r";
      });
      assert.equal(code, 1);
      assert.match(seen, /\nerror: what holds the Cluster has changed meanwhile: look at it again\r\n$/);
      assert.equal((await annotations(clusterRef("raced", "c1")))["example.com/uid"], undefined);
      await isNotCreated(cp, "raced", "c1");
    });

    test("and what is let go on later is told, and that nobody asks while the Cluster is paused", async () => {
      const ref = policyRef("later", "p");
      await applyPolicy(cp, ref, { rules: [{ ...approvalRule(CREATE), hooks: [CREATE, DELETE] }] });
      await createCluster(cp, { namespace: "later", name: "c1" });
      await policyRow(cp, ref, "c1", CREATE);
      const dry = await run("approve", "later/c1", "--dry-run");
      assert.match(dry.stdout, /\nalso releases: BeforeClusterDelete, once Cluster API asks: deletes /);
      await cp.patch(clusterRef("later", "c1"), { spec: { paused: true } });
      const { code, stderr } = await run("approve", "later/c1", "-y");
      assert.equal(code, 1);
      const why = "Cluster API calls no hook for the Cluster while it is paused";
      assert.match(stderr, new RegExp(`^note: ${why}\\nserver: .*\\nerror: approved, but ${why}\\n$`));
    });
  });

  describe("is overridden", { concurrency: true }, () => {
    test("for a time, and the Cluster goes on", async () => {
      const policy = await held("broken-glass", [{ name: "never", expression: "false" }]);
      const wish = ["override", "broken-glass/c1", "--hook", CREATE, "--reason", "INC-1", "--for", "10m"];
      const dry = await run(...wish, "--dry-run");
      assert.equal(dry.code, 0);
      assert.match(dry.stderr, /\n {2}lifts +HookPolicy broken-glass\/p approval\n/);
      const [stored] = await cp.apply(dry.stdout);
      const { uid = "" } = (await cp.get(clusterRef("broken-glass", "c1"))).metadata;
      assert.deepEqual((stored as KubeObject)["spec"].clusterRef, {
        namespace: "broken-glass",
        name: "c1",
        uid,
      });
      await cp.delete({ ...stored, name: stored?.metadata.name } as unknown as Ref);
      const made = await run(...wish, "--yes");
      assert.equal(made.code, 0, made.stderr);
      assert.match(made.stdout, /^created HookOverride broken-glass-c1-\d{8}t\d{6}z: in force until \S+Z\n$/);
      await noRow(cp, policy, "c1", CREATE);
      await isCreated(cp, "broken-glass", "c1");
    });

    test("without effect, if the operator says so", async () => {
      await held("too-long");
      const wish = ["override", "too-long/c1", "--hook", CREATE, "--reason", "INC-3", "--for", "3h", "-y"];
      const { code, stdout, stderr } = await run(...wish);
      assert.equal(code, 1);
      assert.match(stdout, /^created HookOverride \S+: without effect: lasts longer than 2h [^\n]+\n$/);
      assert.match(stderr, /\nerror: it is not known to be in force\n$/);
      assert.match((await run("explain", "too-long/c1")).stdout, /^Blocked: BeforeClusterCreate /);
    });

    test("only of the policies that are named", async () => {
      await held("partly");
      const cluster = clusterPolicyRef("partly-all");
      await applyPolicy(cp, cluster, {
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "partly" } },
        rules: [approvalRule(CREATE)],
      });
      const wish = ["override", "partly/c1", "--hook", CREATE, "--reason", "INC-2", "--for", "5m"];
      const report = await jsonOf<OverrideReport>(
        ...(wish as [string]),
        "--policy",
        "partly-all",
        "--dry-run",
      );
      assert.deepEqual(report.override.spec.policyRefs, [{ kind: "ClusterHookPolicy", name: "partly-all" }]);
      assert.deepEqual(
        report.operations[0]?.stays.map(({ name }) => name),
        ["p"],
      );
      const wrong = await run(...wish, "--policy", "partly-al");
      assert.equal(wrong.code, 2);
      assert.match(wrong.stderr, /"partly-al" \(did you mean partly-all\?\)/);
    });
  });

  describe("for somebody with few rights", { concurrency: true }, () => {
    let kubeconfig: string;
    before(async () => {
      await held("tenant");
      await createAccountWith(cp, "tenant", "reader", {
        inNamespace: [
          allow("cluster.x-k8s.io", "clusters", "get", "list", "watch"),
          allow("hookpolicy.dev", "hookpolicies", "get", "list", "watch"),
        ],
      });
      kubeconfig = await cp.kubeconfigFor("tenant", "reader");
    });

    test("what may be read is told, with what may not", async () => {
      const listed = await hookpolicy(["get", "-n", "tenant", "--kubeconfig", kubeconfig]);
      assert.equal(listed.code, 0);
      assert.match(listed.stdout, /\ntenant\/c1 /);
      assert.match(
        listed.stderr,
        /^warning: you may not list clusterhookpolicies.hookpolicy.dev: [^\n]+\n(warning: [^\n]+\n)*$/,
      );
      const all = await hookpolicy(["get", "-A", "--kubeconfig", kubeconfig]);
      assert.equal(all.code, 2);
      assert.match(all.stderr, /^error: list hookpolicies.hookpolicy.dev: forbidden: [^\n]+\n$/);
    });

    test("what may not be written is told with its verb, and nothing is changed", async () => {
      const approve = await hookpolicy(["approve", "tenant/c1", "-y", "--kubeconfig", kubeconfig]);
      assert.equal(approve.code, 1);
      assert.match(
        approve.stderr,
        /\nerror: patch clusters.cluster.x-k8s.io tenant\/c1: forbidden: [^\n]+\n$/,
      );
      const wish = ["override", "tenant/c1", "--hook", CREATE, "--reason", "x", "--for", "1h", "-y"];
      const override = await hookpolicy([...wish, "--kubeconfig", kubeconfig]);
      assert.equal(override.code, 1);
      assert.match(
        override.stderr,
        /\nerror: create hookoverrides.hookpolicy.dev [^\n]+: forbidden: [^\n]+\n$/,
      );
    });

    test("an API server that is not there, or a kubeconfig, is told", async () => {
      const nowhere = await cp.kubeconfigFor("tenant", "reader", { server: "https://127.0.0.1:1" });
      const wish = ["--hook", CREATE, "--reason", "x", "--for", "1h"];
      for (const args of [["get"], ["approve", "tenant/c1"], ["override", "tenant/c1", ...wish]]) {
        const unreachable = await hookpolicy([...args, "--kubeconfig", nowhere]);
        assert.equal(unreachable.code, 2);
        assert.match(unreachable.stderr, /^error: [^\n]*connection refused[^\n]*\n$/);
        const missing = await hookpolicy([...args, "--kubeconfig", join(cp.folder, "none")]);
        assert.equal(missing.code, 2);
        assert.match(missing.stderr, /^error: kubeconfig \S+: no such file\n$/);
      }
    });
  });
});

interface Report {
  readonly operations: readonly {
    readonly approvals: readonly { readonly [field in "on" | "field" | "key" | "value"]: string }[];
  }[];
  readonly dryRun: boolean;
  readonly approved: boolean;
}

interface OverrideReport {
  readonly override: { readonly spec: { readonly policyRefs?: readonly object[] } };
  readonly operations: readonly { readonly stays: readonly { readonly name: string }[] }[];
}
