/** What docs/recipes/ and manifests/admission/ say, as far as it can be judged without a cluster. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { delimiter, join } from "node:path";
import test from "node:test";
import { parseAllDocuments } from "yaml";
import { HOOK_NAMES } from "../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../src/memory/policy-set.ts";
import { MAX_STEPS, meter } from "../../src/policy/cel/meter.ts";
import { decide } from "../../src/policy/decide.ts";
import { acceptWarnings } from "../../src/policy/validation/accepted.ts";
import { checkRollout } from "../../src/policy/validation/rollout-semantics.ts";
import { validatePolicy } from "../../src/policy/validation/schema.ts";
import { checkRules } from "../../src/policy/validation/semantics.ts";
import { type KubeObject, objectsOf } from "../controlplane/client.ts";
import { blocksOf, commandsOf, PAGES, ROLLOUT_PAGES, ROOT, suiteOf } from "../capi/recipe-pages.ts";
import { cluster, compiled, NOW, world } from "./builders.ts";
import { folder } from "./cli/program.ts";

const AGGREGATED = "hookpolicy.dev/aggregate-to-operator";

function yamlOf(page: string): string[] {
  const hereDocuments = commandsOf(page).flatMap((command) => {
    const [, text] = /<<EOF\n([^]*)^EOF$/m.exec(command) ?? [];
    if (text === undefined) return [];
    const uid = text.replace(/\$\(kubectl get .*\{\.metadata\.uid\}'\)/, '"5d2c"');
    return [uid.replace(/\$\(date .*\)/, '"2026-11-27T22:00:00Z"')];
  });
  const blocks = blocksOf(page).filter(({ language }) => language === "yaml");
  return [...blocks.map(({ text }) => text), ...hereDocuments];
}

/** As kubectl reads YAML. */
function objectsIn(yaml: string): KubeObject[] {
  return parseAllDocuments(yaml, { version: "1.1", strict: true, uniqueKeys: true }).map((document) => {
    assert.deepEqual([...document.errors, ...document.warnings], []);
    return document.toJS() as KubeObject;
  });
}

function policiesOf(page: string): PolicyObject[] {
  const policies = yamlOf(page)
    .flatMap(objectsIn)
    .filter(({ kind }) => kind === "HookPolicy" || kind === "ClusterHookPolicy");
  return policies.map((policy) => policy as unknown as PolicyObject);
}

const RECIPES_WITH_POLICY = PAGES.filter((page) => policiesOf(page).length > 0);

test("every policy of the recipes can be evaluated, at every hook that it names", () => {
  assert.equal(RECIPES_WITH_POLICY.length, 23);
  for (const page of RECIPES_WITH_POLICY) {
    for (const policy of policiesOf(page)) {
      assert.deepEqual(validatePolicy(policy.kind, policy), [], page);
      const { metadata } = policy;
      const stored = {
        ...policy,
        metadata: { ...metadata, uid: "uid", resourceVersion: "1", generation: 1 },
      };
      const { errors, notEnforceable } = compiled(stored);
      assert.deepEqual([...errors, ...notEnforceable], [], page);
    }
  }
});

test("every recipe needs less than a tenth of the steps of a decision, at every hook", () => {
  for (const page of RECIPES_WITH_POLICY) {
    for (const { metadata, ...policy } of policiesOf(page)) {
      const stored = {
        ...policy,
        metadata: { ...metadata, uid: "uid", resourceVersion: "1" },
      } as PolicyObject;
      for (const hook of HOOK_NAMES) {
        const budget = meter.budget(MAX_STEPS / 10);
        const at = world({
          cluster: cluster({ namespace: metadata.namespace ?? "team-a", labels: { tier: "production" } }),
        });
        meter.within(budget, () => decide([compiled(stored)], at, { hook }, NOW));
        assert.equal(budget.exhausted, false, `${page} ${hook}`);
      }
    }
  }
});

test("the recipes are warned about only what is meant", () => {
  const told = RECIPES_WITH_POLICY.flatMap((page) =>
    policiesOf(page).flatMap(({ metadata, spec: { rules, mode } }) => {
      const { warnings } = checkRules(rules, [], { mode });
      const { left, unused } = acceptWarnings(metadata.annotations, rules, warnings);
      return [...left, ...unused].map(({ path, message }) => `${page}: ${path}: ${message}`);
    }),
  );
  assert.deepEqual(told, []);
});

test("the script that has to end before its Job is not the first process of the container, which ignores SIGTERM", async (t) => {
  const [policy] = policiesOf("remove-load-balancers.md");
  const { create, timeout } = policy?.spec.rules[0]?.tasks?.[0] ?? {};
  const [{ command, args }] = (create as KubeObject | undefined)?.["spec"].template.spec.containers ?? [];
  // As busybox' timeout, which becomes the program.
  const tools = await folder(t, { timeout: '#!/bin/sh\nprintf "%s\\n" "$$ $*"\n' });
  await chmod(join(tools, "timeout"), 0o755);
  const [file, ...flags] = [...command, ...args];
  const env = { ...process.env, PATH: [tools, process.env["PATH"]].join(delimiter) };
  let first: number | undefined;
  const said = await new Promise<string>((done) => {
    first = execFile(file, flags, { env }, (_, output) => done(output)).pid;
  });
  const [, pid = "", seconds = "", script = ""] = /^(\d+) (\d+) \/bin\/sh -euc ([^]*)\n$/.exec(said) ?? [];
  assert.notEqual(Number(pid), first);
  assert.deepEqual([seconds, timeout, script], ["720", "15m", args[0]]);
});

