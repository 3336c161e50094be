/** What `hookpolicy simulate` prints on a narrow terminal. */

import assert from "node:assert/strict";
import test from "node:test";
import { folder } from "../program.ts";
import { hookpolicy } from "../resident.ts";

const policy = (allow: string): string => `apiVersion: hookpolicy.dev/v1alpha1
kind: HookPolicy
metadata: { namespace: team-a, name: nights }
spec:
  rules:
    - name: nightly
      hooks: [BeforeClusterUpgrade]
      until:
        - name: night
          window: { timeZone: UTC, allow: [{ schedule: "${allow}", duration: 4h }] }
`;
const CLUSTER = `apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: { namespace: team-a, name: prod-1 }
spec: { topology: { classRef: { name: lab }, version: v1.35.0 } }
`;

test("the texts of a change are in their column, and all lines fit", async (t) => {
  const cwd = await folder(t, {
    "fleet/clusters.yaml": CLUSTER,
    "fleet/policies.yaml": policy("0 10 * * *"),
    "new/policies.yaml": policy("0 22 * * *"),
  });
  const args = ["simulate", "--against", "fleet", "-f", "new", "--at", "2026-11-21T12:00:00Z"];
  const { stdout } = await hookpolicy(args, { cwd, columns: 60, env: { NO_COLOR: "1" } });
  assert.match(
    stdout,
    /^ {2}after {5}Blocked by HookPolicy team-a\/nights\n {12}nightly\/night \(WindowClosed\)\n {2}clusters {2}team-a\/prod-1$/m,
  );
  assert.deepEqual(
    stdout.split("\n").filter((line) => line.length > 60),
    [],
  );
});
