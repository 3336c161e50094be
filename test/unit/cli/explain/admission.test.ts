/** What `hookpolicy explain` says of requests at admission. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { checked } from "../program.ts";
import { rawCluster } from "../raw.ts";
import { NOW, policy, run } from "./explained.ts";

const TOPOLOGY = { topology: { classRef: { name: "lab" }, version: "v1.35.0" } };

const cluster = (meta: object = {}, spec: object = TOPOLOGY): object => ({
  ...rawCluster({ uid: "5d2c", ...meta }),
  spec,
});

const approved = { name: "approved", annotation: { key: "example.com/ok", valueFrom: "ClusterUID" } };
const night = {
  name: "night",
  window: { timeZone: "UTC", allow: [{ schedule: "0 22 * * *", duration: "4h" }] },
};
const rule = (name: string, admission: string, until: object, hooks = ["BeforeClusterDelete"]): object => ({
  name,
  hooks,
  admission,
  until: [until],
});

interface Operation {
  readonly hook: string;
  readonly request?: string;
  readonly admission?: string;
  readonly verdict: string;
  readonly holds?: boolean;
  readonly message: string;
  readonly earliestRelease?: string;
  readonly steps: readonly { readonly rule: string; readonly commands: readonly string[] }[];
}

async function operationOf(...[t, objects, ...args]: Parameters<typeof run>): Promise<Operation> {
  const { stdout, stderr } = await run(t, objects, ...args, "-o", "json");
  assert.equal(stderr, "");
  const report: { readonly operations: readonly Operation[] } = await checked("explain", JSON.parse(stdout));
  const [operation = assert.fail("nothing is explained")] = report.operations;
  return operation;
}

const BOTH = policy("protect", [rule("confirmed", "Deny", approved), rule("nightly", "Warn", night)]);

test("the first lines of a refused request show the command, and the tree all rules that speak", async (t) => {
  const other = policy("silent", [{ ...rule("seen", "None", approved) }]);
  const { stdout } = await run(t, [cluster(), BOTH, other], "--admission", "Delete");
  const command = "kubectl annotate clusters.cluster.x-k8s.io -n team-a prod-1 example.com/ok=5d2c";
  assert.equal(
    stdout,
    `Denied at admission: Delete of Cluster team-a/prod-1, at ${NOW}
  run     ${command}
  for     annotation example.com/ok=5d2c on Cluster team-a/prod-1 (HookPolicy team-a/protect, rule confirmed, gate approved)
  passes  only after a user has acted
  if it cannot wait: hookpolicy override team-a/prod-1 --hook BeforeClusterDelete --policy HookPolicy/protect --for 1h --reason 'why'

HookPolicy team-a/protect: Blocked
├─ rule confirmed: Blocked (WaitingForAnnotation), admission Deny
│  │  passes  only after a user has acted
│  └─ gate approved: waits
│        wanted    annotation example.com/ok=5d2c on Cluster team-a/prod-1
│        observed  absent
│        run       ${command}
└─ rule nightly: Blocked (WindowClosed), admission Warn
   │  passes  at 2026-11-21T22:00:00Z, if nothing else changes
   └─ gate night: waits
         wanted    its window, which opens at 2026-11-21T22:00:00Z
         observed  closed
HookPolicy team-a/silent: Allowed, no rule about it has admission
`,
  );
});

describe("a request is", () => {
  const night24 = policy("protect", [rule("nightly", "Deny", night)]);
  const ok = { annotations: { "example.com/ok": "5d2c" } };
  const upgrades = policy("protect", [
    rule("tested", "Deny", { name: "tested", version: { range: "<1.36" } }, ["BeforeClusterUpgrade"]),
  ]);
  const owned = policy("protect", [
    rule("owned", "Deny", { name: "owned", label: { key: "example.com/owner" } }, ["BeforeClusterCreate"]),
  ]);
  const cases: Record<string, { objects: object[]; args: string[]; says: Partial<Operation> }> = {
    "Denied, until a window opens": {
      objects: [cluster(), night24],
      args: ["Delete"],
      says: { request: "Delete", verdict: "Blocked", holds: true, earliestRelease: "2026-11-21T22:00:00Z" },
    },
    "Denied of a Cluster without topology": {
      objects: [cluster({}, {}), BOTH],
      args: ["Delete"],
      says: { hook: "BeforeClusterDelete" },
    },
    "Warned once what refuses is satisfied": {
      objects: [cluster(ok), BOTH],
      args: ["Delete"],
      says: { verdict: "WouldBlock", holds: false },
    },
    "Warned by a policy in mode Audit": {
      objects: [cluster(), policy("protect", [rule("confirmed", "Deny", approved)], { mode: "Audit" })],
      args: ["Delete"],
      says: { holds: false },
    },
    "Passed when it is confirmed": {
      objects: [cluster(ok), policy("protect", [rule("confirmed", "Deny", approved)])],
      args: ["Delete"],
      says: { verdict: "Allowed", holds: false, message: "" },
    },
    "Denied to another version": {
      objects: [cluster(), upgrades],
      args: ["Upgrade", "--to-version", "v1.36.0"],
      says: { hook: "BeforeClusterUpgrade", request: "Upgrade" },
    },
    "Passed to a version that the rule takes": {
      objects: [cluster(), upgrades],
      args: ["Upgrade", "--to-version", "v1.35.1"],
      says: { request: "Upgrade" },
    },
    "Denied to create what lacks a label": {
      objects: [cluster(), owned],
      args: ["Create"],
      says: { hook: "BeforeClusterCreate", request: "Create" },
    },
  };
  for (const [name, { objects, args, says }] of Object.entries(cases)) {
    test(name, async (t) => {
      const operation = await operationOf(t, objects, "--admission", ...args);
      const admission = name.split(/[ ,]/)[0];
      assert.deepEqual({ ...operation, ...says, admission }, operation);
    });
  }
});

test("the message is the API server's, with a hint for what does not exist yet", async (t) => {
  const owned = policy("protect", [
    rule("owned", "Deny", { name: "owned", label: { key: "example.com/owner" } }, ["BeforeClusterCreate"]),
  ]);
  const { message } = await operationOf(t, [cluster(), owned], "--admission", "Create");
  assert.match(
    message,
    /^Cluster team-a\/prod-1 cannot be created yet: HookPolicy team-a\/protect, rule owned/,
  );
  assert.match(message, /; the Cluster does not exist yet, so set what it lacks/);
});

test("a hook that is not asked now also says what its request would be answered", async (t) => {
  const hook = ["--hook", "BeforeClusterDelete"];
  const { admission, request } = await operationOf(t, [cluster(), BOTH], ...hook);
  assert.deepEqual([admission, request], ["Denied", undefined]);
  const { stdout } = await run(t, [cluster(), BOTH], ...hook);
  assert.match(
    stdout,
    /^ {2}admission +refuses the request: hookpolicy explain team-a\/prod-1 --admission Delete -f fleet\.yaml$/m,
  );
  const silent = policy("silent", [rule("seen", "None", approved)]);
  assert.equal((await operationOf(t, [cluster(), silent], ...hook)).admission, undefined);
  const deleting = cluster({ deletionTimestamp: "2026-11-21T10:00:00Z" });
  assert.equal((await operationOf(t, [deleting, BOTH], ...hook)).admission, undefined);
});

describe("reports what the API server does not review:", () => {
  const moved = { annotations: { "clusterctl.cluster.x-k8s.io/delete-for-move": "" } };
  const cases: Record<string, { object: object; args: string[]; says: RegExp }> = {
    "a deletion once more": {
      object: cluster({ deletionTimestamp: "2026-11-21T10:00:00Z" }),
      args: ["Delete"],
      says: /^note: Cluster team-a\/prod-1 is being deleted already, so admission is not asked again\n$/,
    },
    "clusterctl move": {
      object: cluster(moved, { ...TOPOLOGY, paused: true }),
      args: ["Delete"],
      says: /^note: Cluster team-a\/prod-1 is paused and has the mark of clusterctl move/,
    },
    "the creation of a paused Cluster": {
      object: cluster({}, { ...TOPOLOGY, paused: true }),
      args: ["Create"],
      says: /^note: Cluster team-a\/prod-1 is paused: its hook is asked when it is resumed/,
    },
    "the version that it has": {
      object: cluster(),
      args: ["Upgrade", "--to-version", "v1.35.0"],
      says: /^note: Cluster team-a\/prod-1 has the version v1\.35\.0 already\n$/,
    },
    "a version without topology": {
      object: cluster({}, {}),
      args: ["Upgrade", "--to-version", "v1.36.0"],
      says: /^note: Cluster team-a\/prod-1 has no spec\.topology, so its version/,
    },
  };
  for (const [name, { object, args, says }] of Object.entries(cases)) {
    test(name, async (t) => {
      const { code, stdout } = await run(t, [object, BOTH], "--admission", ...args);
      assert.equal(code, 0);
      assert.match(stdout, says);
    });
  }
});

test("reports wrong flags, and exits 2", async (t) => {
  for (const [args, says] of [
    [["--admission", "Upgrade"], /--admission Upgrade needs --to-version/],
    [["--admission", "delete"], /Allowed choices are Create, Upgrade, Delete/],
    [["--admission", "Delete", "--hook", "BeforeClusterDelete"], /cannot be used with option '--hook/],
    [["--to-version", "v1.36.0"], /--to-version needs --hook or --admission/],
  ] as const) {
    const { code, stderr } = await run(t, [cluster()], ...args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, says);
  }
});