test("every HookRollout of the recipes is valid, and none is suspicious", () => {
  assert.equal(ROLLOUT_PAGES.length, 3);
  for (const page of ROLLOUT_PAGES) {
    for (const rollout of yamlOf(page).flatMap(objectsIn)) {
      if (rollout.kind !== "HookRollout") continue;
      const errors = validatePolicy("HookRollout", rollout);
      assert.deepEqual(errors, [], page);
      assert.deepEqual(checkRollout(rollout["spec"], errors), { errors: [], warnings: [] }, page);
    }
  }
});

test("the HookOverride of the recipes is valid, and of no later Cluster of the name", () => {
  const overrides = PAGES.flatMap(yamlOf)
    .flatMap(objectsIn)
    .filter(({ kind }) => kind === "HookOverride");
  assert.equal(overrides.length, 1);
  for (const override of overrides) {
    assert.deepEqual(validatePolicy("HookOverride", override), []);
    assert.equal(override["spec"].clusterRef.uid, "5d2c");
  }
});

test("the YAML means the same in YAML 1.1 and 1.2, and has nothing that clusterctl or Flux would substitute", () => {
  const manifests = [
    "refuse-deletion/clusters",
    "refuse-deletion/namespaces",
    "protect-marks/marks",
    "protect-marks/names",
    "keep-policies/policies",
  ].map((name) => readFileSync(join(ROOT, `manifests/admission/${name}.yaml`), "utf8"));
  const suites = PAGES.flatMap((page) => suiteOf(page) ?? []);
  for (const yaml of [...PAGES.flatMap(yamlOf), ...suites, ...manifests]) {
    const newer = parseAllDocuments(yaml, { version: "1.2" }).map((document): unknown => document.toJS());
    assert.deepEqual(objectsIn(yaml), newer);
    assert.doesNotMatch(yaml, /\$\{/);
  }
});

test("each recipe grants the operator what its object gates look at", () => {
  for (const page of RECIPES_WITH_POLICY) {
    const granted = yamlOf(page)
      .flatMap(objectsIn)
      .filter(({ kind, metadata }) => kind === "ClusterRole" && metadata.labels?.[AGGREGATED] === "true")
      .flatMap((role): { apiGroups: string[]; resources: string[]; verbs: string[] }[] => role["rules"]);
    const named = policiesOf(page)
      .flatMap(({ spec }) => spec.rules.flatMap(({ until = [] }) => until))
      .flatMap(({ object }) => (object === undefined ? [] : [object]));
    for (const { apiVersion, kind } of named) {
      // The operator's own role covers it (manifests/rbac.yaml).
      if (kind === "Cluster") continue;
      const group = apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
      const rule = granted.find(({ apiGroups, resources }) => {
        const plural = new RegExp(`^${kind.replace(/y$/, "(y|ie)")}s$`, "i");
        return apiGroups.includes(group) && resources.some((resource) => plural.test(resource));
      });
      assert.deepEqual(rule?.verbs, ["get", "list", "watch"], `${page}: ${kind}`);
    }
  }
});

test("the refusal waits for what the hook waits for, on the same Clusters", () => {
  const [hook] = policiesOf("protect-production.md");
  const [refusal] = objectsOf(
    readFileSync(join(ROOT, "manifests/admission/refuse-deletion/clusters.yaml"), "utf8"),
  );
  assert.ok(hook && refusal);
  assert.deepEqual(refusal["spec"].matchConstraints.objectSelector, hook.spec.clusterSelector);
  const annotation = hook.spec.rules[0]?.until?.[0]?.annotation;
  assert.equal(annotation?.valueFrom, "ClusterUID");
  const confirmed = refusal["spec"].variables.find(({ name }: { name: string }) => name === "confirmed");
  assert.ok(confirmed.expression.includes(`'${annotation?.key}' in `));
});

test("a role that lists everything that can hold a Cluster also lists HookTasks", () => {
  const roles = PAGES.flatMap((page) => yamlOf(page).flatMap(objectsIn)).flatMap(
    (object) => (object as { rules?: readonly { resources?: readonly string[] }[] }).rules ?? [],
  );
  const lists = roles.filter(({ resources }) => resources?.includes("hookoverrides") === true);
  assert.ok(lists.length > 0);
  for (const { resources = [] } of lists)
    if (resources.includes("clusterhookpolicies")) assert.ok(resources.includes("hooktasks"));
});
