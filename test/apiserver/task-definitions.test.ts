/** Tasks where the CRDs are older than the operator: it holds, and says what to apply. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { parse } from "yaml";
import type { KubeObject } from "../controlplane/client.ts";
import { conditionIs, policyRef } from "../controlplane/policies.ts";
import { jobTask, openJob, taskIs, tasksIn } from "../controlplane/tasks.ts";
import { hookpolicy } from "../unit/cli/resident.ts";
import { HOOK_POLICY_DEFINITION, removeDefinition } from "./operator-lab.ts";
import { startTaskLab } from "./task-lab.ts";

const CRDS = join(import.meta.dirname, "../../crds");
const definitions = new Map(
  globSync("hookpolicy.dev_*.yaml", { cwd: CRDS })
    .map((file): KubeObject => parse(readFileSync(join(CRDS, file), "utf8"), { version: "1.1" }))
    .map((crd) => [String(crd["spec"].names.kind), crd]),
);

const { lab, cp, tasks } = await startTaskLab();
after(async () => await lab.stop());

describe("an operator that is newer than the CRDs of tasks", () => {
  type Properties = Record<"spec" | "status", Schema>;
  interface Schema {
    properties: Record<string, Schema>;
    items?: Schema;
    required?: string[];
    "x-kubernetes-validations"?: unknown;
  }

  /** As an earlier version shipped it. */
  async function install(kind: string, change: (root: Properties) => void = () => undefined): Promise<void> {
    const crd = structuredClone(definitions.get(kind) ?? assert.fail(`there is no ${kind}`));
    change(crd["spec"].versions[0].schema.openAPIV3Schema.properties);
    await cp.apply(crd);
  }
  /** Until the API server has the older definition in force. */
  async function lacks(kind: string, field: string): Promise<void> {
    const path = "/openapi/v3/apis/hookpolicy.dev/v1alpha1";
    await cp.waitFor("the API server to serve it", async () => {
      const { components } = await cp.request<{ components: { schemas: object } }>("GET", path);
      const schemas = new Map<string, unknown>(Object.entries(components.schemas));
      return !JSON.stringify(schemas.get(`dev.hookpolicy.v1alpha1.${kind}`)).includes(`"${field}"`);
    });
  }
  const withoutHash = ({ spec, status }: Properties): void => {
    delete spec.properties["renderedHash"];
    spec.required = spec.required?.filter((name) => name !== "renderedHash") ?? [];
    delete status.properties["altered"];
  };
  const withoutTasks = ({ spec }: Properties): void => {
    delete spec.properties["rules"]?.items?.properties["tasks"];
    delete spec["x-kubernetes-validations"];
  };
  async function doctor(): Promise<string> {
    const { stdout } = await hookpolicy(["doctor", "--kubeconfig", cp.adminKubeconfig]);
    return stdout;
  }

  test("stores no HookTask whose change would not show, holds, and goes on when the CRD is there", async () => {
    const ns = "older-hooktask";
    await install("HookTask", withoutHash);
    await lacks("HookTask", "renderedHash");
    await tasks.policy(ns, { tasks: [jobTask("clean")] });
    await tasks.deletedCluster(ns);
    await cp.waitFor("an Event to say so", async () => {
      await tasks.isHeld(ns, /task clean cannot begin: its HookTask cannot be stored/);
      return (await cp.list({ apiVersion: "events.k8s.io/v1", kind: "Event", namespace: ns })).some(
        ({ reason, note }) =>
          reason === "TaskNotBegun" &&
          /unknown field \\?"spec.renderedHash.*; the CRD is older than the operator/.test(note),
      );
    });
    assert.deepEqual(await tasksIn(cp, ns), []);
    assert.match(
      await doctor(),
      /hooktasks\.hookpolicy\.dev is older than this program: it lacks spec\.renderedHash/,
    );
    await install("HookTask");
    await tasks.asksUntilStored(ns);
    await openJob(cp, ns);
  });

  test("trusts no HookTask while the CRD hides its hash, and trusts it again after that", async () => {
    const ns = "hidden-hash";
    await tasks.begins(ns, { tasks: [jobTask("clean")] });
    await openJob(cp, ns);
    await install("HookTask", withoutHash);
    await cp.waitFor("the API server to drop the hash", async () =>
      (await tasksIn(cp, ns)).every(({ spec }) => !("renderedHash" in spec)),
    );
    // The operator marks it, and only the older CRD drops that: a write that is late would not be dropped.
    lab.proxy.failAll(503, /\/hooktasks\/.*\/status/);
    await lab.start();
    await tasks.isHeld(ns, /task clean cannot be trusted/);
    await install("HookTask");
    await tasks.isHeld(ns, /task clean runs/);
    lab.proxy.resume();
    assert.equal((await taskIs(cp, ns, "Running")).status?.altered, undefined);
  });

  test("says at its start that the CRDs of policies drop tasks", async () => {
    await install("HookPolicy", withoutTasks);
    await lacks("HookPolicy", "tasks");
    const { daemon } = await lab.start();
    await cp.waitFor("a line in its log", async () => {
      return await Promise.resolve(
        /older than this operator.*HookPolicy lacks spec\.rules\[\]\.tasks/.test(daemon.log()),
      );
    });
    assert.match(
      await doctor(),
      /hookpolicies\.hookpolicy\.dev is older than this program: it lacks spec\.rules\[\]\.tasks/,
    );
    await install("HookPolicy");
  });

  test("holds and says so in the policy's condition while there is no CRD of HookTasks", async () => {
    const ns = "no-hooktasks";
    const policy = policyRef(ns, "p");
    await tasks.policy(ns, { tasks: [jobTask("clean")] });
    await conditionIs(cp, policy, "Ready", "Loaded");
    await removeDefinition(cp, { ...HOOK_POLICY_DEFINITION, name: "hooktasks.hookpolicy.dev" });
    const { message } = await conditionIs(cp, policy, "Ready", "HookTasksNotInstalled");
    assert.match(message, /apply the CRDs/);
    await tasks.deletedCluster(ns);
    await tasks.isHeld(ns, /its HookTasks are not known/);
    assert.match(
      await doctor(),
      /there is no CustomResourceDefinition of HookTask.*\n.*kubectl apply --server-side/,
    );
    await install("HookTask");
    await conditionIs(cp, policy, "Ready", "Loaded");
    await tasks.asksUntilStored(ns);
  });
});
