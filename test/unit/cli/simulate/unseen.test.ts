/** That `hookpolicy simulate` names the rules that change without a difference in any answer. */

import assert from "node:assert/strict";
import test from "node:test";
import { folder } from "../program.ts";
import { rawCluster, rawOverride, rawPolicy, rawRollout } from "../raw.ts";
import { hookpolicy } from "../resident.ts";

const CLUSTER = rawCluster({ uid: "5d2c" });
const approvals = (operator: string): object => {
  const [a, b] = ["a", "b"].map((key) => `'example.com/${key}' in cluster.metadata.annotations`);
  return { name: "approved", expression: `${a} ${operator} ${b}` };
};
const policy = (approved: object, range: string, message = "ask"): string =>
  JSON.stringify(
    rawPolicy("p", {
      rules: [
        { name: "two-people", hooks: ["BeforeClusterDelete"], until: [approved], message },
        { name: "tested", hooks: ["BeforeClusterUpgrade"], until: [{ name: "v", version: { range } }] },
      ],
    }),
  );
const rollout = (maxFailures: number): string =>
  JSON.stringify(rawRollout("upgrades", { stages: [{ name: "all", maxFailures }] }));

test("a rule that is loosened for what no Cluster shows yet is named, in every format", async (t) => {
  const both = policy(approvals("&&"), "<1.36.0");
  const cwd = await folder(t, {
    "fleet.yaml": [JSON.stringify(CLUSTER), both, rollout(0)].join("\n---\n"),
    "either.yaml": policy(approvals("||"), "<1.36.0"),
    "wider.yaml": policy(approvals("&&"), "<1.37.0"),
    "words.yaml": policy(approvals("&&"), "<1.36.0", "ask #ops"),
    "narrower.yaml": policy(approvals("&&"), "<1.35.0"),
    "rollout.yaml": rollout(2),
  });
  const run = async (file: string, ...args: readonly string[]): Promise<string> =>
    (await hookpolicy(["simulate", "-f", file, "--against", "fleet.yaml", ...args], { cwd })).stdout;
  const told = async (file: string, ...args: readonly string[]): Promise<string | undefined> =>
    /^changed, without a difference in any answer: (.*); an approval, /m.exec(await run(file, ...args))?.[1];
  assert.equal(await told("either.yaml"), "HookPolicy team-a/p two-people");
  assert.equal(await told("either.yaml", "-o", "markdown"), "HookPolicy team-a/p two-people");
  assert.match(await run("either.yaml", "-o", "json"), /"unseen": \[\s*"HookPolicy team-a\/p two-people"/);
  assert.equal(await told("wider.yaml"), "HookPolicy team-a/p tested");
  assert.equal(await told("wider.yaml", "--to-version", "v1.36.0"), undefined, "a difference is seen");
  assert.equal(await told("words.yaml"), undefined, "a text changes no answer");
  assert.equal(await told("narrower.yaml"), undefined);
  assert.equal(await told("rollout.yaml"), "HookRollout upgrades");
});

test("a rule that no longer holds, or now does, by its policy's mode alone is no rule without a difference", async (t) => {
  const enforce = policy(approvals("&&"), "<1.35.0");
  const audit = enforce.replace('"spec":{', '"spec":{"mode":"Audit",');
  const cwd = await folder(t, {
    "enforce.yaml": enforce,
    "audit.yaml": audit,
    "enforced.yaml": [JSON.stringify(CLUSTER), enforce].join("\n---\n"),
    "audited.yaml": [JSON.stringify(CLUSTER), audit].join("\n---\n"),
  });
  for (const [file, against, change] of [
    ["audit.yaml", "enforced.yaml", "2 newly allowed"],
    ["enforce.yaml", "audited.yaml", "2 newly blocked"],
  ] as const) {
    const args = ["simulate", "-f", file, "--against", against];
    const { stdout } = await hookpolicy(args, { cwd });
    assert.match(stdout, new RegExp(change));
    assert.doesNotMatch(stdout, /without a difference/);
    assert.match((await hookpolicy([...args, "-o", "json"], { cwd })).stdout, /"unseen": \[\]/);
  }
});

test("such a rule fails --fail-on any, and so does a policy that is removed or an override that is new", async (t) => {
  const weaker = policy(approvals("||"), "<1.36.0");
  const override = JSON.stringify(
    rawOverride("now", { hooks: ["AfterClusterUpgrade"], expiresAt: "2026-11-21T12:30:00Z" }),
  );
  const strict = policy(approvals("&&"), "<1.36.0");
  const again = JSON.stringify(
    rawPolicy("again", {
      rules: [
        {
          name: "tested",
          hooks: ["BeforeClusterUpgrade"],
          until: [{ name: "v", version: { range: "<1.36.0" } }],
        },
      ],
    }),
  );
  const cwd = await folder(t, {
    "fleet.yaml": [JSON.stringify(CLUSTER), strict, again].join("\n---\n"),
    "weaker.yaml": weaker,
    "one.yaml": strict,
    "override.yaml": override,
    "same.yaml": strict,
    "more.yaml": again.replace('"again"', '"third"'),
  });
  const run = async (failOn: string, ...args: readonly string[]) =>
    await hookpolicy(
      ["simulate", "--against", "fleet.yaml", "--at", "2026-11-21T12:00:00Z", "--fail-on", failOn, ...args],
      { cwd },
    );
  for (const args of [
    ["-f", "weaker.yaml"],
    ["-f", "one.yaml", "--prune"],
    ["-f", "override.yaml"],
  ]) {
    const found = await run("any", ...args);
    assert.equal(found.code, 1, args.join(" "));
    assert.match(found.stdout, /^0 newly blocked, 0 newly allowed, 0 changed reason, 0 unknown/m);
    assert.match(found.stdout, /^changed, without a difference in any answer: Hook/m);
    assert.equal((await run("newly-allowed", ...args)).code, 0);
  }
  for (const file of ["same.yaml", "more.yaml"]) assert.equal((await run("any", "-f", file)).code, 0);
});

test("an override that has no effect is named, also where something else changes for its Cluster and hook", async (t) => {
  const strict = policy(approvals("&&"), "<1.36.0");
  const override = JSON.stringify(rawOverride("long", { expiresAt: "2099-11-21T12:30:00Z" }));
  const cwd = await folder(t, {
    "fleet.yaml": [JSON.stringify(CLUSTER), strict].join("\n---\n"),
    "new.yaml": [override, strict.replace('"spec":{', '"spec":{"mode":"Audit",')].join("\n---\n"),
  });
  const { stdout } = await hookpolicy(["simulate", "--against", "fleet.yaml", "-f", "new.yaml"], { cwd });
  assert.match(stdout, /^newly allowed: BeforeClusterDelete$/m);
  assert.match(stdout, /^changed, without a difference in any answer: HookOverride long/m);
});
