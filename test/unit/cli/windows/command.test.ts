import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { answering, listing } from "../api-server.ts";
import { checked, folder, MAIN } from "../program.ts";
import { hookpolicy, onFiles } from "../resident.ts";
import { refuses } from "../usage.ts";

const policy = (name: string, gate: string, kind = "HookPolicy"): string => `---
apiVersion: hookpolicy.dev/v1alpha1
kind: ${kind}
metadata: {name: ${name}${kind === "HookPolicy" ? ", namespace: team-a" : ""}}
spec:
  ${kind === "HookPolicy" ? "mode: Enforce" : "namespaceSelector: {}"}
  rules:
    - name: upgrades
      hooks: [BeforeClusterUpgrade]
      until:
        - ${gate}
`;
const WEEKEND = policy(
  "weekend",
  '{name: weekend, window: {timeZone: Europe/Berlin, allow: [{schedule: "0 22 * * FRI,SAT", duration: 8h}]}}',
);
const PAST = policy(
  "past",
  '{name: once, window: {allow: [{from: "2020-01-01T00:00:00Z", to: "2020-01-02T00:00:00Z"}]}}',
  "ClusterHookPolicy",
);
const BROKEN = policy("broken", "{name: a, window: {}}");
const MEMBER = policy(
  "either",
  '{name: either, anyOf: [{name: approved, label: {key: a, valueFrom: ClusterName}}, {name: freeze, window: {deny: [{from: "2026-12-20T00:00:00Z", to: "2027-01-06T00:00:00Z"}]}}]}',
);

test("openings are listed on the window's own clock, and what a change of the clocks does is marked", async (t) => {
  const args = ["windows", "-f", "a.yaml", "--at", "2026-10-18T00:00:00Z", "--next", "3"];
  assert.deepEqual(await onFiles(t, WEEKEND, args), {
    code: 0,
    stdout: `HookPolicy team-a/weekend, rule upgrades, gate weekend (Europe/Berlin)
OPENS                         CLOSES                        LASTS
open                          Sun 2026-10-18 06:00 +02:00
Fri 2026-10-23 22:00 +02:00   Sat 2026-10-24 06:00 +02:00   8h
Sat 2026-10-24 22:00 +02:00   Sun 2026-10-25 05:00 +01:00   8h      *
* Sat 2026-10-24 22:00 +02:00: closes at 05:00 instead of 06:00: clocks go back
`,
    stderr: "",
  });
});

test("the windows of a rollout's stages are listed", async (t) => {
  const cwd = await folder(t, {
    "a.yaml": `---
apiVersion: hookpolicy.dev/v1alpha1
kind: HookRollout
metadata: {name: upgrades}
spec:
  operation: Upgrade
  namespaceSelector: {}
  progressDeadline: 2h
  stages:
    - name: canary
      clusterSelector: {matchLabels: {wave: canary}}
      until: [{name: night, window: {timeZone: UTC, allow: [{schedule: "0 22 * * *", duration: 8h}]}}]
    - name: rest
`,
  });
  const args = ["windows", "upgrades", "-f", "a.yaml", "--at", "2026-10-18T12:00:00Z", "--next", "1"];
  const { code, stdout } = await hookpolicy(args, { cwd });
  assert.equal(code, 0);
  assert.match(
    stdout,
    /^HookRollout upgrades, stage canary, gate night \(UTC\)\nOPENS.*\nSun 2026-10-18 22:00/,
  );
  const json = await hookpolicy([...args, "-o", "json"], { cwd });
  await checked("windows", JSON.parse(json.stdout));
});

test("--zone prints in another zone", async (t) => {
  const args = "windows -f a.yaml --at 2026-10-19T00:00:00Z --next 1 -z Asia/Kolkata".split(" ");
  const { stdout } = await onFiles(t, WEEKEND, args);
  assert.match(
    stdout,
    /\(Europe\/Berlin, shown in Asia\/Kolkata\)\n.*\nSat 2026-10-24 01:30 \+05:30 {3}Sat 2026-10-24 09:30 \+05:30 {3}8h\n/,
  );
});

test("windows inside of anyOf are found, and those that never open or never close again are said to", async (t) => {
  const cwd = await folder(t, { "a.yaml": PAST + MEMBER });
  const { stdout } = await hookpolicy(["windows", "-f", "a.yaml", "--at", "2026-12-21T00:00:00Z"], { cwd });
  assert.match(stdout, /^ClusterHookPolicy past, rule upgrades, gate once \(UTC\)\nOPENS.*\nnever\n/);
  assert.match(stdout, /gate either\/freeze \(UTC\)\nOPENS.*\nWed 2027-01-06 00:00 \+00:00 {3}never\n$/);
});

test("a deny that has passed denies nothing any more", async (t) => {
  const freeze = "window: {deny: [{from: '2025-12-20T00:00:00Z', to: '2026-01-06T00:00:00Z'}]}";
  const cwd = await folder(t, { "a.yaml": policy("old", `{name: freeze, ${freeze}}`) });
  const { stdout } = await hookpolicy(["windows", "-f", "a.yaml", "--at", "2026-12-21T00:00:00Z"], { cwd });
  assert.match(stdout, /\nopen +never\ndenies nothing any more: all times of deny have passed\n$/);
});

