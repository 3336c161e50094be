import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { parse } from "yaml";
import { FLAGS } from "../../src/operator/options.ts";
import type { KubeObject } from "../controlplane/client.ts";
import { binding } from "../controlplane/rights.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { extensionRef } from "../controlplane/extension.ts";
import { clusterRef, createCluster, isGone } from "../controlplane/lab.ts";
import { policyRef, statusOf } from "../controlplane/policies.ts";
import { CLUSTER, type HeldCluster, policiesOf, startHeldCluster, TEAM, WHY } from "./held-cluster.ts";
import { blocksOf, commandsOf, ROOT, spansOf } from "./pages.ts";

/**
 * What is typed there is typed by test/unit/cli-docs.test.ts, by break-glass.test.ts, certificates.test.ts,
 * uninstall.test.ts, install/docs.test.ts and install/clusterctl-move.test.ts beside this, by test/apiserver/monitoring, and by
 * cluster-admission.test.ts, test/apiserver/ui.test.ts and test/apiserver/cli-tasks.test.ts.
 */
const PAGES_OF_OTHERS = [
  "docs/admission.md",
  "docs/ui.md",
  "docs/break-glass.md",
  "docs/cli.md",
  "docs/gitops.md",
  "docs/certificates.md",
  "docs/runbook.md",
  "docs/install.md",
  "docs/releasing.md",
  "docs/uninstall.md",
  "docs/upgrade.md",
  "docs/permissions.md",
  "docs/metrics.md",
  "docs/move-and-restore.md",
  "docs/tasks.md",
];
const PAGES = ["README.md", ...readdirSync(join(ROOT, "docs")).map((name) => `docs/${name}`)].filter(
  (name) => name.endsWith(".md") && !PAGES_OF_OTHERS.includes(name),
);
const FINALIZER = "hookpolicy.dev/hold-clusters";
const ROLLOUT = {
  apiVersion: "hookpolicy.dev/v1alpha1",
  kind: "HookRollout",
  metadata: { name: "upgrades" },
  spec: { operation: "Upgrade", namespaceSelector: {}, progressDeadline: "6h" },
};

const BLOCKS = PAGES.flatMap(blocksOf);
const COMMANDS = new Set(PAGES.flatMap(commandsOf));
const CODE = [...PAGES.flatMap(spansOf), ...BLOCKS.map(({ text }) => text)];
const FLAGS_OF_FLUX = /^--(?:default-service-account|no-cross-namespace-refs)=/;

describe("the docs", () => {
  test("name targets of the Makefile", () => {
    const makefile = readFileSync(join(ROOT, "Makefile"), "utf8");
    const named = CODE.flatMap((code) => [...code.matchAll(/\bmake ([a-z-]+)/g)].map(([, name]) => name));
    assert.ok(named.length > 0);
    for (const name of named) assert.match(makefile, new RegExp(`^${name}:`, "m"));
  });

  test("name flags that hookpolicy has", () => {
    const ours = CODE.filter(
      (code) => !/\b(?:kubectl|node|hookpolicy (?!run\b)[a-z-]+) /.test(code) && !FLAGS_OF_FLUX.test(code),
    );
    const named = ours.flatMap((code) =>
      [...code.matchAll(/(?<![\w-])--([a-z][a-z-]*)/g)].map(([, name]) => name),
    );
    assert.ok(named.length > 0);
    for (const name of named) assert.ok(name === "help" || Object.hasOwn(FLAGS, name ?? ""), `--${name}`);
  });
});

