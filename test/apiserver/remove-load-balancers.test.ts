/** The script of docs/recipes/remove-load-balancers.md, by the real kubectl. The test is the controllers and the CSI driver. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";
import { blocksOf } from "../capi/recipe-pages.ts";
import { controlPlaneBinaries } from "../controlplane/binaries.ts";
import { objectOf, type Ref } from "../controlplane/client.ts";
import { startControlPlane } from "../controlplane/control-plane.ts";
import { environment } from "../controlplane/processes.ts";

const run = promisify(execFile);
const [page] = blocksOf("remove-load-balancers.md").filter(({ language }) => language === "yaml");
const [{ command, args }] = parse(page?.text ?? "").spec.rules[0].tasks[0].create.spec.template.spec
  .containers;

const core = (kind: string, name: string): Ref => ({ apiVersion: "v1", kind, name });
const within = (kind: string, name: string): Ref => ({ ...core(kind, name), namespace: "default" });
const CLAIM = within("PersistentVolumeClaim", "data");
const [USED, RETAINED] = [core("PersistentVolume", "used"), core("PersistentVolume", "retained")];
const [BALANCER, INNER] = [within("Service", "balancer"), within("Service", "inner")];

const accessModes = ["ReadWriteOnce"];
const storage = "1Gi";

function volume(ref: Ref, persistentVolumeReclaimPolicy: string): ReturnType<typeof objectOf> {
  const hostPath = { path: "/data" };
  const claimRef = { namespace: "default", name: ref === USED ? "data" : "other" };
  const spec = { accessModes, capacity: { storage }, hostPath, claimRef, persistentVolumeReclaimPolicy };
  return objectOf(ref, { spec });
}

test("the Job ends once the volumes are deleted, too, but for those that are retained", async (t) => {
  const cp = await startControlPlane({ controllers: false });
  t.after(async () => await cp.stop());
  const released = async (ref: Ref): Promise<unknown> =>
    await cp.patch(ref, { metadata: { finalizers: null } });
  await cp.apply([
    objectOf(BALANCER, { spec: { type: "LoadBalancer", ports: [{ port: 80 }] } }),
    objectOf(INNER, { spec: { ports: [{ port: 80 }] } }),
    objectOf(CLAIM, { spec: { accessModes, volumeName: "used", resources: { requests: { storage } } } }),
    volume(USED, "Delete"),
    volume(RETAINED, "Retain"),
  ]);

  const log = join(cp.folder, "kubectl.log");
  const { kubectl } = await controlPlaneBinaries();
  const path = process.env["PATH"] ?? "";
  await writeFile(
    join(cp.folder, "kubectl"),
    `#!/bin/sh\necho "$@" >> ${log}\nPATH='${path}' exec ${kubectl} "$@"\n`,
  );
  await chmod(join(cp.folder, "kubectl"), 0o755);
  const env = environment({ KUBECONFIG: cp.adminKubeconfig, PATH: `${cp.folder}:${path}` });
  const [shell = "", ...flags] = [...command, ...args];
  const job = run(shell, flags, { env });

  await cp.waitFor("the claim to be deleted", async () => (await cp.get(CLAIM)).metadata.deletionTimestamp);
  await released(CLAIM);
  const waits = cp.waitFor("the Job to wait for the volume", async () =>
    / persistentvolume used /.test(await readFile(log, "utf8")),
  );
  assert.equal(await Promise.race([waits, job.then(() => "the Job has ended")]), true);
  await cp.delete(USED);
  await released(USED);
  await job;
  const left = await Promise.all(
    [BALANCER, INNER, CLAIM, USED, RETAINED].map(async (ref) => await cp.find(ref)),
  );
  assert.deepEqual(
    left.flatMap((object) => object?.metadata.name ?? []),
    ["inner", "retained"],
  );
});
