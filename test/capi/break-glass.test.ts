/** docs/break-glass.md, step by step: each lets a Cluster go that waited before, and each undo makes another one wait. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { promisify } from "node:util";
import { PENDING_HOOKS_ANNOTATION } from "../../src/api/meta.ts";
import { clusterWebhook } from "../controlplane/cluster-webhook.ts";
import { extensionRef } from "../controlplane/extension.ts";
import {
  clusterRef,
  createCluster,
  FIRST_VERSION,
  provision,
  upgrade,
  waitUntilGone,
} from "../controlplane/lab.ts";
import { environment } from "../controlplane/processes.ts";
import {
  applyPolicy,
  approvalRule,
  conditionIs,
  policyRow,
  noRow,
  policyIsReady,
  policyRef,
} from "../controlplane/policies.ts";
import { CLUSTER, HOOK, holdAnother, policiesOf, startHeldCluster, TEAM } from "./held-cluster.ts";
import { commandsOf, textOf } from "./pages.ts";

const run = promisify(execFile);

const PAGE = "docs/break-glass.md";
const POLICY = policyRef(TEAM, "protect");

/** Commands by the title of their section; the page begins with "". */
const SECTIONS = new Map(
  textOf(PAGE)
    .split(/^## /m)
    .map((text, index) => {
      const title = index === 0 ? "" : text.slice(0, text.indexOf("\n"));
      const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block.trimEnd());
      return [title, blocks.flatMap((block) => block.split("\n"))];
    }),
);
const typed = new Set<string>();

/** What the section has a reader type. */
function commands(title: string): readonly string[] {
  const found = SECTIONS.get(title) ?? assert.fail(`${PAGE} has no section "${title}"`);
  for (const each of found) typed.add(each);
  return found;
}

/** The only one of its section. */
function command(title: string): string {
  const [first = "", ...others] = commands(title);
  assert.deepEqual(others, [], title);
  return first;
}

/** What the page names between its sentences. */
function inText(name: string): string {
  typed.add(name);
  return name;
}

/** As a member of the group to which the page binds the role for emergencies. */
function inEmergency(line: string): string {
  return line.replaceAll(
    "kubectl ",
    "kubectl --as=emma --as-group=emergency --as-group=system:authenticated ",
  );
}

/** As the process was started. */
function argvOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
}

const scene = await startHeldCluster();
after(async () => await scene.cp.stop());