test("a window that is always open never closes, and a search that gives up says how far it came", async (t) => {
  const minutes = '[{schedule: "*/2 * * * *", duration: 1m}]';
  const cwd = await folder(t, {
    "a.yaml":
      policy(
        "always",
        '{name: day, window: {timeZone: Europe/Berlin, allow: [{schedule: "0 0 * * *", duration: 25h}]}}',
      ) + policy("unseen", `{name: a, window: {timeZone: UTC, allow: ${minutes}, deny: ${minutes}}}`),
  });
  const { stdout } = await hookpolicy(["windows", "-f", "a.yaml", "--at", "2026-12-21T00:00:00Z"], { cwd });
  assert.match(stdout, /gate day \(Europe\/Berlin\)\nOPENS.*\nopen +never\n/);
  assert.match(stdout, /gate a \(UTC\)\nOPENS.*\nnot before \w+ 2027-/);
});

test("a name chooses policies, with a suggestion for one that is not there", async (t) => {
  const cwd = await folder(t, { "a.yaml": WEEKEND + PAST });
  for (const name of ["weekend", "team-a/weekend"]) {
    const { code, stdout } = await hookpolicy(["windows", name, "-f", "a.yaml"], { cwd });
    assert.equal(code, 0);
    assert.doesNotMatch(stdout, /past/);
  }
  assert.deepEqual(await hookpolicy(["windows", "team-b/weekend", "-f", "a.yaml"], { cwd }), {
    code: 2,
    stdout: "",
    stderr: `error: no policy is named "team-b/weekend" (did you mean team-a/weekend?); see 'hookpolicy windows --help'\n`,
  });
});

test("a file in the place of a name is told to be for -f", async () => {
  const { code, stderr } = await hookpolicy(["windows", "policies/a.yaml", "--kubeconfig", "none"]);
  assert.equal(code, 2);
  assert.match(
    stderr,
    /^error: no policy is named "policies\/a\.yaml" \(did you mean -f policies\/a\.yaml\?\)/,
  );
});

test("of the API server, what was not found is said to be not found in this namespace", async (t) => {
  const none = { hookpolicies: [], clusterhookpolicies: [], hookrollouts: [] };
  const { kubeconfig } = await answering(t, listing({ "namespaces/default/hookpolicies": [], ...none }));
  const stderrOf = async (...args: readonly string[]): Promise<string> =>
    (await hookpolicy(["windows", ...args, "--kubeconfig", kubeconfig])).stderr;
  assert.match(
    await stderrOf("weekend"),
    /^error: no policy is named "weekend" in namespace default; -A looks in all of them;/,
  );
  assert.equal(await stderrOf(), "no window was found in namespace default; -A looks in all of them\n");
  assert.equal(await stderrOf("-A"), "no window was found\n");
});

test("a policy with errors is told, and the others are listed", async (t) => {
  const { code, stdout, stderr } = await onFiles(t, BROKEN + WEEKEND, ["windows", "-f", "a.yaml"]);
  assert.equal(code, 1);
  assert.match(stdout, /^HookPolicy team-a\/weekend/);
  assert.equal(stderr, "error: HookPolicy team-a/broken is not valid: see 'hookpolicy validate'\n");
});

test("kubectl's plugin names itself where it tells of errors", async (t) => {
  const cwd = await folder(t, { "a.yaml": BROKEN });
  const plugin = join(cwd, "kubectl-hookpolicy");
  await symlink(MAIN, plugin);
  const args = [plugin, "windows", "-f", "a.yaml"];
  const { stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  assert.match(stderr, / is not valid: see 'kubectl hookpolicy validate'\n$/);
});

test("-o json keeps to its schema", async (t) => {
  const args = ["windows", "-f", "a.yaml", "-o", "json", "--at", "2026-10-18T00:00:00Z"];
  const { stdout } = await onFiles(t, WEEKEND + PAST + MEMBER, args);
  const report: { readonly windows: readonly { readonly openings: readonly object[] }[] } = await checked(
    "windows",
    JSON.parse(stdout),
  );
  assert.deepEqual(report.windows[0]?.openings[2], {
    opensAt: "2026-10-24T20:00:00Z",
    closesAt: "2026-10-25T04:00:00Z",
    isOpen: false,
    notes: ["closes at 05:00 instead of 06:00: clocks go back"],
  });
});

refuses("windows", {
  "no kubeconfig": [["--kubeconfig", "none"], /^error: kubeconfig none: no such file\n$/],
  "a namespace of files": [["-f", "a", "-n", "team-a"], /^error: -n, -A, .* are for the API server/],
  "one namespace of all": [["-A", "-n", "team-a"], /'-A, --all-namespaces' cannot be used with option '-n/],
  "an unknown zone": [
    ["-f", "a", "-z", "Europa/Berlin"],
    /^error: --zone: found "Europa\/Berlin".*did you mean "Europe\/Berlin"/,
  ],
  "what is no time": [["-f", "a", "--at", "noon"], /Allowed: a date or a time/],
  "a count of nothing": [["-f", "a", "--next", "0"], /Allowed: a whole number from 1 to 1000/],
  "a missing file": [["-f", "nope.yaml"], /^error: nope\.yaml: no such file or folder\n/],
});

test("a name from a file does not steer the terminal", async (t) => {
  const cwd = await folder(t, { "a.yaml": WEEKEND.replace("name: weekend,", 'name: "a\\e[2J",') });
  const { stderr } = await hookpolicy(["windows", "-f", "a.yaml"], { cwd });
  assert.match(stderr, /^error: HookPolicy team-a\/a\\u001b\[2J is not valid/m);
});
