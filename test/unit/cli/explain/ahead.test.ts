/** What `hookpolicy explain` says of files: its commands, and what holds later. */

import assert from "node:assert/strict";
import test from "node:test";
import { approved, cluster, deletion, explained, fleetWide, night, policy } from "./explained.ts";

test("commands that read what explain has read name the same files, and the same instant", async (t) => {
  const policies = [policy("nights", [deletion([night])])];
  const held = await explained(t, [cluster(), ...policies], "--hook", "BeforeClusterDelete");
  assert.match(held, /see +hookpolicy windows team-a\/nights -f fleet\.yaml --at 2026-11-21T12:00:00Z$/m);
  assert.match(held, /if it cannot wait: hookpolicy override team-a\/prod-1 [^\n]* --reason 'why'$/m);
  assert.match(
    await explained(t, [cluster()]),
    /^To see .*: hookpolicy explain team-a\/prod-1 --hook BeforeClusterDelete -f fleet\.yaml$/m,
  );
  const refuses = deletion([approved], { admission: "Deny" });
  const denied = await explained(t, [cluster(), policy("deny", [refuses])], "--hook", "BeforeClusterDelete");
  assert.match(denied, /explain team-a\/prod-1 --admission Delete -f fleet\.yaml$/m);
});

test("a Cluster in Git has no uid: the command asks the API server for it", async (t) => {
  const objects = [cluster({ uid: undefined }), policy("protect", [deletion([approved])])];
  assert.match(
    await explained(t, objects, "--hook", "BeforeClusterDelete", "--context", "prod"),
    / run +kubectl annotate clusters\.cluster\.x-k8s\.io -n team-a prod-1 example\.com\/ok=\$\(kubectl get clusters\.cluster\.x-k8s\.io -n team-a prod-1 -o jsonpath='\{\.metadata\.uid\}' --context prod\) --context prod\n/,
  );
});

test("what holds a Cluster after a freeze is named, too", async (t) => {
  const freeze = {
    name: "freeze",
    window: { deny: [{ from: "2026-11-20T00:00:00Z", to: "2026-11-24T00:00:00Z" }] },
  };
  const weekend = {
    name: "weekend",
    window: { timeZone: "UTC", allow: [{ schedule: "0 0 * * SAT", duration: "48h" }] },
  };
  const policies = [fleetWide("freeze", [deletion([freeze])]), policy("weekends", [deletion([weekend])])];
  const stdout = await explained(t, [cluster(), ...policies], "--hook", "BeforeClusterDelete");
  assert.match(
    stdout,
    /wait for +its window, which opens at 2026-11-24T00:00:00Z \(ClusterHookPolicy freeze,/,
  );
  assert.match(
    stdout,
    /and wait for +its window, which opens at 2026-11-28T00:00:00Z \(HookPolicy team-a\/weekends, rule confirmed, gate weekend\)/,
  );
  assert.match(stdout, /released +at 2026-11-28T00:00:00Z/);
});