describe("what the docs say", () => {
  let scene: HeldCluster;
  let cp: ControlPlane;
  before(async () => {
    scene = await startHeldCluster();
    ({ cp } = scene);
  });
  after(async () => await scene?.cp.stop());

  const sh = async (command: string): Promise<string> => await scene.sh(command);
  const held = async (policy: string): Promise<void> => await scene.held(policy);
  const gone = async (): Promise<void> => await scene.gone();

  const prints = (wanted: RegExp) => async (command: string) => {
    await heldAlready();
    assert.match(await sh(command), wanted);
  };

  /** With the rights that docs/tenants.md leaves to tenants. */
  async function isNotAllowed(command: string): Promise<void> {
    const [as = "", name = ""] = /--as=(\S+)/.exec(command) ?? [];
    const role = { kind: "ClusterRole", name: "hookpolicy-edit" } as const;
    await cp.apply(binding({ namespace: TEAM, name: "tenant" }, role, { kind: "User", name }));
    await cp.waitFor("the binding to count", async () => {
      return (await sh(`kubectl auth can-i update hookpolicies -n team-a ${as}`)) === "yes\n";
    });
    assert.equal(await sh(`${command} || test $? = 1`), "no\n");
  }

  async function annotatesNamespace(command: string): Promise<void> {
    assert.match(await sh(command), /^namespace\/team-a annotated$/m);
  }

  async function heldAlready(): Promise<void> {
    const policy = await cp.find(policyRef(TEAM, "protect-production"));
    const cluster = await cp.find(clusterRef(TEAM, CLUSTER));
    if (policy === undefined || cluster === undefined || statusOf(policy).blocked !== 1)
      await held("protect-production");
  }

  /** The command in brackets of the Cluster's message. */
  async function remedy(): Promise<string> {
    const [, command] = /\((kubectl annotate [^)]+)\)/.exec(await sh(WHY)) ?? [];
    assert.ok(command, "the message says how to let it go");
    return command;
  }

  const PAUSE = `kubectl patch hookrollout upgrades --type merge -p '{"metadata":{"annotations":{"hookpolicy.dev/pause-reason":"change freeze, INC-1234"}},"spec":{"paused":true}}'`;
  const SELECT_ALL = `kubectl patch extensionconfig hookpolicy --type merge -p '{"spec":{"namespaceSelector":null}}'`;

  /** Every command of the docs, in an order that makes few scenes. */
  const KNOWN: Readonly<Record<string, (command: string) => Promise<void>>> = {
    [WHY]: prints(/HookPolicy team-a\/protect-production, rule confirmed-delete.*kubectl annotate /),
    "kubectl get hookpolicy -n team-a": prints(/^protect-production +True +Enforce +1 +1 /m),
    "kubectl explain hookpolicy.spec --recursive": prints(/^ +matchConditions\t/m),
    "kubectl get hookpolicy,clusterhookpolicy -A -o wide": prints(/^team-a .*\/protect-production +True /m),
    // In earnest, with the shipped Service: test/capi/doctor.test.ts.
    "kubectl apply -f manifests/extensionconfig.yaml": async (command) => {
      assert.match(await sh(`${command} --dry-run=client`), /extensionconfig.*hookpolicy configured/);
    },
    [SELECT_ALL]: prints(/patched/),
    "kubectl annotate extensionconfig hookpolicy --overwrite hookpolicy.dev/discover=$(date +%s)":
      prints(/annotated/),
    "kubectl describe clusters.cluster.x-k8s.io -n team-a prod-1": prints(/^Events:\n(?: .*\n)*.* Held /m),
    "kubectl describe hookpolicy -n team-a protect-production": prints(/^Events:\n(?: .*\n)*.* Held /m),
    "kubectl get events -A --field-selector reason=Held": prints(/^team-a .* Held .*prod-1/m),
    "kubectl get hookrollout": async (command) => {
      await cp.apply(ROLLOUT);
      const shown =
        /^NAME +READY +MODE +OPERATION +TARGET +STAGE +RUNNING .*\nupgrades +True +Enforce +Upgrade /;
      await cp.waitFor("the rollout to be Ready", async () => shown.test(await sh(command)));
    },
    // In earnest: test/capi/rollouts.test.ts.
    "hookpolicy rollout status upgrades": prints(/^HookRollout upgrades \(Upgrade\): /),
    'hookpolicy rollout pause upgrades --reason "change freeze, INC-1234"': prints(
      /^paused HookRollout upgrades: /,
    ),
    "hookpolicy rollout resume upgrades": prints(/^resumed HookRollout upgrades$/m),
    [PAUSE]: async (command) => {
      assert.match(await sh(command), /patched$/m);
      assert.match(await sh("hookpolicy rollout status upgrades"), /paused.*change freeze, INC-1234/i);
      await sh("hookpolicy rollout resume upgrades");
    },
    // No rollout holds the upgrade of a Cluster that is being deleted, as team-a/prod-1 is here.
    'hookpolicy override team-a/prod-1 --hook BeforeClusterUpgrade --policy HookRollout/upgrades --for 1h --reason "INC-1234"':
      async (command) => {
        await cp.apply(ROLLOUT);
        await createCluster(cp, { namespace: "rolled-out", name: "prod-1" });
        assert.match(
          await sh(`${command.replace("team-a", "rolled-out")} --dry-run`),
          /^ +policyRefs:\n +- kind: HookRollout\n +name: upgrades$/m,
        );
      },
    "kubectl get lease -n hookpolicy-system hookpolicy": prints(/^hookpolicy +\S/m),
    "kubectl delete cluster -n team-a prod-1": async (command) => {
      await heldAlready();
      const deletion = sh(command); // it waits until the Cluster is gone
      assert.equal(await Promise.race([deletion, sh("sleep 3; echo waits")]), "waits\n");
      await sh(await remedy());
      assert.match(await deletion, /deleted/);
    },
    "kubectl delete cluster -n team-a prod-1 --cascade=foreground": async (command) => {
      await heldAlready();
      await assert.rejects(sh(command), /Cluster team-a\/prod-1 cannot be deleted in the foreground: /);
    },
    "kubectl delete clusters.cluster.x-k8s.io -n team-a prod-1 --cascade=background": async (command) => {
      await heldAlready();
      assert.match(await sh(`${command} --wait=false`), /deleted/);
    },
    "kubectl get clusters.cluster.x-k8s.io -n team-a prod-1 -o yaml": prints(/^ +deletionTimestamp: /m),
    "kubectl label namespace team-a hookpolicy.dev/foreground-deletion=allowed": async (command) => {
      assert.match(await sh(command), /labeled/);
      await sh(command.replace(/=allowed$/, "-"));
    },
    "kubectl annotate …": async () => {
      await heldAlready();
      assert.match(await sh(await remedy()), /annotated/);
      await gone();
    },
    "hookpolicy explain team-a/prod-1": prints(
      /^Blocked: BeforeClusterDelete of .*\n( +note .*\n)? +run +hookpolicy approve team-a\/prod-1 --hook BeforeClusterDelete/,
    ),
    "hookpolicy get -n team-a": prints(/^team-a\/prod-1 .* hookpolicy approve team-a\/prod-1 /m),
    "hookpolicy doctor": async (command) => {
      // There is no Deployment here; all its findings: test/capi/doctor.test.ts.
      assert.match(await sh(`${command} || test $? = 1`), /^error +operator .*\n +→ /m);
    },
    "hookpolicy approve team-a/prod-1": async (command) => {
      await heldAlready();
      await sh(`${command} --yes`);
      await gone();
    },
    "kubectl annotate namespace team-a hooks.example.com/change-approved=CHG-1234": annotatesNamespace,
    "kubectl annotate namespace team-a hooks.example.com/change-approved-": annotatesNamespace,
    "kubectl auth can-i update clusterhookpolicies --as=anna": isNotAllowed,
    "kubectl auth can-i create hookoverrides --as=anna": isNotAllowed,
    "kubectl auth can-i create hookoverrides --as=system:serviceaccount:team-a:applier": isNotAllowed,
    "kubectl auth can-i update namespaces --as=anna": isNotAllowed,
    "kubectl auth can-i update extensionconfigs --as=anna": isNotAllowed,
    "kubectl auth can-i delete machines -n team-a --as=anna": isNotAllowed,
    // In earnest, from what `make release` has made: test/install/docs.test.ts.
    "kubectl apply -f dist/release/hookpolicy.yaml": async (command) => {
      const rendered = command.replace("-f dist/release/hookpolicy.yaml", "--dry-run=client -k manifests");
      assert.match(await sh(rendered), /^deployment.apps\/hookpolicy created \(dry run\)$/m);
    },
    "kubectl events -n team-a --for hookpolicy/protect-production": async (command) => {
      const nowhere = { matchLabels: { no: "such-namespace" } };
      await cp.patch(extensionRef("hookpolicy"), { spec: { namespaceSelector: nowhere } });
      await cp.waitFor("the Event", async () =>
        / NotCalled .* HookPolicy\/protect-production /.test(await sh(command)),
      );
      await sh(SELECT_ALL);
    },
    "kubectl get hookpolicy -n team-a protect -o yaml": async (command) => {
      await held("protect");
      assert.match(await sh(command), new RegExp(`finalizers:\n +- ${FINALIZER}\n`));
    },
    [`kubectl patch hookpolicy -n team-a protect --type merge -p '{"metadata":{"finalizers":null}}'`]: async (
      command,
    ) => {
      await scene.kill();
      await cp.delete(policyRef(TEAM, "protect"));
      const { metadata } = await cp.get(policyRef(TEAM, "protect"));
      assert.deepEqual(metadata.finalizers, [FINALIZER]);
      await sh(command);
      assert.deepEqual(await policiesOf(cp), []);
      await scene.serving(); // without the policy nothing holds the Cluster
      await gone();
    },
    [`kubectl get namespace team-a -o jsonpath='{.status.conditions[?(@.type=="NamespaceFinalizersRemaining")].message}'`]:
      async (command) => {
        await held("protect-production");
        await sh("kubectl delete namespace team-a --wait=false");
        await cp.waitFor("the namespace to say why it stays", async () =>
          (await sh(command)).includes(FINALIZER),
        );
        await sh("hookpolicy approve team-a/prod-1 --yes");
        await isGone(cp, { apiVersion: "v1", kind: "Namespace", name: TEAM });
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
    assert.deepEqual(unknown, [], "new in the docs: add it to KNOWN in test/capi/docs.test.ts");
    const stale = Object.keys(KNOWN).filter((command) => !COMMANDS.has(command));
    assert.deepEqual(stale, [], "not in the docs any more: remove it from KNOWN");
  });

  for (const [command, proof] of Object.entries(KNOWN)) {
    test(command, async () => await proof(command));
  }
});
