/** Suites in a test: what differs from one that has a policy, a Cluster and a clock. */

import { Readable } from "node:stream";
import { loadSuite, type LoadedSuite } from "../../../../src/cli/suite/suite.ts";
import type { StepResult, SuiteResult } from "../../../../src/cli/suite/result.ts";
import { runSuite } from "../../../../src/cli/suite/run-suite.ts";
import { suitesJson } from "../../../../src/cli/suite/report.ts";
import { loadPaths } from "../../../../src/cli/files/load.ts";
import { checked } from "../program.ts";
import { rawCluster, rawPolicy } from "../raw.ts";

export const CLUSTER = rawCluster({ uid: "uid-1" });
export const DELETE = { hook: "BeforeClusterDelete", cluster: "team-a/prod-1" };
export const UPGRADE = {
  hook: "BeforeClusterUpgrade",
  cluster: "team-a/prod-1",
  fromKubernetesVersion: "v1.34.0",
};
export const APPROVED = { name: "approved", annotation: { key: "example.com/ok", valueFrom: "ClusterUID" } };

export function policy(until: readonly object[], over: object = {}): object {
  const rules = [
    { name: "confirmed", hooks: ["BeforeClusterDelete", "BeforeClusterUpgrade"], until, ...over },
  ];
  return rawPolicy("protect", { rules });
}

/** As JSON, which is YAML. */
export function suite(spec: object): string {
  return JSON.stringify({
    apiVersion: "cli.hookpolicy.dev/v1alpha1",
    kind: "HookPolicyTest",
    metadata: { name: "suite" },
    spec: { at: "2026-11-21T12:00:00Z", policies: [policy([APPROVED])], clusters: [CLUSTER], ...spec },
  });
}

/** The result, which `-o json` prints as its schema says. */
export async function run(text: string): Promise<SuiteResult> {
  const result = await runSuite(await load(text));
  await checked("test", JSON.parse(suitesJson([result])));
  return result;
}

export async function load(text: string): Promise<LoadedSuite> {
  const { objects, problems } = await loadPaths(["-"], { stdin: Readable.from([Buffer.from(text)]) });
  const [source] = objects;
  if (source === undefined) throw new Error(JSON.stringify(problems));
  return await loadSuite(source);
}

export async function runSteps(spec: object): Promise<readonly StepResult[]> {
  const { steps, problems } = await run(suite(spec));
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  return steps;
}

/** What is wrong, in one text: of the suite, or of its first step that could not be run. */
export async function problemOf(text: string): Promise<string> {
  const { status, steps, problems } = await run(text);
  if (status !== "error") throw new Error(`found ${status}`);
  const all = [...problems, ...steps.flatMap(({ problem }) => (problem === undefined ? [] : [problem]))];
  return all.map(({ message }) => message).join("\n");
}
