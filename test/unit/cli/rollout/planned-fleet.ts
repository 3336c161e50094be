/** A fleet of two Clusters in files, and the plan of a rollout over it. */

import type { TestContext } from "node:test";
import { checked, folder, yaml } from "../program.ts";
import { rawCluster, rawNamespace, rawRollout } from "../raw.ts";
import { hookpolicy } from "../resident.ts";

export const clusterOf = (name: string, wave: string, version = "v1.34.0"): object => ({
  ...rawCluster({ namespace: "fleet", name, uid: name, labels: { wave } }),
  spec: { topology: { classRef: { name: "lab" }, version } },
});
export const rolloutOf = (name: string, spec: object = {}): object =>
  rawRollout(name, {
    stages: [
      { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } }, minSuccessTime: "1h" },
      { name: "rest" },
    ],
    ...spec,
  });
export const FLEET = [clusterOf("a", "rest"), clusterOf("b", "canary"), rawNamespace("fleet")];

export async function plan(t: TestContext, objects: readonly object[], ...args: readonly string[]) {
  const cwd = await folder(t, { "fleet.yaml": yaml(...objects) });
  const from = ["--duration", "40m", "--from", "2026-12-01T08:00:00Z", "-f", "fleet.yaml"];
  const done = await hookpolicy(["rollout", "plan", ...from, ...args], { cwd, env: { KUBECONFIG: "none" } });
  if (args.includes("json")) await checked("rolloutplan", JSON.parse(done.stdout));
  return done;
}
