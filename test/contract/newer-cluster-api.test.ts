/** The newest Cluster API that the module proxy has, before it is the one that the tests run with. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { promisify } from "node:util";
import { gt, prerelease, rcompare } from "semver";
import { HOOK_NAMES } from "../../src/api/runtime-hooks.ts";
import { moduleOf } from "../controlplane/parts.ts";

const run = promisify(execFile);
const MODULE = "sigs.k8s.io/cluster-api/api";
const PAGE = "docs/compatibility.md, What comes with Cluster API";
const PINS = "docs/compatibility.md, Pinned workers";

/** Where nothing is read from outside, or a version is listed and not given, the next older one does. */
async function newest(): Promise<{ readonly version: string; readonly folder: string }> {
  const { version: tried, folder } = moduleOf("cluster-api");
  const listed = await go(["list", "-m", "-versions", MODULE], folder).catch(() => "");
  const newer = listed.trim().split(" ").slice(1).filter((each) => gt(each, tried) && prerelease(each) === null); // prettier-ignore
  for (const version of [...newer.toSorted(rcompare), tried]) {
    const printed = await go(["mod", "download", "-json", `${MODULE}@${version}`], tmpdir()).catch(
      () => "{}",
    );
    const { Dir }: { readonly Dir?: string } = JSON.parse(printed);
    if (Dir !== undefined) return { version, folder: Dir };
  }
  throw new Error(`${MODULE} ${tried} is not there: node test/integration.ts builds with it`);
}

async function go(args: readonly string[], cwd: string): Promise<string> {
  return (await run("go", args, { cwd, timeout: 60_000 })).stdout;
}

describe("the newest Cluster API", () => {
  let version: string;
  let folder: string;
  before(async () => {
    ({ version, folder } = await newest());
  });
  const source = (path: string): string => readFileSync(join(folder, path), "utf8");
  /** The names in JSON of a struct's fields. */
  const fieldsOf = (types: string, struct: string): string[] => {
    const [, body] = new RegExp(`^type ${struct} struct \\{$(.*?)^\\}$`, "ms").exec(types) ?? [];
    assert.ok(body !== undefined, `Cluster API ${version} has no ${struct}`);
    return [...body.matchAll(/`json:"(\w+)/g)].map(([, name = ""]) => name);
  };

  test("takes a version for the Cluster alone: workers with their own are known only from its main branch", (t) => {
    t.diagnostic(`looked at Cluster API ${version}`);
    const types = source("core/v1beta2/cluster_types.go");
    const structs = ["Topology", "ControlPlaneTopology", "WorkersTopology"];
    const workers = ["MachineDeploymentTopology", "MachinePoolTopology"];
    const versioned = [...structs, ...workers].filter((struct) =>
      fieldsOf(types, struct).some((field) => /version/i.test(field)),
    );
    assert.deepEqual(
      versioned,
      ["Topology"],
      `Cluster API ${version} can pin workers. Compare with ${PINS}: the field (src/views/cluster.ts), the hooks that a raised pin calls, TopologyReconciled and AfterClusterUpgrade while pins are behind (src/operations/workers-behind.ts), what its webhook refuses (src/operations/requested-operation.ts), and v1beta1 (test/apiserver/pin-conversion.ts); then try its manager, and take its definition in test/apiserver/worker-pins.test.ts`,
    );
  });

  test("reads workers where HookPolicy does: in lists of entries that have a name", () => {
    const types = source("core/v1beta2/cluster_types.go");
    assert.deepEqual(fieldsOf(types, "WorkersTopology"), ["machineDeployments", "machinePools"]);
    for (const struct of ["MachineDeploymentTopology", "MachinePoolTopology"])
      assert.ok(fieldsOf(types, struct).includes("name"), struct);
    assert.ok(fieldsOf(types, "WorkersStatus").includes("versions"));
  });

  test("calls the hooks that HookPolicy knows, and no other of a Cluster's life", () => {
    const path = "runtime/hooks/v1alpha1";
    const all = readdirSync(join(folder, path)).filter((name) => name.endsWith("_types.go"));
    const lifecycle = all.filter((name) => name.startsWith("lifecyclehooks"));
    const hooks = lifecycle.flatMap((name) =>
      [...source(join(path, name)).matchAll(/RegisterHook\((\w+),/g)].map(([, hook = ""]) => hook),
    );
    assert.deepEqual(hooks.toSorted(), [...HOOK_NAMES].toSorted(), `Cluster API ${version}`);
  });

  test("still serves Clusters as v1beta1", () => {
    const types = source("core/v1beta1/cluster_types.go");
    assert.doesNotMatch(types, /\+kubebuilder:unservedversion/, `Cluster API ${version}: ${PAGE}`);
  });
});
