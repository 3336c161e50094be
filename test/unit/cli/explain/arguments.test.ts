/** What `hookpolicy explain` takes for its arguments, and what it says of wrong ones. */

import assert from "node:assert/strict";
import test from "node:test";
import { folder } from "../program.ts";
import { rawCluster } from "../raw.ts";
import { hookpolicy } from "../resident.ts";

const CLUSTER = rawCluster({ uid: "5d2c" });
const FLEET = { "fleet.yaml": JSON.stringify(CLUSTER) };

test("a Cluster is named as by kubectl, too", async (t) => {
  const cwd = await folder(t, FLEET);
  const ask = async (...args: readonly string[]): Promise<readonly [number, string]> => {
    const given = ["explain", ...args, "-f", "fleet.yaml", "--hook", "BeforeClusterDelete"];
    const { code, stdout, stderr } = await hookpolicy(given, { cwd });
    return [code, `${stdout}${stderr}`];
  };
  for (const args of [["prod-1", "-n", "team-a"], ["team-a/prod-1", "-n", "team-a"], ["team-a/prod-1"]]) {
    const [code, output] = await ask(...args);
    assert.equal(code, 0, args.join(" "));
    assert.match(output, /of Cluster team-a\/prod-1,/);
  }
  assert.deepEqual(await ask("prod-1"), [
    2,
    "error: there is no Cluster default/prod-1 in the files (did you mean team-a/prod-1?)\n",
  ]);
  assert.match(
    (await ask("team-a/prod-1", "-n", "team-b"))[1],
    /team-a\/prod-1 is not in namespace team-b, which -n says/,
  );
});

test("--at takes dates and times as windows do, on the clock of this machine", async (t) => {
  const cwd = await folder(t, FLEET);
  const args = "explain team-a/prod-1 --hook BeforeClusterDelete -f fleet.yaml -o json".split(" ");
  for (const [at, time] of [
    ["2026-12-24", "2026-12-24T00:00"],
    ["2026-12-24T18:00", "2026-12-24T18:00"],
    ["2026-12-24T18:00:00+01:00", "2026-12-24T17:00:00Z"],
    ["2026-12-24T18:00+01:00", "2026-12-24T17:00:00Z"],
    ["2026-12-24T18:00Z", "2026-12-24T18:00:00Z"],
  ] as const) {
    const { stdout } = await hookpolicy([...args, "--at", at], { cwd });
    assert.equal(new Date(JSON.parse(stdout).at).getTime(), new Date(time).getTime(), at);
  }
});

test("reports mistakes in arguments with a suggestion, and exits 2", async (t) => {
  const cwd = await folder(t, FLEET);
  for (const [args, message] of [
    [
      ["team-a/prod-2", "-f", "fleet.yaml"],
      /^error: there is no Cluster team-a\/prod-2 in the files \(did you mean team-a\/prod-1\?\)/,
    ],
    // The namespace that both have makes another name no nearer.
    [["team-a/plot-2", "-f", "fleet.yaml"], /^error: there is no Cluster team-a\/plot-2 in the files$/m],
    [["prod-1/", "-f", "fleet.yaml"], /Allowed: NAMESPACE\/NAME/],
    [["prod-1", "--at", "24.12.2026"], / or 2026-11-21T12:00\+01:00; see/],
    [["prod-1", "--at", "tomorrow"], /\+01:00; see/],
    [
      ["team-a/prod-1", "-f", "fleet.yaml", "--hook", "BeforeClusterDelet"],
      /did you mean BeforeClusterDelete\?/,
    ],
    [["team-a/prod-1", "-f", "none"], /^error: none: no such file or folder\n$/],
    [["team-a/prod-1", "-f", "fleet.yaml", "--at", "noon"], /Allowed: a date or a time/],
    [["team-a/prod-1", "-f", "fleet.yaml", "--to-version", "v1.36.0"], /--to-version needs --hook/],
    [
      ["team-a/prod-1", "-f", "fleet.yaml", "--hook", "BeforeWorkersUpgrade", "--capi-version", "1.10"],
      /Cluster API 1.10 does not call BeforeWorkersUpgrade/,
    ],
    [["team-a/prod-1", "--kubeconfig", "none"], /^error: kubeconfig none: no such file\n$/],
  ] as const) {
    const { code, stdout, stderr } = await hookpolicy(["explain", ...args], { cwd });
    assert.deepEqual([code, stdout], [2, ""], args.join(" "));
    assert.match(stderr, message);
  }
});