describe("break-glass", () => {
  const approve = async (): Promise<string> => await scene.sh(`${command("1. Approve")} --yes`);

  /** Protection is back: the next Cluster waits. */
  async function anotherWaits(): Promise<void> {
    await holdAnother(scene.cp, POLICY.name);
    await approve();
    await scene.gone();
  }

  /** Without its policy it refuses nothing: with it, Cluster API, an administrator here, could not work. */
  async function liftBinding(name: string): Promise<void> {
    await scene.cp.apply({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name },
      spec: { policyName: name, validationActions: ["Deny"] },
    });
    await scene.sh(inEmergency(inText(`kubectl delete validatingadmissionpolicybinding ${name}`)));
  }

  test("before it is needed, the role for emergencies is bound", async () => {
    assert.match(
      await scene.sh(command("Before you need this page")),
      /^clusterrolebinding\S*\/hookpolicy-emergency created$/m,
    );
  });

  test("begins with what holds the Cluster", async () => {
    await scene.held(POLICY.name);
    const text = await scene.sh(command(""));
    assert.match(
      text,
      new RegExp(
        `^Blocked: ${HOOK} of Cluster ${TEAM}/${CLUSTER}, asked since .*\\n( +note .*\\n)? +run +hookpolicy approve `,
      ),
    );
  });

  test("1: approved, that Cluster goes", async () => {
    await approve();
    await scene.gone();
  });

  test("before: an upgrade that nobody wants any more can be taken back", async () => {
    const { cp, sh, gone, enforced } = scene;
    await enforced("protect");
    const upgrades = policyRef(TEAM, "upgrades");
    await applyPolicy(cp, upgrades, { rules: [approvalRule("BeforeClusterUpgrade")] });
    await createCluster(cp, { namespace: TEAM, name: CLUSTER });
    await provision(cp, TEAM, CLUSTER);
    await upgrade(cp, TEAM, CLUSTER);
    await policyRow(cp, upgrades, CLUSTER, "BeforeClusterUpgrade");
    const [lower = "", forbid = ""] = commands("Before: is the upgrade still wanted?");
    assert.match(lower, new RegExp(`"${FIRST_VERSION}"`));
    const unmarked = lower.replace(/"metadata":.*,(?="spec")/, "");
    await assert.rejects(sh(unmarked), /version cannot be decreased/);
    for (const each of [lower, forbid]) await sh(each);
    await noRow(cp, upgrades, CLUSTER, "BeforeClusterUpgrade");
    const { metadata } = await cp.get(clusterRef(TEAM, CLUSTER));
    assert.deepEqual(
      Object.keys(metadata.annotations ?? {}).filter((key) => key.includes("unsafe")),
      [],
    );
    await cp.delete(clusterRef(TEAM, CLUSTER));
    await gone();
  });

  test("2: overridden, this Cluster goes, and no other of its name", async () => {
    const { sh, held, gone } = scene;
    await held(POLICY.name);
    assert.match(await sh(`${command("2. Override")} --yes`), /in force until/);
    assert.match(await sh(inText("kubectl get hookoverrides")), new RegExp(`${TEAM} +${CLUSTER} +True`));
    await gone();
    await anotherWaits();
  });

  test("3: the policy observes only, until it enforces again", async () => {
    const { cp, sh, held, gone } = scene;
    await held(POLICY.name);
    const [observe = "", enforce = ""] = commands("3. Let the policy observe only");
    await sh(observe);
    const modes = inText("kubectl get hookpolicy,clusterhookpolicy -A");
    const audits = new RegExp(`/${POLICY.name} +True +Audit `);
    await cp.waitFor("the status to say so", async () => audits.test(await sh(modes)));
    await gone();
    await sh(enforce);
    await policyIsReady(cp, await cp.get(POLICY));
    await anotherWaits();
  });

  test("4: without the policy it goes, and with it again the next one waits", async () => {
    await scene.held(POLICY.name);
    await liftBinding("hookpolicy-keep-policies"); // in earnest: test/apiserver/keep-policies.test.ts
    await scene.sh(command("4. Delete the policy"));
    await scene.gone();
    await scene.enforced(POLICY.name);
    await anotherWaits();
  });

  test("5: marked, it goes without the operator", async () => {
    await scene.held(POLICY.name);
    await scene.kill();
    await scene.sh(command("5. Mark the Cluster"));
    await scene.gone();
  });

  test("6: a namespace is left out, until all are selected again", async () => {
    const { cp, sh, held, gone } = scene;
    await held(POLICY.name);
    const [leaveOut = "", select = ""] = commands("6. Leave a namespace out");
    await sh(leaveOut);
    await conditionIs(cp, POLICY, "NotCalled", "NamespaceNotSelected");
    await gone();
    await sh(select);
    await cp.waitFor("the policy to be called again", async () => {
      const { status } = await cp.get(POLICY);
      return status.conditions.every(({ type }: { type: string }) => type !== "NotCalled");
    });
    await anotherWaits();
  });

  test("before: a request that the webhook of Clusters refuses is stored without the webhook", async () => {
    const { cp, sh, gone } = scene;
    await scene.enforced("protect");
    await cp.apply(await clusterWebhook(scene.admissionPort, cp.authority.caBundle));
    await createCluster(cp, { namespace: TEAM, name: CLUSTER, labels: { tier: "production" } });
    // Before Cluster API has put its finalizer there, which the webhook of a dead operator refuses, the Cluster just goes.
    await provision(cp, TEAM, CLUSTER);
    await scene.kill();
    const remove = `kubectl delete clusters.cluster.x-k8s.io -n ${TEAM} ${CLUSTER} --wait=false`;
    const refused = async (): Promise<boolean> =>
      await sh(`${remove} --dry-run=server`).then(
        () => false,
        (error: unknown) => String(error).includes('failed calling webhook "clusters.hookpolicy.dev"'),
      );
    await cp.waitFor("the API server to call the webhook", refused);
    await sh(inEmergency(command("Before: is the request refused?")));
    await cp.waitFor("the API server to call it no longer", async () => !(await refused()));
    await sh(remove);
    await scene.serving();
    await policyRow(cp, POLICY, CLUSTER, HOOK);
    await approve();
    await gone();
  });

  test("7: unregistered without the operator, what is not paused goes, and Cluster API's manager runs again", async () => {
    const { cp, capi, sh, held, gone } = scene;
    await held(POLICY.name);
    await holdAnother(cp, POLICY.name, "prod-2");
    await applyPolicy(cp, policyRef(TEAM, "upgrades"), { rules: [approvalRule("BeforeClusterUpgrade")] });
    for (const name of ["prod-3", "prod-4", "at-rest"]) {
      await createCluster(cp, { namespace: TEAM, name });
      await provision(cp, TEAM, name);
    }
    await upgrade(cp, TEAM, "prod-3");
    await policyRow(cp, policyRef(TEAM, "upgrades"), "prod-3", "BeforeClusterUpgrade");
    const file = join(cp.folder, "goes.txt");
    const here = commands("7. Unregister").map((each) => each.replaceAll("goes.txt", file));
    const [list = "", pause = "", unregister = "", register = "", discovered = "", resume = ""] = here;
    await cp.waitFor(
      "the others to be as they should be, with no hook that is still to be called",
      async () => {
        const others = await Promise.all(
          ["prod-4", "at-rest"].map(async (name) => cp.get(clusterRef(TEAM, name))),
        );
        if (others.some(({ metadata }) => metadata.annotations?.[PENDING_HOOKS_ANNOTATION] !== undefined))
          return false;
        return !/prod-4|at-rest/.test(await sh(list));
      },
    );
    await scene.kill();
    const [manager = "", ...args] = argvOf(capi.daemon().pid);
    await capi.stop();
    let isPaused = false;
    const options = { env: environment(), timeout: 180_000, maxBuffer: 64 * 1024 * 1024 };
    /** It ends after a minute, in which a busy machine may not have paused what it has to. */
    const warmUp = async (more: number): Promise<unknown> =>
      await run(manager, args, options).catch(async (error: unknown) => {
        if (isPaused || more === 0) throw error;
        return await warmUp(more - 1);
      });
    const started = warmUp(3);
    started.catch(() => undefined); // it is looked at later
    const whileItWarmsUp = async (what: string, attempt: () => Promise<unknown>): Promise<void> => {
      await cp.waitFor(`${what}, once Cluster API's webhook answers`, async () =>
        attempt().then(
          () => true,
          () => false,
        ),
      );
    };
    await whileItWarmsUp("a request that Cluster API does not act on", () => upgrade(cp, TEAM, "prod-4"));
    const goes = (await sh(inEmergency(list))).split("\n").filter((line) => line !== "");
    const names = goes.map((line) => line.split(/ +/)[1] ?? "").toSorted();
    assert.deepEqual(names, [CLUSTER, "prod-2", "prod-3", "prod-4"]);
    await writeFile(
      file,
      goes.filter((line) => /prod-[24]/.test(line)).map((line) => `${line}\n`),
    );
    await whileItWarmsUp("the pause", () => sh(`set -o pipefail; ${inEmergency(pause)}`));
    isPaused = true;
    // Its last attempt may end by its own time limit, and then say that.
    await assert.rejects(started, /failed to discover extension \W+hookpolicy[^]*registry warmup timed out/);
    await liftBinding("hookpolicy-protect-marks");
    await sh(inEmergency(unregister));
    await capi.start();
    await gone();
    await cp.waitFor("the upgrade to begin", async () => {
      const { metadata } = await cp.get(clusterRef(TEAM, "prod-3"));
      return metadata.annotations?.[PENDING_HOOKS_ANNOTATION]?.includes("AfterClusterUpgrade");
    });
    assert.equal(await cp.find(extensionRef("hookpolicy")), undefined);
    // The Service that it names is not here.
    assert.match(await sh(`${register} --dry-run=server`), /extensionconfig.*hookpolicy created/);
    await scene.serving();
    await sh(inEmergency(discovered));
    await sh(inEmergency(resume));
    await policyRow(cp, policyRef(TEAM, "upgrades"), "prod-4", "BeforeClusterUpgrade");
    await sh(`hookpolicy approve ${TEAM}/prod-2 --yes`);
    await waitUntilGone(cp, TEAM, "prod-2");
    await anotherWaits();
  });

  test("8: removed, it goes; the policy stays, without a finalizer, and holds again", async () => {
    const { cp, sh, held, gone, serving } = scene;
    await held(POLICY.name);
    await scene.kill(); // there is no Deployment that could be scaled down
    await sh(`${command("8. Remove HookPolicy")} --yes --release-held-clusters`);
    await gone();
    const [left] = await policiesOf(cp);
    assert.deepEqual(left?.metadata.finalizers ?? [], []);
    await serving();
    await anotherWaits();
  });

  test("afterwards doctor looks at everything", async () => {
    const report = await scene.sh(`${command("Afterwards")} || true`);
    assert.match(report, /^STATE +CHECK +FOUND\n/);
    assert.match(report, /^ok +overrides +active only for Clusters that are gone: /m);
  });

  test("has nothing to type that was not typed here", () => {
    assert.deepEqual(
      [...new Set(commandsOf(PAGE))].filter((each) => !typed.has(each)),
      [],
    );
  });
});
