/** Plays the Job's controller and the kubelet for the Job of `helm uninstall`. */

import { join } from "node:path";
import type { Ref } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { NAMESPACE, output, ROOT } from "./tools.ts";

export const UNINSTALL_JOB: Ref = {
  apiVersion: "batch/v1",
  kind: "Job",
  name: "hookpolicy-uninstall",
  namespace: NAMESPACE,
};

/** Waits for the Job, runs its container's command as its ServiceAccount, reports how it ended, and says what was printed. */
export async function runUninstallJob(cp: ControlPlane): Promise<string> {
  // Helm replaces the Job of an uninstallation that has failed, its ServiceAccount first.
  const job = await cp.waitFor("the Job", async () => {
    const found = await cp.find(UNINSTALL_JOB);
    return found?.["status"]?.conditions === undefined ? found : undefined;
  });
  const { serviceAccountName, containers } = job["spec"].template.spec;
  const kubeconfig = await cp.kubeconfigFor(NAMESPACE, serviceAccountName);
  const args = [join(ROOT, "dist/main.js"), ...containers[0].args];
  const startTime = new Date().toISOString();
  const report = async (types: readonly string[], result: object): Promise<void> => {
    const lastTransitionTime = new Date().toISOString();
    const conditions = types.map((type) => ({ type, status: "True", lastTransitionTime }));
    await cp.patchStatus(UNINSTALL_JOB, { startTime, conditions, ...result });
  };
  try {
    const printed = await output(process.execPath, args, { KUBECONFIG: kubeconfig });
    await report(["SuccessCriteriaMet", "Complete"], {
      completionTime: new Date().toISOString(),
      succeeded: 1,
    });
    return printed;
  } catch (error) {
    await report(["FailureTarget", "Failed"], { failed: 1 });
    throw error;
  }
}
